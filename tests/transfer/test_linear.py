"""Linear weak learners."""

import numpy as np
import pytest

from groupwise.boosting import LinearLearner
from groupwise.transfer import TrAdaBoostClassifier


@pytest.mark.parametrize("hypotheses", ["hard", "soft"])
def test_three_classes(hypotheses):
    rng = np.random.RandomState(1)
    X = rng.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    clf = TrAdaBoostClassifier(
        LinearLearner(C=0.1), n_estimators=4, hypotheses=hypotheses, target_domain=0
    ).fit(X, y, domains=np.arange(150) % 2)
    assert clf.score(X, y) > 0.8
    assert clf.ensemble_.voters.coef.shape[1:] == (3, 3)


def test_resampled_rows():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    run = LinearLearner().bind(X).start(2, np.random.RandomState(0), resample=True)
    codes = run.fit(np.array([0, 0, 1, 1]), np.ones(4))
    np.testing.assert_array_equal(codes, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("parameters", "message"), [({"loss": "hinge"}, "loss must be"), ({"C": 0.0}, "C must be")]
)
def test_parameters_out_of_range(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearLearner(**parameters).bind(np.zeros((2, 1)))

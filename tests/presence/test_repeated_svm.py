"""Support vector machines that know copies of rows."""

import numpy as np
import pytest
from sklearn.svm import SVC

from groupwise.presence.repeated_svm import make_repeated_svm


@pytest.mark.parametrize("balanced", [False, True])
def test_copies_of_rows_are_weights(balanced):
    """Equal rows, some with both labels: the machine of all rows one by one."""
    rng = np.random.RandomState(0)
    X = rng.randint(0, 3, size=(200, 2)).astype(float)
    target = (X.sum(axis=1) + rng.normal(size=200) > 2).astype(int)
    machine = make_repeated_svm(X, C=1.0, kernel="rbf", width=1.0, n_components=None, rng=0)
    assert machine.X.shape == (9, 2)
    weight = (100 / np.bincount(target))[target] if balanced else np.ones(200)
    plane, score = machine.fit(np.arange(200), target, weight)
    gamma = 0.5 / machine.kernel.sigma**2
    plain = SVC(C=1.0, gamma=gamma, tol=1e-6).fit(X, target, sample_weight=weight)
    np.testing.assert_allclose(score, plain.decision_function(X), atol=5e-3)
    np.testing.assert_allclose(plane.score(X), score, atol=1e-12)

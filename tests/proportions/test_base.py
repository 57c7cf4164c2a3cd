"""What all classifiers of the package share."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from threadpoolctl import threadpool_info, threadpool_limits

from groupwise.exceptions import EqualSharesWarning, GroupDataError
from groupwise.proportions import KNNAOCClassifier, ManifoldAOCClassifier, MeanMapClassifier

MODELS = pytest.mark.parametrize(
    "model", [ManifoldAOCClassifier(), MeanMapClassifier(), KNNAOCClassifier()], ids=repr
)


@MODELS
def test_scores_are_log_odds_or_log_probabilities(model, blobs, iris):
    model.fit(blobs.X, blobs.y, groups=blobs.groups)
    score = model.decision_function(blobs.X)
    np.testing.assert_allclose(expit(score), model.predict_proba(blobs.X)[:, 1], atol=1e-12)
    np.testing.assert_array_equal(model.predict(blobs.X) == "yes", score > 0)
    model.fit(iris.X, iris.y, groups=iris.groups)
    score = model.decision_function(iris.X)
    np.testing.assert_allclose(np.exp(score), model.predict_proba(iris.X), atol=1e-12)


def test_scores_of_soft_labels_are_a_multiple_of_them(blobs):
    model = ManifoldAOCClassifier().fit(blobs.X, blobs.y, groups=blobs.groups)
    np.testing.assert_allclose(model.decision_function(blobs.X), 2.5 * model.soft_labels(blobs.X))


@MODELS
def test_rows_are_answered_in_double_precision(model, blobs):
    X = blobs.X.astype(np.float32)
    model.fit(X, blobs.y, groups=blobs.groups)
    single = model.predict_proba(X)
    model.fit(X.astype(float), blobs.y, groups=blobs.groups)
    np.testing.assert_array_equal(single, model.predict_proba(X.astype(float)))


def test_scores_where_nothing_was_learned_are_those_of_the_shares():
    with pytest.warns(EqualSharesWarning):
        model = ManifoldAOCClassifier().fit(np.eye(4), list("abbb"), groups=[0, 0, 0, 0])
    np.testing.assert_allclose(model.decision_function(np.eye(4)), np.log(3.0))


def test_labels_that_cannot_be_learned_from():
    X, groups = np.zeros((4, 1)), ["n", "s", "n", "n"]
    with pytest.raises(GroupDataError, match="one class only"):
        KNNAOCClassifier().fit(X, ["a"] * 4, groups=groups)
    with pytest.raises(ValueError, match="requires y"):
        KNNAOCClassifier().fit(X, None, groups=groups)


def test_counts_of_groups_in_a_column(blobs):
    table = pd.DataFrame(blobs.X, columns=["a", "b"]).assign(g=blobs.groups)
    inside = MeanMapClassifier(group_column="g").fit(table, blobs.y)
    apart = MeanMapClassifier().fit(blobs.X, blobs.y, groups=blobs.groups)
    np.testing.assert_array_equal(
        inside.predict_group_counts(table), apart.predict_group_counts(blobs.X, blobs.groups)
    )


def test_small_tables_are_learned_from_on_one_thread(blobs):
    """With two, on a busy machine, many small products wait for each other half a minute."""
    seen = []

    class Notes(MeanMapClassifier):
        def _learn(self, data):
            seen.append(max(library["num_threads"] for library in threadpool_info()))
            return super()._learn(data)

    with threadpool_limits(2):
        Notes().fit(blobs.X, blobs.y, groups=blobs.groups)
        assert max(library["num_threads"] for library in threadpool_info()) == 2
    assert seen == [1]


def test_a_fit_that_fails_leaves_the_model_as_it_was(blobs):
    class Stops(MeanMapClassifier):
        def _learn(self, data):
            if data.X.shape[1] == 1:
                raise MemoryError
            return super()._learn(data)

    model = Stops().fit(blobs.X, blobs.y, groups=blobs.groups)
    before = model.predict_proba(blobs.X)
    with pytest.raises(MemoryError):
        model.fit(np.asarray(blobs.X)[:, :1], blobs.y, groups=blobs.groups)
    np.testing.assert_array_equal(model.predict_proba(blobs.X), before)
    assert model.n_features_in_ == blobs.X.shape[1]

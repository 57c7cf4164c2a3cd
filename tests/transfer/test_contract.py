"""scikit-learn's checks, and ours, on every estimator of the package."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import HistTrees
from groupwise.boosting import LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.testing import parametrize_with_group_checks
from groupwise.transfer import (
    BalancedTransferClassifier,
    FeatureAugmentationClassifier,
    MultiSourceTrAdaBoostClassifier,
    SafeTrAdaBoostClassifier,
    SourcePriorClassifier,
    SourceScoresClassifier,
    TaskTrAdaBoostClassifier,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransductiveSVC,
    TwoStageTrAdaBoostRegressor,
    WeightedTransferClassifier,
)

ESTIMATORS = [
    TrAdaBoostClassifier(n_estimators=5),
    WeightedTransferClassifier(),
    WeightedTransferClassifier(LogisticRegression(), weighting="kliep"),
    BalancedTransferClassifier(LinearLearner(), shares=(0.5,), cv=2),
    SafeTrAdaBoostClassifier(TrAdaBoostClassifier(n_estimators=2), cv=2),
    FeatureAugmentationClassifier(),
    SourcePriorClassifier(),
    SourceScoresClassifier(ExtraTreesClassifier(10, min_samples_leaf=2)),
    MultiSourceTrAdaBoostClassifier(n_estimators=4),
    TaskTrAdaBoostClassifier(n_estimators=4),
    TransductiveSVC(),
    TrAdaBoostRegressor(n_estimators=3),
    TwoStageTrAdaBoostRegressor(n_estimators=2, n_steps=2, cv=2),
]

_MEAN_ONE = (
    "weak learners are shown weights of mean 1 over the rows, so that a leaf's least weight, a "
    "tree's ties and C count rows: n rows of weight 2 are not 2n rows"
)


_CLASS_WEIGHT = (
    "class weights are what the learner is shown: boosting gives the rows of light classes their "
    "weight back, and a small tree has leaves with nothing but them"
)


def expected_failures(estimator):
    failures = {}
    if isinstance(estimator, TrAdaBoostClassifier) or (
        type(estimator) is WeightedTransferClassifier and estimator.estimator is None
    ):
        failures["check_class_weight_classifiers"] = _CLASS_WEIGHT
    # where folds can be given, the check gives them and has other rows, on which it holds
    if (
        hasattr(estimator, "cv")
        or isinstance(estimator, SourcePriorClassifier)
        or isinstance(getattr(estimator, "estimator", None), LogisticRegression)
    ):
        return failures
    failures["check_sample_weight_equivalence_on_dense_data"] = _MEAN_ONE
    if is_classifier(estimator):
        failures["check_sample_weight_equivalence_on_sparse_data"] = _MEAN_ONE
    return failures


# scikit-learn's checks know no domains
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


VARIANTS = [
    TrAdaBoostClassifier.fading(LinearLearner(), n_estimators=4),
    TrAdaBoostClassifier(HistTrees(2, n_jobs=1), n_estimators=4),
    TrAdaBoostClassifier(n_estimators=6, early_stopping=True),
    WeightedTransferClassifier(weighting="union"),
    SafeTrAdaBoostClassifier(TrAdaBoostClassifier(HistTrees(1, n_jobs=1), n_estimators=2), cv=2),
]


@parametrize_with_group_checks(ESTIMATORS)
def test_group_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_group_checks(VARIANTS)
def test_group_contract_of_variants(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::groupwise.transfer.NegativeTransferWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: " ".join(repr(e).split()))
def test_kinds_of_tables(estimator):
    data = make_shifted_domains(120, 30, random_state=5)
    columns = [f"x{position}" for position in range(data.X.shape[1])]
    y = data.y if is_classifier(estimator) else data.y.astype(float)

    def predictions(X, domains=data.domains):
        model = clone(estimator).set_params(target_domain="target")
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        return model.fit(X, y, domains=domains).predict(X)

    reference = predictions(data.X)
    frame = pd.DataFrame(data.X, columns=columns)
    np.testing.assert_array_equal(predictions(frame, pd.Series(data.domains)), reference)
    np.testing.assert_array_equal(predictions(pl.DataFrame(data.X, schema=columns)), reference)
    # trees go through the features of sparse rows in another order, which settles ties
    assert np.corrcoef(predictions(sparse.csr_matrix(data.X)), reference)[0, 1] > 0.85

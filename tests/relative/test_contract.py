"""Classifiers with relative features: scikit-learn's checks and the library's own."""

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import (
    GroupBoostClassifier,
    NaiveGroupClassifier,
    RelativeFeaturesClassifier,
    SBoostClassifier,
)
from groupwise.losses import NoisyOrLoss
from groupwise.measures import BoostedRowsClassifier
from groupwise.testing import parametrize_with_group_checks

TREES = BoostedRowsClassifier(n_estimators=10, n_jobs=1, random_state=3)

ESTIMATORS = [
    RelativeFeaturesClassifier(NaiveGroupClassifier(GaussianNB())),
    RelativeFeaturesClassifier(TREES, relative=("difference", "mean")),
]
VARIANTS = [
    RelativeFeaturesClassifier(SBoostClassifier(n_estimators=3), relative=("score",)),
    RelativeFeaturesClassifier(GroupBoostClassifier(NoisyOrLoss(), n_estimators=3)),
]


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks(ESTIMATORS)
def test_group_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_group_checks(VARIANTS)
def test_group_contract_of_variants(estimator, check):
    check(estimator)

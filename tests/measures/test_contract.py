"""Every public estimator of the package: scikit-learn's checks and the library's own."""

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import HistTrees
from groupwise.measures import (
    BoostedRowsClassifier,
    ExpectedMeasureClassifier,
    FocusedAdaBoostClassifier,
    GroupAdaBoostClassifier,
    MeasureStumps,
    SVMPerfClassifier,
    ThresholdTunedClassifier,
)
from groupwise.testing import parametrize_with_group_checks

TREE = DecisionTreeClassifier(max_depth=2)
FAST = BoostedRowsClassifier(n_estimators=10, n_jobs=1)
THIN = HistTrees(2, n_jobs=1)

ESTIMATORS = [
    GroupAdaBoostClassifier(measure="accuracy", n_estimators=5),
    FocusedAdaBoostClassifier(n_estimators=5),
    BoostedRowsClassifier(n_estimators=10, n_jobs=1),
    ExpectedMeasureClassifier(FAST),
    ThresholdTunedClassifier(LinearSVC(), cv=3),
    SVMPerfClassifier(),
]
VARIANTS = [
    GroupAdaBoostClassifier(TREE, measure="f1", n_estimators=5),
    FocusedAdaBoostClassifier(hypotheses="soft", n_estimators=5),
    FocusedAdaBoostClassifier(TREE, early_stopping=True, validation_fraction=0.25, n_estimators=5),
    ExpectedMeasureClassifier(GaussianNB(), strength=30.0),
    SVMPerfClassifier("group_f1"),
    # of two classes, and of groups: scikit-learn's checks have neither
    BoostedRowsClassifier("lambdarank", measure="ndcg", n_estimators=10, n_jobs=1),
    GroupAdaBoostClassifier(MeasureStumps(8), measure="f1", n_estimators=5),
    GroupAdaBoostClassifier(THIN, measure="average_precision", n_estimators=5),
]
NAMES_ORDER_GROUPS = "groups are drawn by their place in the sorted names: other names, other draw"


def expected_failures(estimator):
    tuned = isinstance(estimator, ThresholdTunedClassifier)
    tuned |= getattr(estimator, "strength", None) == "tuned"
    if tuned or getattr(estimator, "early_stopping", False):
        return {"check_group_names": NAMES_ORDER_GROUPS}
    return {}


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:the optimum is the zero plane")  # small noisy groups
@parametrize_with_group_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_group_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:the optimum is the zero plane")  # small noisy groups
@parametrize_with_group_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_group_contract_of_variants(estimator, check):
    check(estimator)

"""Every public majority estimator: scikit-learn's checks and the library's own."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import (
    GroupStatisticsClassifier,
    HistTrees,
    NaiveGroupClassifier,
    SBoostClassifier,
    SBoostClassifierCV,
)
from groupwise.testing import parametrize_with_group_checks

TREE = DecisionTreeClassifier(max_depth=2)

ESTIMATORS = [
    SBoostClassifier(n_estimators=5),
    SBoostClassifier(TREE, multiclass="samme", resample=True, n_estimators=5),
    SBoostClassifierCV(n_estimators=2, gammas=(4.0,), cv=2),
    NaiveGroupClassifier(LogisticRegression()),
    GroupStatisticsClassifier(LogisticRegression(max_iter=1000)),
]
VARIANTS = [
    SBoostClassifier(HistTrees(max_depth=1, n_jobs=1), gamma=0.5, rule="score", n_estimators=5),
    SBoostClassifier(TREE, n_estimators=5),
    SBoostClassifier(multiclass="samme", n_estimators=5),
    SBoostClassifierCV(TREE, n_estimators=2, gammas=(0.0, 4.0), cv=2),
    NaiveGroupClassifier(LinearSVC(), rule="mean"),
    NaiveGroupClassifier(GaussianNB(), rule="score"),
    GroupStatisticsClassifier(LinearSVC(), statistics=("mean",)),
]

DRAWS_BY_POSITION = "rows are drawn by their position: another order is another sample"


def expected_failures(estimator):
    if getattr(estimator, "resample", False):
        return {
            "check_row_order": DRAWS_BY_POSITION,
        }
    return {}


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_group_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_group_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_group_contract_of_variants(estimator, check):
    check(estimator)


def test_a_failing_check_is_marked_with_its_reason():
    mark = parametrize_with_group_checks(
        [SBoostClassifier()], expected_failed_checks=lambda _: {"check_row_order": "because"}
    )
    marked = [case for case in mark.args[1] if case.marks]
    assert [case.marks[0].kwargs["reason"] for case in marked] == ["because"]
    assert len(mark.args[1]) > 10
    assert isinstance(mark, pytest.MarkDecorator)

"""The wrappers under the contract, around estimators that fit in milliseconds."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import (
    CalibratedGroupClassifier,
    ConformalGroupClassifier,
    ConformalGroupRegressor,
    NaiveGroupClassifier,
)
from groupwise.proportions import GroupMeansClassifier, GroupMeansRegressor
from groupwise.testing import parametrize_with_group_checks
from groupwise.transfer import WeightedTransferClassifier

PLAIN = NaiveGroupClassifier(GaussianNB())
ESTIMATORS = [
    ConformalGroupClassifier(PLAIN, cv=2, random_state=0),
    ConformalGroupRegressor(GroupMeansRegressor(), cv=2, random_state=0),
    CalibratedGroupClassifier(PLAIN, cv=2, random_state=0),
]
VARIANTS = [
    ConformalGroupClassifier(
        GroupMeansClassifier(), "proportions", coverage=0.5, method="split", conformity="adaptive"
    ),
    ConformalGroupClassifier(
        WeightedTransferClassifier(LogisticRegression()),
        "transfer",
        weighting="density_ratio",
        cv=2,
    ),
]

TWO_PROBABILITIES = (
    "a group's class comes from calibrated probabilities of groups, a row's from those of rows"
)


def expected_failures(estimator):
    if isinstance(estimator, CalibratedGroupClassifier):
        return {"check_groups_of_one": TWO_PROBABILITIES}
    return {}


# scikit-learn's checks know no groups, and hold few of them
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.UnpromisedWarning")
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

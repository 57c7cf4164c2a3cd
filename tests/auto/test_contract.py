"""The automatic choice under the contract, with candidates that fit in milliseconds."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise.auto import AutoGroupClassifier, AutoGroupRegressor, base
from groupwise.auto.candidates import Candidate
from groupwise.methods import Method
from groupwise.testing import parametrize_with_group_checks
from tests.auto.conftest import cheap

ESTIMATORS = [AutoGroupClassifier(cv=2, random_state=0), AutoGroupRegressor(cv=2, random_state=0)]
KINDS = [
    AutoGroupClassifier("measure", measure="accuracy", cv=2, random_state=0),
    AutoGroupClassifier("transfer", cv=2, random_state=0),
    AutoGroupRegressor("time", cv=2, random_state=0),
]

TWO_PROBABILITIES = (
    "a group's class comes from calibrated probabilities of groups, a row's from those of rows"
)


def of_numbers():
    path = "groupwise.proportions:GroupMeansRegressor"
    dummy = {"estimator": "sklearn.dummy:DummyRegressor"}
    ridge = Candidate(Method("mean", "means-ridge", path, ""), is_baseline=True)
    return [[ridge, Candidate(Method("mean", "constant", path, "", dummy))]], {}


def of_times():
    path = "groupwise.proportions:GroupMeansCoxRegressor"
    return [[Candidate(Method("survival", "means-cox", path, ""), is_baseline=True)]], {}


def candidates(kind, **_):
    own = {"mean": of_numbers, "survival": of_times}
    tiers, _ = own[kind]() if kind in own else cheap(kind)
    return [[candidate for tier in tiers for candidate in tier]], {}


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    monkeypatch.setattr(base, "first_candidates", candidates)


def expected_failures(estimator):
    if getattr(estimator, "kind", None) == "majority":
        return {"check_groups_of_one": TWO_PROBABILITIES}
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
@parametrize_with_group_checks(KINDS)
def test_group_contract_of_kinds(estimator, check):
    check(estimator)

"""The in-context classifier: scikit-learn's checks and the library's own."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise.incontext import InContextClassifier
from groupwise.testing import parametrize_with_group_checks

ESTIMATORS = [
    InContextClassifier(n_members=1, n_jobs=1),
    InContextClassifier("proportions", n_members=1, n_jobs=1),
    InContextClassifier("presence", n_members=1, n_jobs=1),
]


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks([*ESTIMATORS, InContextClassifier(n_members=3, n_jobs=2)])
def test_group_contract(estimator, check):
    check(estimator)

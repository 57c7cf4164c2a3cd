"""Networks: scikit-learn's checks and the library's own."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise.nets import GroupNetClassifier, GroupNetRegressor
from groupwise.testing import parametrize_with_group_checks

# without dropout, whose draws go by the order of rows and groups
SMALL = {"encoder": (4,), "n_members": 1, "epochs": 3, "device": "cpu", "dropout": 0.0}
ESTIMATORS = [
    GroupNetClassifier(**SMALL),
    GroupNetClassifier("presence", pooling="mean_max", **SMALL),
    GroupNetClassifier("presence", pooling="mean", n_bins=3, **SMALL),
    GroupNetClassifier("ordinal", **SMALL),
    GroupNetClassifier("ordinal", pooling="mean_max", **SMALL),
    GroupNetRegressor("total", pooling="attention", **SMALL),
    GroupNetRegressor("total", loss="poisson", **SMALL),
    GroupNetRegressor(loss="absolute_error", pooling="mean", **SMALL),
]
LEARNS = {"encoder": (8,), "epochs": 20, "learning_rate": 0.1}

SCALED = "features are standardised by the rows that are there, whatever these weigh"


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": SCALED,
        "check_sample_weight_equivalence_on_sparse_data": SCALED,
    }


pytestmark = pytest.mark.slow  # every check of every estimator


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(
    [clone(ESTIMATORS[0]).set_params(**LEARNS), GroupNetRegressor(**SMALL).set_params(**LEARNS)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks(ESTIMATORS)
def test_group_contract(estimator, check):
    check(estimator)

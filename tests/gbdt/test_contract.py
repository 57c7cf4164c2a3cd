"""The boosted estimators: scikit-learn's checks and the library's own."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import HistTrees
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.losses import GroupMeanLoss, SessionSoftmaxLoss
from groupwise.testing import parametrize_with_group_checks

pytest.importorskip("xgboost")

FAST = {"n_estimators": 4, "trees": HistTrees(n_jobs=1)}
# enough to have learned what scikit-learn asks of regressors
ENOUGH = {"n_estimators": 8, "trees": HistTrees(n_jobs=1)}

CLASSIFIERS = [
    GroupBoostClassifier(**FAST),
    GroupBoostClassifier(SessionSoftmaxLoss(2.0), rule="score", **FAST),
    GroupBoostClassifier("presence", **FAST),
    GroupBoostClassifier("presence_lse", **FAST),
    GroupBoostClassifier("proportions", **FAST),
    GroupBoostClassifier("proportions_squared", **FAST),
    GroupBoostClassifier(engine="xgboost", **FAST),
]
REGRESSORS = [
    GroupBoostRegressor(**ENOUGH),
    GroupBoostRegressor("total", loss=GroupMeanLoss(delta=1.0), **ENOUGH),
    GroupBoostRegressor(engine="xgboost", **ENOUGH),
]

ROUNDING = (
    "engines take float32 gradients: k times a rounded gradient is not the sum of k of them, and "
    "of two equally good splits of these few rows the other one wins"
)


def expected_failures(estimator):
    """The default loss, the smooth ones and the regressors have none."""
    loss = estimator.get_params().get("loss")
    if loss not in ("presence", "proportions", SessionSoftmaxLoss(2.0)):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": ROUNDING,
        "check_sample_weight_equivalence_on_sparse_data": ROUNDING,
    }


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(
    [
        GroupBoostClassifier(**FAST),
        GroupBoostClassifier("presence", **FAST),
        GroupBoostClassifier("proportions", **FAST),
        GroupBoostClassifier(engine="xgboost", **FAST),
        *REGRESSORS[::2],
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks([c for c in CLASSIFIERS if "proportions" not in str(c.loss)])
def test_group_contract(estimator, check):
    check(estimator)

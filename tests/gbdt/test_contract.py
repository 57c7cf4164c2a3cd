"""The boosted estimators: scikit-learn's checks and the library's own."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import HistTrees
from groupwise.gbdt import (
    GroupBoostClassifier,
    GroupBoostMultilabelClassifier,
    GroupBoostRegressor,
)
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
    no_label = {"check_class_weight_classifiers": "shares are no label to weigh groups by: refused"}
    return (no_label if loss == "proportions" else {}) | {
        "check_sample_weight_equivalence_on_dense_data": ROUNDING,
        "check_sample_weight_equivalence_on_sparse_data": ROUNDING,
    }


class AnyNumbersAsLabels(GroupBoostMultilabelClassifier):
    """scikit-learn's checks know no labels of 0 and 1: their numbers are cut in the middle."""

    def fit(self, X, y, **options):
        known = None if y is None else np.asarray(y)
        if known is not None and known.ndim and known.dtype.kind in "iuf":
            finite = np.isfinite(known).all() and len(known)
            y = (known > np.median(known)).astype(float) if finite else y
        return super().fit(X, y, **options)


IN_COLUMNS = {
    "check_dtype_object": "labels are 0, 1 or missing, and refused in these words",
    "check_estimator_sparse_array": "probabilities are of labels, not of two classes",
    "check_estimator_sparse_matrix": "probabilities are of labels, not of two classes",
}


@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(
    [AnyNumbersAsLabels(**FAST)], expected_failed_checks=lambda estimator: IN_COLUMNS
)
def test_scikit_learn_contract_of_several_labels(estimator, check):
    check(estimator)


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


@parametrize_with_group_checks(
    [
        *(c for c in CLASSIFIERS if "proportions" not in str(c.loss)),
        GroupBoostMultilabelClassifier(**FAST),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_bad_input": "a label that is missing is one that is not known"}
        if isinstance(estimator, GroupBoostMultilabelClassifier)
        else {}
    ),
)
def test_group_contract(estimator, check):
    check(estimator)

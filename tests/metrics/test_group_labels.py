import numpy as np
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.metrics import (
    group_accuracy,
    group_balanced_accuracy,
    group_f1,
    group_log_loss,
)

Y = np.array(["a", "a", "b", "b", "b", "b"])
GROUPS = np.array([1, 1, 0, 0, 2, 2])  # groups 0, 1, 2 are b, a, b


def test_values_by_hand():
    found = ["b", "a", "a"]
    assert group_accuracy(Y, found, GROUPS) == pytest.approx(2 / 3)
    assert group_balanced_accuracy(Y, found, GROUPS) == pytest.approx((1 + 1 / 2) / 2)
    assert group_f1(Y, found, GROUPS) == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert group_f1(Y, ["b", "b", "b"], GROUPS) == pytest.approx((0 + 4 / 5) / 2)
    assert group_f1(Y, ["b", "b", "b"], GROUPS, average="micro") == pytest.approx(2 / 3)
    proba = [[0.5, 0.5], [0.8, 0.2], [0.0, 1.0]]
    loss = group_log_loss(Y, proba, GROUPS, classes=["a", "b"])
    assert loss == pytest.approx(-(np.log(0.5) + np.log(0.8)) / 3)
    wrong = group_log_loss(Y, [[1, 0], [1, 0], [0, 1]], GROUPS, classes=["a", "b"])
    assert np.isfinite(wrong)


def test_one_prediction_per_group():
    with pytest.raises(ValueError, match=r"one prediction per group \(3\), got 6"):
        group_accuracy(Y, Y, GROUPS)
    with pytest.raises(GroupDataError, match="group 0 holds 'a' and 'b'"):
        group_accuracy(["a", "b"], ["a"], [0, 0])


def test_log_loss_knows_the_columns_by_their_names():
    proba = [[0.9, 0.1], [0.1, 0.9]]
    known = group_log_loss(["a", "b"], proba, [0, 1], classes=["a", "b"])
    assert known == pytest.approx(-np.log(0.9))
    other = group_log_loss(["a", "b"], proba, [0, 1], classes=["b", "a"])
    assert other == pytest.approx(-np.log(0.1))

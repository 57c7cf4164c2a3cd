import numpy as np
import pytest

from groupwise.groups import Groups
from groupwise.inputs import group_means, group_numbers, group_totals


def test_means_and_totals_of_each_other():
    groups = Groups(["a", "a", "b"])
    values = group_numbers([1.0, 2.0, 4.0], groups, target="mean")
    np.testing.assert_array_equal(group_totals(values, groups, target="mean"), [3.0, 4.0])
    np.testing.assert_array_equal(group_means(values, groups, target="mean"), [1.5, 4.0])
    total = group_numbers(np.array([3, 3, 4], dtype=object), groups, target="total")
    np.testing.assert_array_equal(group_means(total, groups, target="total"), [1.5, 4.0])
    np.testing.assert_array_equal(group_totals(total, groups, target="total"), [3.0, 4.0])


def test_a_mean_that_is_given_is_not_rounded_by_a_sum():
    groups = Groups(np.zeros(3, dtype=int))
    values = group_numbers([0.1, 0.1, 0.1], groups, target="mean")
    assert group_means(values, groups, target="mean")[0] == 0.1


@pytest.mark.parametrize(
    ("y", "target", "message"),
    [
        ([1.0, 2.0, 3.0], "total", "group 'a' holds 1.0 and 2.0"),
        ([1.0, np.nan, 3.0], "mean", "group 'a' \\(row 1"),
        ([1.0, np.inf, 3.0], "mean", "infinity"),
        ([1.0], "mean", "one entry per row: got 1 for 3"),
        ([1.0, 2.0, 3.0], "sum", "target must be one of 'mean', 'total', got 'sum'"),
    ],
)
def test_errors(y, target, message):
    with pytest.raises(ValueError, match=message):
        group_numbers(y, Groups(["a", "a", "b"]), target=target)

"""Labels, shares and counts become one line per group."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import class_counts, class_shares, whole_counts

GROUPS = Groups(["n", "s", "n", "n"])


def test_labels_are_counted_per_group():
    counts, classes = class_counts(["b", "a", "a", "b"], GROUPS)
    assert classes.tolist() == ["a", "b"]
    assert counts.tolist() == [[1.0, 2.0], [1.0, 0.0]]


@pytest.mark.parametrize("values", [[[1, 2], [1, 0]], [[1 / 3, 2 / 3], [1.0, 0.0]]])
def test_shares_and_counts_say_the_same(values):
    table = np.asarray(values, dtype=float)[GROUPS.codes]
    for y in (
        pd.DataFrame(table, columns=["a", "b"]),
        pl.DataFrame({"a": table[:, 0], "b": table[:, 1]}),
    ):
        counts, classes = class_counts(y, GROUPS)
        assert classes.tolist() == ["a", "b"]
        np.testing.assert_allclose(counts, [[1, 2], [1, 0]])
    counts, classes = class_counts(table, GROUPS, classes=["no", "yes"])
    assert classes.tolist() == ["no", "yes"]
    assert class_counts(table, GROUPS)[1].tolist() == [0, 1]


def test_classes_choose_and_order_columns_and_may_name_absent_ones():
    table = pd.DataFrame([[1, 2], [1, 0], [1, 2], [1, 2]], columns=["a", "b"])
    counts, classes = class_counts(table, GROUPS, classes=["b", "a"])
    assert (counts[0].tolist(), classes.tolist()) == ([2.0, 1.0], ["b", "a"])
    counts, _ = class_counts([1, 1, 0, 0], GROUPS, classes=[2, 1, 0])
    assert counts.tolist() == [[0, 1, 2], [0, 1, 0]]


def test_rounded_shares_are_made_whole():
    shares = np.array([[0.33, 0.33, 0.33], [1.0, 0.0, 0.0]])[GROUPS.codes]
    counts, _ = class_counts(shares, GROUPS)
    np.testing.assert_allclose(counts.sum(axis=1), [3, 1])
    assert whole_counts(counts).tolist() == [[1, 1, 1], [1, 0, 0]]
    assert whole_counts(np.array([[1.6, 1.4, 1.0], [0.3, 0.3, 1.4]])).sum(axis=1).tolist() == [4, 2]
    assert whole_counts(np.array([[1.6, 1.4]])).tolist() == [[2, 1]]
    assert whole_counts(np.array([[2.9999999999, 1e-10]])).tolist() == [[3, 0]]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", None, "b", "a"], "group 's'"),
        ([[1, 2], [1, 0], [2, 1], [1, 2]], "group 'n'"),
        ([[1, 3], [1, 0], [1, 3], [1, 3]], "group 'n' has 3 rows and its entries add up to 4"),
        ([[0.5, 0.5], [0.7, 0.1], [0.5, 0.5], [0.5, 0.5]], "group 's'"),
        ([[-1, 4], [1, 0], [-1, 4], [-1, 4]], "negative.*'n'"),
        ([[np.nan, 1], [1, 0], [1, 2], [1, 2]], "group 'n'"),
        ([["x", "y"]] * 4, "must be numbers"),
        ([[1, 2], [1, 0]], "2 classes and 4 rows"),
        (["a", "b", "a"], "one entry per row: got 3 for 4"),
    ],
)
def test_errors_name_the_group(y, message):
    with pytest.raises(GroupDataError, match=message):
        class_counts(y, GROUPS)


def test_errors_about_classes():
    with pytest.raises(GroupDataError, match="'c' in group 's'"):
        class_counts(["a", "c", "a", "a"], GROUPS, classes=["a", "b"])
    with pytest.raises(ValueError, match="different names"):
        class_counts(["a", "b", "a", "a"], GROUPS, classes=["a", "a"])
    frame = pd.DataFrame({"a": [1.0], "b": [0.0]})
    with pytest.raises(GroupDataError, match=r"no column for the classes \['c'\]"):
        class_counts(frame, Groups([0]), classes=["a", "c"])


@pytest.mark.parametrize(
    ("rows", "accepted"),
    [
        ([[0.5, 0.5], [1.0, 0.0]], True),
        ([[0.504, 0.505], [1.0, 0.0]], True),  # two columns, each half a point off
        ([[0.51, 0.505], [1.0, 0.0]], False),
        ([[1, 2], [0.5, 0.5]], False),  # counts in one group, shares in another
        ([[1, 2], [2, 0]], True),
        ([[0.0, 0.0], [1.0, 0.0]], False),
    ],
)
def test_one_tolerance_for_shares_and_none_for_counts(rows, accepted):
    groups = Groups(["n", "n", "n", "s", "s"])
    table = np.array(rows, dtype=float)[groups.codes]
    if accepted:
        shares, _ = class_shares(table, groups)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        counts, _ = class_counts(table, groups)
        np.testing.assert_allclose(counts / groups.sizes[:, None], shares)
    else:
        with pytest.raises(GroupDataError, match="add up"):
            class_counts(table, groups)
        with pytest.raises(GroupDataError, match="add up"):
            class_shares(table, groups)

"""Labels, shares, counts and totals become one line per group."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.proportions import KNNAOCClassifier, broadcast, class_counts
from groupwise.proportions.inputs import totals, whole_counts

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
    with pytest.raises(GroupDataError, match="one class only"):
        KNNAOCClassifier().fit(np.zeros((4, 1)), ["a"] * 4, groups=GROUPS)
    with pytest.raises(ValueError, match="requires y"):
        KNNAOCClassifier().fit(np.zeros((4, 1)), None)


def test_broadcast_spreads_lines_to_rows():
    table = pd.DataFrame({"a": [1, 1], "b": [2, 0]}, index=["n", "s"])
    spread = broadcast(table.iloc[::-1], GROUPS)
    np.testing.assert_array_equal(class_counts(spread, GROUPS)[0], table.to_numpy())
    assert broadcast({"n": 7.5, "s": 2.0}, ["n", "s", "n"]).tolist() == [7.5, 2.0, 7.5]
    assert broadcast(pd.Series([1, 2], index=[5, 3]), [3, 5, 3]).tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("index", "rows", "message"),
    [
        (["n", "x"], [[1, 2], [1, 0]], "no line for the groups 's'"),
        (["n", "s", "x"], [[1, 2], [1, 0], [1, 0]], "lines without rows: 'x'"),
        (["n", "n"], [[1, 2], [1, 0]], "more than one line for 'n'"),
        (["n", "s"], [[1, 3], [1, 0]], "group 'n' has 3 rows"),
    ],
)
def test_broadcast_names_what_does_not_fit(index, rows, message):
    with pytest.raises(GroupDataError, match=message):
        broadcast(pd.DataFrame(rows, index=index), GROUPS)


def test_broadcast_wants_a_table_by_id_and_shortens_long_lists():
    with pytest.raises(GroupDataError, match="got ndarray"):
        broadcast(np.ones((2, 2)), GROUPS)
    with pytest.raises(GroupDataError, match="and 3 more"):
        broadcast({}, list("abcdefgh"))


def test_totals_from_values_means_and_totals():
    assert totals([1.0, 5.0, 2.0, 3.0], GROUPS, target="mean").tolist() == [6.0, 5.0]
    assert totals([2.0, 5.0, 2.0, 2.0], GROUPS, target="mean").tolist() == [6.0, 5.0]
    assert totals([6, 5, 6, 6], GROUPS, target="total").tolist() == [6.0, 5.0]
    assert totals(np.array([6, 5, 6, 6], dtype=object), GROUPS, target="total")[0] == 6.0
    with pytest.raises(GroupDataError, match=r"'n' holds 6\.0 and 7\.0"):
        totals([6.0, 5.0, 7.0, 6.0], GROUPS, target="total")
    with pytest.raises(ValueError, match="target must be"):
        totals([1.0] * 4, GROUPS, target="median")

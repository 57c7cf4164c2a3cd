import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from groupwise import Groups
from groupwise.exceptions import GroupDataError

ids_of_one_kind = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1),
    st.lists(st.text(max_size=2).map(lambda t: t.rstrip("\0")), min_size=1),
    st.lists(st.floats(-3, 3).map(lambda v: round(v) + 0.0), min_size=1),
    st.lists(st.booleans(), min_size=1),
)


@given(ids_of_one_kind)
def test_names_and_codes_are_those_of_numpy(ids):
    groups = Groups(ids)
    names, codes, sizes = np.unique(np.asarray(ids), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(groups.names, names)
    np.testing.assert_array_equal(groups.codes, codes)
    np.testing.assert_array_equal(groups.sizes, sizes)
    np.testing.assert_array_equal(groups.spread(groups.names), np.asarray(ids))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-800, 800)), min_size=1),
)
def test_reductions_are_those_of_a_loop(rows):
    ids, values = map(np.array, zip(*rows, strict=True))
    groups = Groups(ids)
    parts = [values[ids == name] for name in groups.names]
    np.testing.assert_allclose(groups.sum(values), [p.sum() for p in parts], atol=1e-9)
    np.testing.assert_allclose(groups.mean(values), [p.mean() for p in parts], atol=1e-9)
    np.testing.assert_array_equal(groups.max(values), [p.max() for p in parts])
    np.testing.assert_allclose(groups.logsumexp(values), [logsumexp(p) for p in parts], atol=1e-12)
    table = np.column_stack([values, -values])
    np.testing.assert_allclose(groups.sum(table)[:, 1], -groups.sum(values))
    np.testing.assert_array_equal(groups.max(table)[:, 0], groups.max(values))
    np.testing.assert_allclose(groups.logsumexp(table)[:, 0], groups.logsumexp(values))
    np.testing.assert_allclose(groups.mean(table)[:, 0], groups.mean(values))
    np.testing.assert_array_equal(ids[groups.first_rows], groups.names)
    np.testing.assert_array_equal(groups.order, np.argsort(groups.codes, kind="stable"))
    assert groups.offsets[-1] == len(ids)
    by_group = np.argsort(ids, kind="stable")  # rows in order take a quicker way
    sorted_groups = Groups(ids[by_group])
    np.testing.assert_allclose(sorted_groups.sum(values[by_group]), groups.sum(values), atol=1e-9)
    np.testing.assert_allclose(sorted_groups.sum(table[by_group]), groups.sum(table), atol=1e-9)


def test_values_by_hand():
    groups = Groups(["b", "a", "b", "b"])
    assert groups.sum([1, 10, 2, 3]).tolist() == [10, 6]
    assert groups.mean([1, 10, 2, 3]).tolist() == [10, 2]
    assert groups.max([1, 10, 2, 3]).tolist() == [10, 3]
    np.testing.assert_allclose(groups.logsumexp([0, 10, 0, 0]), [10, np.log(3)])
    assert groups.sum(np.empty((4, 0))).shape == (2, 0)
    assert repr(groups) == "Groups(n_rows=4, n_groups=2)"
    assert len(groups) == 2


def test_logsumexp_of_extreme_values():
    groups = Groups([0, 0, 1, 1, 2])
    values = np.array([1e4, 1e4, -1e4, -np.inf, -np.inf])
    np.testing.assert_allclose(groups.logsumexp(values), [1e4 + np.log(2), -1e4, -np.inf])


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(["x", "y", "x"], index=[5, 6, 7]),
        pd.Categorical(["x", "y", "x"], categories=["y", "x", "unused"]),
        pl.Series(["x", "y", "x"]),
        np.array(["x", "y", "x"], dtype=object),
        ("x", "y", "x"),
    ],
    ids=["series", "categorical", "polars", "object", "tuple"],
)
def test_kinds_of_containers(ids):
    groups = Groups(ids)
    assert groups.names.tolist() == ["x", "y"]
    assert groups.codes.tolist() == [0, 1, 0]


def test_kinds_of_ids():
    day = datetime.date(2026, 1, 1)
    assert Groups([day, day]).n_groups == 1
    stamps = pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-02"])
    assert Groups(stamps).codes.tolist() == [1, 0, 1]
    assert Groups([("s", 2), ("s", 1), ("s", 2)]).names.tolist() == [("s", 1), ("s", 2)]
    mixed = Groups([1, "a", 2, "1"])
    assert mixed.names.tolist() == [1, 2, "1", "a"]
    assert mixed.codes.tolist() == [0, 3, 1, 2]


def test_different_ids_stay_apart():
    for ids in ([2**63, 2**63 + 1, -1], [2**63, 2**63 + 1], [2**64, 2**64 + 1], ["a", "a\0"],
                ["a\0", "a\0\0"], [2**53, 2**53 + 1, 0.5], [1, "1"], [b"a", b"a\0"],
                ("a", "a\0"), [-(2**63) - 1, -(2**63)], ["", "\0"],
                np.array(["a\0b", "a\0c"])):  # fmt: skip
        groups = Groups(ids)
        assert groups.n_groups == len(ids), ids
        assert [groups.names[code] for code in groups.codes] == list(ids)


def test_one_long_id_does_not_widen_the_others():
    import tracemalloc

    ids = ["x"] * 20_000 + ["y" * 20_000]
    tracemalloc.start()
    groups = Groups(ids)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert groups.sizes.tolist() == [20_000, 1] and peak < 8 << 20


@pytest.mark.parametrize("bad", [[], {}, set(), np.zeros(2)], ids=["list", "dict", "set", "array"])
def test_ids_that_cannot_be_compared(bad):
    with pytest.raises(GroupDataError, match=rf"hashable ids; row 1 holds a {type(bad).__name__}"):
        Groups(["a", bad, "b"])


def test_singletons_and_equality():
    assert Groups.singletons(3) == Groups([0, 1, 2])
    assert Groups.singletons(3) != Groups([0, 1, 1])
    assert Groups([0]) != [0]
    assert Groups([7, 7, 8]).same_partition(Groups(["b", "b", "a"]))
    assert not Groups([7, 7, 8]).same_partition(Groups(["b", "a", "a"]))
    assert not Groups([7, 7, 8]).same_partition(Groups(["b", "a", "c"]))


def test_one_per_group_names_the_group():
    groups = Groups(["s07", "s01", "s07", "s02", "s02"])
    assert groups.one_per_group(["run", "sit", "run", "x", "x"]).tolist() == ["sit", "x", "run"]
    with pytest.raises(GroupDataError, match=r"group 's07' holds 'run' and 'walk' \(1 more"):
        groups.one_per_group(np.array(["run", "sit", "walk", "x", "y"]))
    with pytest.raises(GroupDataError, match=r"shares must be the same .* 's02'"):
        groups.one_per_group(np.array([[0, 1]] * 4 + [[1, 1]]), name="shares")


@pytest.mark.parametrize(
    "ids",
    [["a", None], [1.0, np.nan], [np.datetime64("NaT", "D")], pd.array([1, pd.NA], dtype="Int64")],
    ids=["none", "nan", "nat", "na"],
)
def test_missing_ids(ids):
    with pytest.raises(GroupDataError, match="missing, the first on row"):
        Groups(ids)


def test_wrong_shapes():
    with pytest.raises(GroupDataError, match=r"1-D array\), got shape \(2, 1\)"):
        Groups(np.zeros((2, 1)))
    groups = Groups([0, 0, 1])
    with pytest.raises(ValueError, match=r"one value per row \(3\), got shape \(2,\)"):
        groups.sum([1, 2])
    with pytest.raises(ValueError, match=r"one value per group \(2\), got shape \(3,\)"):
        groups.spread([1, 2, 3])


def test_nothing_can_be_changed():
    ids = np.array([1, 0])
    groups = Groups(ids)
    ids[:] = 0
    assert groups.names.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        groups.codes[0] = 5


def test_ids_without_an_order_are_sorted_as_they_are_written():
    assert Groups([(1, "x"), ("x", 1), (1, "x")]).names.tolist() == [("x", 1), (1, "x")]
    ids = np.array([2j, 1j, 2j], dtype=object)
    assert Groups(ids).names.tolist() == [1j, 2j]
    assert Groups(ids[::-1]).names.tolist() == [1j, 2j]


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_numbers_in_order_are_numbers_in_any_order(kind):
    ids = np.array([2, 2, 5, 7, 7, 7], kind)
    order = np.array([3, 0, 5, 2, 1, 4])
    sorted_, mixed = Groups(ids), Groups(ids[order])
    assert sorted_.names.tolist() == mixed.names.tolist() == [2, 5, 7]
    assert sorted_.names.dtype == mixed.names.dtype == kind
    assert sorted_.codes.tolist() == [0, 0, 1, 2, 2, 2] == mixed.codes[np.argsort(order)].tolist()

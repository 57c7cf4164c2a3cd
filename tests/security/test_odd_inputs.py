"""Odd tables, labels, ids and weights, and what an estimator may answer to them.

Any input gives finite answers or an error that names what is wrong: :func:`outcome` says which.
A few of them on a few estimators are tested here, all on all by ``benchmarks/attack.py``.
"""

import inspect
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.naive_bayes import GaussianNB

from groupwise import Groups, HistTrees, NaiveGroupClassifier, SBoostClassifier
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.measures import SVMPerfClassifier
from groupwise.presence import SetKernelClassifier
from groupwise.proportions import KNNAOCClassifier, ManifoldAOCRegressor
from groupwise.transfer import TrAdaBoostRegressor, WeightedTransferClassifier

N_GROUPS, SIZE = 12, 4
N_ROWS = N_GROUPS * SIZE
TINY, HUGE = 5e-324, 1e308


@dataclass(frozen=True)
class Case:
    """Arguments of ``fit``, and the rows that are asked about afterwards."""

    X: Any
    y: Any
    ids: Any
    weight: Any = None
    X_new: Any = None
    ids_new: Any = None
    y_new: Any = None


@dataclass(frozen=True)
class Odd:
    """A change of a plain case; ``refused`` says that only an error is right."""

    change: Callable[[Case], Case]
    refused: bool = False
    kinds: tuple[str, ...] = ("classes", "numbers")
    needs_weight: bool = False


def plain_case(kind: str, by_domain: bool) -> Case:
    """Two classes, or numbers, the same on all rows of a group; or rows of two domains."""
    rng = np.random.RandomState(0)
    y_group = np.arange(N_GROUPS) % 2
    y = np.repeat(y_group, SIZE)
    X = rng.normal(size=(N_ROWS, 3)) + 1.5 * y[:, None]
    ids = np.repeat(np.arange(N_GROUPS), SIZE)
    if by_domain:
        ids = np.where(ids % 3 == 0, "new", "old")
    return Case(X, y if kind == "classes" else y + 0.25, ids)


def in_X(change: Callable[[Any], Any], **more: Any) -> Odd:
    """Another X, in ``fit`` and afterwards."""
    return Odd(lambda case: replace(case, X=change(case.X.copy())), **more)


def in_y(change: Callable[[Any], Any], **more: Any) -> Odd:
    return Odd(lambda case: replace(case, y=change(case.y.copy())), **more)


def in_ids(change: Callable[[Any], Any], **more: Any) -> Odd:
    return Odd(lambda case: replace(case, ids=change(case.ids.copy())), **more)


def in_weight(change: Callable[[Any], Any], **more: Any) -> Odd:
    start = np.ones(N_ROWS)
    return Odd(lambda case: replace(case, weight=change(start.copy())), needs_weight=True, **more)


def in_new(change: Callable[[Any], Any], **more: Any) -> Odd:
    """Another X for a model of plain rows."""
    return Odd(lambda case: replace(case, X_new=change(case.X.copy())), **more)


def put(value: Any, *, at: Any = 1, dtype: Any = None) -> Callable[[Any], Any]:
    """One other value: in the first column of a table, or in a vector."""

    def change(array: Any) -> Any:
        array = array if dtype is None else array.astype(dtype)
        array[(at, 0) if array.ndim == 2 else at] = value
        return array

    return change


def objects(values: list[Any]) -> Any:
    """A vector of objects, also of lists."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def repeated(*values: Any) -> Callable[[Any], Any]:
    """A vector of objects that go round."""
    return lambda array: objects([values[i % len(values)] for i in range(len(array))])


def by_class(*values: Any) -> Callable[[Any], Any]:
    """Labels of other kinds, the same on all rows of a group."""
    return lambda y: objects([values[int(code) % len(values)] for code in y])


def frame(X: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(**columns)


def named(X: Any, names: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=names)


def with_zeros(X: Any) -> Any:
    table = sparse.csr_array(X)
    table.data[::3] = 0.0
    return table


def doubled(X: Any) -> Any:
    """Every entry twice, each half."""
    table = sparse.coo_array(X)
    row, column = table.row, table.col
    return sparse.coo_array(
        (np.tile(table.data / 2, 2), (np.tile(row, 2), np.tile(column, 2))), shape=X.shape
    )


def in_sparse(X: Any, value: Any) -> Any:
    table = sparse.csr_array(X)
    table.data[1] = value
    return table


def wide_indices(X: Any) -> Any:
    table = sparse.csr_array(X)
    table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
    return table


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def shares(*line: Any) -> Callable[[Any], Any]:
    return lambda y: np.array([line] * len(y))


VALUES = [1e15, 1e20, -1e20, 1e30, 1e38, 1e39, 1e50, 1e77, 1e99, 1e101, 1e154, 1e160, 1e300,
          HUGE, -HUGE, TINY, 1e-308, 1e-160, -0.0]  # fmt: skip
SCALES = [1e-320, 1e-300, 1e-160, 1e-60, 1e-20, 1e10, 1e20, 1e60, 1e90, 1e200, 1e300]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]

TABLES: dict[str, Odd] = {
    **{f"a value of {value!r}": in_X(put(value)) for value in VALUES},
    **{f"all times {scale!r}": in_X(lambda X, s=scale: X * s) for scale in SCALES},
    **{f"one column times {scale!r}": in_X(lambda X, s=scale: X * [s, 1, 1]) for scale in SCALES},
    "moved by 1e15": in_X(lambda X: X + 1e15),
    "both ends": in_X(lambda X: put(-HUGE, at=2)(put(HUGE)(X))),
    "zeros": in_X(np.zeros_like),
    "equal": in_X(np.ones_like),
    "one column is constant": in_X(lambda X: X * [0, 1, 1]),
    "equal columns": in_X(lambda X: X[:, [0, 0, 0]]),
    "equal rows but one": in_X(lambda X: put(2.0)(np.ones_like(X))),
    "one feature": in_X(lambda X: X[:, :1]),
    "more features than rows": in_X(lambda X: np.tile(X, (1, 40))),
    "a NaN": in_X(put(np.nan)),
    "a NaN beside 1e308": in_X(lambda X: put(HUGE, at=2)(put(np.nan)(X))),
    "a column of NaN": in_X(lambda X: X * [np.nan, 1, 1]),
    "all NaN": in_X(lambda X: X * np.nan),
    "infinity": in_X(put(np.inf), refused=True),
    "minus infinity": in_X(put(-np.inf), refused=True),
    **{f"{kind}": in_X(lambda X, k=kind: X.astype(k))
       for kind in ("int8", "uint8", "int64", "bool", "float16", "float32", "longdouble", ">f8")},
    "largest int64": in_X(put(2**63 - 1, dtype="int64")),
    "largest uint64": in_X(lambda X: put(2**64 - 1)(np.abs(X).astype("uint64"))),
    "largest float16": in_X(put(65504, dtype="float16")),
    "largest float32": in_X(put(3.4e38, dtype="float32")),
    "a long double of 1e4000": in_X(put(np.longdouble("1e4000"), dtype="longdouble"), refused=True),
    "complex": in_X(lambda X: X + 1j, refused=True),
    "objects": in_X(lambda X: X.astype(object)),
    "a text among objects": in_X(put("x", dtype=object), refused=True),
    "None among objects": in_X(put(None, dtype=object)),
    "a list among objects": in_X(put([1.0], dtype=object), refused=True),
    "decimals": in_X(put(Decimal("1.5"), dtype=object)),
    "fractions": in_X(put(Fraction(1, 3), dtype=object)),
    "a whole number of 400 digits": in_X(put(10**400, dtype=object), refused=True),
    "text that is numbers": in_X(lambda X: X.astype(str)),
    "text": in_X(lambda X: np.full(X.shape, "x"), refused=True),
    "bytes": in_X(lambda X: np.full(X.shape, b"x"), refused=True),
    "dates": in_X(lambda X: np.full(X.shape, np.datetime64("2026-01-01")), refused=True),
    "durations": in_X(lambda X: np.full(X.shape, np.timedelta64(1, "D"))),
    "a structured array": in_X(lambda X: np.zeros(N_ROWS, dtype=[("a", float)]), refused=True),
    "a masked array": in_X(lambda X: np.ma.masked_array(X, X > 3)),
    "np.matrix": in_X(np.asmatrix),
    "read-only": in_X(read_only),
    "Fortran order": in_X(np.asfortranarray),
    "every second": in_X(lambda X: np.repeat(X, 2, axis=1)[:, ::2]),
    "backwards": in_X(lambda X: X[::-1, ::-1]),
    "lists": in_X(lambda X: X.tolist()),
    "ragged lists": in_X(lambda X: [[1.0], *X.tolist()[1:]], refused=True),
    "lists of lists of lists": in_X(lambda X: [[[v] for v in row] for row in X], refused=True),
    "0-d": in_X(lambda X: np.float64(3.0), refused=True),
    "1-d": in_X(lambda X: X[:, 0], refused=True),
    "3-d": in_X(lambda X: X[:, :, None], refused=True),
    "no X": in_X(lambda X: None, refused=True),
    "no rows": Odd(lambda c: Case(c.X[:0], c.y[:0], c.ids[:0]), refused=True),
    "no columns": in_X(lambda X: X[:, :0], refused=True),
    "one row": Odd(lambda c: Case(c.X[:1], c.y[:1], c.ids[:1])),
    "two rows": Odd(lambda c: Case(c.X[3:5], c.y[3:5], c.ids[3:5])),
    "two groups": Odd(lambda c: Case(c.X[:8], c.y[:8], c.ids[:8])),
    "a dictionary": in_X(lambda X: {"a": X[:, 0]}, refused=True),
    "a string": in_X(lambda X: "table.csv", refused=True),
    "a generator": in_X(lambda X: (row for row in X), refused=True),
    "a list of bags": in_X(lambda X: list(X.reshape(N_GROUPS, SIZE, 3)), refused=True),
    "DataFrame": in_X(frame),
    "DataFrame with equal names": in_X(lambda X: named(X, ["a", "a", "b"]), refused=True),
    "DataFrame with all names equal": in_X(lambda X: named(X, ["a"] * 3), refused=True),
    "DataFrame with names of two types": in_X(lambda X: named(X, ["a", 1, "b"]), refused=True),
    "DataFrame with names of None": in_X(lambda X: named(X, [None, "a", "b"]), refused=True),
    "DataFrame with two levels": in_X(
        lambda X: named(X, pd.MultiIndex.from_product([["a"], [1, 2, 3]]))
    ),
    "DataFrame with missing whole numbers": in_X(
        lambda X: frame(X, d=pd.array([1, None] * 24, dtype="Int64"))
    ),
    "DataFrame with missing truth values": in_X(
        lambda X: frame(X, d=pd.array([True, None] * 24, dtype="boolean"))
    ),
    "DataFrame with categories": in_X(lambda X: frame(X, d=pd.Categorical(["x", "y"] * 24))),
    "DataFrame with missing categories": in_X(
        lambda X: frame(X, d=pd.Categorical(["x", None] * 24))
    ),
    "DataFrame with no categories": in_X(lambda X: frame(X, d=pd.Categorical([None] * 48))),
    "DataFrame with one category per row": in_X(
        lambda X: frame(X, d=pd.Categorical([f"k{i}" for i in range(N_ROWS)]))
    ),
    "DataFrame with equal category columns": in_X(
        lambda X: pd.concat([frame(X, d=pd.Categorical(["x", "y"] * 24)).iloc[:, [3, 3]]], axis=1),
        refused=True,
    ),
    "DataFrame with text": in_X(lambda X: frame(X, d="x"), refused=True),
    "DataFrame with dates": in_X(lambda X: frame(X, d=pd.Timestamp("2026-01-01")), refused=True),
    "DataFrame with dates of Python": in_X(
        lambda X: frame(X, d=objects([date(2026, 1, 1)] * N_ROWS)), refused=True
    ),
    "DataFrame with durations": in_X(lambda X: frame(X, d=pd.Timedelta("1D"))),
    "DataFrame with periods": in_X(
        lambda X: frame(X, d=pd.period_range("2026-01", periods=N_ROWS)), refused=True
    ),
    "DataFrame with lists": in_X(lambda X: frame(X, d=objects([[1]] * N_ROWS)), refused=True),
    "DataFrame with complex": in_X(lambda X: frame(X, d=1j), refused=True),
    "DataFrame with infinity": in_X(lambda X: frame(X, d=np.inf), refused=True),
    "DataFrame of sparse columns": in_X(lambda X: frame(X).astype(pd.SparseDtype(float, 0.0))),
    "DataFrame without columns": in_X(lambda X: frame(X)[[]], refused=True),
    "a Series": in_X(lambda X: frame(X)["a"], refused=True),
    "polars": in_X(lambda X: pl.DataFrame(X, schema=["a", "b", "c"])),
    "polars with text": in_X(
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(d=pl.lit("x")),
        refused=True,
    ),
    "polars with null": in_X(
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(d=pl.lit(None, pl.Float64))
    ),
    "polars with dates": in_X(
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(d=pl.lit(date(2026, 1, 1))),
        refused=True,
    ),
    **{f"sparse {form}": in_X(lambda X, f=form: sparse.coo_array(X).asformat(f))
       for form in FORMATS},
    **{f"sparse {form} of 1e160": in_X(lambda X, f=form: in_sparse(X, 1e160).asformat(f))
       for form in FORMATS},
    "sparse csr_matrix": in_X(sparse.csr_matrix),
    "sparse with stored zeros": in_X(with_zeros),
    "sparse with entries twice": in_X(doubled),
    "sparse with 64-bit indices": in_X(wide_indices),
    "sparse of zeros": in_X(lambda X: sparse.csr_array(X.shape)),
    "sparse of truth values": in_X(lambda X: sparse.csr_array(X > 0)),
    "sparse of int8": in_X(lambda X: sparse.csr_array(X.astype("int8"))),
    "sparse with NaN": in_X(lambda X: in_sparse(X, np.nan)),
    "sparse with infinity": in_X(lambda X: in_sparse(X, np.inf), refused=True),
    "sparse of complex": in_X(lambda X: sparse.csr_array(X + 1j), refused=True),
    "sparse without rows": Odd(
        lambda c: Case(sparse.csr_array((0, 3)), c.y[:0], c.ids[:0]), refused=True
    ),
}  # fmt: skip

CLASSES: Any = {"kinds": ("classes",)}
NUMBERS: Any = {"kinds": ("numbers",)}
LABELS: dict[str, Odd] = {
    "no y": in_y(lambda y: None, refused=True),
    "y too short": in_y(lambda y: y[:-1], refused=True),
    "y too long": in_y(lambda y: np.append(y, y[-1]), refused=True),
    "y empty": in_y(lambda y: y[:0], refused=True),
    "y 0-d": in_y(lambda y: np.float64(1.0), refused=True),
    "y 3-d": in_y(lambda y: y[:, None, None], refused=True),
    "y in a column": in_y(lambda y: y[:, None]),
    "y a string": in_y(lambda y: "kind", refused=True),
    "y a dictionary": in_y(lambda y: dict(enumerate(y)), refused=True),
    "y a set": in_y(lambda y: set(y.tolist()), refused=True),
    "y a generator": in_y(lambda y: (v for v in y), refused=True),
    "y sparse": in_y(lambda y: sparse.csr_array(y[:, None]), refused=True),
    "y read-only": in_y(read_only),
    "y of polars": in_y(pl.Series),
    "y a Series in another order": in_y(lambda y: pd.Series(y, index=np.arange(N_ROWS)[::-1])),
    "y with NaN": in_y(put(np.nan, dtype=float), refused=True),
    "y with None": in_y(put(None, dtype=object), refused=True),
    "y with NaT": in_y(put(np.datetime64("NaT", "D"), dtype=object), refused=True),
    "y with pd.NA": in_y(put(pd.NA, dtype=object), refused=True),
    "y with infinity": in_y(lambda y: np.where(y > 0.5, np.inf, y), refused=True),
    "y all NaN": in_y(lambda y: y * np.nan, refused=True),
    "y complex": in_y(lambda y: y + 1j, refused=True),
    "y of lists": in_y(by_class([0], [1]), refused=True),
    "y of dictionaries": in_y(by_class({}, {1: 1}), refused=True),
    "y of sets": in_y(by_class({0}, {1}), refused=True),
    "y of tuples": in_y(by_class((0, 1), (1, 0)), refused=True),
    "y of objects without order": in_y(by_class(SimpleNamespace(a=1), SimpleNamespace(a=2)),
                                       refused=True),
    "y of whole numbers and text": in_y(by_class(0, "a"), refused=True),
    "y of truth values and text": in_y(by_class(True, "a"), refused=True),
    "y of text and bytes": in_y(by_class("a", b"a"), refused=True),
    "y of dates": in_y(by_class(np.datetime64("2026-01-01"), np.datetime64("2026-01-02"))),
    "y of datetime64": in_y(lambda y: np.datetime64("2026-01-01") + y.astype(int).astype("m8[D]")),
    "y of durations": in_y(lambda y: y.astype(int).astype("timedelta64[D]")),
    "y of decimals": in_y(by_class(Decimal(0), Decimal(1))),
    "y of 400 digits": in_y(by_class(0, 10**400)),
    "y of text": in_y(by_class("no", "yes")),
    "y of text of numpy": in_y(lambda y: np.array(["no", "yes"])[y.astype(int)]),
    "y of bytes": in_y(lambda y: np.array([b"no", b"yes"])[y.astype(int)]),
    "y of truth values": in_y(lambda y: y > 0.5),
    "y of truth values of pandas": in_y(lambda y: pd.array(y > 0.5, dtype="boolean")),
    "y of float16": in_y(lambda y: y.astype("float16")),
    "y of long doubles": in_y(lambda y: y.astype("longdouble")),
    "y of the ends of int64": in_y(lambda y: np.where(y > 0.5, 2**63 - 1, -(2**63))),
    "y of 2**63 and 2**63 + 1": in_y(by_class(2**63, 2**63 + 1)),
    "y a table that does not add up": in_y(shares(0.9, 0.9), refused=True),
    "y a table with a negative share": in_y(shares(1.5, -0.5), refused=True),
    "y a table with NaN": in_y(shares(np.nan, 1.0), refused=True),
    "y a table with infinity": in_y(shares(np.inf, 1.0), refused=True),
    "y a table of 1e308": in_y(shares(HUGE, HUGE), refused=True),
    "y a table of text": in_y(shares("a", "b"), refused=True),
    "y a table of zeros": in_y(shares(0.0, 0.0), refused=True),
    "y a table of complex": in_y(shares(0.5 + 1j, 0.5), refused=True),
    "y a table of objects": in_y(lambda y: np.array([[[1], None]] * len(y), dtype=object),
                                 refused=True),
    "y a table too short": in_y(lambda y: np.full((N_ROWS - 1, 2), 0.5), refused=True),
    "y a table with equal names": in_y(
        lambda y: pd.DataFrame(np.full((N_ROWS, 2), 0.5), columns=["a", "a"]), refused=True
    ),
    "y a table without columns": in_y(lambda y: np.empty((N_ROWS, 0)), refused=True),
    "one class": in_y(np.zeros_like, refused=True, **CLASSES),
    "three classes": in_y(lambda y: np.repeat(np.arange(N_GROUPS) % 3, SIZE), **CLASSES),
    "a class per group": in_y(lambda y: np.repeat(np.arange(N_GROUPS), SIZE), **CLASSES),
    "a class per row": in_y(lambda y: np.arange(N_ROWS), **CLASSES),
    "fractions as classes": in_y(lambda y: y + np.linspace(0, 0.3, N_ROWS), refused=True,
                                 **CLASSES),
    "classes of 100,000 characters": in_y(by_class("a" * 100_000, "b" * 100_000), **CLASSES),
    "classes that end in a zero": in_y(by_class("a", "a\0"), **CLASSES),
    "categories": in_y(lambda y: pd.Categorical(np.array(["no", "yes"])[y]), **CLASSES),
    "a category nobody has": in_y(
        lambda y: pd.Categorical(np.array(["no", "yes"])[y], ["no", "maybe", "yes"]), **CLASSES
    ),
    "numbers of 1e308": in_y(lambda y: np.where(y > 1, HUGE, -HUGE), **NUMBERS),
    "all numbers 1e308": in_y(lambda y: np.full(N_ROWS, HUGE), **NUMBERS),
    **{f"numbers times {scale!r}": in_y(lambda y, s=scale: y * s, **NUMBERS)
       for scale in (1e-320, 1e-300, 1e-160, 1e-40, 1e10, 1e20, 1e30, 1e38, 1e60, 1e99, 1e101,
                     1e160, 1e300)},
    "equal numbers": in_y(np.ones_like, **NUMBERS),
    "zeros as numbers": in_y(np.zeros_like, **NUMBERS),
    "whole numbers": in_y(lambda y: (10 * y).astype(int), **NUMBERS),
}  # fmt: skip

IDS: dict[str, Odd] = {
    "an id of None": in_ids(put(None, dtype=object), refused=True),
    "an id of NaN": in_ids(put(np.nan, dtype=object), refused=True),
    "an id of NaT": in_ids(put(np.datetime64("NaT", "D"), dtype=object), refused=True),
    "an id of pd.NA": in_ids(put(pd.NA, dtype=object), refused=True),
    "ids with NaN": in_ids(lambda g: put(np.nan)(np.arange(N_ROWS) // 4.0), refused=True),
    "an id of a list": in_ids(put([1], dtype=object), refused=True),
    "an id of a dictionary": in_ids(put({}, dtype=object), refused=True),
    "an id of a set": in_ids(put({1}, dtype=object), refused=True),
    "an id of an array": in_ids(put(np.zeros(2), dtype=object), refused=True),
    "a list of lists": in_ids(lambda g: [[v] for v in g.tolist()], refused=True),
    "ids too short": in_ids(lambda g: g[:-1], refused=True),
    "ids too long": in_ids(lambda g: np.append(g, g[-1]), refused=True),
    "no ids in the list": in_ids(lambda g: g[:0], refused=True),
    "ids 0-d": in_ids(lambda g: np.int64(1), refused=True),
    "ids a column": in_ids(lambda g: g[:, None], refused=True),
    "ids a table": in_ids(lambda g: np.column_stack([g, g]), refused=True),
    "ids a string": in_ids(lambda g: "session", refused=True),
    "ids a dictionary": in_ids(lambda g: dict(enumerate(g)), refused=True),
    "ids a set": in_ids(lambda g: set(g.tolist()), refused=True),
    "ids a generator": in_ids(lambda g: (v for v in g), refused=True),
    "ids a number": in_ids(lambda g: 7, refused=True),
    "ids a DataFrame": in_ids(lambda g: pd.DataFrame({"g": g}), refused=True),
    "Groups of other rows": in_ids(lambda g: Groups(g[:-4]), refused=True),
    "ids sparse": in_ids(lambda g: sparse.csr_array(np.ones((N_ROWS, 1))), refused=True),
    "categories with a missing id": in_ids(
        lambda g: pd.Categorical(put(None)(g.astype(object))), refused=True
    ),
}  # fmt: skip

#: Ids that are fine as groups, and name no domain.
GROUPS: dict[str, Odd] = {
    "one group": in_ids(np.zeros_like),
    "a group per row": in_ids(lambda g: np.arange(N_ROWS)),
    "no groups": in_ids(lambda g: None),
    "ids of two types": in_ids(lambda g: objects([v if v % 2 else str(v) for v in g.tolist()])),
    "ids of five types": in_ids(
        lambda g: objects([(v, str(v), v + 0.5, (v,), b"%d" % v)[v % 5] for v in g.tolist()])
    ),
    "ids of 2**63 and more": in_ids(lambda g: objects([2**63 + v for v in g.tolist()])),
    "ids of 400 digits": in_ids(lambda g: objects([10**400 + v for v in g.tolist()])),
    "ids of 100,000 characters": in_ids(lambda g: [str(v) * 50_000 for v in g.tolist()]),
    "ids of infinity": in_ids(lambda g: np.where(g == 1, np.inf, np.where(g == 2, -np.inf, g))),
    "ids of 0.0 and -0.0": in_ids(lambda g: np.where(g % 2 == 0, 0.0, -0.0) * 0 + g),
    "ids of complex numbers": in_ids(lambda g: g + 1j),
    "ids of bytes": in_ids(lambda g: g.astype("S")),
    "ids of dates": in_ids(lambda g: np.datetime64("2026-01-01") + g.astype("timedelta64[D]")),
    "ids of durations": in_ids(lambda g: g.astype("timedelta64[s]")),
    "ids of tuples": in_ids(lambda g: objects([(v, "x") for v in g.tolist()])),
    "ids of tuples of two types": in_ids(
        lambda g: objects([(v, "x") if v % 2 else ("x", v) for v in g.tolist()])
    ),
    "ids of frozen sets": in_ids(lambda g: objects([frozenset([v]) for v in g.tolist()])),
    "ids of objects without order": in_ids(lambda g: objects([complex(v) for v in g.tolist()])),
    "ids of truth values": in_ids(lambda g: g % 2 == 0),
    "ids of float16": in_ids(lambda g: g.astype("float16")),
    "ids of long doubles": in_ids(lambda g: g.astype("longdouble")),
    "ids of polars": in_ids(pl.Series),
    "ids of categories": in_ids(pd.Categorical),
    "ids of pandas": in_ids(lambda g: pd.array(g, dtype="Int64")),
    "ids of periods": in_ids(lambda g: pd.PeriodIndex.from_ordinals(g, freq="D")),
    "ids structured": in_ids(lambda g: np.rec.fromarrays([g, g], names="a,b")),
    "ids read-only": in_ids(read_only),
}  # fmt: skip

WEIGHTS: dict[str, Odd] = {
    "a negative weight": in_weight(put(-1.0), refused=True),
    "a weight of NaN": in_weight(put(np.nan), refused=True),
    "a weight of infinity": in_weight(put(np.inf), refused=True),
    "a weight of None": in_weight(put(None, dtype=object), refused=True),
    "a weight of text": in_weight(put("x", dtype=object), refused=True),
    "weights of text": in_weight(lambda w: np.full(N_ROWS, "x"), refused=True),
    "weights of lists": in_weight(lambda w: objects([[1.0]] * N_ROWS), refused=True),
    "weights of complex numbers": in_weight(lambda w: w + 1j, refused=True),
    "weights of dates": in_weight(lambda w: np.full(N_ROWS, np.datetime64("2026-01-01")),
                                  refused=True),
    "weights a dictionary": in_weight(lambda w: {"a": 1.0}, refused=True),
    "weights too short": in_weight(lambda w: w[:-1], refused=True),
    "weights too long": in_weight(lambda w: np.append(w, 1.0), refused=True),
    "weights empty": in_weight(lambda w: w[:0], refused=True),
    "weights a table": in_weight(lambda w: w[:, None] * [1, 1], refused=True),
    "weights sparse": in_weight(lambda w: sparse.csr_array(w[:, None]), refused=True),
    "no weight at all": in_weight(np.zeros_like, refused=True),
    "one weight above zero": in_weight(lambda w: put(1.0)(np.zeros_like(w))),
    "no weight on half the rows": in_weight(lambda w: w * (np.arange(N_ROWS) % 2)),
    **{f"a weight of {value!r}": in_weight(put(value))
       for value in (TINY, 1e-308, 1e-200, 1e-100, 1e-30, 1e30, 1e38, 1e39, 1e100, 1e200, HUGE)},
    **{f"weights times {scale!r}": in_weight(lambda w, s=scale: w * s)
       for scale in (TINY, 1e-308, 1e-200, 1e-100, 1e-39, 1e-30, 1e30, 1e39, 1e100, 1e200, 1e306,
                     HUGE)},
    "weights from 1e-300 to 1e300": in_weight(lambda w: np.logspace(-300, 300, N_ROWS)),
    "weights of truth values": in_weight(lambda w: np.arange(N_ROWS) % 3 > 0),
    "weights of float16": in_weight(lambda w: w.astype("float16")),
}  # fmt: skip

NEW: dict[str, Odd] = {
    **{f"asked about {value!r}": in_new(put(value)) for value in VALUES},
    **{f"asked about {scale!r} times the rows": in_new(lambda X, s=scale: X * s)
       for scale in (1e-300, 1e90, 1e300)},
    "asked about infinity": in_new(put(np.inf), refused=True),
    "asked about NaN": in_new(put(np.nan)),
    "asked about a column of NaN": in_new(lambda X: X * [np.nan, 1, 1]),
    "asked about other columns": in_new(lambda X: X[:, :2], refused=True),
    "asked about no rows": in_new(lambda X: X[:0], refused=True),
    "asked about one row": Odd(lambda c: replace(c, X_new=c.X[:1], ids_new=c.ids[:1])),
    "asked about a vector": in_new(lambda X: X[:, 0], refused=True),
    "asked about a text": in_new(put("x", dtype=object), refused=True),
    "asked about nothing": in_new(lambda X: np.array(None), refused=True),
    "asked about complex numbers": in_new(lambda X: X + 1j, refused=True),
    "asked about a sparse table": in_new(sparse.csc_array),
    "asked about a DataFrame with text": in_new(lambda X: frame(X, c="x"), refused=True),
    "asked about equal names": in_new(lambda X: named(X, ["a", "a", "b"]), refused=True),
    "asked with ids too short": Odd(lambda c: replace(c, ids_new=c.ids[:-1]), refused=True),
    "asked with an id of NaN": Odd(
        lambda c: replace(c, ids_new=put(np.nan)(c.ids.astype(object))), refused=True
    ),
    "asked with an id of a list": Odd(
        lambda c: replace(c, ids_new=put([1])(c.ids.astype(object))), refused=True
    ),
}  # fmt: skip

#: The same odd labels for a score.
JUDGED: dict[str, Odd] = {
    f"judged by {name}": Odd(
        lambda case, odd=odd: replace(case, y_new=odd.change(case).y),
        refused=odd.refused,
        kinds=odd.kinds,
    )
    for name, odd in LABELS.items()
    if name not in ("no y", "one class")
}

ODD = {**TABLES, **LABELS, **IDS, **GROUPS, **WEIGHTS, **NEW, **JUDGED}

#: Words by which a message tells what is wrong with which argument.
NAMES = re.compile(
    r"\b(X|y|X_new|groups?|domains?|target_domain|sample_weight|weights?|labels?|class(es)?|target|"
    r"shares|counts|candidates?|columns?|rows?|samples?|sample\(s\)|feature\(s\)|features?|"
    r"2D array|sparse|Sparse|n_samples|members)\b|Complex data"
)
#: Files that speak to the caller.
VOICES = re.compile(r"groupwise|sklearn/utils|sklearn/base|sklearn/model_selection")


#: Odd to all but a classifier of several labels, which may be missing or all absent.
WELCOME = {"y a table with NaN", "y a table of zeros"}


def takes_domains(estimator: Any) -> bool:
    by_kind = getattr(estimator, "kind", "transfer") == "transfer"
    return hasattr(estimator, "domain_column") and by_kind


def applies(odd: Odd, name: str, estimator: Any) -> bool:
    """Whether a change means something to an estimator."""
    kind = "classes" if is_classifier(estimator) else "numbers"
    if kind not in odd.kinds or (name in GROUPS and takes_domains(estimator)):
        return False
    if name in WELCOME and type(estimator).__name__ == "GroupBoostMultilabelClassifier":
        return False
    return not odd.needs_weight or "sample_weight" in inspect.signature(estimator.fit).parameters


def outcome(estimator: Any, odd: Odd) -> str:
    """Fit and ask an estimator: "finite", "refused", or what is wrong with what it did."""
    by_domain = takes_domains(estimator)
    kind = "classes" if is_classifier(estimator) else "numbers"
    case = odd.change(plain_case(kind, by_domain))
    model = clone(estimator)
    if by_domain:
        model.set_params(target_domain="new")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers = _answers(model, case, by_domain)
    except Exception as error:
        return _judged(error)
    if odd.refused:
        return "taken"
    if all(np.isfinite(np.asarray(answer, dtype=float)).all() for answer in answers):
        return "finite"
    return "NaN"


def _answers(model: Any, case: Case, by_domain: bool) -> list[Any]:
    weight = {} if case.weight is None else {"sample_weight": case.weight}
    model.fit(case.X, case.y, **{"domains" if by_domain else "groups": case.ids}, **weight)
    X = case.X if case.X_new is None else case.X_new
    ids = case.ids_new if case.ids_new is not None else None if by_domain else case.ids
    if case.y_new is not None:
        return [model.score(X, case.y_new, ids)]
    found = model.predictions(X, ids)
    if is_classifier(model):
        return [found.score_row, found.proba_row, found.proba_group]
    return [found.y_row, found.y_group]


def _judged(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} at {'/'.join(last.filename.split('/')[-3:])}:{last.lineno}"
    said = str(error)
    if not isinstance(error, ValueError | TypeError) or isinstance(error, np.linalg.LinAlgError):
        return f"raw: {where}: {said[:150]}"
    if not VOICES.search(last.filename) or not NAMES.search(said):
        return f"raw: {where}: {said[:150]}"
    return "refused"


#: One or two of each sort, for a test that is quick.
QUICK = [
    "a value of 1e+20", "a value of 1e+160", "a value of -1e+308", "all times 1e-300",
    "moved by 1e15", "zeros", "a NaN beside 1e308", "infinity", "bool", "complex",
    "a text among objects", "a whole number of 400 digits", "dates", "ragged lists",
    "3-d", "no X", "no rows", "one row",
    "a generator", "DataFrame with equal names", "DataFrame with text", "DataFrame with dates",
    "DataFrame with lists", "polars with text", "polars with dates", "sparse dia",
    "sparse dok of 1e160", "sparse with entries twice", "sparse with 64-bit indices",
    "no y", "y too short", "y 3-d", "y with pd.NA", "y with NaT", "y of lists",
    "y of text and bytes", "y of 400 digits", "y a table that does not add up",
    "y a table of complex",
    "y a table with equal names", "one class", "numbers of 1e308", "numbers times 1e+60",
    "an id of NaN", "an id of a list", "ids too long", "ids a string", "ids of tuples of two types",
    "ids of complex numbers", "a negative weight", "a weight of 1e+308", "weights times 1e-308",
    "weights from 1e-300 to 1e300", "weights of text", "weights of dates", "no weight at all",
    "asked about 1e+160", "asked about a sparse table", "asked about equal names",
    "asked with an id of a list",
]  # fmt: skip
TREES = HistTrees(2, n_jobs=1)
ESTIMATORS = [
    NaiveGroupClassifier(GaussianNB()),
    SBoostClassifier(n_estimators=2),
    KNNAOCClassifier(),
    ManifoldAOCRegressor(),
    SetKernelClassifier(),
    SVMPerfClassifier(),
    WeightedTransferClassifier(),
    TrAdaBoostRegressor(n_estimators=2),
    GroupBoostClassifier(engine="xgboost", n_estimators=2, trees=TREES),
    GroupBoostRegressor(n_estimators=2, trees=TREES),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_odd_inputs_give_finite_answers_or_words(estimator):
    tried = {name: ODD[name] for name in QUICK if applies(ODD[name], name, estimator)}
    found = {name: outcome(estimator, odd) for name, odd in tried.items()}
    assert {k: v for k, v in found.items() if v not in ("finite", "refused")} == {}
    assert "finite" in found.values()


def test_the_judge_knows_a_raw_error():
    class Clumsy(NaiveGroupClassifier):
        def _learn(self, data):
            np.linalg.inv(np.zeros((2, 2)))

    assert outcome(Clumsy(), TABLES["zeros"]).startswith("raw: LinAlgError")
    assert outcome(NaiveGroupClassifier(GaussianNB()), TABLES["objects"]) == "finite"

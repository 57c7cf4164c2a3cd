"""Two tables as one: groups beside rows, old beside new."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from groupwise.tables import OptionError, TableError, as_table, join_groups, stack_sources

ROWS = pd.DataFrame({"home": ["b", "a", "b", "c"], "x": [1.0, 2.0, 3.0, 4.0]})
HOMES = pd.DataFrame(
    {"home": ["c", "a", "b", "d"], "size": [3, 1, 2, 9], "y": ["n", None, "m", "k"]}
)


def joined(rows=ROWS, homes=HOMES, group="home"):
    return join_groups(as_table(rows, name="rows"), as_table(homes, name="homes"), group)


def test_columns_of_groups_stand_on_their_rows_in_the_order_of_rows():
    table = joined()
    assert table.frame["size"].tolist() == [2, 1, 2, 3]
    assert table.frame["y"].isna().tolist() == [False, True, False, False]
    assert table.frame["x"].tolist() == ROWS["x"].tolist()
    assert table.notes == ("homes has lines without rows, not used: group 'd'",)
    assert list(ROWS.columns) == ["home", "x"]  # the caller's table is as it was


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 16,
    reason="polars hands strings over as views, which pyarrow knows from version 16",
)
def test_polars_pandas_and_numbers_for_ids_agree():
    expected = joined().frame
    made = joined(pl.from_pandas(ROWS), pl.from_pandas(HOMES)).frame
    pd.testing.assert_frame_equal(made, expected, check_dtype=False)
    codes = {"a": 1, "b": 2, "c": 3, "d": 4}
    numbers = joined(ROWS.assign(home=ROWS["home"].map(codes)),
                     HOMES.assign(home=HOMES["home"].map(codes).astype(str)))  # fmt: skip
    assert numbers.frame["size"].tolist() == expected["size"].tolist()


@pytest.mark.parametrize(
    ("rows", "homes", "group", "says"),
    [
        (ROWS, HOMES.iloc[:2], "home", r"2 rows of rows have no line in homes: group 'b' "),
        (
            ROWS,
            pd.concat([HOMES, HOMES.iloc[:2]]),
            "home",
            "more than one line for groups 'c', 'a'",
        ),
        (ROWS, HOMES.rename(columns={"size": "x"}), "home", "both have column 'x'"),
        (ROWS, HOMES.rename(columns={"home": "hoem"}), "home", "homes has no column 'home' .*hoem"),
        (ROWS.drop(columns="home"), HOMES, "home", "rows has no column 'home' .* joins"),
        (ROWS.assign(home=["a", None, "b", "c"]), HOMES, "home", "missing in 1 rows, .* row 1"),
        (ROWS, HOMES, None, "`groups_table` needs `group`"),
        (ROWS.iloc[:0], HOMES, "home", "rows: there are no rows"),
        (ROWS.set_axis(["x", "x"], axis=1), HOMES, "home", "more than one column called 'x'"),
        ([1, 2], HOMES, "home", "rows must be a file or a DataFrame .* got list"),
    ],
)
def test_what_does_not_fit_is_named(rows, homes, group, says):
    with pytest.raises(TableError, match=says):
        joined(rows, homes, group)


NEW = pd.DataFrame({"x": [1.0, 2.0], "z": ["u", "v"], "new": 0})
OLD = pd.DataFrame({"x": [3.0], "z": ["u"], "y": ["yes"]})


def stacked(new=NEW, olds=None, **options):
    olds = {"old": as_table(OLD, name="old")} if olds is None else olds
    return stack_sources(as_table(new, name="new"), olds, target_name="new", label=["y"], **options)


def test_every_table_becomes_a_domain():
    table, column = stacked()
    assert column == "domain" and table.frame["domain"].tolist() == ["new", "new", "old"]
    assert table.frame["y"].isna().tolist() == [True, True, False]
    assert table.notes == ("column 'new' is left out: old does not have it",)
    taken, column = stacked(NEW.assign(domain=1), {"old": as_table(OLD.assign(domain=2))})
    assert column == "table" and "domain" in taken.frame


def test_tables_that_cannot_be_stacked_are_named():
    with pytest.raises(TableError, match="column 'x' holds numbers in new and text in old"):
        stacked(olds={"old": as_table(OLD.assign(x="three"), name="old")})
    with pytest.raises(TableError, match="have no column in common"):
        stacked(olds={"old": as_table(pd.DataFrame({"q": [1.0], "y": ["a"]}), name="old")})
    with pytest.raises(OptionError, match="`domain` names 'z', which is a column already"):
        stacked(column="z")


def test_fingerprints_depend_on_both_tables():
    other = HOMES.assign(size=HOMES["size"] + 1)
    assert joined().fingerprint == joined().fingerprint != joined(homes=other).fingerprint
    assert (
        np.unique([stacked()[0].fingerprint, stacked(NEW.assign(x=9.0))[0].fingerprint]).size == 2
    )

"""Labels and shares of a table: the same checks as for arrays, in the table's words."""

import numpy as np
import pandas as pd
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier
from groupwise.groups import Groups
from groupwise.jobs import Job, JobOptions, make_supervision
from groupwise.jobs.reports import reports_of
from groupwise.jobs.targets import are_percent, ids_of, labels_of, shares_of
from groupwise.proportions import KNNAOCClassifier
from groupwise.tables import LoadedTable, TableError

SIZE, N_GROUPS = 4, 10
GROUPS = np.repeat([f"g{k}" for k in range(N_GROUPS)], SIZE)
X = np.random.RandomState(0).normal(size=(len(GROUPS), 2))


def shares(times=1.0, **changed):
    """Shares of two classes on every row; ``changed`` names other pairs for some groups."""
    table = np.tile([0.25 * times, 0.75 * times], (N_GROUPS, 1))
    table[::2] = table[::2, ::-1]
    for name, pair in changed.items():
        table[int(name[1:])] = pair
    return pd.DataFrame(np.repeat(table, SIZE, axis=0), columns=["a", "b"])


def one_row(table, row, value):
    out = table.copy()
    out.iloc[row, 0] = value
    return out


# The table, and what is said of it where it is refused.
TABLES = {
    "shares": (shares(), None),
    "counts": (shares(SIZE), None),
    "off by 0.005": (shares(g1=(0.255, 0.75)), None),
    "off by 0.008": (shares(g1=(0.258, 0.75)), None),
    "off by 0.015": (shares(g1=(0.265, 0.75)), "add up to 1.015"),
    "off by 0.02": (shares(g1=(0.27, 0.75)), "add up to 1.02"),
    "counts that are one short": (shares(SIZE) - 0.01, "add up to"),
    "shares and one group of counts": (shares(g1=(1.0, 3.0)), "group 'g1' has 4 rows"),
    "counts and one group of shares": (shares(SIZE, g2=(0.5, 0.5)), "group 'g2' has 4 rows"),
    "negative": (shares(g1=(-0.25, 1.25)), "cannot be negative; group 'g1'"),
    "missing": (one_row(shares(), 5, np.nan), r"first in group 'g1' \(row 5"),
    "different inside a group": (one_row(shares(), 5, 0.5), "same on every row.*group 'g1'"),
    "infinite": (shares(g1=(np.inf, 0.0)), "group 'g1'"),
    "text": (shares().astype(object).replace({0.25: "some"}), "must be numbers"),
}


def job(table):
    frame = table.assign(group=GROUPS)
    supervision = make_supervision("proportions", group="group", label=["a", "b"])
    return supervision.targets_in(frame, "t.csv")


def boost(table):
    trees = GroupBoostClassifier("proportions_squared", n_estimators=1)
    return trees.fit(X, table, groups=GROUPS)


def neighbours(table):
    return KNNAOCClassifier().fit(X, table, groups=GROUPS)


@pytest.mark.parametrize("way_in", [job, boost, neighbours])
@pytest.mark.parametrize("name", TABLES)
def test_every_way_in_takes_the_same_tables_of_shares(way_in, name):
    table, refused = TABLES[name]
    if refused is None:
        way_in(table)
        return
    with pytest.raises((GroupDataError, TableError), match=refused) as caught:
        way_in(table)
    if way_in is job:
        assert str(caught.value).startswith("t.csv: columns 'a', 'b'")


def test_shares_are_those_of_the_estimators():
    groups = Groups(GROUPS)
    for table in (shares(), shares(SIZE)):
        found = shares_of(table, ("a", "b"), "t.csv", groups)
        np.testing.assert_allclose(found, shares(), atol=1e-12)


@pytest.mark.parametrize(
    "written", [lambda share: f"{share:.2f}".replace(".", ","), lambda share: f"{100 * share:.1f}%"]
)
def test_shares_may_be_written_with_commas_or_in_percent(written):
    table = shares().map(written)
    found = shares_of(table, ("a", "b"), "t.csv", Groups(GROUPS))
    np.testing.assert_allclose(found, shares(), atol=1e-12)
    counts = pd.DataFrame({"a": ["1,000", "1,000"] * 2}, dtype=object)
    with pytest.raises(TableError, match="must hold reported counts, numbers"):  # 1 or 1000?
        reports_of(counts, ("a",), "t.csv", Groups([0, 0, 1, 1]))
    counts = pd.DataFrame({"a": ["3", "12"] * 2}, dtype=object)
    assert reports_of(counts, ("a",), "t.csv", Groups([0, 1, 0, 1]))[:, 0].tolist() == [3, 12] * 2


def test_shares_that_add_up_to_100_are_percent_and_it_is_said():
    table = (100 * shares()).round(1).assign(g=GROUPS, x=np.arange(len(GROUPS)) % 7)
    known = make_supervision("proportions", group="g", label=["a", "b"])
    found = Job.from_table(LoadedTable(table, "t.csv", ""), known)
    np.testing.assert_allclose(found.targets.y, shares(), atol=1e-3)
    assert found.notes == ("a, b add up to about 100 in every group and are read as percent",)
    exact = Job.from_table(LoadedTable(table.assign(**shares()), "t.csv", ""), known)
    assert exact.notes == ()
    # counts of a hundred rows are counts
    hundred = pd.DataFrame({"a": [30] * 100 + [60] * 100})
    hundred = hundred.assign(b=100 - hundred["a"])
    assert not are_percent(hundred, Groups(np.repeat([0, 1], 100)))
    odd = table.assign(a=table["a"] + 5.0 * (table["g"] == table["g"][0]))
    with pytest.raises(TableError, match=r"100 in 9 of 10 groups, and to 105 in group .g0."):
        shares_of(odd, ("a", "b"), "t.csv", Groups(GROUPS))


def test_missing_labels_are_told_by_column_and_group():
    frame = pd.DataFrame({"kind": ["x", None, "y"], "group": list("abb")})
    expected = r"t\.csv: column 'kind' must hold a value on every row; 1 are missing, .* group 'b'"
    with pytest.raises(TableError, match=expected):
        labels_of(frame, "kind", "t.csv", Groups(frame["group"]))


def test_labels_that_differ_in_a_group_are_told_with_a_way_out():
    frame = pd.DataFrame({"kind": ["x", "x", "y"], "group": list("abb")})
    supervision = make_supervision("majority", group="group", label="kind")
    expected = r"t\.csv: column 'kind' must be the same .* 'b' .*; if rows have labels of their own"
    with pytest.raises(TableError, match=expected):
        supervision.targets_in(frame, "t.csv")


@pytest.mark.parametrize("kind", [None, "majority", "proportions", "measure"])
def test_nested_labels_are_refused_by_name(kind):
    frame = pd.DataFrame({"g": list("aabb"), "x": range(4), "y": [[1], [2]] * 2})
    with pytest.raises(TableError, match=r"column 'y' .`label`. holds nested or mixed values"):
        JobOptions(table=frame, group="g", label="y", kind=kind).job()


def test_whole_numbers_are_names_to_the_last_digit():
    large = 2**53 + np.arange(3)
    frame = pd.DataFrame({"kind": np.repeat(large, 2), "group": np.repeat([0, 1, 2], 2)})
    assert labels_of(frame, "kind", "t.csv", Groups(frame["group"])).tolist() == [
        str(n) for n in np.repeat(large, 2)
    ]
    ids = pd.DataFrame({"group": np.array([2**64 - 1, 7], np.uint64)})
    assert ids_of(ids, "group", "t.csv", "group").tolist() == [2**64 - 1, 7]


def test_booleans_stay_booleans_where_some_are_missing():
    frame = pd.DataFrame({"ill": [True, False, None], "group": list("abc")}, dtype=object)
    there = frame[frame["ill"].notna()]
    assert labels_of(there, "ill", "t.csv", Groups(there["group"])).tolist() == ["True", "False"]

"""A table with one line per group, spread to rows."""

import numpy as np
import pandas as pd
import pytest

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.inputs import class_counts
from groupwise.proportions import broadcast

GROUPS = Groups(["n", "s", "n", "n"])


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

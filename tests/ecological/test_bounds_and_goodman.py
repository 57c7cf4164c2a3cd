"""What the margins say without a model, and Goodman's regression."""

import numpy as np
import pandas as pd
import pytest

from groupwise.ecological import GoodmanRegression, cell_bounds
from groupwise.ecological.margins import check_margins
from groupwise.exceptions import GroupDataError


def test_bounds_by_hand():
    """Of 40 and 60 people 70 are in the first column: 10 to 40 and 30 to 60 of them."""
    bounds = cell_bounds([[40, 60]], [[70, 30]])[0]
    np.testing.assert_allclose(bounds[0, 0], [10 / 40, 1])
    np.testing.assert_allclose(bounds[1, 0], [30 / 60, 1])
    np.testing.assert_allclose(bounds[0, 1], [0, 30 / 40])
    np.testing.assert_allclose(bounds[1, 1], [0, 30 / 60])


def test_bounds_of_every_table_hold():
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 9, (50, 3, 4)).astype(float)
    cells[0, 1] = 0
    bounds = cell_bounds(cells.sum(axis=2), cells.sum(axis=1))
    people = cells.sum(axis=2, keepdims=True)
    rate = np.divide(cells, people, out=np.full(cells.shape, 0.5), where=people > 0)
    assert (rate >= bounds[..., 0] - 1e-12).all() and (rate <= bounds[..., 1] + 1e-12).all()
    np.testing.assert_array_equal(bounds[0, 1], [[0, 1]] * 4)


def test_goodman_by_hand():
    """Units (x, t) = (0, .1), (1/2, .6), (1, .7): intercept .1667, slope .6."""
    fitted = GoodmanRegression().fit([0, 0.5, 1], [0.1, 0.6, 0.7])
    np.testing.assert_allclose(fitted.district_[:, 0], [0.1 + 1 / 15 + 0.6, 0.1 + 1 / 15])
    np.testing.assert_allclose(fitted.district_.sum(axis=1), 1)


def test_goodman_recovers_equal_rates_and_says_so():
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 100, (20, 3))
    rate = rng.dirichlet(np.ones(4), 3)
    fitted = GoodmanRegression().fit(rows, rows @ rate)
    np.testing.assert_allclose(fitted.district_, rate, atol=1e-12)
    np.testing.assert_allclose(fitted.standard_error_, 0, atol=1e-12)


def test_standard_error_is_the_jackknife():
    """HC3 is, for one coefficient per row category, the sum of squares of leave-one-out changes."""
    rng = np.random.default_rng(5)
    x, t = rng.random(12), rng.random(12)
    whole = GoodmanRegression().fit(x, t)
    changes = [
        GoodmanRegression().fit(np.delete(x, i), np.delete(t, i)).district_ - whole.district_
        for i in range(12)
    ]
    np.testing.assert_allclose(whole.standard_error_, np.sqrt((np.stack(changes) ** 2).sum(axis=0)))


def test_shares_and_sizes_are_counts():
    rows, columns = np.array([[30.0, 70], [5, 15]]), np.array([[40.0, 60], [10, 10]])
    size = rows.sum(axis=1)
    counts = check_margins(pd.DataFrame(rows, columns=["a", "b"]), columns)
    shares = check_margins(rows[:, 0] / size, columns[:, 0] / size, size)
    mixed = check_margins(rows / size[:, None], columns)
    for other in (shares, mixed):
        np.testing.assert_allclose(other.rows, counts.rows)
        np.testing.assert_allclose(other.columns, counts.columns)
        assert other.counted
    assert list(counts.row_names) == ["a", "b"]
    assert not check_margins([0.3], [0.4]).counted


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ([[1, 2]], [[1, 1]], "unit 0 they have 3 and 2"),
        ([[1, 2]], [[1, 2], [3, 4]], "got 1 and 2"),
        ([[1, -2]], [[1, 2]], "unit 0 has -2"),
        ([1.5], [0.5], "between 0 and 1"),
        ([[1], [2]], [0.5, 0.5], "a column per category"),
    ],
)
def test_margins_that_do_not_fit(rows, columns, words):
    with pytest.raises(GroupDataError, match=words):
        check_margins(rows, columns)


def test_units_in_another_order_are_refused():
    people = pd.DataFrame({"young": [0.8, 0.1], "old": [0.2, 0.9]}, index=["a", "b"])
    votes = pd.DataFrame({"yes": [0.3, 0.6], "no": [0.7, 0.4]}, index=["b", "a"])
    with pytest.raises(GroupDataError, match="line 0 is 'a' in one and 'b' in the other"):
        cell_bounds(people, votes)
    assert cell_bounds(people, votes.reset_index(drop=True)).shape == (2, 2, 2, 2)
    assert cell_bounds(people, votes.loc[["a", "b"]]).shape == (2, 2, 2, 2)


def test_shares_are_shares_where_a_unit_has_nobody():
    assert not check_margins([[0.5, 0.5], [0.0, 0.0]], [[0.2, 0.8], [0.0, 0.0]]).counted
    assert check_margins([[5, 5], [0, 0]], [[2, 8], [0, 0]]).counted


def test_goodman_needs_units_that_differ():
    """One unit, or units alike, tell a sum of rates: the pseudoinverse made up rates from it."""
    for people, votes in (([[80, 120]], [[90, 110]]), ([[1, 1]] * 3, [[1, 1]] * 3)):
        with pytest.raises(GroupDataError, match=r"these \d units have rank 1"):
            GoodmanRegression().fit(people, votes)


def test_text_is_refused_by_name():
    with pytest.raises(GroupDataError, match="rows must hold counts or shares"):
        cell_bounds([["many", "few"]], [[1, 2]])

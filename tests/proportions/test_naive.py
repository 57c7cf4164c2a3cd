"""The naive approach to numbers: by hand, groups of one row, totals."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from groupwise.groups import Groups
from groupwise.proportions import NaiveGroupRegressor


def test_rows_learn_their_group_s_mean_by_hand():
    """A tree on one column splits 0, 2 (mean 1) from 4, 6 (mean 9): 2, 4 is one of each."""
    X, groups = [[0.0], [2.0], [4.0], [6.0]], ["a", "a", "b", "b"]
    reg = NaiveGroupRegressor(DecisionTreeRegressor()).fit(X, [0, 2, 9, 9], groups=groups)
    assert reg.predict(X).tolist() == [1, 1, 9, 9]
    assert reg.predict_groups([[2.0], [4.0]], groups=["new", "new"]).tolist() == [5]


@pytest.mark.parametrize("target", ["mean", "total"])
def test_a_total_is_the_sum_of_its_rows(target):
    rng = np.random.RandomState(1)
    groups = Groups(np.repeat(np.arange(12), [2, 4] * 6))
    X = groups.spread(rng.normal(size=12))[:, None]  # rows of a group are alike
    number = (3 * X[groups.first_rows, 0] + 2) * (1 if target == "mean" else groups.sizes)
    reg = NaiveGroupRegressor(LinearRegression(), target=target)
    reg.fit(X, groups.spread(number), groups=groups)
    np.testing.assert_allclose(reg.predict_groups(X, groups), number)
    np.testing.assert_allclose(reg.predict(X), 3 * X[:, 0] + 2)


def test_rows_alone_are_plain_boosting():
    rng = np.random.RandomState(2)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] ** 2 + X[:, 1]
    boosting = HistGradientBoostingRegressor(early_stopping=False, random_state=0)
    plain = clone(boosting).fit(X, y).predict(X)
    own = NaiveGroupRegressor(random_state=0).fit(X, y, groups=np.arange(80))
    assert not own.estimator_.early_stopping
    np.testing.assert_array_equal(own.predict(X), plain)

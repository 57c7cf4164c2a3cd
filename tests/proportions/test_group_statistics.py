"""Statistics of groups for numbers: by hand, groups of one row, totals."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.majority import GroupStatisticsClassifier
from groupwise.proportions import GroupStatisticsRegressor
from groupwise.statistics import summarise
from groupwise.testing import check_group_names


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    groups = Groups(np.repeat(np.arange(20), [3, 5] * 10))
    return rng.normal(size=(groups.n_rows, 3)), groups


@pytest.mark.parametrize("target", ["mean", "total"])
def test_the_largest_value_is_found_from_the_largest_values(rows, target):
    X, groups = rows
    number = groups.max(X[:, 1]) * (1 if target == "mean" else groups.sizes)
    reg = GroupStatisticsRegressor(LinearRegression(), statistics=("max",), target=target)
    reg.fit(X, groups.spread(number), groups=groups)
    np.testing.assert_allclose(reg.predict_groups(X, groups), number, atol=1e-12)
    assert reg.score(X, groups.spread(number), groups) == 1.0


def test_a_row_is_a_group_of_one(rows):
    X, groups = rows
    y = groups.spread(groups.mean(X[:, 0]))
    reg = GroupStatisticsRegressor(DecisionTreeRegressor(random_state=0)).fit(X, y, groups=groups)
    found = reg.predictions(X, groups)
    alone = np.hstack([X, np.zeros_like(X), X, X])
    np.testing.assert_array_equal(found.y_row, reg.estimator_.predict(alone))
    np.testing.assert_array_equal(found.y_row, reg.predict_groups(X, np.arange(len(X))))
    np.testing.assert_array_equal(found.y_group, reg.estimator_.predict(summarise(X, groups)))


def test_rows_alone_are_the_estimator_on_their_features(rows):
    X, _ = rows
    y, alone = X[:, 0] ** 2, np.arange(len(X))
    tree = DecisionTreeRegressor(random_state=0)
    reg = GroupStatisticsRegressor(tree, statistics=("mean",)).fit(X, y, groups=alone)
    np.testing.assert_array_equal(reg.predict(X), clone(tree).fit(X, y).predict(X))


class Lost(LinearRegression):
    """Answers as a learner does whose sums overflow."""

    def predict(self, X):
        return np.where(np.arange(len(X)) == 1, np.nan, super().predict(X))


def test_an_answer_that_is_no_number_is_refused(rows):
    X, groups = rows
    reg = GroupStatisticsRegressor(Lost()).fit(X, X[:, 0], groups=groups)
    with pytest.raises(GroupDataError, match="no finite answer for 1 of 20 groups"):
        reg.predict_groups(X, groups)


def test_defaults_and_errors(rows):
    X, groups = rows
    reg = GroupStatisticsRegressor(random_state=0).fit(X, X[:, 0], groups=groups)
    forest = RandomForestRegressor(
        300, max_features=1 / 3, random_state=reg.estimator_.random_state
    )
    lines, number = summarise(X, groups), groups.mean(X[:, 0])
    order = np.lexsort((number, *lines.T))
    forest.fit(lines[order], number[order])
    np.testing.assert_array_equal(
        reg.predict_groups(X, groups), forest.predict(summarise(X, groups))
    )
    for statistics in (("median",), (), "mean"):
        with pytest.raises(ValueError, match="statistics must be some of"):
            GroupStatisticsRegressor(statistics=statistics).fit(X, X[:, 0], groups=groups)


@pytest.mark.parametrize(
    "estimator",
    [
        GroupStatisticsRegressor(RandomForestRegressor(5), random_state=0),
        GroupStatisticsClassifier(RandomForestClassifier(5), random_state=0),
    ],
)
def test_what_groups_are_called_does_not_matter_to_a_forest(estimator):
    check_group_names(estimator)


def test_a_forest_takes_no_more_than_32_bits(rows):
    X, groups = rows
    for scale in (1e39, 1e-45):
        with pytest.raises(GroupDataError, match=r"3\.40282e\+38|scale"):
            GroupStatisticsRegressor().fit(scale * X, X[:, 0], groups=groups)
    GroupStatisticsRegressor(LinearRegression()).fit(1e39 * X, X[:, 0], groups=groups)

"""Boosting on means and totals of groups."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from groupwise import Groups, HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostRegressor
from groupwise.losses import (
    GroupMeanLoss,
    GroupQuantileLoss,
)

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


def test_regression_on_means_and_totals():
    X, y_row = make_friedman1(3000, random_state=0)
    groups = np.repeat(np.arange(600), 5)
    encoded = Groups(groups)
    mean = encoded.spread(encoded.mean(y_row))
    options = {"n_estimators": 200, "trees": THIN}
    by_mean = GroupBoostRegressor("mean", **options).fit(X, mean, groups=groups)
    by_total = GroupBoostRegressor("total", **options).fit(X, 5 * mean, groups=groups)
    assert np.allclose(by_mean.predict(X), by_total.predict(X), atol=1e-4)
    assert np.corrcoef(by_mean.predict(X), y_row)[0, 1] > 0.8  # the rows' own numbers are found
    assert np.allclose(
        by_total.predict_groups(X, groups=groups), 5 * by_mean.predict_groups(X, groups=groups),
        atol=1e-3,
    )  # fmt: skip
    assert by_mean.score(X, mean, groups=groups) > 0.9
    *_, last = by_mean.staged_score(X, mean, groups)
    assert np.isclose(last, by_mean.score(X, mean, groups=groups))
    *_, last = by_mean.staged_predict(X)
    assert np.allclose(last, by_mean.predict(X))
    assert by_mean.shap_values(X[:5]).sum(axis=1) == pytest.approx(by_mean.predict(X[:5]))


def test_regression_of_single_rows_is_plain_lightgbm(grid_data):
    X, y, _ = grid_data(3)
    target = y + 0.1 * X[:, 1]
    ours = GroupBoostRegressor(n_estimators=20, trees=THIN).fit(X, target, groups=np.arange(len(X)))
    params = {"max_depth": 3, "num_leaves": 8, "learning_rate": 0.1, "lambda_l2": 1.0}
    params |= {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 1.0}
    params |= {"num_threads": 1, "verbosity": -1, "objective": "regression"}
    theirs = lgb.train(params, lgb.Dataset(X, target), 20)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_regression_early_stopping_validation_and_continuation():
    X, y_row = make_friedman1(800, noise=2.0, random_state=0)
    groups = np.repeat(np.arange(200), 4)
    encoded = Groups(groups)
    mean = encoded.spread(encoded.mean(y_row))
    table = pd.DataFrame(X).rename(columns=str).assign(shop=groups)
    options = {"group_column": "shop", "trees": THIN, "random_state": 0}
    stopped = GroupBoostRegressor(
        early_stopping=True, n_estimators=500, learning_rate=0.3, **options
    )
    stopped.fit(table, mean)
    assert stopped.n_iter_ < 500
    given = GroupBoostRegressor(n_estimators=20, **options)
    given.fit(table[:400], mean[:400], X_val=table[400:], y_val=mean[400:])
    assert len(given.history_["valid"]) == 20
    more = GroupBoostRegressor(n_estimators=20, **options)
    more.fit(table[:400], mean[:400], init_model=given)
    whole = GroupBoostRegressor(n_estimators=40, **options).fit(table[:400], mean[:400])
    assert np.allclose(more.predict(table), whole.predict(table))
    with pytest.raises(ValueError, match="X_val needs y_val"):
        given.fit(table, mean, X_val=table)
    with pytest.raises(GroupDataError, match="same on every row"):
        given.set_params(target="total").fit(table, y_row)


def test_means_may_be_given_as_the_rows_own_numbers():
    X, y_row = make_friedman1(200, random_state=0)
    groups = np.repeat(np.arange(50), 4)
    encoded = Groups(groups)
    by_row, by_mean = (
        GroupBoostRegressor(n_estimators=5, trees=THIN).fit(X, y, groups=groups)
        for y in (y_row, encoded.spread(encoded.mean(y_row)))
    )
    assert np.array_equal(by_row.predict(X), by_mean.predict(X))
    assert np.isclose(by_row.score(X, y_row, groups), by_mean.score(X, y_row, groups))


def test_huber_resists_an_outlier():
    X, y_row = make_friedman1(500, random_state=0)
    groups = np.repeat(np.arange(250), 2)
    encoded = Groups(groups)
    mean_group = encoded.mean(y_row)
    mean_group[::25] += 500
    mean = encoded.spread(mean_group)
    clean = np.arange(250) % 25 != 0
    errors = [
        np.abs(
            GroupBoostRegressor(loss=GroupMeanLoss(delta), trees=THIN)
            .fit(X, mean, groups=groups)
            .predict_groups(X, groups=groups)
            - mean_group
        )[clean].mean()
        for delta in (None, 1.0)
    ]
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("loss", ["absolute_error", GroupQuantileLoss(0.8)], ids=str)
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_numbers_in_another_unit_are_predicted_in_it(engine, loss, unit):
    """Penalties, and the least weight of a leaf, count the same for thousands and millionths."""
    if engine == "xgboost" and unit < 1:
        pytest.skip("the least gain of XGBoost's splits is an absolute number")
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(80), 4)
    X = rng.normal(size=(320, 3))
    number = np.bincount(groups, 2 * X[:, 0] + X[:, 1])[groups] / 4

    def said(y):
        model = GroupBoostRegressor(loss=loss, engine=engine, n_estimators=20, random_state=0)
        return model.fit(X, y, groups=groups).predict_groups(X, groups=groups)

    one = said(number)
    assert np.std(one) > 0.2
    np.testing.assert_allclose(said(unit * number) / unit, one, atol=2e-3)

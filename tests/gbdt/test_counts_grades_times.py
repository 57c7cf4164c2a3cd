"""Boosting on totals of counts, quantiles, grades and survival times of groups."""

import numpy as np
import pandas as pd
import pytest

from groupwise import Groups, HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor, objective
from groupwise.io import load_model, save_model
from groupwise.losses import CoxLoss, GroupQuantileLoss, OrdinalLoss, PoissonTotalLoss

THIN = HistTrees(n_jobs=1)
FEW = {"n_estimators": 30, "trees": THIN}


@pytest.fixture(scope="module")
def rows():
    """300 groups of 1 to 6 rows; two features of a coarse grid, the first one counts."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), rng.integers(1, 7, 300))
    X = rng.integers(-8, 9, (len(groups), 2)) / 4.0
    return X, groups, Groups(groups), rng


@pytest.fixture(scope="module")
def counts(rows):
    X, _, groups, rng = rows
    exposure = rng.integers(1, 5, len(X)).astype(float)
    rate = np.exp(0.8 * X[:, 0])
    return exposure, rate, groups.spread(groups.sum(rng.poisson(exposure * rate)))


@pytest.mark.parametrize("loss", ["poisson", "negative_binomial"])
def test_rates_of_rows_from_totals_with_exposure(rows, counts, loss, engine):
    X, groups, encoded, _ = rows
    exposure, rate, total = counts
    reg = GroupBoostRegressor("total", loss=loss, engine=engine, **FEW)
    reg.fit(X, total, groups=groups, exposure=exposure)
    assert np.corrcoef(np.log(reg.predict(X)), np.log(rate))[0, 1] > 0.9
    assert np.allclose(reg.predict_groups(X, groups=groups), encoded.sum(reg.predict(X)))
    with_exposure = reg.score(X, total, groups, exposure=exposure)
    assert with_exposure > 0.8
    assert with_exposure > reg.score(X, total, groups) + 0.1
    *_, last = reg.staged_predict(X)
    assert np.allclose(last, reg.predict(X))


def test_exposure_is_a_rate_with_weights(rows, counts):
    """As scikit-learn's PoissonRegressor has it: totals over exposure, weighed by exposure."""
    X, groups, encoded, _ = rows
    exposure, _, total = counts
    one = GroupBoostRegressor("total", loss="poisson", **FEW)
    one.fit(X, total, groups=groups, exposure=exposure)
    per_unit = total / encoded.spread(encoded.sum(exposure))
    other = GroupBoostRegressor("mean", loss="poisson", **FEW)
    other.fit(X, per_unit, groups=groups, sample_weight=exposure)
    assert np.allclose(one.predict(X), other.predict(X), rtol=1e-4)


def test_single_rows_are_xgboosts_own_poisson(rows):
    xgboost = pytest.importorskip("xgboost")
    X, _, _, rng = rows
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    ours = GroupBoostRegressor(
        "total", loss="poisson", engine="xgboost", n_estimators=5, trees=THIN
    )
    ours.fit(X, y, groups=np.arange(len(y)))
    params = {"objective": "count:poisson", "max_delta_step": 0.0, "max_depth": 3}
    params |= {"learning_rate": 0.1, "base_score": y.mean(), "nthread": 1}
    params |= {"tree_method": "hist", "min_child_weight": 1.0, "max_bin": 255}
    theirs = xgboost.train(params, xgboost.DMatrix(X, y), 5)
    # it divides by the curvature times exp(0) with max_delta_step 0, as we do
    assert np.allclose(ours.predict(X), theirs.predict(xgboost.DMatrix(X)), rtol=1e-4)


def test_exposure_is_refused_where_it_has_no_meaning(rows, counts):
    X, groups, _, _ = rows
    exposure, _, total = counts
    with pytest.raises(ValueError, match="losses of counts"):
        GroupBoostRegressor("total").fit(X, total, groups=groups, exposure=exposure)
    with pytest.raises(GroupDataError, match="group 0 holds 0"):
        GroupBoostRegressor("total", loss="poisson").fit(
            X, total, groups=groups, exposure=np.zeros(len(X))
        )
    with pytest.raises(GroupDataError, match="one number per row"):
        GroupBoostRegressor("total", loss="poisson").fit(
            X, total, groups=groups, exposure=exposure[:3]
        )


def test_quantiles_of_groups(rows, engine):
    X, groups, encoded, _ = rows
    noise = np.random.default_rng(1).exponential(size=encoded.n_groups)
    mean = encoded.spread(encoded.mean(X[:, 0]) + noise)
    below = []
    for quantile in (0.2, 0.8):
        loss = GroupQuantileLoss(quantile)
        reg = GroupBoostRegressor(loss=loss, engine=engine, **FEW).fit(X, mean, groups=groups)
        below.append((mean[encoded.first_rows] < reg.predict_groups(X, groups=groups)).mean())
    assert np.allclose(below, [0.2, 0.8], atol=0.08)


def test_grades_of_groups(rows, engine, tmp_path):
    X, groups, encoded, _ = rows
    latent = 3 * encoded.mean(X[:, 0]) + np.random.default_rng(2).logistic(size=encoded.n_groups)
    grade = encoded.spread(np.digitize(latent, [-1.0, 0.5, 2.0]))
    clf = GroupBoostClassifier("ordinal", engine=engine, **FEW).fit(X, grade, groups=groups)
    proba = clf.predict_groups_proba(X, groups=groups)
    assert proba.shape == (300, 4)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert clf.decision_function(X).shape == (len(X),)
    assert np.corrcoef(clf.decision_function(X), X[:, 0])[0, 1] > 0.8
    nominal = GroupBoostClassifier("majority_softmax", engine=engine, **FEW)
    nominal.fit(X, grade, groups=groups)
    assert clf.score(X, grade, groups=groups) > nominal.score(X, grade, groups=groups) - 0.1
    path = tmp_path / "grades.gw"
    save_model(clf, path)
    assert np.array_equal(load_model(path).predict_groups_proba(X, groups=groups), proba)


def test_grades_stop_early_by_the_thresholds_of_training(rows):
    X, groups, encoded, _ = rows
    grade = encoded.spread(np.digitize(encoded.mean(X[:, 0]), [-0.5, 0.5]))
    clf = GroupBoostClassifier(
        OrdinalLoss(1.0), n_estimators=200, learning_rate=0.5, early_stopping=True, trees=THIN,
        random_state=0,
    ).fit(X, grade, groups=groups)  # fmt: skip
    assert clf.n_iter_ < 200
    assert len(clf.loss_.thresholds_) == 2
    assert clf.loss == OrdinalLoss(1.0) and clf.loss.thresholds_ == ()  # the parameter is as it was


def test_survival_of_groups(rows, engine):
    X, groups, encoded, _ = rows
    rng = np.random.default_rng(3)
    time = rng.exponential(np.exp(-2 * encoded.mean(X[:, 0])))
    seen = rng.exponential(3.0, encoded.n_groups)
    signed = encoded.spread(np.where(time < seen, time, -seen))
    cox = GroupBoostRegressor(loss="cox", engine=engine, **FEW).fit(X, signed, groups=groups)
    assert cox.score(X, signed, groups) > 0.7
    assert np.allclose(cox.predict_groups(X, groups=groups), encoded.mean(cox.predict(X)))
    worst = GroupBoostRegressor(loss=CoxLoss(2.0), engine=engine, **FEW)
    worst.fit(X, signed, groups=groups)
    risk = worst.predict_groups(X, groups=groups)
    assert (risk >= encoded.mean(worst.predict(X)) - 1e-9).all()
    with pytest.raises(ValueError, match="no total"):
        GroupBoostRegressor("total", loss="cox").fit(X, signed, groups=groups)
    with pytest.raises(GroupDataError, match="same on every row"):
        cox.fit(X, np.arange(1.0, len(X) + 1), groups=groups)
    with pytest.raises(GroupDataError, match="none of 300 groups had the event"):
        cox.fit(X, -np.abs(signed), groups=groups)


def test_survival_stops_early_by_groups_with_the_event(rows):
    """Without one among the groups held out any number of rounds is as good as the first."""
    X, groups, _, _ = rows
    signed = np.where(groups < 30, 1.0, -1.0) * (1.0 + groups)
    for seed in range(5):
        cox = GroupBoostRegressor(
            loss="cox", early_stopping=True, validation_fraction=0.01, random_state=seed, **FEW
        )
        assert np.ptp(cox.fit(X, signed, groups=groups).history_["valid"]) > 0.0
    signed = np.where(groups < 1, 1.0, -1.0) * (1.0 + groups)
    with pytest.raises(GroupDataError, match="only one group with the event"):
        cox.fit(X, signed, groups=groups)
    with pytest.raises(GroupDataError, match="none of 299 groups"):
        others = groups > 0
        cox.fit(X, signed, groups=groups, X_val=X[others], y_val=signed[others],
                groups_val=groups[others])  # fmt: skip


def test_trees_of_survival_times_are_small_and_see_half_of_the_rows(rows, engine):
    X, groups, encoded, _ = rows
    time = encoded.spread(np.random.default_rng(4).exponential(size=encoded.n_groups))

    def predicted(**params):
        model = GroupBoostRegressor(engine=engine, n_estimators=10, random_state=0, **params)
        return model.fit(X, time, groups=groups).predict(X)

    for loss in ("cox", CoxLoss(2.0)):
        written = predicted(loss=loss, trees=HistTrees(max_depth=2, subsample=0.5))
        assert np.array_equal(predicted(loss=loss), written)
        assert not np.array_equal(predicted(loss=loss, trees=HistTrees()), written)
    assert np.array_equal(predicted(), predicted(trees=HistTrees()))


def test_counts_are_an_objective_for_the_engines(rows, counts):
    X, groups, encoded, _ = rows
    total = counts[2]
    mean = total / encoded.spread(encoded.sizes)
    given = objective("poisson", groups, mean)
    gradient, _ = given(np.zeros(len(X)))
    expected = PoissonTotalLoss().bind(mean[encoded.first_rows], encoded).gradient(np.zeros(len(X)))
    assert np.allclose(gradient, expected, atol=1e-5)


def test_a_table_with_exposure_and_held_out_groups(rows, counts):
    X, groups, _, _ = rows
    exposure, _, total = counts
    table = pd.DataFrame(X, columns=["a", "b"]).assign(region=groups)
    reg = GroupBoostRegressor("total", loss="poisson", group_column="region", **FEW)
    reg.fit(
        table, total, exposure=exposure,
        X_val=table[:200], y_val=total[:200], exposure_val=exposure[:200],
    )  # fmt: skip
    assert reg.history_["valid"][-1] < reg.history_["valid"][0]

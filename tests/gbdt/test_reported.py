"""Boosting on counts that are not exact."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from groupwise import Groups, HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier
from groupwise.io import load_model, save_model
from groupwise.losses import Reported, ReportedCountLoss, SeveralGroupings

FEW = {"n_estimators": 30, "trees": HistTrees(n_jobs=1)}


@pytest.fixture(scope="module")
def counted():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 8)
    X = rng.normal(size=(1200, 3))
    y = (rng.uniform(size=1200) < 1 / (1 + np.exp(-3 * X[:, 0] + 2))).astype(int)
    encoded = Groups(groups)
    return X, y, groups, encoded, encoded.sum(y.astype(float))


def test_exact_reports_are_boosting_on_counts(counted):
    X, y, groups, encoded, count = counted
    exact = GroupBoostClassifier("proportions", **FEW).fit(X, y, groups=groups)
    told = GroupBoostClassifier("reported_counts", **FEW)
    told.fit(X, encoded.spread(count), groups=groups)
    assert np.allclose(exact.predict_proba(X), told.predict_proba(X), atol=1e-4)
    assert np.array_equal(told.classes_, [0, 1])
    score = told.score(X, encoded.spread(count), groups=groups)
    assert np.isclose(score, exact.score(X, y, groups=groups), atol=1e-4)


def test_what_is_known_of_suppression_is_used(counted, tmp_path):
    X, y, groups, encoded, count = counted
    shown = encoded.spread(np.where(count < 3, np.nan, count))
    loss = ReportedCountLoss(Reported(suppressed_below=3))
    fits = [
        GroupBoostClassifier(each, **FEW).fit(X, shown, groups=groups)
        for each in (loss, "reported_counts")
    ]
    shares = [fit.predict_proba(X)[:, 1].mean() for fit in fits]
    assert abs(shares[0] - y.mean()) < 0.03 < abs(shares[1] - y.mean())
    assert roc_auc_score(y, fits[0].decision_function(X)) > 0.85
    path = tmp_path / "told.gw"
    save_model(fits[0], path)
    assert load_model(path).loss_ == loss
    assert np.isfinite(fits[0].score(X, shown, groups=groups))
    *_, last = fits[0].staged_score(X, shown, groups)
    assert np.isclose(last, fits[0].score(X, shown, groups=groups))


def test_ranges_and_held_out_groups(counted):
    X, _, groups, encoded, count = counted
    ends = encoded.spread(np.column_stack([np.maximum(count - 1, 0), np.minimum(count + 1, 8)]))
    clf = GroupBoostClassifier("reported_counts", early_stopping=True, random_state=0, **FEW)
    clf.fit(X, ends, groups=groups)
    assert clf.history_["valid"][0] > clf.history_["valid"][-1]
    with pytest.raises(GroupDataError, match="same on every row"):
        clf.fit(X, np.arange(len(X)) % 3, groups=groups)
    with pytest.raises(GroupDataError, match="ends of its range"):
        clf.fit(X, np.zeros((len(X), 2, 2)), groups=groups)


def test_three_classes_some_not_reported(counted, engine):
    X, _, groups, encoded, _ = counted
    rng = np.random.default_rng(3)
    y = (X[:, :1] + rng.normal(size=(len(X), 1)) > [-0.8, 0.8]).sum(axis=1)
    table = pd.DataFrame(encoded.sum(np.eye(3)[y]), columns=["low", "mid", "high"])
    table += rng.laplace(0, 0.5, table.shape)
    table.loc[::3, "mid"] = np.nan
    told = table.loc[groups].set_axis(np.arange(len(X)))
    loss = ReportedCountLoss(Reported("laplace", 0.5))
    clf = GroupBoostClassifier(loss, engine=engine, learning_rate=1.0, **FEW).fit(
        X, told, groups=groups
    )
    assert clf.classes_.tolist() == ["low", "mid", "high"]
    assert np.mean(clf.predict(X) == clf.classes_[y]) > 0.5 > np.bincount(y).max() / len(y)
    assert 0.8 < clf.score(X, told, groups=groups) < 1
    assert np.isclose(
        clf.score(X, told[["high", "low", "mid"]], groups=groups),
        clf.score(X, told, groups=groups),
    )
    with pytest.raises(GroupDataError, match="no column for the classes"):
        clf.score(X, told.rename(columns={"mid": "middle"}), groups=groups)


def test_counts_of_groups_of_which_a_tenth_is_here(counted):
    X, _, groups, encoded, _ = counted
    rng = np.random.default_rng(4)
    rate = 1 / (1 + np.exp(-3 * X[:, 0] + 2))
    everybody = np.rint(encoded.mean(rate) * 80)  # of eighty, of whom eight are here
    told = encoded.spread(rng.binomial(80, everybody / 80).astype(float))
    loss = ReportedCountLoss(Reported(sampled=0.1))
    clf = GroupBoostClassifier(loss, **FEW).fit(X, told, groups=groups)
    assert np.corrcoef(clf.predict_proba(X)[:, 1], rate)[0, 1] > 0.9
    assert clf.score(X, told, groups=groups) > 0.85


def test_ranges_of_three_classes(counted, engine):
    X, _, groups, encoded, _ = counted
    rng = np.random.default_rng(5)
    y = (X[:, :1] + rng.normal(size=(len(X), 1)) > [-0.8, 0.8]).sum(axis=1)
    count = encoded.sum(np.eye(3)[y])
    ends = np.stack([count - rng.integers(0, 2, count.shape), count + 1], axis=-1)[encoded.codes]
    columns = pd.MultiIndex.from_product([["x", "y", "z"], ["low", "high"]])
    told = pd.DataFrame(ends.reshape(len(X), 6), columns=columns)
    clf = GroupBoostClassifier("reported_counts", engine=engine, learning_rate=1.0, **FEW)
    clf.fit(X, told, groups=groups)
    assert clf.classes_.tolist() == ["x", "y", "z"]
    assert np.mean(clf.predict(X) == clf.classes_[y]) > 0.5 > np.bincount(y).max() / len(y)
    array = GroupBoostClassifier("reported_counts", engine=engine, learning_rate=1.0, **FEW)
    array.fit(X, ends, groups=groups)
    np.testing.assert_array_equal(array.predict_proba(X), clf.predict_proba(X))
    exact = GroupBoostClassifier("reported_counts_exact", engine=engine, learning_rate=1.0, **FEW)
    exact.fit(X, told, groups=groups)
    assert np.mean(exact.predict(X) == exact.classes_[y]) > 0.5
    turned = told[["z", "y", "x"]]  # by name
    assert np.isclose(clf.score(X, turned, groups=groups), array.score(X, ends, groups=groups))


def test_ranges_that_are_no_ranges():
    X, groups = np.zeros((4, 1)), [0, 0, 1, 1]
    y = pd.DataFrame(np.tile([0.0, 2.0] * 3, (4, 1)))
    clf = GroupBoostClassifier("reported_counts")
    crossed = pd.MultiIndex.from_product([["low", "high"], ["a", "b", "c"]])
    with pytest.raises(GroupDataError, match="two columns per class side by side"):
        clf.fit(X, y.set_axis(crossed, axis=1), groups=groups)
    two = pd.MultiIndex.from_product([["a", "b"], ["low", "high"]])
    with pytest.raises(GroupDataError, match="two columns, the ends"):
        clf.fit(X, y[[0, 1, 2, 3]].set_axis(two, axis=1), groups=groups)
    several = SeveralGroupings({"g": "reported_counts"})
    columns = pd.MultiIndex.from_product([["g"], list("abc"), ["low", "high"]])
    ends = y.set_axis(columns, axis=1)
    with pytest.raises(GroupDataError, match="are for one grouping"):
        GroupBoostClassifier(several).fit(X, ends, groups=pd.DataFrame({"g": groups}))


def test_a_report_is_a_finite_number_and_some_group_has_one():
    X, region = np.arange(20.0)[:, None], np.repeat(np.arange(4), 5)
    told = np.array([1.0, np.inf, 3.0, 2.0])
    for noise in (None, "laplace", "gaussian"):
        clf = GroupBoostClassifier(ReportedCountLoss(Reported(noise)), n_estimators=2)
        with pytest.raises(GroupDataError, match="of group 1: inf to inf"):
            clf.fit(X, told[region], groups=region)
    with pytest.raises(GroupDataError, match="no report of any group"):
        clf.fit(X, np.full(20, np.nan), groups=region)
    at_least = np.column_stack([told, np.full(4, np.inf)])  # a range may be open
    at_least[1] = 2.0, np.inf
    clf.fit(X, at_least[region], groups=region)
    small = GroupBoostClassifier(ReportedCountLoss(Reported(suppressed_below=2)), n_estimators=2)
    small.fit(X, np.full(20, np.nan), groups=region)  # all are known to be small
    assert (small.predict_groups_proba(X, groups=region)[:, 1] < 0.5).all()

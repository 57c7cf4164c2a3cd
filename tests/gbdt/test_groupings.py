"""Boosting on what is known by several groupings of the same rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import cross_val_score

from groupwise import Groups, HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor, objective
from groupwise.io import load_model, save_model
from groupwise.losses import SeveralGroupings

FEW = {"n_estimators": 10, "trees": HistTrees(n_jobs=1, max_depth=2), "random_state": 0}
LONG = FEW | {"n_estimators": 40, "learning_rate": 1.0}
MARGINS = SeveralGroupings(dict.fromkeys(["age", "county", "school"], "proportions"))


@pytest.fixture(scope="module")
def census():
    """Three features, the margins of each, and what they add up to."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 6, (1200, 3)), columns=["age", "county", "school"])
    y = rng.uniform(size=1200) < 1 / (1 + np.exp(-1.2 * (X.sum(axis=1) - 7.5)))
    return X, y.to_numpy(int)


@pytest.fixture(scope="module")
def margins(census):
    X, y = census
    counts = np.column_stack([1 - y, y])
    tables = {name: pd.DataFrame(counts).groupby(X[name]).transform("sum") for name in X}
    return pd.concat(tables, axis=1)


def test_three_margins_know_more_than_one(census, margins, engine, tmp_path):
    X, y = census
    clf = GroupBoostClassifier(MARGINS, engine=engine, **LONG)
    clf.fit(X, margins, groups=X)
    one = GroupBoostClassifier("proportions", engine=engine, **LONG)
    errors = [
        np.mean(one.fit(X, margins[name], groups=X[name]).predict(X) != y) for name in X.columns
    ]
    assert np.mean(clf.predict(X) != y) < 0.8 * min(errors)
    assert clf.n_groups_ == 18
    assert np.array_equal(clf.classes_, [0, 1])
    shares = clf.predict_groups_proba(X, groups=X["age"])[:, 1]
    assert np.allclose(shares, Groups(X["age"]).mean(y), atol=0.05)
    assert clf.score(X, margins, groups=X) > 0.97
    save_model(clf, tmp_path / "margins.gw")
    assert load_model(tmp_path / "margins.gw").loss_ == MARGINS


def test_one_grouping_is_the_model_there_is(grid_data, engine):
    X, y, groups = grid_data()
    known = {"engine": engine, **FEW}
    one = GroupBoostClassifier("presence", **known).fit(X, y, groups=groups)
    loss = SeveralGroupings({"g": "presence"})
    table = pd.DataFrame({"g": groups})
    several = GroupBoostClassifier(loss, **known).fit(X, y, groups=table)
    assert np.array_equal(several.decision_function(X), one.decision_function(X))
    assert several.n_groups_ == one.n_groups_
    assert several.score(X, y, groups=table) == one.score(X, y, groups=groups)
    assert np.array_equal(
        several.predict_groups(X, groups=groups), one.predict_groups(X, groups=groups)
    )


def test_sessions_in_users(grid_data):
    X, y, session = grid_data(n_groups=40, n_classes=3)
    ids = pd.DataFrame({"session": session, "user": session % 10}).astype(object)
    ids.loc[ids["user"] == 3, "user"] = None  # of whom nothing is known
    names = np.array(["rest", "run", "walk"])
    users = Groups(session % 10)
    known = pd.DataFrame(np.eye(3)[y]).groupby(session % 10).transform("mean")
    known.columns = names
    target = {"session": names[y], "user": known}
    loss = SeveralGroupings(
        {"session": "majority_softmax", "user": "proportions_squared"}, {"user": 0.5}
    )
    clf = GroupBoostClassifier(loss, early_stopping=True, **FEW).fit(X, target, groups=ids)
    assert clf.classes_.tolist() == names.tolist()
    assert len(clf.history_["valid"]) and np.isfinite(clf.history_["valid"]).all()
    assert clf.predict_groups(X, groups=session).shape == (40,)
    assert 0 < clf.score(X, target, groups=ids) <= 1
    again = GroupBoostClassifier(loss, **FEW)
    again.fit(
        X,
        target,
        groups=ids,
        X_val=X[:9],
        y_val=pd.DataFrame(
            {("session", ""): names[y[:9]], **{("user", n): known[n][:9] for n in names}}
        ),
        groups_val=ids.assign(user=None)[:9],
    )
    assert np.isfinite(again.history_["valid"]).all()
    assert users.n_groups == 10


def test_rows_without_a_group_change_nothing_but_the_bins(grid_data):
    X, y, groups = grid_data()
    table = pd.DataFrame({"a": groups, "b": groups // 2})
    more = pd.concat([table, pd.DataFrame({"a": [None] * 50, "b": [None] * 50})])
    loss = SeveralGroupings({"a": "presence", "b": "proportions"})
    y_more = np.concatenate([y, np.full(50, 7)])
    small = GroupBoostClassifier(loss, **FEW).fit(X, y, groups=table)
    large = GroupBoostClassifier(loss, **FEW).fit(np.vstack([X, X[:50]]), y_more, groups=more)
    assert np.allclose(small.decision_function(X), large.decision_function(X), atol=0.3)
    assert large.classes_.tolist() == [0, 1]
    weight = np.ones(len(more))
    weight[-50:] = 0
    off = GroupBoostClassifier(loss, **FEW)
    off.fit(np.vstack([X, X[:50]]), y_more, groups=more, sample_weight=weight)
    assert np.array_equal(off.decision_function(X), small.decision_function(X))


def test_totals_by_two_groupings_with_exposure(census, engine):
    X, _ = census
    rng = np.random.default_rng(1)
    people = rng.integers(1, 9, len(X)).astype(float)
    cases = rng.poisson(people * np.exp(0.3 * X["age"] - 0.3 * X["county"]))
    ids = X[["age", "county"]]
    totals = pd.DataFrame(
        {name: Groups(ids[name]).spread(Groups(ids[name]).sum(cases)) for name in ids}
    )
    loss = SeveralGroupings({"age": "poisson", "county": "poisson"})
    reg = GroupBoostRegressor("total", loss=loss, engine=engine, **LONG)
    reg.fit(X, totals, groups=ids, exposure=people)
    rate = np.exp(0.3 * X["age"] - 0.3 * X["county"])
    assert np.corrcoef(np.log(reg.predict(X)), np.log(rate))[0, 1] > 0.95
    whole = reg.score(X, totals, groups=ids, exposure=people)
    assert whole > 0.95
    *_, last = reg.staged_score(X, totals, groups=ids, exposure=people)
    assert np.isclose(last, whole)
    parts = [reg.score(X, totals, groups=ids[[name]], exposure=people) for name in ids]
    assert np.isclose(np.mean(parts), whole)
    mean = GroupBoostRegressor(loss=SeveralGroupings({0: "squared_error", 1: "absolute_error"}))
    mean.set_params(n_estimators=5, engine=engine).fit(X, cases, groups=ids.to_numpy())
    assert mean.score(X, cases, groups=ids.to_numpy()) > 0
    with pytest.raises(ValueError, match="exposure is for losses of counts"):
        mean.score(X, cases, groups=ids.to_numpy(), exposure=people)
    one = GroupBoostRegressor(n_estimators=2, engine=engine).fit(X, cases, groups=ids["age"])
    with pytest.raises(ValueError, match="exposure is for losses of counts"):
        next(one.staged_score(X, cases, ids["age"], exposure=people))


def test_folds_of_rows(census, margins):
    X, y = census
    labels = pd.DataFrame(dict.fromkeys(X, y))
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            GroupBoostClassifier(MARGINS, **FEW),
            X,
            labels,
            params={"groups": X},
            cv=3,
        )
    assert (scores > 0.8).all()


def test_what_it_refuses(census, margins):
    X, y = census
    fit = GroupBoostClassifier(MARGINS, **FEW).fit
    with pytest.raises(GroupDataError, match="a column of ids for each"):
        fit(X, margins, groups=X[["age"]])
    with pytest.raises(GroupDataError, match="a table of ids"):
        fit(X, margins, groups=X["age"])
    with pytest.raises(GroupDataError, match="says nothing of grouping 'school'"):
        fit(X, margins[["age", "county"]], groups=X)
    with pytest.raises(GroupDataError, match="one line per row"):
        fit(X, margins, groups=X[:9])
    with pytest.raises(GroupDataError, match=r"one entry per row: got 9 .*'age'"):
        fit(X, margins[:9], groups=X)
    with pytest.raises(GroupDataError, match="no row is in a group of grouping 'age'"):
        fit(X, margins, groups=X.astype(object).assign(age=None))
    with pytest.raises(GroupDataError, match="a column for each of 3"):
        fit(X, np.zeros((len(X), 2)), groups=X)
    with pytest.raises(GroupDataError, match="same classes"):
        fit(X, {"age": y, "county": y, "school": y.astype(str)}, groups=X)
    with pytest.raises(GroupDataError, match=r"grouping 'age': .*same on every row"):
        fit(X, {"age": np.column_stack([y, 1 - y]), "county": y, "school": y}, groups=X)
    with pytest.raises(GroupDataError, match="pass X_val"):
        GroupBoostClassifier(MARGINS, early_stopping=True).fit(X, margins, groups=X)
    with pytest.raises(ValueError, match="no rule"):
        GroupBoostClassifier(MARGINS, rule="mean").fit(X, margins, groups=X)
    numbers = SeveralGroupings({"age": "squared_error"})
    with pytest.raises(ValueError, match="use GroupBoostRegressor"):
        GroupBoostClassifier(numbers).fit(X, y, groups=X)
    with pytest.raises(ValueError, match="use GroupBoostClassifier"):
        GroupBoostRegressor(loss=MARGINS).fit(X, y, groups=X)
    with pytest.raises(ValueError, match="no objective"):
        objective(MARGINS, X["age"], y)
    with pytest.raises(GroupDataError, match="1-D"):
        GroupBoostClassifier(MARGINS, **FEW).fit(X, margins, groups=X).predict_groups(X, groups=X)

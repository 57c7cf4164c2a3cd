"""The model of a cluster is the model of one machine."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask.dataframe as dd

from groupwise import Groups
from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier, DaskGroupBoostRegressor
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.io import load_model, save_model
from groupwise.losses import GroupMeanLoss, Reported, ReportedCountLoss, SeveralGroupings

LOSSES = [
    ("majority", 2, 3e-7),  # weights are rounded to float32 relative to each block's largest
    ("majority", 3, 3e-7),
    ("majority_softmax", 2, 0.0),
    ("majority_softmax", 3, 0.0),
    ("presence", 2, 2e-7),  # the start score is found by a search that stops at 1e-8
    ("presence_lse", 2, 0.0),
    ("proportions", 2, 0.0),
    ("proportions", 3, 0.0),
    ("proportions_exact", 3, 0.0),
    ("proportions_squared", 2, 0.0),
    ("proportions_squared", 3, 0.0),
]


def booster(loss="majority", trees=None, **options):
    options = {"n_estimators": 12, "random_state": 0} | options
    trees = HistTrees(3, n_jobs=1, **(trees or {}))
    return GroupBoostClassifier(loss, engine="xgboost", trees=trees, **options)


CUTS = [
    pytest.param(*line, 3, marks=[] if line in LOSSES[::4] else pytest.mark.long) for line in LOSSES
] + [(*LOSSES[0], 7)]


@pytest.mark.parametrize(("loss", "n_classes", "tol", "n_partitions"), CUTS)
def test_every_loss_is_that_of_one_machine(
    client, coarse, loss, n_classes, tol, n_partitions, cut, apart
):
    X, y, groups = coarse(n_classes=n_classes, seed=n_partitions)
    one = booster(loss).fit(X, y, groups=groups)
    many = DaskGroupBoostClassifier(booster(loss), client=client)
    many.fit(cut(X, n_partitions), cut(y, n_partitions), groups=cut(groups, n_partitions))
    assert apart(many.estimator_, one, X) <= tol
    assert many.estimator_.n_groups_ == one.n_groups_
    np.testing.assert_array_equal(many.classes_, one.classes_)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["majority"])
def test_one_worker_is_no_exception(one_worker, coarse, loss, cut, apart):
    X, y, groups = coarse()
    one = booster(loss).fit(X, y, groups=groups)
    many = DaskGroupBoostClassifier(booster(loss), client=one_worker)
    many.fit(cut(X, 3), cut(y, 3), groups=cut(groups, 3))
    assert apart(many.estimator_, one, X) <= 3e-7


@pytest.mark.long
@pytest.mark.parametrize("loss", ["poisson", "negative_binomial", "absolute_error"])
def test_counts_and_medians(client, coarse, loss, cut, apart):
    X, _, groups = coarse()
    encoded = Groups(groups)
    y = encoded.spread(encoded.sum(np.abs(np.nan_to_num(X[:, 1])).astype(int)))
    settings = GroupBoostRegressor(
        "total", loss=loss, trees=HistTrees(n_jobs=1), engine="xgboost", n_estimators=8
    )
    one = clone(settings).fit(X, y, groups=groups)
    many = DaskGroupBoostRegressor(settings, client=client)
    many.fit(cut(X, 4), cut(y, 4), groups=cut(groups, 4))
    np.testing.assert_allclose(many.estimator_.predict(X), one.predict(X), rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.long)])
def test_several_groupings(client, coarse, n_classes, cut, apart):
    """Sessions are whole, the rows of an age and of a county lie on both workers."""
    X, y, groups = coarse(n_classes=n_classes)
    names = np.array(["no", "yes", "maybe"])
    ids = pd.DataFrame({"session": groups, "age": X[:, 1], "county": X[:, 2].astype(str)})
    ids.loc[::7, "county"] = None
    known = pd.DataFrame({"session": names[y], "age": names[y], "county": names[y]})
    losses = {"session": "proportions", "age": "proportions_squared"}
    loss = SeveralGroupings(losses | {"county": "proportions_squared"}, {"age": 0.5})
    rng = np.random.default_rng(0)
    weight = Groups(groups).spread(rng.uniform(0.5, 2.0, 120))
    one = booster(loss).fit(X, known, groups=ids, sample_weight=weight)
    size = -(-len(X) // 3)
    frames = (dd.from_pandas(frame, chunksize=size, sort=False) for frame in (known, ids))
    told, table = (frame.repartition(npartitions=3) for frame in frames)
    many = DaskGroupBoostClassifier(booster(loss), client=client)
    rows = dd.from_pandas(pd.DataFrame(X), chunksize=size, sort=False).repartition(npartitions=3)
    weights = dd.from_pandas(pd.Series(weight), chunksize=size, sort=False)
    many.fit(rows, told, groups=table, sample_weight=weights.repartition(npartitions=3))
    assert apart(many.estimator_, one, X) <= 2e-6
    assert many.estimator_.n_groups_ == one.n_groups_
    np.testing.assert_array_equal(many.classes_, one.classes_)


def test_totals_by_several_groupings(client, coarse, cut):
    X, _, groups = coarse()
    ids = np.column_stack([np.unique(groups, return_inverse=True)[1], np.nan_to_num(X[:, 2])])
    cases = np.nan_to_num(X[:, 1])
    known = np.column_stack([Groups(column).spread(Groups(column).sum(cases)) for column in ids.T])
    settings = GroupBoostRegressor(
        "total",
        loss=SeveralGroupings({0: "poisson", 1: "poisson"}),
        trees=HistTrees(n_jobs=1),
        engine="xgboost",
        n_estimators=8,
    )
    one = clone(settings).fit(X, known, groups=ids)
    many = DaskGroupBoostRegressor(settings, client=client)
    many.fit(cut(X, 3), cut(known, 3), groups=cut(ids, 3))
    np.testing.assert_allclose(many.estimator_.predict(X), one.predict(X), rtol=1e-5)
    known[0, 1] += 1
    with pytest.raises(GroupDataError, match="same on every row"):
        many.fit(cut(X, 3), cut(known, 3), groups=cut(ids, 3))


@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.long), 3])
def test_reported_counts(client, coarse, n_classes, cut, apart):
    X, _, groups = coarse()
    encoded, rng = Groups(groups), np.random.default_rng(1)
    label = np.eye(3)[np.digitize(np.nan_to_num(X[:, 1]), [7, 14])]
    told = encoded.sum(label) + rng.laplace(0, 1.0, (encoded.n_groups, 3))
    told[::5] = np.nan
    told = encoded.spread(told if n_classes == 3 else told[:, 1])
    loss = ReportedCountLoss(Reported("laplace", 1.0))
    one = booster(loss).fit(X, told, groups=groups)
    many = DaskGroupBoostClassifier(booster(loss), client=client)
    parts = cut(X, 3), cut(told, 3)
    many.fit(*parts, groups=cut(groups, 3))
    assert apart(many.estimator_, one, X) <= 1e-6
    score = client.compute(many.score(*parts, groups=cut(groups, 3)))
    assert np.isclose(score.result(), one.score(X, told, groups=groups))


def test_losses_that_need_all_groups_on_one_machine_say_so(client, coarse, cut):
    X, y, groups = (cut(values, 2) for values in coarse())
    with pytest.raises(ValueError, match="on one machine"):
        DaskGroupBoostClassifier(booster("ordinal"), client=client).fit(X, y, groups=groups)
    for several, said in (
        ({"a": "ordinal"}, "does not add up"),
        ({"a": "majority", "b": "proportions"}, "no function of sums"),
    ):
        with pytest.raises(ValueError, match=said):
            many = DaskGroupBoostClassifier(booster(SeveralGroupings(several)), client=client)
            many.fit(X, y, groups=groups)
    several = SeveralGroupings({"a": "proportions", "b": "proportions_squared"})
    many = DaskGroupBoostClassifier(booster(several), client=client)
    with pytest.raises(GroupDataError, match="a column of ids for each"):
        many.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="no held-out rows"):
        many.fit(X, y, groups=groups, X_val=X, y_val=y, groups_val=groups)
    cox = GroupBoostRegressor(loss="cox", engine="xgboost")
    with pytest.raises(ValueError, match="on one machine"):
        DaskGroupBoostRegressor(cox, client=client).fit(X, y, groups=groups)


@pytest.mark.long
@pytest.mark.parametrize(("target", "delta"), [("mean", 2.0), ("total", None)])
def test_means_and_totals(client, coarse, target, delta, cut, apart):
    X, _, groups = coarse()
    encoded = Groups(groups)
    value = np.nan_to_num(X[:, 1]) / 3.0
    y = encoded.spread(encoded.sum(value) if target == "total" else encoded.mean(value))
    settings = GroupBoostRegressor(
        target,
        loss=GroupMeanLoss(delta),
        trees=HistTrees(n_jobs=1),
        engine="xgboost",
        n_estimators=12,
    )
    one = clone(settings).fit(X, y, groups=groups)
    many = DaskGroupBoostRegressor(settings, client=client)
    many.fit(cut(X, 5), cut(y, 5), groups=cut(groups, 5))
    assert apart(many.estimator_, one, X) <= 1e-6
    score = many.score(cut(X, 5), cut(y, 5), cut(groups, 5))
    assert float(client.compute(score).result()) == pytest.approx(one.score(X, y, groups))
    found = client.compute(many.predict_groups(cut(X, 5), cut(groups, 5))).result().sort_index()
    np.testing.assert_allclose(found, one.predict_groups(X, groups), rtol=1e-6)
    assert found.index.tolist() == encoded.names.tolist()


@pytest.mark.long
def test_frames_with_columns_by_name_and_integer_ids(client, coarse, apart):
    X, y, groups = coarse()
    ids = Groups(groups).codes * 7 - 100
    table = pd.DataFrame(X, columns=list("abcde"))
    labels = np.where(y == 1, "run", "walk")
    frame = dd.from_pandas(table.assign(y=labels, g=ids), npartitions=4, sort=False)
    one = booster().fit(table, labels, groups=ids)
    many = DaskGroupBoostClassifier(booster(), client=client).fit(frame, "y", groups="g")
    assert apart(many.estimator_, one, table) <= 3e-7
    assert many.estimator_.feature_names_in_.tolist() == list("abcde")


@pytest.mark.long
def test_parquet_parts(client, coarse, tmp_path, apart):
    X, y, groups = coarse()
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y, g=groups)
    for number, rows in enumerate(np.array_split(np.arange(len(y)), 9)):
        table.iloc[rows].to_parquet(tmp_path / f"part-{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    assert frame["y"].optimize().npartitions < 9  # Dask would join parts, of some columns only
    one = booster().fit(table[list("abcde")], y, groups=groups)
    many = DaskGroupBoostClassifier(booster(), client=client)
    many.fit(frame[list("abcde")], frame["y"], groups=frame["g"])
    assert apart(many.estimator_, one, table[list("abcde")]) <= 3e-7


def test_weights_and_rows_without_weight(client, coarse, cut, apart):
    X, y, groups = coarse()
    rng = np.random.default_rng(1)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], len(y))
    one = booster().fit(X, y, groups=groups, sample_weight=weight)
    many = DaskGroupBoostClassifier(booster(), client=client)
    many.fit(*(cut(a, 3) for a in (X, y)), groups=cut(groups, 3), sample_weight=cut(weight, 3))
    assert apart(many.estimator_, one, X) <= 3e-7


@pytest.mark.long
def test_tables_of_shares(client, coarse, cut, apart):
    X, y, groups = coarse(n_classes=3)
    encoded = Groups(groups)
    shares = encoded.spread(
        encoded.mean(np.eye(3)[np.random.default_rng(0).integers(0, 3, len(y))])
    )
    one = booster("proportions_squared").fit(X, shares, groups=groups)
    many = DaskGroupBoostClassifier(booster("proportions_squared"), client=client)
    many.fit(cut(X, 3), cut(shares, 3), groups=cut(groups, 3))
    assert apart(many.estimator_, one, X) == 0.0
    score = many.score(cut(X, 3), cut(shares, 3), cut(groups, 3))
    assert float(client.compute(score).result()) == pytest.approx(one.score(X, shares, groups))


@pytest.mark.long
@pytest.mark.parametrize("n_partitions_val", [1, 2])
def test_early_stopping_on_rows_passed_apart(client, coarse, cut, apart, n_partitions_val):
    X, y, groups = coarse()
    X_val, y_val, groups_val = coarse(n_groups=30, seed=5)
    settings = booster("presence_lse", n_estimators=60, early_stopping=True, n_iter_no_change=3)
    one = clone(settings).fit(X, y, groups=groups, X_val=X_val, y_val=y_val, groups_val=groups_val)
    alone = n_partitions_val == 1  # one worker has none of them, in memory or on disk
    many = DaskGroupBoostClassifier(settings, client=client, on_disk=alone).fit(
        cut(X, 3),
        cut(y, 3),
        groups=cut(groups, 3),
        X_val=cut(X_val, n_partitions_val),
        y_val=cut(y_val, n_partitions_val),
        groups_val=cut(groups_val, n_partitions_val),
    )
    assert many.estimator_.n_iter_ == one.n_iter_ < 60
    for name in ("train", "valid"):
        np.testing.assert_allclose(many.estimator_.history_[name], one.history_[name], rtol=1e-12)
    assert apart(many.estimator_, one, X) == 0.0


@pytest.mark.long
def test_held_out_groups_do_not_depend_on_partitions(client, one_worker, coarse, cut, apart):
    X, y, groups = coarse()
    settings = booster("majority_softmax", n_estimators=40, early_stopping=True)
    models = [
        DaskGroupBoostClassifier(settings, client=where)
        .fit(cut(X, n), cut(y, n), groups=cut(groups, n))
        .estimator_
        for where, n in ((client, 3), (client, 7), (one_worker, 2))
    ]
    for other in models[1:]:
        assert apart(models[0], other, X) == 0.0
        assert models[0].n_iter_ == other.n_iter_
        np.testing.assert_allclose(models[0].history_["valid"], other.history_["valid"], rtol=1e-12)


@pytest.mark.long
def test_continued_models(client, coarse, cut, apart):
    X, y, groups = coarse()
    first = booster("majority_softmax", n_estimators=5).fit(X, y, groups=groups)
    one = booster("majority_softmax", n_estimators=5).fit(X, y, groups=groups, init_model=first)
    many = DaskGroupBoostClassifier(booster("majority_softmax", n_estimators=5), client=client)
    many.fit(cut(X, 3), cut(y, 3), groups=cut(groups, 3), init_model=first)
    assert many.estimator_.n_iter_ == 10
    assert apart(many.estimator_, one, X) == 0.0


@pytest.mark.long
def test_the_model_is_an_ordinary_one(client, coarse, tmp_path, cut):
    X, y, groups = coarse()
    many = DaskGroupBoostClassifier(booster(), client=client)
    many.fit(cut(X, 3), cut(y, 3), groups=cut(groups, 3))
    assert type(many.estimator_) is GroupBoostClassifier
    loaded = load_model(save_model(many.estimator_, tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict_proba(X), many.estimator_.predict_proba(X))


@pytest.mark.long
@pytest.mark.parametrize("trees", [{"max_features": 0.6}, {"max_leaf_nodes": 5}, {"max_bins": 8}])
def test_options_of_trees(client, coarse, trees, cut, apart):
    X, y, groups = coarse()
    one = booster("majority_softmax", trees).fit(X, y, groups=groups)
    many = DaskGroupBoostClassifier(booster("majority_softmax", trees), client=client)
    many.fit(cut(X, 3), cut(y, 3), groups=cut(groups, 3))
    if "max_bins" in trees:  # more values than bins: cuts are found by each worker's sketch
        assert (
            np.corrcoef(many.estimator_.decision_function(X), one.decision_function(X))[0, 1] > 0.9
        )
    else:
        assert apart(many.estimator_, one, X) == 0.0


def test_categories(client, coarse, cut, apart):
    X, y, groups = coarse()
    X = np.nan_to_num(X)
    settings = booster("majority_softmax", {"categorical_features": [1, 2]})
    one = clone(settings).fit(X, y, groups=groups)
    many = DaskGroupBoostClassifier(settings, client=client)
    many.fit(cut(X, 3), cut(y, 3), groups=cut(groups, 3))
    assert apart(many.estimator_, one, X) == 0.0


@pytest.mark.long
def test_binned_rows_on_disk(client, coarse, cut, apart):
    X, y, groups = coarse()
    settings = booster("majority_softmax", n_estimators=20, early_stopping=True)
    models = [
        DaskGroupBoostClassifier(settings, client=client, on_disk=on_disk)
        .fit(cut(X, 5), cut(y, 5), groups=cut(groups, 5))
        .estimator_
        for on_disk in (False, True)
    ]
    assert apart(*models, X) == 0.0
    assert models[0].history_["valid"] == pytest.approx(models[1].history_["valid"])


@pytest.mark.long
def test_each_row_a_group(client, coarse, cut, apart):
    X, y, _ = coarse()
    one = booster("majority_softmax").fit(X, y, groups=np.arange(len(y)))
    many = DaskGroupBoostClassifier(booster("majority_softmax"), client=client)
    with pytest.warns(
        GroupsLostWarning, match="DaskGroupBoostClassifier.fit got no groups"
    ) as lost:
        many.fit(cut(X, 3), cut(y, 3))
    assert [each.filename for each in lost] == [__file__]
    assert apart(many.estimator_, one, X) == 0.0

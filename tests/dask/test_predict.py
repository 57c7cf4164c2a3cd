"""Predictions and scores on a cluster: lazy, and those of one machine."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask
import dask.array as da
import dask.dataframe as dd

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier


@pytest.fixture(params=[2, 3])
def fitted(request, client, coarse):
    """A model that was fitted on one machine, put behind the lazy methods."""
    X, y, groups = coarse(n_classes=request.param)
    table = pd.DataFrame(X, columns=list("abcde"))
    labels = np.array(["run", "sit", "walk"])[y]
    model = GroupBoostClassifier(engine="xgboost", n_estimators=8, trees=HistTrees(n_jobs=1))
    many = DaskGroupBoostClassifier(client=client)
    many.estimator_ = model.fit(table, labels, groups=groups)
    return many, table, labels, groups


def cut_frame(table, n_partitions=4, **columns):
    return dd.from_pandas(table.assign(**columns), npartitions=n_partitions, sort=False)


def test_rows_of_a_frame(fitted, client):
    many, table, *_ = fitted
    lazy = [many.predict(cut_frame(table)), many.predict_proba(cut_frame(table))]
    assert all(dask.is_dask_collection(delayed) for delayed in lazy)
    found, proba = client.gather(client.compute(lazy))
    np.testing.assert_array_equal(found, many.estimator_.predict(table))
    np.testing.assert_allclose(proba, many.estimator_.predict_proba(table))
    assert proba.columns.tolist() == many.classes_.tolist()


def test_rows_of_an_array(client, coarse, cut):
    X, y, groups = coarse(n_classes=3)
    many = DaskGroupBoostClassifier(client=client)
    many.estimator_ = GroupBoostClassifier(n_estimators=5).fit(X, y, groups=groups)
    for ask in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(many, ask)(cut(X, 3))
        assert isinstance(lazy, da.Array)
        expected = getattr(many.estimator_, ask)(X)
        assert lazy.shape == expected.shape
        np.testing.assert_allclose(client.compute(lazy).result(), expected)


@pytest.mark.long
def test_groups_that_cross_partitions(fitted, client):
    many, table, labels, groups = fitted
    frame = cut_frame(table, y=labels, g=groups)
    lazy = [
        many.predict_groups(frame[list("abcde")], frame["g"]),
        many.predict_groups_proba(frame.drop(columns="y"), "g"),
        many.score(frame[list("abcde")], frame["y"], frame["g"]),
        many.evaluate_groups(frame, "y", "g"),
    ]
    assert all(dask.is_dask_collection(delayed) for delayed in lazy)
    found, proba, score, lines = client.gather(client.compute(lazy))
    one = many.estimator_
    found = found.sort_index()
    assert found.index.tolist() == np.unique(groups).tolist()
    np.testing.assert_array_equal(found, one.predict_groups(table, groups))
    np.testing.assert_allclose(
        proba.sort_index(), one.predict_groups_proba(table, groups), rtol=1e-12
    )
    assert score == pytest.approx(one.score(table, labels, groups))
    assert lines["rows"].sum() == len(table)
    assert (lines["predicted"].sort_index() == found).all()


@pytest.mark.long
def test_without_repartition_groups_must_be_whole(fitted, client):
    many, table, _, groups = fitted
    strict = DaskGroupBoostClassifier(client=client, repartition=False)
    strict.estimator_ = many.estimator_
    frame = cut_frame(table, g=groups)
    with pytest.raises(GroupDataError, match="groups must not cross partitions"):
        strict.predict_groups(frame, "g")
    order = np.argsort(groups, kind="stable")
    whole = table.iloc[order].assign(g=groups[order]).reset_index(drop=True)
    half = int(np.searchsorted(whole["g"], whole["g"][len(whole) // 2]))
    parts = [whole.iloc[:half], whole.iloc[half:]]
    frame = dd.from_delayed([dask.delayed(part) for part in parts], meta=whole.iloc[:0])
    found = client.compute(strict.predict_groups(frame, "g")).result().sort_index()
    np.testing.assert_array_equal(found, many.estimator_.predict_groups(table, groups))


def test_labels_the_model_has_never_seen(fitted, client):
    many, table, labels, groups = fitted
    frame = cut_frame(table, y=np.where(labels == "run", "fly", labels), g=groups)
    with pytest.raises(GroupDataError, match="y holds 'fly'"):
        client.compute(many.score(frame, "y", "g")).result()


def test_questions_that_cannot_be_answered(fitted, coarse):
    many, table, *_ = fitted
    with pytest.raises(ValueError, match="groups is missing"):
        many.predict_groups(cut_frame(table))
    with pytest.raises(TypeError, match="must be a Dask DataFrame or a Dask array, got DataFrame"):
        many.predict(table)

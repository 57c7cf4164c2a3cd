"""Groups that cross partitions are found, named, or brought together."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier
from groupwise.dask.ids import hash_ids, held_out
from groupwise.dask.repartition import crossing_group
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier

SETTINGS = GroupBoostClassifier(engine="xgboost", n_estimators=5, trees=HistTrees(n_jobs=1))


def test_a_crossing_group_is_named(client):
    ids = [dask.delayed(part) for part in (["a", "b"], ["c"], ["d", "b"])]
    assert crossing_group(client, ids) == ("b", 0, 2, 1)
    assert crossing_group(client, ids[:2]) is None


def test_without_repartition_the_call_stops(client, coarse, cut):
    X, y, _ = coarse()
    groups = np.repeat(np.arange(len(y) // 4 + 1), 4)[: len(y)]
    y = groups % 2
    many = DaskGroupBoostClassifier(SETTINGS, client=client, repartition=False)
    with pytest.raises(GroupDataError, match=r"group 49 has rows in partitions 0 and 1; groups"):
        many.fit(*(cut(a[:594], 3) for a in (X, y)), groups=cut(groups[:594], 3))
    with pytest.raises(ValueError, match="repartition=True brings them together"):
        many.fit(*(cut(a[:594], 3) for a in (X, y)), groups=cut(groups[:594], 3))


def test_whole_groups_are_left_where_they_are(client, coarse, caplog, cut, apart):
    X, y, groups = coarse()
    order = np.argsort(groups, kind="stable")
    X, y, groups = X[order], y[order], groups[order]
    bounds = np.searchsorted(groups, [groups[200], groups[400]])
    sizes = tuple(np.diff([0, *bounds, len(y)]).tolist())
    parts = [cut(a, 1).rechunk({0: sizes}) for a in (X, y, groups)]
    many = DaskGroupBoostClassifier(SETTINGS, client=client, repartition=False)
    with caplog.at_level("INFO", logger="groupwise.dask"):
        many.fit(parts[0], parts[1], groups=parts[2])
    assert "repartitioned" not in caplog.text
    one = GroupBoostClassifier(engine="xgboost", n_estimators=5, trees=HistTrees(n_jobs=1))
    assert apart(many.estimator_, one.fit(X, y, groups=groups), X) <= 3e-7


def test_hashes_of_ids():
    text = np.array(["b", "a", "b"])
    assert hash_ids(text)[0] == hash_ids(text)[2] != hash_ids(text)[1]
    assert hash_ids(np.array([3]))[0] == hash_ids(np.array([1, 2, 3]))[2]
    with pytest.raises(GroupDataError, match="1 ids are missing, the first on row 1"):
        hash_ids(np.array(["a", None], dtype=object))


def test_held_out_groups_change_with_the_seed():
    hashes = hash_ids(np.arange(5000))
    first, second = held_out(hashes, 0.2, 0), held_out(hashes, 0.2, 1)
    assert 0.18 < first.mean() < 0.22
    assert 0.02 < (first & second).mean() < 0.06  # independent: 0.04
    assert not held_out(hashes, 0.0, 0).any()

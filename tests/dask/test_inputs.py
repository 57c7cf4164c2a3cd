"""Data that cannot be learned from are refused with their partition, group and column."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask.dataframe as dd

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier, DaskGroupBoostRegressor
from groupwise.dask.inputs import delayed_rows
from groupwise.dask.partitions import as_matrix
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor


def fit(client, X, y, groups, loss="majority", **options):
    settings = GroupBoostClassifier(
        loss, engine="xgboost", n_estimators=2, trees=HistTrees(n_jobs=1)
    )
    many = DaskGroupBoostClassifier(settings, client=client)
    return many.fit(X, y, groups=groups, **options)


def test_labels_that_differ_inside_a_group(client, coarse, cut):
    X, y, groups = coarse()
    wrong = y.copy()
    name = pd.Series(groups).value_counts().index[0]
    row = int(np.flatnonzero(groups == name)[0])
    wrong[row] = 1 - wrong[row]
    with pytest.raises(GroupDataError, match=rf"partition \d: .* group '{name}' holds"):
        fit(client, cut(X, 3), cut(wrong, 3), cut(groups, 3))


def test_missing_labels_and_ids(client, coarse, cut):
    X, y, groups = coarse()
    labels = y.astype(float)
    labels[3] = np.nan
    with pytest.raises(GroupDataError, match="y must hold a label on every row"):
        fit(client, cut(X, 3), cut(labels, 3), cut(groups, 3))
    ids = groups.astype(object)
    ids[5] = None
    with pytest.raises(GroupDataError, match="1 ids are missing, the first on row 5"):
        fit(client, cut(X, 3), cut(y, 3), cut(ids, 3))


def test_one_class_only_and_too_many(client, coarse, cut):
    X, y, groups = coarse(n_classes=3)
    with pytest.raises(GroupDataError, match="one class only"):
        fit(client, cut(X, 3), cut(np.zeros(len(y)), 3), cut(groups, 3))
    with pytest.raises(ValueError, match="Only binary classification"):
        fit(client, cut(X, 3), cut(y, 3), cut(groups, 3), loss="presence")
    with pytest.raises(GroupDataError, match="y must hold one label per row"):
        fit(client, cut(X, 3), cut(np.eye(3)[y], 3), cut(groups, 3))


@pytest.mark.long
def test_weights(client, coarse, cut):
    X, y, groups = coarse()
    weight = np.ones(len(y))
    weight[2] = -1.0
    with pytest.raises(GroupDataError, match=r"finite and not negative; group .* holds -1.0"):
        fit(client, cut(X, 2), cut(y, 2), cut(groups, 2), sample_weight=cut(weight, 2))
    for size in (1e308, 1e-308):
        with pytest.raises(GroupDataError, match=r"partition \d: sample_weight holds .*1e[+-]30"):
            fit(
                client, cut(X, 2), cut(y, 2), cut(groups, 2), sample_weight=cut(weight**2 * size, 2)
            )
    with pytest.raises(GroupDataError, match="no rows to train on"):
        fit(client, cut(X, 2), cut(y, 2), cut(groups, 2), sample_weight=cut(0 * weight, 2))


def test_too_few_groups_to_hold_out(client, cut):
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    settings = GroupBoostClassifier(engine="xgboost", early_stopping=True, validation_fraction=1e-6)
    many = DaskGroupBoostClassifier(settings, client=client)
    with pytest.raises(GroupDataError, match="held none of 2 groups out"):
        many.fit(cut(X, 2), cut(y, 2), groups=cut(y, 2))


def test_settings(client, coarse, cut):
    X, y, groups = coarse()
    X, y, groups, two = cut(X, 2), cut(y, 2), cut(groups, 2), cut(np.eye(2)[y], 2)
    with pytest.raises(ValueError, match="on Dask the engine is 'xgboost'"):
        DaskGroupBoostClassifier(GroupBoostClassifier(), client=client).fit(X, y, groups=groups)
    with pytest.raises(TypeError, match="must be a GroupBoostClassifier, got GroupBoostRegressor"):
        DaskGroupBoostClassifier(GroupBoostRegressor(), client=client).fit(X, y, groups=groups)
    wrong = GroupBoostRegressor("sum", engine="xgboost")
    with pytest.raises(ValueError, match="target must be one of 'mean', 'total'"):
        DaskGroupBoostRegressor(wrong, client=client).fit(X, y, groups=groups)
    with pytest.raises(GroupDataError, match="one number per row"):
        DaskGroupBoostRegressor(client=client).fit(X, two, groups=groups)
    gap = cut(np.where(np.arange(X.shape[0]) == 9, np.nan, 1.0), 2)
    with pytest.raises(GroupDataError, match=r"finite number on every row; group .* holds nan"):
        DaskGroupBoostRegressor(client=client).fit(X, gap, groups=groups)


def test_collections_that_do_not_fit_together(coarse, cut):
    X, y, groups = coarse()
    with pytest.raises(TypeError, match="X must be a Dask DataFrame or a Dask array, got ndarray"):
        delayed_rows(X, y, groups, None, None)
    with pytest.raises(TypeError, match="y must be a Dask DataFrame, Series or array"):
        delayed_rows(cut(X, 2), y, None, None, None)
    with pytest.raises(ValueError, match="y has 3 partitions, X has 2"):
        delayed_rows(cut(X, 2), cut(y, 3), None, None, None)
    with pytest.raises(TypeError, match="groups is the name of a column, but X is an array"):
        delayed_rows(cut(X, 2), cut(y, 2), "g", None, None)
    with pytest.raises(ValueError, match="y is missing"):
        delayed_rows(cut(X, 2), None, None, None, None)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=2)
    with pytest.raises(ValueError, match=r"no column 'g' \(groups\); its columns are \['a'"):
        delayed_rows(frame, "a", "g", None, None)
    rows = delayed_rows(cut(X, 2).rechunk((None, 2)), cut(y, 2), None, None, None)
    assert rows.n_partitions == 2


def test_partitions_of_different_length(client, coarse, cut):
    X, y, _ = coarse()
    each = np.arange(len(X))
    with pytest.raises(GroupDataError, match=r"partition 0 of X has 364 rows, that of y 363"):
        fit(client, cut(X, 2), cut(y[:-1], 2), cut(each, 2))  # the other one is as it should be


def test_features_as_xgboost_takes_them():
    table = pd.DataFrame({"a": np.array([1, 2], np.uint8), "b": [True, False]})
    assert as_matrix(table).dtype == np.uint8
    wide = as_matrix(table.assign(c=[0.5, np.nan], d=pd.array([1, None], dtype="Int64")))
    assert wide.dtype == np.float32
    assert np.isnan(wide[1]).tolist() == [False, False, True, True]
    assert as_matrix(np.array([[True]])).dtype == np.uint8
    with pytest.raises(GroupDataError, match="partition 3: column 'c' of X holds"):
        as_matrix(table.assign(c=["x", "y"]), 3)
    with pytest.raises(GroupDataError, match="infinity in partition 1, row 0, column 1"):
        as_matrix(np.array([[0.0, np.inf]]), 1)
    for table in (np.array([[0.0, 1e39]]), pd.DataFrame({"a": [0.0], "b": [1e39]})):
        with pytest.raises(GroupDataError, match=r"holds 1e\+39 in partition 2, .* up to 3.4"):
            as_matrix(table, 2)
    with pytest.raises(GroupDataError, match="must be a table of numbers"):
        as_matrix(np.array(["a"]))


def test_ranges_of_three_classes(client, coarse, cut):
    X, _, groups = coarse()
    ends = pd.MultiIndex.from_product([["a", "b", "c"], ["low", "high"]])
    y = dd.from_pandas(pd.DataFrame(np.ones((len(X), 6)), columns=ends), npartitions=2)
    X, groups = (
        dd.from_pandas(pd.DataFrame(X), npartitions=2),
        dd.from_pandas(pd.Series(groups), npartitions=2),
    )
    with pytest.raises(GroupDataError, match="ranges of three and more classes"):
        fit(client, X, y, groups, "reported_counts")

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs.rows import (
    check_features,
    check_groups,
    check_rows,
    check_weights,
    refuse_size,
    remember_features,
    split_column,
)


class Plain(BaseEstimator):
    """Takes rows of numbers."""


class Trees(BaseEstimator):
    """Splits on categories and takes missing values of any size."""

    _splits_on_categories = True
    _largest_value = np.inf

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@pytest.fixture
def frame():
    colours = pd.Categorical(["red", "blue", None, "red"], categories=["blue", "red", "green"])
    return pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": colours})


def fitted(estimator, X):
    rows = check_features(estimator, X)
    remember_features(estimator, X)
    return rows


def test_categories_become_codes_for_learners_that_split_on_them(frame):
    rows = fitted(Trees(), frame)
    np.testing.assert_array_equal(rows, [[1, 1], [2, 0], [3, np.nan], [4, 1]])


def test_categories_become_columns_for_the_others(frame):
    rows = fitted(Plain(), frame)
    np.testing.assert_array_equal(rows, [[1, 0, 1, 0], [2, 1, 0, 0], [3, 0, 0, 0], [4, 0, 1, 0]])


@pytest.mark.parametrize(("estimator", "unknown"), [(Trees(), [np.nan]), (Plain(), [0, 0, 0])])
def test_prediction_knows_the_categories_of_training(frame, estimator, unknown):
    fitted(estimator, frame)
    new = pd.DataFrame({"size": [9.0, 8.0], "colour": pd.Categorical(["violet", "red"])})
    rows = check_rows(estimator, new)
    np.testing.assert_array_equal(rows[0, 1:], unknown)
    np.testing.assert_array_equal(rows[1], check_rows(estimator, frame.assign(size=8.0))[0])
    with pytest.raises(GroupDataError, match="category columns, got ndarray"):
        check_rows(estimator, np.zeros((2, 2)))


@pytest.mark.parametrize("estimator", [Trees(), Plain()])
def test_categories_keep_their_place_and_may_come_as_text(frame, estimator):
    table = frame.assign(shape=pd.Categorical(list("abab")), weight=[5.0, 6.0, 7.0, 8.0])
    rows = fitted(estimator, table)
    one = {"size": 1.0, "colour": "red", "shape": "a", "weight": 5.0}
    np.testing.assert_array_equal(check_rows(estimator, pd.DataFrame([one])), rows[:1])
    assert rows[0, 0] == 1.0 and rows[0, -1] == 5.0
    assert list(table["colour"]) == list(frame["colour"])  # the caller's table is as it was


def test_polars_categories(frame):
    table = pl.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]}).with_columns(
        pl.col("colour").cast(pl.Enum(["blue", "red"]))
    )
    np.testing.assert_array_equal(fitted(Trees(), table), [[1, 1], [2, 0]])


def test_text_is_refused_by_its_column(frame):
    text = frame.assign(colour=["red", "blue", None, "red"])
    with pytest.raises(GroupDataError, match="column 'colour' of X holds text; make it a category"):
        check_features(Plain(), text)


def test_a_list_of_bags_is_answered_with_flatten_bags():
    with pytest.raises(GroupDataError, match="flatten_bags"):
        check_features(Plain(), [np.zeros((3, 2)), np.zeros((2, 2))])


def test_values_that_products_cannot_hold_are_refused():
    X = np.array([[1.0], [-1e160]])
    with pytest.raises(GroupDataError, match=r"column 0 of X \(the first is 0\) holds 1e\+160"):
        check_features(Plain(), X)
    assert check_features(Trees(), X).shape == (2, 1)
    plain = Plain()
    fitted(plain, X[:1])
    with pytest.raises(GroupDataError, match="Plain computes with values up to 1e\\+50"):
        check_rows(plain, X)


@pytest.mark.parametrize("largest", [1e160, -1e160])
def test_the_column_of_a_value_that_is_refused_is_named(largest):
    X = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0], [4.0, largest, 1e60]])
    table = pd.DataFrame(X, columns=["a", "price", "c"])
    kinds = table.assign(kind=pd.Categorical(["u", "v", "u"]))[["kind", "a", "price", "c"]]
    for named in (table, kinds, pl.from_pandas(table)):
        with pytest.raises(GroupDataError, match=r"column 'price' of X holds 1e\+160; Plain"):
            check_features(Plain(), named)
    plain = Plain()
    fitted(plain, kinds.iloc[:2])
    with pytest.raises(GroupDataError, match="column 'price' of X"):
        check_rows(plain, kinds)
    for bare in (X, np.where(X == 0.0, np.nan, X), sparse.csr_array(X)):
        with pytest.raises(GroupDataError, match="column 1 of X"):
            refuse_size("X", bare, 1e50, name="Plain")


def test_a_refused_table_leaves_no_trace():
    plain = Plain()
    with pytest.raises(ValueError):
        check_features(plain, [[np.inf]])
    assert not hasattr(plain, "n_features_in_")


def test_one_id_per_row():
    with pytest.raises(GroupDataError, match="domains must hold one id per row: got 2 ids for 3"):
        check_groups([1, 2], 3, name="domains")
    assert check_groups(None, 3).n_groups == 3
    encoded = Groups(["a", "b"])
    assert check_groups(encoded, 2) is encoded


def test_ids_in_a_column():
    frame = pd.DataFrame({"x": [1, 2], "user": ["a", "b"]})
    features, ids = split_column(frame, "user", None)
    assert list(features.columns) == ["x"] and ids.tolist() == ["a", "b"]
    with pytest.raises(GroupDataError, match="X has no column 'who' \\(domain_column\\)"):
        split_column(frame, "who", None, name="domain")
    with pytest.raises(GroupDataError, match="describe different groups"):
        split_column(frame, "user", [0, 0])


def test_weights():
    X = np.zeros((2, 1))
    assert check_weights(None, X) is None
    with pytest.raises(GroupDataError, match="row 1 holds -1"):
        check_weights([1, -1], X)
    with pytest.raises(GroupDataError, match=r"sample_weight holds 1e\+308; fit computes with"):
        check_weights([1.0, 1e308], X)
    with pytest.raises(GroupDataError, match="sample_weight holds nothing above 1e-308"):
        check_weights([0.0, 1e-308], X)
    np.testing.assert_array_equal(check_weights([1.0, 1e-308], X), [1.0, 1e-308])
    with pytest.raises(GroupDataError, match="sample_weight must hold one number per row: could"):
        check_weights(["a", "b"], X)
    with pytest.raises(GroupDataError, match="sample_weight holds dates"):
        check_weights(np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"), X)


def test_training_data_that_vanish_in_products_are_refused():
    with pytest.raises(GroupDataError, match="X holds nothing above 1e-160; Plain computes with"):
        check_features(Plain(), [[0.0], [-1e-160]])
    plain = Plain()
    fitted(plain, np.array([[1.0], [1e-160]]))
    assert check_rows(plain, [[1e-160]]) == 1e-160  # a new row may well be near zero


def test_missing_values_hide_no_huge_ones():
    class Some(Trees):
        _largest_value = 1e50

    assert np.isnan(check_features(Some(), [[np.nan], [np.nan]])).all()
    with pytest.raises(GroupDataError, match=r"column 0 of X .* holds 1e\+160"):
        check_features(Some(), [[np.nan], [-1e160]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame(np.zeros((2, 3)), columns=["a", "b", "a"]), "X has 2 columns named 'a'"),
        (pd.DataFrame({"at": pd.to_datetime(["2026-01-01"])}), "column 'at' of X holds dates"),
        (pl.DataFrame({"kind": ["x"]}), "column 'kind' of X holds text; make it a category"),
        (np.array([["2026-01-01"]], dtype="datetime64[D]"), "X holds dates; make numbers of them"),
        (np.array([[1.0, "x"]], dtype=object), "X must hold a table of numbers: could not convert"),
        ([[1.0], [1.0, 2.0]], "X must hold a table of numbers: .*inhomogeneous"),
        ([[10**400]], "X must hold a table of numbers: int too large"),
        ([[[1.0]]], "X"),
    ],
)
def test_errors_name_the_argument(X, message):
    with pytest.raises(GroupDataError, match=message):
        check_features(Plain(), X)


def test_errors_of_type_stay_such():
    with pytest.raises(TypeError, match="X must hold a table of numbers: float\\(\\) argument"):
        check_features(Plain(), np.array([[{}]], dtype=object))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_compiled_code_gets_narrow_indices_and_the_caller_keeps_his(kind):
    class Sparse(Trees):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = True
            return tags

    X = kind(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    rows = check_features(Sparse(), X)
    assert (rows.indices.dtype, rows.indptr.dtype) == (np.int32, np.int32)
    assert (X.indices.dtype, X.indptr.dtype) == (np.int64, np.int64)
    np.testing.assert_array_equal(rows.toarray(), np.eye(3))

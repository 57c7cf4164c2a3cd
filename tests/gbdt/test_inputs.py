"""Rows of every kind, weights, categories and constraints."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from groupwise import HistTrees
from groupwise.exceptions import GroupDataError

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


def test_sparse_is_dense_for_lightgbm(make, grid_data):
    X, y, groups = grid_data()
    dense = make().fit(X, y, groups=groups)
    sparse = make().fit(csr_array(X), y, groups=groups)
    assert np.allclose(dense.predict_proba(X), sparse.predict_proba(csr_array(X)))


def test_missing_values_and_names(engine, make, grid_data):
    X, y, groups = grid_data()
    X[::7, 0] = np.nan
    table = pd.DataFrame(X, columns=list("abcde")).assign(session=groups)
    model = make(engine, group_column="session").fit(table, y)
    assert list(model.feature_names_in_) == list("abcde")
    assert model.score(table, y) > 0.6


def test_categories_by_position_and_name(engine, make):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 3)
    y = rng.integers(0, 2, 80)[groups]
    X = np.column_stack([rng.normal(size=240), np.where(y, rng.choice([1, 3, 5], 240), 
                         rng.choice([0, 2, 4], 240))])  # fmt: skip
    table = pd.DataFrame(X, columns=["a", "kind"])
    options = {"n_estimators": 1, "learning_rate": 1.0}
    if engine == "lightgbm":
        options["engine_params"] = {"min_data_per_group": 1, "cat_smooth": 0.0, "cat_l2": 0.0}
    by_name = make(engine, trees={"max_depth": 1, "categorical_features": ["kind"]}, **options)
    by_place = make(engine, trees={"max_depth": 1, "categorical_features": [1]}, **options)
    plain = make(engine, trees={"max_depth": 1}, **options).fit(table, y, groups=groups)
    by_name.fit(table, y, groups=groups), by_place.fit(X, y, groups=groups)
    assert np.allclose(by_name.predict_proba(table), by_place.predict_proba(X))
    assert by_name.score(table, y, groups=groups) == 1.0  # one split on odd against even
    assert plain.score(table, y, groups=groups) < 1.0
    again = pickle.loads(pickle.dumps(by_name))
    assert np.array_equal(again.predict_proba(table), by_name.predict_proba(table))


@pytest.mark.parametrize(
    ("columns", "message"), [(["z"], "names 'z'"), ([9], "column 9"), ([-1], "column -1")]
)
def test_unknown_categories(columns, message, make, grid_data):
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match=message):
        make(trees={"categorical_features": columns}).fit(X, y, groups=groups)


def test_monotonic_constraints(engine, make, grid_data):
    X, y, groups = grid_data()
    model = make(
        engine, trees={"monotonic_cst": [-1, 0, 0, 0, 0], "max_leaf_nodes": 4}, n_estimators=30
    )
    model.fit(X, y, groups=groups)
    line = np.tile(X[:1], (20, 1))
    line[:, 0] = np.linspace(0, 12, 20)
    assert (np.diff(model.decision_function(line)) <= 1e-9).all()
    with pytest.raises(ValueError, match=r"one entry per feature \(5\)"):
        make(engine, trees={"monotonic_cst": [1]}).fit(X, y, groups=groups)


def test_subsampling_is_seeded(engine, make, grid_data):
    X, y, groups = grid_data()
    options = {"trees": {"subsample": 0.5, "max_features": 0.6}}
    one, same, other = (
        make(engine, random_state=seed, **options).fit(X, y, groups=groups).decision_function(X)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_weights_of_groups_repeat_them(make, grid_data):
    X, y, groups = grid_data()
    twice = groups % 3 == 0
    weighted = make().fit(X, y, groups=groups, sample_weight=np.where(twice, 2.0, 1.0))
    repeated = make().fit(
        np.vstack([X, X[twice]]),
        np.append(y, y[twice]),
        groups=np.append(groups, groups[twice] + 1000),
    )
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


def test_rows_of_weight_zero_are_not_there(make, grid_data):
    X, y, groups = grid_data()
    kept = np.arange(len(X)) % 4 != 0
    weighted = make().fit(X, y, groups=groups, sample_weight=kept.astype(float))
    left = make().fit(X[kept], y[kept], groups=groups[kept])
    assert np.array_equal(weighted.decision_function(X), left.decision_function(X))
    with pytest.raises(ValueError, match=r"positive on some row|non-zero"):
        make().fit(X, y, groups=groups, sample_weight=np.zeros(len(X)))
    with pytest.raises(GroupDataError, match="must not be negative; row 0"):
        make().fit(X, y, groups=groups, sample_weight=-np.ones(len(X)))


def test_row_order_does_not_matter(make, grid_data):
    X, y, groups = grid_data()
    order = np.random.default_rng(1).permutation(len(X))
    one = make().fit(X, y, groups=groups)
    other = make().fit(X[order], y[order], groups=groups[order])
    assert np.allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)

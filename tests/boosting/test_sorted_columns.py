"""Columns that are sorted once for models of several parts of the rows."""

import numpy as np
import pandas as pd
import pytest

from groupwise.boosting import HistTrees, sorted_columns
from groupwise.boosting import lightgbm as engine
from groupwise.boosting.sorted_columns import SortedColumns, part_in_hand
from groupwise.gbdt import GroupBoostClassifier
from groupwise.majority import SBoostClassifier

N_ROWS = 800


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch):
    monkeypatch.setattr(sorted_columns, "_FEWEST_ROWS", 10)


@pytest.fixture
def presorted(monkeypatch):
    """Shapes of the tables whose columns LightGBM got in order."""
    found = []
    samples = sorted_columns.PartOfRows.samples

    def counted(self, n_threads):
        found.append(self.X.shape)
        return samples(self, n_threads)

    monkeypatch.setattr(sorted_columns.PartOfRows, "samples", counted)
    return found


def make_table(seed):
    """Columns of every kind that LightGBM tells apart."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(N_ROWS, 12))
    X[:, 1] = rng.randint(6, size=N_ROWS)  # few values
    X[:, 2] = 3.0  # one
    X[:, 3] = 0.0
    X[:, 4] *= rng.uniform(size=N_ROWS) < 0.2  # many zeros
    X[rng.uniform(size=N_ROWS) < 0.3, 5] = np.nan
    X[:, 6] = np.where(rng.uniform(size=N_ROWS) < 0.5, np.nan, X[:, 4])
    X[:, 7] = -np.abs(X[:, 7])
    X[rng.uniform(size=N_ROWS) < 0.8, 8] = 1.0
    # two columns that are never both filled, which LightGBM puts together
    X[:, 9:11] = np.eye(2)[rng.randint(2, size=N_ROWS)] * (rng.uniform(size=(N_ROWS, 1)) < 0.1)
    X[:, 11] = rng.randint(4, size=N_ROWS)  # categories
    y = (np.nan_to_num(X[:, 0] + X[:, 5] + 3.0 * X[:, 9]) > 0).astype(int)
    return X, y


def fitted_text(model):
    """The trees in full: splits, thresholds and values with all their digits."""
    return model.ensemble_.parts[0].text


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_bins": 15},
        {"categorical_features": [1, 11]},
        {"max_features": 0.5, "subsample": 0.5, "n_jobs": 2},
    ],
)
def test_models_of_parts_are_those_of_plain_fits(presorted, seed, dtype, changes):
    X, y = make_table(seed)
    X, ids = X.astype(dtype), np.arange(N_ROWS)
    model = GroupBoostClassifier(n_estimators=5, trees=HistTrees(**changes), random_state=seed)
    columns = SortedColumns(X)
    held = np.random.RandomState(seed).randint(3, size=N_ROWS)
    parts = [*(np.flatnonzero(held != fold) for fold in range(3)), None]
    for rows in parts:
        part, known, of_part = (X, y, ids) if rows is None else (X[rows], y[rows], ids[rows])
        alone = fitted_text(model.fit(part, known, groups=of_part))
        with columns.fitting(part, rows):
            together = fitted_text(model.fit(part, known, groups=of_part))
        assert together == alone
    assert presorted == [(N_ROWS if rows is None else len(rows), 12) for rows in parts]


@pytest.mark.parametrize("params", [{"enable_bundle": False}, {"linear_tree": True}])
def test_models_of_parts_with_settings_of_the_engine(presorted, params):
    X, y = make_table(0)
    rows = np.flatnonzero(np.arange(N_ROWS) % 4)
    part, ids = np.nan_to_num(X[rows]), np.arange(len(rows))
    model = GroupBoostClassifier(n_estimators=5, engine_params=params, random_state=0)
    alone = fitted_text(model.fit(part, y[rows], groups=ids))
    with SortedColumns(np.nan_to_num(X)).fitting(part, rows):
        assert fitted_text(model.fit(part, y[rows], groups=ids)) == alone
    assert len(presorted) == 1


def test_weak_learners_of_parts(presorted):
    X, y = make_table(1)
    rows = np.arange(100, N_ROWS)
    part, ids = X[rows], np.arange(len(rows))
    model = SBoostClassifier(HistTrees(), n_estimators=5)
    alone = model.fit(part, y[rows], groups=ids).decision_function(X)
    with SortedColumns(X).fitting(part, rows):
        together = model.fit(part, y[rows], groups=ids).decision_function(X)
    np.testing.assert_array_equal(together, alone)
    assert len(presorted) == 1


def test_values_of_other_rows_are_not_told():
    X, _ = make_table(0)
    rows, others = np.arange(0, N_ROWS, 2), np.arange(1, N_ROWS, 2)
    changed = X.copy()
    changed[others] = 1e9
    part = X[rows]
    told = []
    for table in (X, changed):
        with SortedColumns(table).fitting(part, rows):
            told.append(part_in_hand(part).samples(1))
    # where another row lacks a value, the column is not in order but the same
    for one, other in zip(told[0][0], told[1][0], strict=True):
        np.testing.assert_array_equal(np.sort(one), np.sort(other))
    for one, other in zip(told[0][1], told[1][1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_tables_are_sorted_as_ever():
    X, _ = make_table(0)
    rows = np.arange(0, N_ROWS, 2)
    part = X[rows]
    with SortedColumns(X).fitting(part, rows):
        assert part_in_hand(part) is not None
        assert part_in_hand(part.copy()) is None
        assert part_in_hand(X) is None
    assert part_in_hand(part) is None
    few, twice = rows[:200], np.repeat(rows, 2)
    for table, given, chosen in [
        (X, X[few], few),  # all are longer to look through than these to sort
        (X, X[twice], twice),
        (X, np.asfortranarray(part), rows),
        (pd.DataFrame(X), part, rows),
    ]:
        with SortedColumns(table).fitting(given, chosen):
            assert part_in_hand(given) is None


def test_where_rows_are_sampled_for_bins_lightgbm_draws_them(presorted):
    X, y = make_table(0)
    ids = np.arange(N_ROWS)
    for name in ("bin_construct_sample_cnt", "subsample_for_bin"):
        model = GroupBoostClassifier(n_estimators=5, engine_params={name: 100}, random_state=0)
        alone = fitted_text(model.fit(X, y, groups=ids))
        with SortedColumns(X).fitting(X, None):
            assert fitted_text(model.fit(X, y, groups=ids)) == alone
    assert presorted == []
    assert not engine._samples_rows(X, {})

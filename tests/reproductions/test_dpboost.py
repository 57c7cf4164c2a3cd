import json

import numpy as np
import pandas as pd
import pytest

from groupwise.presence import MILESClassifier
from reproductions import dpboost, load, mil_sets
from reproductions.mil_sets import METHODS, PROGRAM, FoldStore, accuracy_table, fold_scores


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """A made-up set under the name of musk1: a shifted row in every positive group."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "data" / "mil"
    folder.mkdir(parents=True)
    bag = np.repeat(np.arange(40), 3)
    X = rng.normal(size=(120, 3))
    X[::3] += 2.5 * (np.arange(40) % 2)[:, None]
    table = pd.DataFrame(X, columns=["f1", "f2", "f3"])
    table.insert(0, "bag_label", bag % 2)
    table.insert(0, "bag", bag)
    table.to_csv(folder / "musk1.csv.gz", index=False)
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path / "data"))
    return tmp_path


def shrink(monkeypatch, methods):
    monkeypatch.setattr(dpboost, "MEAN_SIZES", (2.0,))
    monkeypatch.setattr(dpboost, "N_GROUPS", 6)
    monkeypatch.setattr(dpboost, "SETS", ("musk1",))
    monkeypatch.setattr(dpboost, "METHODS", {name: METHODS[name] for name in methods})
    monkeypatch.setattr(dpboost, "PROGRAM_SETS", ("musk1",))
    monkeypatch.setattr(dpboost, "PROGRAM", {"one repeat": mil_sets.Method(MILESClassifier)})


@pytest.mark.long
def test_whole_run_on_small_data(small_data, monkeypatch):
    shrink(monkeypatch, ["MILES", "axis-parallel rectangle"])
    steps = {}

    def track(todo, heading):
        steps[heading] = len(todo)
        return todo

    out = small_data / "out"
    result = load("dpboost").run(out, repeats=1, seed=1, track=track)
    assert steps["Ten folds on real sets"] == 30
    accuracy = result.tables["Figure 2, right: accuracy of points"]
    assert list(accuracy.columns) == [*dpboost.VARIANTS, "gap"]
    assert accuracy[list(dpboost.VARIANTS)].to_numpy().min() > 0.3
    shares = result.tables["Share of parallel reductions"]
    assert (shares["active"] <= shares["made"]).all() and (shares["made"] <= 1).all()
    real = result.tables["Real sets: ten-fold accuracy of groups"]
    assert real.loc[("musk1", "MILES"), "quoted"] == 0.863
    assert real.loc[("musk1", "MILES"), "repeats"] == 1
    assert all(path.exists() for path in result.figures)
    stored = json.loads(result.save(out).read_text())
    assert stored["settings"]["seed"] == 1
    # a second run finds the folds on disk and measures none again
    again = load("dpboost").run(out, repeats=1, seed=1, track=track)
    assert steps["Ten folds on real sets"] == 0
    pd.testing.assert_frame_equal(again.tables["Real sets: ten-fold accuracy of groups"], real)


def test_without_data_the_real_sets_are_left_out(tmp_path, monkeypatch):
    shrink(monkeypatch, ["MILES"])
    monkeypatch.delenv("GROUPWISE_DATA", raising=False)
    result = load("dpboost").run(tmp_path, repeats=1)
    assert "GROUPWISE_DATA is not set: no real sets." in result.notes
    assert not any(title.startswith("Real") for title in result.tables)


# LightGBM 4.6 names columns that have no name, and then misses the names
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_method_runs_a_fold(small_data):
    bags = mil_sets.load_mil("musk1")
    for name, method in {**METHODS, **PROGRAM}.items():
        short = mil_sets.Method(method.make, method.grid[:1])
        found = fold_scores(short, bags.X, bags.y, bags.groups, repeat=0, fold=3)
        assert len(found["y"]) == len(found["predicted"]) == len(found["score"]) == 4, name
        assert set(found["predicted"]) <= {0, 1}


def test_no_fit_ever_sees_a_group_of_the_test_fold(small_data):
    seen = set()

    class Spy(MILESClassifier):
        def fit(self, X, y, *, groups=None):
            seen.update(groups.tolist())
            return super().fit(X, y, groups=groups)

    bags = mil_sets.load_mil("musk1")
    method = mil_sets.Method(Spy, METHODS["MILES"].grid)
    found = fold_scores(method, bags.X, bags.y, bags.groups, repeat=0, fold=0)
    assert seen == set(bags.groups.tolist()) - set(found["group"])
    assert found["setting"].keys() == {"width", "C"}


@pytest.mark.parametrize("seed", range(20))
def test_settings_are_left_out_only_where_they_cannot_be_chosen(seed):
    """Against all settings on all folds, with groups right at random and many equal counts."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(17), 2)
    y = groups % 2
    chance = rng.uniform(0.2, 0.9, size=6)
    right = rng.uniform(size=(6, 17)) < chance[:, None]
    calls = []

    class Drawn:
        def __init__(self, at):
            self.at = at

        def get_params(self):
            return {}

        def fit(self, X, y, *, groups):
            calls.append(self.at)
            return self

        def score(self, X, y, *, groups):
            return right[self.at, np.unique(groups)].mean()

    method = mil_sets.Method(Drawn, [{"at": at} for at in range(6)])
    chosen = mil_sets._choose(method, np.ones((34, 1)), y, groups, seed)
    assert chosen == {"at": int(right.sum(axis=1).argmax())}
    assert len(calls) <= 18


def test_a_hopeless_setting_is_spared_the_last_fold():
    assert mil_sets._could_win(np.array([20.0, 10.0]), 1, 11)
    assert not mil_sets._could_win(np.array([20.0, 10.0]), 1, 10)  # the earlier one of equals
    assert mil_sets._could_win(np.array([10.0, 20.0]), 0, 10)


def test_unfinished_repeats_do_not_count(tmp_path):
    store = FoldStore(tmp_path / "folds.jsonl")
    record = {"set": "a", "method": "m", "repeat": 0, "y": [0, 1], "predicted": [0, 0],
              "score": [0.1, 0.4], "cpu": 1.0}  # fmt: skip
    for fold in range(9):
        store.add({**record, "fold": fold})
    assert accuracy_table(store.table()).empty
    store.add({**record, "fold": 9})
    table = accuracy_table(FoldStore(tmp_path / "folds.jsonl").table())
    assert table.loc[("a", "m"), ["accuracy", "AUC"]].tolist() == [0.5, 1.0]
    assert store.has("a", "m", 0, 9) and not store.has("a", "m", 1, 0)

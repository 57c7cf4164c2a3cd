"""Tasks, folds, processes and cells of the arena, on made-up groups."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arena import __main__ as main_module
from arena import cells as cells_module
from arena.__main__ import app
from arena.cells import Arena, CellStore
from arena.folds import N_FOLDS, FoldFile, make_folds, splits_of
from arena.methods import ENTRIES, Entry
from arena.problem import Problem, pack, task_of
from arena.processes import Environment, Worker
from arena.sets import SETS, Set
from groupwise.methods import METHODS as TABLE

TOY = Environment("toy", str(Path(__file__).parent / "toy_methods.py"))


def labelled(seed=0):
    """Groups of three with a label each, some of them with missing values."""
    rng = np.random.RandomState(seed)
    groups = np.repeat(np.arange(24), 3)
    y = (groups % 2).astype(int)
    X = rng.normal(size=(72, 4)) + y[:, None]
    X[5, 1] = np.nan
    return Problem(X, y, groups, y)


def counted():
    problem = labelled()
    truth = np.random.RandomState(1).randint(2, size=72)
    counts = np.zeros((24, 2), int)
    np.add.at(counts, (problem.groups, truth), 1)
    return Problem(problem.X, counts[problem.groups], problem.groups, truth)


def in_domains():
    rng = np.random.RandomState(2)
    y, domains = rng.randint(2, size=600), np.repeat([0, 1], [100, 500])
    return Problem(rng.normal(size=(600, 3)), y, np.arange(600), y, domains=domains)


ROOMS = {"presence": labelled, "proportions": counted, "transfer": in_domains}


@pytest.mark.parametrize("room", ROOMS)
def test_a_task_is_the_same_whatever_the_test_labels_are(room):
    """All that a method's process is sent is made without them."""
    problem = ROOMS[room]()
    split = splits_of(problem, make_folds(problem))[0]
    y, truth = problem.y.copy(), problem.truth.copy()
    y[split.test] = y[split.test][::-1] + 1
    truth[split.test] = 1 - truth[split.test]
    other = Problem(problem.X, y, problem.groups, truth, domains=problem.domains)
    one, two = (task_of(each, split, room, 0) for each in (problem, other))
    assert one.keys() == two.keys()
    assert one["about"] == two["about"]
    for name in one.keys() - {"about"}:
        np.testing.assert_array_equal(one[name], two[name])
    n_train, n_test = len(split.train), len(split.test)
    assert {len(one[name]) for name in one if name != "about"} <= {n_train, n_test}
    assert len(one["y"]) == n_train != n_test


def test_features_are_scaled_by_the_training_rows_alone():
    problem = labelled()
    split = splits_of(problem, make_folds(problem))[0]
    task = task_of(problem, split, "presence", 0)
    finite = np.isfinite(problem.X[split.train]).all(axis=1)
    np.testing.assert_allclose(task["X"][finite].mean(axis=0), 0, atol=0.2)
    moved = Problem(problem.X.copy(), problem.y, problem.groups, problem.truth)
    moved.X[split.test] += 100
    np.testing.assert_array_equal(task_of(moved, split, "presence", 0)["X"], task["X"])


def test_folds_keep_groups_and_what_is_coarser_whole():
    problem = labelled()
    coarse = Problem(problem.X, problem.y, problem.groups, problem.truth, problem.groups // 4)
    for each in (problem, coarse):
        splits = splits_of(each, make_folds(each))
        units = each.groups if each.keep_whole is None else each.keep_whole
        assert len(splits) == N_FOLDS
        for split in splits:
            assert not set(units[split.train]) & set(units[split.test])
        tested = np.concatenate([split.test for split in splits])
        assert sorted(tested) == list(range(72))


def test_transfer_labels_few_target_rows_and_tests_others():
    problem = in_domains()
    splits = splits_of(problem, make_folds(problem))
    for split in splits:
        known = split.train[problem.domains[split.train] == 1]
        assert len(known) == 50 and not set(known) & set(split.test)
        assert problem.domains[split.test].all()
        assert abs(problem.y[known].mean() - problem.y[100:].mean()) < 0.02
    assert len(set(np.concatenate([split.test for split in splits]))) == 350


def test_stored_folds_are_refused_for_other_data(tmp_path):
    path = tmp_path / "folds.json"
    first = FoldFile(path).splits("x", labelled())
    again = FoldFile(path).splits("x", labelled())
    assert all((a.test == b.test).all() for a, b in zip(first, again, strict=True))
    with pytest.raises(ValueError, match="holds folds of x for data"):
        FoldFile(path).splits("x", labelled(seed=1))


def test_what_the_table_of_sets_promises():
    wanted = {"presence": 12, "proportions": 10, "majority": 6, "measure": 4, "transfer": 7}
    for room, number in wanted.items():
        assert len([each for each in SETS if each.room == room]) >= number
    names = {(method.kind, method.name) for method in TABLE}
    ours = [entry for entry in ENTRIES if entry.maker == "groupwise"]
    assert all((entry.room, entry.name) in names for entry in ours)


@pytest.fixture(scope="module")
def worker():
    made = Worker(TOY)
    yield made
    made.close()


@pytest.fixture(scope="module")
def task():
    problem = labelled()
    return task_of(problem, splits_of(problem, make_folds(problem))[0], "presence", 0)


@pytest.mark.slow
def test_a_method_sees_its_task_and_no_way_to_the_data(worker, task, monkeypatch):
    monkeypatch.setenv("GROUPWISE_DATA", "/somewhere")
    fresh = Worker(TOY)
    try:
        seen = fresh.ask("spy", task, 20)["answer"]
    finally:
        fresh.close()
    keys = {name[4:] for name in seen if name.startswith("has ")}
    assert keys == {"room", "seed", "n_classes", "X", "y", "groups", "X_asked", "groups_asked"}
    assert seen["files"].tolist() == ["task.npz"]
    assert "GROUPWISE_DATA" not in seen["variables"]


@pytest.mark.slow
def test_nothing_is_left_of_one_cell_for_the_next(worker, task):
    assert [int(worker.ask("spy", task, 20)["answer"]["seen"]) for _ in range(2)] == [1, 1]


@pytest.mark.slow
def test_settings_are_chosen_on_inner_folds(worker, task):
    assert str(worker.ask("chosen", task, 20)["answer"]["setting"]) == "right"


@pytest.mark.slow
def test_failures_and_endless_methods_are_told(worker, task):
    assert "no such luck" in worker.ask("fails", task, 20)["error"]
    assert worker.ask("never_ends", task, 1)["error"] == "not done after 1 CPU seconds"


@pytest.fixture
def toy_room(monkeypatch, tmp_path):
    """A room with one set and two methods, and a place for its cells."""
    monkeypatch.setitem(cells_module.ENVIRONMENTS, "toy", TOY)
    of = Set("presence", "toy", labelled, "made up")
    entries = [Entry("presence", "centroid", "toy", "centroid"),
               Entry("presence", "small", "toy", "centroid", max_rows=10)]  # fmt: skip
    todo = [(of, entry, fold) for fold in range(N_FOLDS) for entry in entries]
    arena = Arena(FoldFile(tmp_path / "folds.json"))
    yield arena, todo, tmp_path / "cells.jsonl"
    arena.close()


def without_time(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "cpu s"} for line in lines]


@pytest.mark.slow
def test_a_cell_is_reproducible_and_a_run_goes_on_as_if_it_had_not_stopped(toy_room, tmp_path):
    arena, todo, path = toy_room
    arena.run(todo, CellStore(path))
    whole = without_time(path)
    assert whole[0]["scores"]["accuracy"] > 0.5 and whole[0]["versions"]["python"]
    assert whole[1]["not for it"] == "is for up to 10 rows, there are 48"
    again = arena.run_cell(todo[0])
    assert {key: again[key] for key in whole[0]} == whole[0]

    part = tmp_path / "part.jsonl"
    arena.run(todo, CellStore(part), seconds=0)
    assert not part.exists()
    arena.run(todo[:3], CellStore(part))
    store = CellStore(part)
    left = [cell for cell in todo if not store.has(cell)]
    assert len(left) == 3
    arena.run(left, store, n_jobs=2)
    key = lambda line: (line["fold"], line["method"])  # noqa: E731
    assert sorted(without_time(part), key=key) == sorted(whole, key=key)


def test_a_set_that_is_absent_is_named(monkeypatch, tmp_path):
    def load():
        raise FileNotFoundError("no such folder")

    gone = Set("presence", "gone", load, "not here")
    for module in (cells_module, main_module):
        monkeypatch.setattr(module, "SETS", [gone])
    shown = CliRunner().invoke(app, ["run", "presence", "--store", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "presence/gone is absent: no such folder" in shown.output
    assert CliRunner().invoke(app, ["run", "kitchen"]).exit_code == 2
    assert CliRunner().invoke(app, ["cell", "presence", "kitchen", "auto"]).exit_code == 2


def test_a_task_is_written_without_pickle(task):
    assert len(pack(task)) > 0

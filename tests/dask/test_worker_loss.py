"""A worker that is killed in the middle of a fit: one clear error, and the way on from there."""

import json
import os
import signal
import threading
import time

import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

import distributed

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier, WorkerLostError
from groupwise.gbdt import GroupBoostClassifier

pytestmark = pytest.mark.long  # clusters of their own


@pytest.fixture
def fresh_client():
    """A cluster of its own: what is killed here must not be missed elsewhere."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def settings(n_rounds, **options):
    return GroupBoostClassifier(
        "majority",
        engine="xgboost",
        n_estimators=n_rounds,
        trees=HistTrees(n_jobs=1),
        random_state=0,
        **options,
    )


def killed_when_there(path, pid):
    """Kill a process as soon as a file is there."""

    def wait_and_kill():
        until = time.monotonic() + 60
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    return thread


def within(seconds, function):
    """What a function gives or raises, in so many seconds."""
    found = {}

    def run():
        try:
            found["value"] = function()
        except BaseException as error:
            found["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"not done in {seconds} seconds"
    if "error" in found:
        raise found["error"]
    return found["value"]


@pytest.mark.parametrize("which", ["first", "last"])
def test_a_killed_worker_is_one_clear_error(fresh_client, coarse, cut, tmp_path, which):
    X, y, groups = coarse(n_groups=60)
    parts = [cut(array, 4) for array in (X, y, groups)]
    path = tmp_path / "fit.json"
    many = DaskGroupBoostClassifier(
        settings(100_000), client=fresh_client, checkpoint=path, checkpoint_every=5
    )
    pids = fresh_client.run(os.getpid)
    address = sorted(pids)[0 if which == "first" else -1]
    started = time.monotonic()
    killer = killed_when_there(path, pids[address])
    with pytest.raises(WorkerLostError, match="was lost in the middle of the fit") as told:
        within(60, lambda: many.fit(parts[0], parts[1], groups=parts[2]))
    killer.join()
    assert time.monotonic() - started < 60
    assert isinstance(told.value, RuntimeError)
    assert not hasattr(many, "estimator_")
    if which == "last":
        return
    # the cluster has a new worker by now or soon; the same fit goes on, to the same model
    fresh_client.wait_for_workers(2, timeout=30)
    n_rounds = json.loads(path.read_text())["n_rounds"] + 5
    again = DaskGroupBoostClassifier(
        settings(n_rounds), client=fresh_client, checkpoint=path, checkpoint_every=5
    )
    within(60, lambda: again.fit(parts[0], parts[1], groups=parts[2]))
    through = DaskGroupBoostClassifier(settings(n_rounds), client=fresh_client)
    through.fit(parts[0], parts[1], groups=parts[2])
    text = [model.estimator_.ensemble_.parts[0].text for model in (again, through)]
    assert text[0] == text[1]


def slow(block, path):
    path.touch()
    time.sleep(0.3)
    return block


def test_a_worker_killed_before_training_is_made_up_for(fresh_client, coarse, cut, tmp_path, apart):
    X, y, groups = coarse(n_groups=60)
    order = sorted(range(len(y)), key=lambda row: groups[row])
    X, y, groups = X[order], y[order], groups[order]
    path = tmp_path / "reading"
    pids = fresh_client.run(os.getpid)
    killer = killed_when_there(path, pids[sorted(pids)[0]])
    late = cut(X, 4).map_blocks(slow, path, dtype=X.dtype, meta=X[:0])
    many = DaskGroupBoostClassifier(settings(10), client=fresh_client)
    within(60, lambda: many.fit(late, cut(y, 4), groups=cut(groups, 4)))
    killer.join()
    assert apart(many.estimator_, settings(10).fit(X, y, groups=groups), X) <= 3e-7

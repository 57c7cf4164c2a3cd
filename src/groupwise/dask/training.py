"""What each worker does in a fit: the round loop of one machine, on its own partitions."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xgboost
from distributed import Future, get_client, get_worker
from numpy.typing import NDArray
from xgboost.collective import CommunicatorContext

from groupwise.dask.checkpoint import Checkpoint, Kept
from groupwise.dask.collective import Collective
from groupwise.dask.heap import kept_heap
from groupwise.dask.matrix import binned
from groupwise.dask.parking import unparked
from groupwise.dask.parts import Facts
from groupwise.gbdt.engine import TreeOptions
from groupwise.gbdt.ensemble import GroupTrees
from groupwise.gbdt.objective import GroupObjective
from groupwise.gbdt.rounds import HeldOut, Watch, boost
from groupwise.gbdt.xgboost_engine import XGBoostRun, tree_params
from groupwise.groups import Groups
from groupwise.losses import BoundLoss, GroupLoss

__all__ = ["Outcome", "Plan", "Share", "train"]


@dataclass(frozen=True)
class Plan:
    """What the workers are to do; the same for each."""

    loss: GroupLoss
    n_classes: int
    n_features: int
    options: TreeOptions
    n_rounds: int
    before: GroupTrees | None = None
    patience: int | None = None
    watched: bool = False
    every: int = 0
    on_disk: bool = False
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True)
class Share:
    """The partitions that are one worker's: rows and facts, to train on and held out."""

    rows: list[Future]
    facts: list[Future]
    held_rows: list[Future]
    held_facts: list[Future]


@dataclass(frozen=True)
class Outcome:
    """What a fit came to."""

    trees: GroupTrees
    n_kept: int
    history: dict[str, list[float]]
    seconds: dict[str, float]


class _Run(XGBoostRun):
    """A run whose worker may hold none of the held-out rows, and that can be taken up again."""

    params: dict[str, Any]

    def reload(self, text: str) -> None:
        """Go on from a booster as it was written."""
        self.booster = xgboost.Booster(self.params, [self.data], bytearray(text.encode()))

    def round_score(self, X: Any, index: int) -> NDArray[Any]:
        return np.zeros(0) if X is None else super().round_score(X, index)


class _NoGroups:
    """The part of a loss on a worker that holds none of its groups."""

    def __init__(self, across: Collective):
        self.across = across
        self.total_weight = across.sum(0.0)

    def value(self, score_row: NDArray[Any]) -> float:
        return self.across.sum(0.0)


def train(name: str, plan: Plan, rank: int, collective_args: dict[str, Any]) -> Outcome | None:
    """Boost on this worker's partitions, in step with the other workers.

    Parameters
    ----------
    name : str
        Under which the worker's share is published: as an argument of this task, all of it would
        have to be in memory at once.
    plan : Plan
    rank : int
    collective_args : dict
        Where the tracker is.

    Returns
    -------
    outcome : Outcome or None
        From the first worker only; all have the same.
    """
    local = _Local(plan)
    share = Share(**local.client.get_dataset(name))
    rows = _Rows(local, share.rows, share.facts, plan.before)
    held = _Rows(local, share.held_rows, share.held_facts, plan.before)
    with (
        xgboost.config_context(verbosity=0),
        CommunicatorContext(**collective_args, dmlc_task_id=f"groupwise-{rank:08d}"),
    ):
        outcome = _boost(rows, held, plan, rank)
    return outcome if rank == 0 else None


class _Local:
    """Where the task runs: threads, and partitions from memory or disk."""

    def __init__(self, plan: Plan):
        self.client = get_client()
        self.n_threads = plan.options.n_threads or get_worker().state.nthreads
        self.folder = get_worker().local_directory if plan.on_disk else None

    def fetch(self, part: Future) -> Any:
        return self.client.gather(part)

    def rows(self, part: Future) -> NDArray[Any]:
        return unparked(self.fetch(part))


class _Rows:
    """Partitions of rows that are fetched one at a time, and what is known of their groups.

    Scores of a model to be continued are computed here, before the workers are joined: XGBoost
    would take any matrix made later for a part of a larger one.
    """

    def __init__(
        self, local: _Local, parts: list[Future], facts: list[Future], before: GroupTrees | None
    ):
        known = [local.fetch(part) for part in facts]
        filled = [number for number, fact in enumerate(known) if fact.n_rows]
        self.facts: list[Facts] = [known[number] for number in filled]
        self.fetch = [partial(local.rows, parts[number]) for number in filled]
        self.local = local
        self._before = None if before is None else [before.score(part()) for part in self.fetch]

    def start(self, begin: GroupTrees) -> list[NDArray[Any]]:
        """Scores of each partition's rows that boosting starts from."""
        if self._before is not None:
            return self._before
        return [begin.start(known.n_rows) for known in self.facts]

    def binned(self, plan: Plan, **more: Any) -> Any:
        """XGBoost's matrix of all these rows; all workers must make one, even of none."""
        n_threads, folder = self.local.n_threads, self.local.folder
        none = partial(np.empty, (0, plan.n_features), np.float32)
        fetch = self.fetch or [none]
        return binned(fetch, plan.options, plan.n_features, n_threads, folder=folder, **more)

    def bound(self, plan: Plan, across: Collective) -> BoundLoss:
        """The loss of these groups, joined to that of the other workers'."""
        weights = [known.weight_row for known in self.facts if known.weight_row is not None]
        return plan.loss.bind(
            np.concatenate([known.target for known in self.facts]),
            Groups.of_sizes(np.concatenate([known.sizes for known in self.facts])),
            n_classes=plan.n_classes,
            weight_row=np.concatenate(weights) if weights else None,
        ).join(across)


def _boost(rows: _Rows, held: _Rows, plan: Plan, rank: int) -> Outcome:
    across = Collective()
    started = time.perf_counter()
    bound = rows.bound(plan, across)
    before = plan.before or GroupTrees(bound.init_score(), [])
    data = rows.binned(plan, margins=rows.start(before))
    run = _started(data, plan, len(before.init_score), rows.local.n_threads)
    watch = Watch(
        held_out=_held(held, plan, before, run, across) if plan.watched else None,
        patience=plan.patience,
        every=plan.every if rank == 0 else 0,
        callbacks=[_nothing] if plan.every else [],
    )
    kept = plan.checkpoint.kept if plan.checkpoint else None
    if kept is not None:
        watch.history = kept.history
    ready, cpu = time.perf_counter(), time.process_time()
    with kept_heap():
        n_kept = boost(
            run,
            GroupObjective(bound, "xgboost"),
            plan.n_rounds,
            watch,
            begun=run.n_rounds,
            after_round=_keeper(plan, run, watch, rank),
        )
    seconds = {
        "binning": ready - started,
        "boosting": time.perf_counter() - ready,
        "boosting_cpu": time.process_time() - cpu,
    }
    return Outcome(before.extended(run.model(n_kept)), n_kept, watch.history, seconds)


def _nothing(progress: Any) -> None:
    """Makes every worker compute the losses that the first one logs."""


def _started(data: Any, plan: Plan, n_outputs: int, n_threads: int) -> _Run:
    params = tree_params(plan.options, n_outputs, n_threads)
    kept = plan.checkpoint.kept if plan.checkpoint else None
    run = _Run(xgboost.Booster(params, [data]), data, plan.options)
    run.params = params
    if kept is not None:
        run.reload(kept.booster)
        run.n_rounds = kept.n_rounds
    return run


def _held(held: _Rows, plan: Plan, before: GroupTrees, run: _Run, across: Collective) -> HeldOut:
    """The held-out groups of this worker, with their scores after the rounds there are."""
    X = held.binned(plan, like=run.data)
    if not held.facts:
        return HeldOut(None, _NoGroups(across), np.zeros(0))
    watched = HeldOut(X, held.bound(plan, across), np.concatenate(held.start(before)))
    for index in range(run.n_rounds):
        watched.score = watched.score + run.round_score(X, index)
    return watched


def _keeper(plan: Plan, run: _Run, watch: Watch, rank: int) -> Callable[[int], None] | None:
    """What writes the checkpoints, if there are to be any."""
    checkpoint = plan.checkpoint
    if checkpoint is None:
        return None
    # XGBoost's random generators cannot be written: all begin anew with them at a checkpoint, so
    # that a fit that goes on from one draws the same rows and columns
    options = plan.options
    draws = options.subsample < 1 or options.feature_fraction < 1 or bool(options.extra)

    def after_round(n_rounds: int) -> None:
        if n_rounds % checkpoint.every == 0:
            text = run.booster.save_raw("json").decode()
            if rank == 0:
                checkpoint.write(Kept(n_rounds, watch.history, text))
            if draws:
                run.reload(text)

    return after_round

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
from xgboost import collective
from xgboost.collective import CommunicatorContext

from groupwise.boosting.xgboost import XGBoostRun, tree_params
from groupwise.dask.checkpoint import Checkpoint, CheckpointState
from groupwise.dask.groupings import PackedGroupings, bind_groupings
from groupwise.dask.matrix import quantile_matrix
from groupwise.dask.memory import keep_freed_memory, load_spilled
from groupwise.dask.partitions import PartitionTargets
from groupwise.dask.placement import WorkerPartitions
from groupwise.gbdt.rounds import (
    EngineOptions,
    GroupObjective,
    GroupTrees,
    Monitor,
    Progress,
    ValidationSet,
    boost,
)
from groupwise.groups import Groups
from groupwise.losses import BoundLoss, GroupLoss

__all__ = ["Outcome", "Plan", "train"]


@dataclass(frozen=True)
class Plan:
    """What the workers are to do; the same for each.

    Attributes
    ----------
    loss : GroupLoss
    n_classes, n_features : int
    options : EngineOptions
    n_rounds : int
    before : GroupTrees, default=None
        To be continued.
    n_iter_no_change : int, default=None
        For early stopping.
    with_validation : bool, default=False
        Whether some worker has held-out groups.
    log_every : int, default=0
    on_disk : bool, default=False
    checkpoint : Checkpoint, default=None
    packed : PackedGroupings, default=None
        Where there are several groupings.
    """

    loss: GroupLoss
    n_classes: int
    n_features: int
    options: EngineOptions
    n_rounds: int
    before: GroupTrees | None = None
    n_iter_no_change: int | None = None
    with_validation: bool = False
    log_every: int = 0
    on_disk: bool = False
    checkpoint: Checkpoint | None = None
    packed: PackedGroupings | None = None


@dataclass(frozen=True)
class Outcome:
    """What a fit came to."""

    ensemble: GroupTrees
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


class _Collective:
    """Sums and maxima over the workers of one fit; a :class:`groupwise.losses.Communicator`.

    Attributes
    ----------
    n_calls : int
        How often the workers have agreed on something.
    """

    def __init__(self) -> None:
        self.n_calls = 0

    def allreduce_sum(self, values: Any) -> Any:
        return self._reduced(values, collective.Op.SUM)

    def allreduce_max(self, value: float) -> float:
        return self._reduced(value, collective.Op.MAX)

    def _reduced(self, values: Any, how: collective.Op) -> Any:
        self.n_calls += 1
        array = np.asarray(values, dtype=np.float64)
        found = collective.allreduce(np.atleast_1d(array), how)
        return float(found[0]) if array.ndim == 0 else found.reshape(array.shape)


class _NoGroups:
    """The part of a loss on a worker that holds none of its groups."""

    def __init__(self, communicator: _Collective):
        self.communicator = communicator
        self.total_weight = communicator.allreduce_sum(0.0)

    def value(self, score_row: NDArray[Any]) -> float:
        return self.communicator.allreduce_sum(0.0)


def train(name: str, plan: Plan, rank: int, collective_args: dict[str, Any]) -> Outcome | None:
    """Boost on this worker's partitions, in step with the other workers.

    Parameters
    ----------
    name : str
        Under which the worker's partitions are published: as arguments of this task, all of
        them would have to be in memory at once.
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
    mine = WorkerPartitions(**local.client.get_dataset(name))
    rows = _Rows(local, mine.rows, mine.targets, plan.before)
    held = _Rows(local, mine.held_rows, mine.held_targets, plan.before)
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
        self.n_threads = plan.options.trees.n_jobs or get_worker().state.nthreads
        self.folder = get_worker().local_directory if plan.on_disk else None

    def fetch(self, part: "Future[Any]") -> Any:
        return self.client.gather(part)

    def rows(self, part: "Future[Any]") -> NDArray[Any]:
        return load_spilled(self.fetch(part))


class _Rows:
    """Partitions of rows that are fetched one at a time, and what is known of their groups.

    Scores of a model to be continued are computed here, before the workers are joined: XGBoost
    would take any matrix made later for a part of a larger one.
    """

    def __init__(
        self,
        local: _Local,
        parts: list["Future[Any]"],
        targets: list["Future[Any]"],
        before: GroupTrees | None,
    ):
        known = [local.fetch(part) for part in targets]
        filled = [number for number, part in enumerate(known) if part.n_rows]
        self.targets: list[PartitionTargets] = [known[number] for number in filled]
        self.fetch = [partial(local.rows, parts[number]) for number in filled]
        self.local = local
        self._before = None if before is None else [before.score(part()) for part in self.fetch]

    def start(self, begin: GroupTrees) -> list[NDArray[Any]]:
        """Scores of each partition's rows that boosting starts from."""
        if self._before is not None:
            return self._before
        return [begin.start(known.n_rows) for known in self.targets]

    def matrix(self, plan: Plan, **more: Any) -> Any:
        """XGBoost's matrix of all these rows; all workers must make one, even of none."""
        n_threads, folder = self.local.n_threads, self.local.folder
        none = partial(np.empty, (0, plan.n_features), np.float32)
        fetch = self.fetch or [none]
        return quantile_matrix(
            fetch, plan.options, plan.n_features, n_threads, folder=folder, **more
        )

    def bound(self, plan: Plan, communicator: _Collective) -> BoundLoss:
        """The loss of these groups, connected to that of the other workers'."""
        weights = [known.weight_row for known in self.targets if known.weight_row is not None]
        weight = np.concatenate(weights) if weights else None
        loss = plan.loss if plan.packed is None else plan.packed.loss.first
        bound = loss.bind(
            np.concatenate([known.target for known in self.targets]),
            Groups.of_sizes(np.concatenate([known.sizes for known in self.targets])),
            n_classes=plan.n_classes,
            weight_row=weight,
        ).connect(communicator)
        others = [known.others for known in self.targets if known.others is not None]
        if plan.packed is None or not others:
            return bound
        return bind_groupings(plan.packed, bound, np.concatenate(others), weight, communicator)


def _boost(rows: _Rows, held: _Rows, plan: Plan, rank: int) -> Outcome:
    communicator = _Collective()
    started = time.perf_counter()
    bound = rows.bound(plan, communicator)
    before = plan.before or GroupTrees(bound.init_score(), [])
    data = rows.matrix(plan, margins=rows.start(before))
    run = _started(data, plan, len(before.init_score), rows.local.n_threads)
    validation = None
    if plan.with_validation:
        validation = _validation_set(held, plan, before, run, communicator)
    monitor = Monitor(
        validation=validation,
        n_iter_no_change=plan.n_iter_no_change,
        log_every=plan.log_every if rank == 0 else 0,
        callbacks=[_ignore] if plan.log_every else [],
    )
    state = plan.checkpoint.state if plan.checkpoint else None
    if state is not None:
        monitor.history = state.history
    ready, cpu = time.perf_counter(), time.process_time()
    with keep_freed_memory():
        n_kept = boost(
            run,
            GroupObjective(bound, "xgboost"),
            plan.n_rounds,
            monitor,
            first=run.n_rounds,
            after_round=_checkpoint_writer(plan, run, monitor, rank),
        )
    seconds = {
        "binning": ready - started,
        "boosting": time.perf_counter() - ready,
        "boosting_cpu": time.process_time() - cpu,
    }
    return Outcome(before.extended(run.model(n_kept)), monitor.history, seconds)


def _ignore(progress: Progress) -> None:
    """Makes every worker compute the losses that the first one logs."""


def _started(data: Any, plan: Plan, n_outputs: int, n_threads: int) -> _Run:
    params = tree_params(plan.options, n_outputs, n_threads)
    state = plan.checkpoint.state if plan.checkpoint else None
    run = _Run(xgboost.Booster(params, [data]), data, plan.options)
    run.params = params
    if state is not None:
        run.reload(state.booster)
        run.n_rounds = state.n_rounds
    return run


def _validation_set(
    held: _Rows, plan: Plan, before: GroupTrees, run: _Run, communicator: _Collective
) -> ValidationSet:
    """The held-out groups of this worker, with their scores after the rounds there are."""
    X = held.matrix(plan, like=run.data)
    if not held.targets:
        return ValidationSet(None, _NoGroups(communicator), np.zeros(0))
    validation = ValidationSet(
        X, held.bound(plan, communicator), np.concatenate(held.start(before))
    )
    for index in range(run.n_rounds):
        validation.score = validation.score + run.round_score(X, index)
    return validation


def _checkpoint_writer(
    plan: Plan, run: _Run, monitor: Monitor, rank: int
) -> Callable[[int], None] | None:
    """What writes the checkpoints, if there are to be any."""
    checkpoint = plan.checkpoint
    if checkpoint is None:
        return None
    # XGBoost's random generators cannot be written: all begin anew with them at a checkpoint, so
    # that a fit that goes on from one draws the same rows and columns
    trees = plan.options.trees
    draws = trees.subsample < 1 or trees.max_features < 1 or bool(plan.options.extra)

    def after_round(n_rounds: int) -> None:
        if n_rounds % checkpoint.every == 0:
            text = run.booster.save_raw("json").decode()
            if rank == 0:
                checkpoint.write(CheckpointState(n_rounds, monitor.history, text))
            if draws:
                run.reload(text)

    return after_round

"""The round loop: grow, look at held-out groups, stop in time."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from groupwise.gbdt.engine import EngineRun
from groupwise.gbdt.objective import GroupObjective
from groupwise.losses import BoundLoss

__all__ = ["HeldOut", "LossValue", "Progress", "Watch", "boost"]

logger = logging.getLogger("groupwise.gbdt")


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each round.

    Attributes
    ----------
    n_rounds : int
        Rounds so far, those of a continued model not counted.
    losses : dict
        ``"train"`` and, with held-out groups, ``"valid"``: the loss over the rows' weight.
    """

    n_rounds: int
    losses: dict[str, float]


class LossValue(Protocol):
    """As much of a bound loss as is asked of groups that are not trained on."""

    total_weight: float

    def value(self, score_row: NDArray[Any]) -> float:
        """The loss."""
        ...


@dataclass
class HeldOut:
    """Rows of groups that are not trained on, and their present scores."""

    X: Any
    loss: LossValue
    score: NDArray[Any]


@dataclass
class Watch:
    """Who looks on while trees grow.

    Attributes
    ----------
    held_out : HeldOut, default=None
    patience : int, default=None
        Stop after this many rounds without a lower loss on the held-out groups.
    callbacks : sequence of callables
        Each is given a :class:`Progress`; one that returns ``True`` ends the training.
    every : int, default=0
        Log each so many rounds; 0 for silence.
    """

    held_out: HeldOut | None = None
    patience: int | None = None
    callbacks: Sequence[Callable[[Progress], Any]] = ()
    every: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def idle(self) -> bool:
        """Whether nobody wants to know the loss."""
        return self.held_out is None and not self.callbacks and not self.every

    def look(self, run: EngineRun, loss: BoundLoss, index: int) -> bool:
        """Note the losses after round ``index``; whether to stop."""
        losses = {"train": loss.value(run.scores()) / loss.total_weight}
        held = self.held_out
        if held is not None:
            held.score = held.score + run.round_score(held.X, index)
            losses["valid"] = held.loss.value(held.score) / held.loss.total_weight
        for name, value in losses.items():
            self.history.setdefault(name, []).append(value)
        if self.every and (index + 1) % self.every == 0:
            shown = ", ".join(f"{name} {value:.5f}" for name, value in losses.items())
            logger.info("round %d: %s", index + 1, shown)
        asked = [callback(Progress(index + 1, losses)) for callback in self.callbacks]
        return any(answer is True for answer in asked) or self._out_of_patience()

    def _out_of_patience(self) -> bool:
        if self.patience is None:
            return False
        valid = self.history["valid"]
        return len(valid) - 1 - int(np.argmin(valid)) >= self.patience

    def best(self, n_grown: int) -> int:
        """How many rounds to keep."""
        if self.patience is None or not self.history:
            return n_grown
        return int(np.argmin(self.history["valid"])) + 1


def boost(
    run: EngineRun,
    objective: GroupObjective,
    n_rounds: int,
    watch: Watch,
    *,
    begun: int = 0,
    after_round: Callable[[int], None] | None = None,
) -> int:
    """Grow up to ``n_rounds`` rounds, ``begun`` of which there are; how many of them to keep.

    ``after_round`` is told how many rounds there are, after each that is not the last by some
    rule to stop.
    """
    for index in range(begun, n_rounds):
        if not run.grow(objective):
            logger.info("round %d: no split is possible any more", index + 1)
            return watch.best(index)
        if not watch.idle and watch.look(run, objective.loss, index):
            return watch.best(index + 1)
        if after_round is not None:
            after_round(index + 1)
    return watch.best(n_rounds)

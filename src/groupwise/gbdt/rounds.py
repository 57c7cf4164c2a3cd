"""What an engine is asked for, the round loop (grow, validate, stop in time), and its trees."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.hist_trees import EngineOptions, Objective
from groupwise.losses import BoundLoss

__all__ = [
    "ENGINES",
    "Callback",
    "Engine",
    "EngineModel",
    "EngineRun",
    "GroupObjective",
    "GroupTrees",
    "LossValue",
    "Monitor",
    "Progress",
    "ValidationSet",
    "boost",
    "get_engine",
]

logger = logging.getLogger("groupwise.gbdt")

#: The names that :func:`get_engine` knows.
ENGINES = ("lightgbm", "xgboost")


class EngineModel(Protocol):
    """Grown trees as text: can be pickled, and wakes the engine when it is asked something."""

    n_rounds: int

    def score(self, X: Rows, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """Sum of the trees of rounds ``first`` to ``last`` (not included) for each row."""
        ...

    def contributions(self, X: Rows) -> NDArray[Any]:
        """SHAP values (n_rows, n_outputs, n_features + 1), the last column the expected score."""
        ...

    def gains(self, n_features: int) -> NDArray[Any]:
        """Total gain of the splits on each feature."""
        ...


class EngineRun(Protocol):
    """One boosting run on rows that the engine has binned."""

    def grow(self, objective: Objective) -> bool:
        """Add one round; ``False`` if no split was possible (then nothing is added)."""
        ...

    def scores(self) -> NDArray[Any]:
        """Present scores of the training rows, the start included."""
        ...

    def round_score(self, X: Any, index: int) -> NDArray[Any]:
        """What round ``index`` adds to the scores of other rows."""
        ...

    def model(self, n_rounds: int) -> EngineModel:
        """The first ``n_rounds`` rounds."""
        ...


class Engine(Protocol):
    """A gradient boosting library."""

    def prepare(self, X: Rows, options: EngineOptions) -> Any:
        """Rows to score many times, in the form the engine likes best."""
        ...

    def start(self, X: Rows, options: EngineOptions, start_score: NDArray[Any]) -> EngineRun:
        """Bin the rows and begin at ``start_score``, (n_rows,) or (n_rows, n_outputs)."""
        ...


class GroupObjective:
    """A bound loss in the calling convention of LightGBM and XGBoost.

    Called with the scores of the training rows (and the engine's data object, which it has no use
    for), it returns gradient and curvature of the loss times its ``unit`` as float32, shaped like
    the scores.

    Attributes
    ----------
    loss : BoundLoss
    """

    def __init__(self, loss: BoundLoss, engine: str = "lightgbm"):
        if engine not in ("lightgbm", "xgboost"):
            raise ValueError(f"engine must be 'lightgbm' or 'xgboost', got {engine!r}")
        self.loss = loss
        self.engine = engine

    def __call__(self, scores: NDArray[Any], data: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient, curvature = self.loss.gradient_and_curvature(scores, np.float32)
        if (unit := np.float32(self.loss.unit)) != 1.0:
            gradient, curvature = gradient * unit, curvature * unit
        if self.engine == "xgboost":  # class after class in memory is what LightGBM wants
            return np.ascontiguousarray(gradient), np.ascontiguousarray(curvature)
        return gradient, curvature

    def __deepcopy__(self, memo: Any) -> "GroupObjective":
        return self  # lightgbm.train copies its parameters; this one never changes


def get_engine(name: str) -> Engine:
    """Look an engine up by name; its library is loaded here, as one of them is optional."""
    if name == "lightgbm":
        from groupwise.boosting.lightgbm import LightGBMEngine

        return LightGBMEngine()
    if name == "xgboost":
        from groupwise.boosting.xgboost import XGBoostEngine

        return XGBoostEngine()
    raise ValueError(f"engine must be 'lightgbm' or 'xgboost', got {name!r}")


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


#: Called after each round; ``True`` ends the training.
Callback = Callable[[Progress], Any]


class LossValue(Protocol):
    """As much of a bound loss as is asked of groups that are not trained on."""

    total_weight: float

    def value(self, score_row: NDArray[Any]) -> float:
        """The loss."""
        ...


@dataclass
class ValidationSet:
    """Rows of groups that are not trained on, and their present scores.

    Attributes
    ----------
    X : object
        In the form the engine likes best.
    loss : LossValue
    score : ndarray of shape (n_rows,) or (n_rows, n_classes)
    """

    X: Any
    loss: LossValue
    score: NDArray[Any]


@dataclass
class Monitor:
    """Follows the losses while trees grow, and says when to stop.

    Attributes
    ----------
    validation : ValidationSet, default=None
    n_iter_no_change : int, default=None
        Stop after this many rounds without a lower loss on the validation set; ``None``: never.
    callbacks : sequence of callables
        Each is given a :class:`Progress`; one that returns ``True`` ends the training.
    log_every : int, default=0
        Log after every so many rounds; 0 for silence.
    history : dict of str to list of float
        The losses after each round.
    """

    validation: ValidationSet | None = None
    n_iter_no_change: int | None = None
    callbacks: Sequence[Callback] = ()
    log_every: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def is_idle(self) -> bool:
        """Whether nobody wants to know the losses, which then are not computed."""
        return self.validation is None and not self.callbacks and not self.log_every

    def update(self, run: EngineRun, loss: BoundLoss, index: int) -> bool:
        """Note the losses after round ``index``; whether to stop."""
        losses = {"train": loss.value(run.scores()) / loss.total_weight}
        held = self.validation
        if held is not None:
            held.score = held.score + run.round_score(held.X, index)
            losses["valid"] = held.loss.value(held.score) / held.loss.total_weight
        for name, value in losses.items():
            self.history.setdefault(name, []).append(value)
        if self.log_every and (index + 1) % self.log_every == 0:
            shown = ", ".join(f"{name} {value:.5f}" for name, value in losses.items())
            logger.info("round %d: %s", index + 1, shown)
        answers = [callback(Progress(index + 1, losses)) for callback in self.callbacks]
        return (
            any(isinstance(each, bool | np.bool_) and each for each in answers)
            or self._no_longer_falls()
        )

    def _no_longer_falls(self) -> bool:
        if self.n_iter_no_change is None:
            return False
        valid = self.history["valid"]
        return len(valid) - 1 - int(np.argmin(valid)) >= self.n_iter_no_change

    def n_best(self, n_grown: int) -> int:
        """How many of the rounds grown to keep."""
        if self.n_iter_no_change is None or not self.history:
            return n_grown
        return int(np.argmin(self.history["valid"])) + 1


def boost(
    run: EngineRun,
    objective: GroupObjective,
    n_rounds: int,
    monitor: Monitor,
    *,
    first: int = 0,
    after_round: Callable[[int], None] | None = None,
) -> int:
    """Grow rounds ``first`` to ``n_rounds`` (not included).

    Parameters
    ----------
    run : EngineRun
        With ``first`` rounds in it.
    objective : GroupObjective
    n_rounds : int
    monitor : Monitor
    first : int, default=0
    after_round : callable, default=None
        Called with the number of rounds there are, after each round that goes on.

    Returns
    -------
    n_kept : int
        How many rounds of the run to keep.
    """
    for index in range(first, n_rounds):
        if not run.grow(objective):
            logger.info("round %d: no split is possible any more", index + 1)
            return monitor.n_best(index)
        if not monitor.is_idle and monitor.update(run, objective.loss, index):
            return monitor.n_best(index + 1)
        if after_round is not None:
            after_round(index + 1)
    return monitor.n_best(n_rounds)


class GroupTrees:
    """Scores of rows as a constant plus the trees of one or more runs.

    Attributes
    ----------
    init_score : ndarray of shape (1,) or (n_classes,)
        Where boosting began.
    parts : list
        Trees as text in the engine's own format, one part for each fit that continued another;
        ``parts[0].booster`` is a live booster.
    """

    def __init__(self, init_score: NDArray[Any], parts: list[EngineModel]):
        self.init_score = init_score
        self.parts = parts

    @property
    def n_rounds(self) -> int:
        """Rounds of all parts."""
        return sum(part.n_rounds for part in self.parts)

    def extended(self, part: EngineModel) -> "GroupTrees":
        """The same with one more part; an empty one adds nothing."""
        return GroupTrees(self.init_score, [*self.parts, *([part] if part.n_rounds else [])])

    def start(self, n_rows: int) -> NDArray[Any]:
        """The constant, for each row."""
        constant = self.init_score[0] if len(self.init_score) == 1 else self.init_score
        return np.zeros((n_rows, *np.shape(constant))) + constant

    def score(self, X: Rows) -> NDArray[Any]:
        """Scores (n_rows,) or (n_rows, n_classes)."""
        score = self.start(X.shape[0])
        for part in self.parts:
            score += part.score(X)
        return score

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        """Scores after each round; every one a fresh array."""
        score = self.start(X.shape[0])
        for part in self.parts:
            for index in range(part.n_rounds):
                score = score + part.score(X, index, index + 1)
                yield score

    def contributions(self, X: Rows) -> NDArray[Any]:
        """SHAP values (n_rows, n_outputs, n_features + 1), the last column the expected score."""
        total = np.zeros((X.shape[0], len(self.init_score), X.shape[1] + 1))
        total[:, :, -1] = self.init_score
        for part in self.parts:
            total += part.contributions(X)
        return total

    def importances(self, n_features: int) -> NDArray[Any]:
        """Share of each feature in the total gain of all splits; zeros without a split."""
        gains = sum((part.gains(n_features) for part in self.parts), np.zeros(n_features))
        return gains / max(gains.sum(), np.finfo(float).tiny)

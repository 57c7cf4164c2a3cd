"""What boosting needs of an engine, and what an engine is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting import HistTrees
from groupwise.losses import BoundLoss

__all__ = ["Engine", "EngineModel", "EngineOptions", "EngineRun", "GroupObjective", "Objective"]

#: Scores of the training rows and the engine's own data object in, gradient and curvature out.
Objective = Callable[[NDArray[Any], Any], tuple[NDArray[Any], NDArray[Any]]]


@dataclass(frozen=True)
class EngineOptions:
    """How an engine grows trees.

    Attributes
    ----------
    trees : HistTrees
        Columns by position.
    learning_rate : float
    seed : int
        Of the draws of rows and features.
    extra : dict
        In the engine's own words; overrides the rest.
    """

    trees: HistTrees
    learning_rate: float = 0.1
    seed: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def l2(self) -> float:
        """L2 penalty on leaf values, 1 unless the trees have their own."""
        given = self.trees.l2_regularization
        return 1.0 if given is None else given

    @property
    def categorical(self) -> list[int]:
        """Positions of the columns that hold category codes."""
        return [int(column) for column in self.trees.categorical_features or ()]

    @property
    def monotonic(self) -> list[int] | None:
        """One sign per feature, or ``None``."""
        signs = self.trees.monotonic_cst
        return None if signs is None else [int(sign) for sign in signs]


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
    for), it returns gradient and curvature as float32, shaped like the scores.

    Attributes
    ----------
    loss : BoundLoss
    """

    def __init__(self, loss: BoundLoss, engine: str = "lightgbm"):
        if engine not in ("lightgbm", "xgboost"):
            raise ValueError(f"engine must be 'lightgbm' or 'xgboost', got {engine!r}")
        self.loss = loss
        self.engine = engine

    def __call__(self, scores: NDArray[Any], data: Any = None) -> tuple[NDArray, NDArray]:
        gradient, curvature = self.loss.gradient_and_curvature(scores, np.float32)
        if self.engine == "xgboost":  # class after class in memory is what LightGBM wants
            return np.ascontiguousarray(gradient), np.ascontiguousarray(curvature)
        return gradient, curvature

    def __deepcopy__(self, memo: Any) -> "GroupObjective":
        return self  # lightgbm.train copies its parameters; this one never changes

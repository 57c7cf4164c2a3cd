"""What the boosters need of an engine: one small interface, one file for each behind it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

__all__ = ["Engine", "EngineModel", "EngineRun", "Objective", "TreeOptions", "get_engine"]

#: Scores of the training rows and the engine's own data object in, gradient and curvature out.
Objective = Callable[[NDArray[Any], Any], tuple[NDArray[Any], NDArray[Any]]]


@dataclass(frozen=True)
class TreeOptions:
    """How trees are grown, in words that mean the same to every engine."""

    learning_rate: float = 0.1
    max_depth: int = 3
    max_leaves: int | None = None
    min_leaf_weight: float = 1.0
    reg_lambda: float = 1.0
    subsample: float = 1.0
    feature_fraction: float = 1.0
    max_bins: int = 255
    categorical_features: tuple[int, ...] = ()
    monotone_constraints: tuple[int, ...] | None = None
    n_threads: int | None = None
    seed: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


class EngineModel(Protocol):
    """Grown trees as text: can be pickled, and wakes the engine when it is asked something."""

    n_rounds: int

    def score(self, X: Any, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """Sum of the trees of rounds ``first`` to ``last`` (not included) for each row."""
        ...

    def contributions(self, X: Any) -> NDArray[Any]:
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

    def prepare(self, X: Any, options: TreeOptions) -> Any:
        """Rows to score many times, in the form the engine likes best."""
        ...

    def start(self, X: Any, options: TreeOptions, start_score: NDArray[Any]) -> EngineRun:
        """Bin the rows and begin at ``start_score``, (n_rows,) or (n_rows, n_outputs)."""
        ...


def get_engine(name: str) -> Engine:
    """Look an engine up by name."""
    if name == "lightgbm":
        from groupwise.gbdt.lightgbm_engine import LightGBMEngine

        return LightGBMEngine()
    if name == "xgboost":
        from groupwise.gbdt.xgboost_engine import XGBoostEngine

        return XGBoostEngine()
    raise ValueError(f"engine must be 'lightgbm' or 'xgboost', got {name!r}")

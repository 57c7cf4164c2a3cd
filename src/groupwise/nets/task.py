"""What networks are trained on, and how."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from groupwise.nets.batches import GroupRows
from groupwise.nets.losses import PackedLoss

__all__ = ["Settings", "Task"]


@dataclass(frozen=True)
class Settings:
    """How to train; the words are those of the estimators."""

    epochs: int = 200
    batch_groups: float | None = None
    learning_rate: float = 2e-3
    alpha: float = 1e-2
    max_norm: float | None = None
    n_iter_no_change: int | None = None
    half_precision: bool = False
    device: str = "cpu"
    seed: int = 0
    checkpoint: str | None = None
    verbose: int = 0


@dataclass(frozen=True)
class Task:
    """What is learned from: rows, and what is known of their groups.

    Attributes
    ----------
    rows : GroupRows
    target : ndarray of shape (n_groups,) or (n_groups, n_classes)
    loss : PackedLoss
    pooled : bool
        Whether the network scores groups.
    weight_row : ndarray of shape (n_rows,) or None
        Group after group.
    offset : ndarray of shape (n_rows,) or, where groups are scored, (n_groups,), or None
        What is added to the scores; of rows, group after group.
    train : ndarray of shape (n_runs, n_groups)
        What each group weighs for each network; 0 leaves it out.
    valid : ndarray of shape (n_runs, n_groups) or None
        The same for the groups that decide when to stop.
    centre, scale : ndarray or None
        Of the features.
    """

    rows: GroupRows
    target: NDArray[Any]
    loss: PackedLoss
    pooled: bool
    train: NDArray[Any]
    valid: NDArray[Any] | None = None
    weight_row: NDArray[Any] | None = None
    offset: NDArray[Any] | None = None
    centre: NDArray[Any] | None = None
    scale: NDArray[Any] | None = None

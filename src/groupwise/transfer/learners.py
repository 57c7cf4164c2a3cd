"""Weak learners as transfer takes them, and the weights they start from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting import WeakLearner, get_weak_learner
from groupwise.transfer.base import TransferRows, domain_shares

__all__ = ["get_transfer_learner", "initial_share", "starting_weights"]


def get_transfer_learner(
    estimator: Any,
    n_classes: int,
    *,
    hypotheses: str = "hard",
    X_unlabeled: "Rows | None" = None,
    feature_names: Sequence[str] | None = None,
) -> WeakLearner:
    """As :func:`groupwise.boosting.get_weak_learner`; unlabelled rows go to those who use them."""
    if X_unlabeled is not None:
        if not hasattr(estimator, "with_unlabeled"):
            raise ValueError(
                f"{type(estimator).__name__} has no use for X_unlabeled; pass none, or "
                "TransductiveSVC() as estimator"
            )
        estimator = estimator.with_unlabeled(X_unlabeled)
    return get_weak_learner(
        estimator, n_classes, hypotheses=hypotheses, feature_names=feature_names
    )


def initial_share(initial: str | float) -> float | None:
    """The target's share of the initial weight; ``None`` where every row weighs the same."""
    if isinstance(initial, str):
        if initial in ("uniform", "equal_mass"):
            return None if initial == "uniform" else 0.5
    elif 0.0 < initial < 1.0:
        return float(initial)
    raise ValueError(
        f"initial must be 'uniform', 'equal_mass' or a share in (0, 1), got {initial!r}"
    )


def starting_weights(data: TransferRows, initial: str | float) -> NDArray[np.float64]:
    """The weights of the first round, a fresh array."""
    share = initial_share(initial)
    if share is None:
        return data.weight_row.copy()
    return domain_shares(data.weight_row, data.is_target, share)

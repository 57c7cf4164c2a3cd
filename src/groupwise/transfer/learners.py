"""Weak learners as transfer takes them, and the weights they start from."""

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from groupwise._typing import Rows
from groupwise.boosting import WeakLearner, get_weak_learner
from groupwise.inputs import DomainRows, check_choice, check_number, domain_shares

__all__ = [
    "Learner",
    "UsesUnlabeled",
    "get_transfer_learner",
    "initial_share",
    "starting_weights",
]


@runtime_checkable
class UsesUnlabeled(Protocol):
    """A learner that looks at rows without labels too."""

    def with_unlabeled(self, X_unlabeled: Rows) -> WeakLearner:
        """The weak learner that has seen them."""
        ...


#: What a caller may pass as ``estimator``.
Learner: TypeAlias = ClassifierMixin | WeakLearner | None


def get_transfer_learner(
    estimator: Learner,
    n_classes: int,
    *,
    hypotheses: str = "hard",
    X_unlabeled: Rows | None = None,
) -> WeakLearner:
    """As :func:`groupwise.boosting.get_weak_learner`; unlabelled rows go to those who use them."""
    if X_unlabeled is not None:
        if not isinstance(estimator, UsesUnlabeled):
            raise ValueError(
                f"{type(estimator).__name__} has no use for X_unlabeled; pass none, or "
                "TransductiveSVC() as estimator"
            )
        estimator = estimator.with_unlabeled(X_unlabeled)
    return get_weak_learner(estimator, n_classes, hypotheses=hypotheses)


def initial_share(initial: str | float) -> float | None:
    """The target's share of the initial weight; ``None`` where every row weighs the same."""
    if isinstance(initial, str):
        check_choice("initial", initial, ("uniform", "equal_mass"))
        return None if initial == "uniform" else 0.5
    check_number("initial", initial, "(0, 1)")
    return float(initial)


def starting_weights(data: DomainRows, initial: str | float) -> NDArray[np.float64]:
    """The weights of the first round, a fresh array."""
    share = initial_share(initial)
    if share is None:
        return data.weight_row.copy()
    return domain_shares(data.weight_row, data.is_target, share)

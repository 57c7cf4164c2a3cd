"""Measures by name."""

from collections.abc import Callable
from typing import Any

from groupwise.measures.counts import Accuracy, BalancedAccuracy, FBeta, Matthews
from groupwise.measures.measure import CallableMeasure, GroupMeasure
from groupwise.measures.ranking import NDCG, AveragePrecision, PrecisionAtK, ROCArea

__all__ = ["MEASURES", "get_measure"]

#: Every named measure, with its defaults.
MEASURES: dict[str, GroupMeasure] = {
    "accuracy": Accuracy(),
    "balanced_accuracy": BalancedAccuracy(),
    "f1": FBeta(),
    "matthews": Matthews(),
    "precision_at_k": PrecisionAtK(),
    "average_precision": AveragePrecision(),
    "ndcg": NDCG(),
    "roc_area": ROCArea(),
}


def get_measure(measure: str | GroupMeasure | Callable[..., Any]) -> GroupMeasure:
    """Look a measure up by name, take the object as it is, or wrap a function.

    Examples
    --------
    >>> get_measure("f1")
    FBeta(without_positives='count', beta=1.0)
    """
    if isinstance(measure, GroupMeasure):
        return measure
    if isinstance(measure, str) and measure in MEASURES:
        return MEASURES[measure]
    if callable(measure):
        return CallableMeasure(measure)
    raise ValueError(
        f"measure must be one of {sorted(MEASURES)}, a GroupMeasure or a function, got {measure!r}"
    )

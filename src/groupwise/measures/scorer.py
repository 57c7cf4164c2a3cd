"""A scorer for scikit-learn's tools that judges a model by its groups."""

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from groupwise.measures.summary import get_aggregate, score_groups

__all__ = ["make_measure_scorer"]


class make_measure_scorer:
    """Score any classifier of rows by a measure of groups, larger being better.

    It requests ``groups`` by default, and hands them on to a ``decision_function`` that takes them.

    Parameters
    ----------
    measure : str, GroupMeasure or callable, default="f1"
    aggregate : {"mean", "worst"} or Aggregate, default="mean"

    Examples
    --------
    >>> from groupwise.measures import make_measure_scorer
    >>> make_measure_scorer("f1", aggregate="worst")
    make_measure_scorer('f1', aggregate='worst')
    """

    def __init__(self, measure: Any = "f1", *, aggregate: Any = "mean"):
        get_aggregate(aggregate)
        self.measure = measure
        self.aggregate = aggregate

    def __repr__(self) -> str:
        return f"make_measure_scorer({self.measure!r}, aggregate={self.aggregate!r})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for ``groups``."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="groups", alias=True)
        return request

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, *, groups: Any = None) -> float:
        """Score a fitted model on rows, their labels and their groups."""
        return score_groups(
            y,
            _scores(estimator, X, groups),
            groups,
            measure=self.measure,
            aggregate=self.aggregate,
            classes=estimator.classes_,
        ).value


def _scores(estimator: Any, X: Any, groups: Any) -> Any:
    decide = getattr(estimator, "decision_function", None)
    if decide is None:
        proba = np.asarray(estimator.predict_proba(X))
        return proba[:, 1] - 0.5 if proba.shape[1] == 2 else proba
    return decide(X, groups=groups) if "groups" in signature(decide).parameters else decide(X)

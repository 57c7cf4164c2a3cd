"""Why a group has its answer: what each of its rows adds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from groupwise._typing import Ids, MatrixLike
from groupwise.base import NumberPredictions, Predictions
from groupwise.explain.shapley import (
    shapley_maximum,
    shapley_mean,
    shapley_noisy_or,
    shapley_vote,
)
from groupwise.groups import Groups, show
from groupwise.inputs import split_column
from groupwise.rules import MajorityVote, MeanScore

__all__ = ["GroupShares", "class_of_groups", "explain_groups"]


@dataclass(frozen=True)
class GroupShares:
    """What each row adds to its group's answer.

    Attributes
    ----------
    groups : Groups
    share_row : ndarray of shape (n_rows,)
    value_group : ndarray of shape (n_groups,)
        The group's answer on the scale of the shares.
    base : float
        The answer of a group without rows; with the shares it adds up to ``value_group``.
    scale : {"probability", "log-odds", "number"}
    method : {"mean", "vote", "score", "maximum", "noisy-or", "total", "first-and-last"}
        How rows make their group's answer. By ``"first-and-last"`` a share is the mean of what the
        row says alone and what the answer loses with it; such shares need not add up.
    code_group : ndarray of shape (n_groups,) or None
        The class whose answer is explained, as a position in ``classes_``.
    """

    groups: Groups
    share_row: NDArray[np.float64]
    value_group: NDArray[np.float64]
    base: float
    scale: str
    method: str
    code_group: NDArray[np.intp] | None

    @property
    def adds_up(self) -> bool:
        """Whether base and shares add up to the group's answer."""
        return self.method != "first-and-last"


def explain_groups(
    estimator: BaseEstimator, X: MatrixLike, groups: Ids = None, *, label: Any = None
) -> GroupShares:
    """How much each row moves its group's answer.

    Shapley values (:mod:`groupwise.explain.shapley`) where the answers are found to be a mean of
    the rows' probabilities or scores, their vote, their largest or their noisy-or; of a regressor
    the mean or total. Otherwise every row is asked about alone, and left out once: the first and
    the last of the steps whose mean is Shapley's value (all of them, in groups of two rows).
    Leaving out by itself finds nothing where two rows say the same.

    Parameters
    ----------
    estimator : fitted estimator
        Of this library.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,), default=None
        Group ids. ``None``: each row is a group (or the estimator's ``group_column`` holds them).
    label : class, default=None
        Whose probability to explain. ``None``: of two classes the second, of more each group's
        predicted one.

    Returns
    -------
    shares : GroupShares

    Examples
    --------
    >>> from groupwise import GroupBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.explain import explain_groups
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> clf = GroupBoostClassifier(n_estimators=10, rule="mean").fit(s.X, s.y, groups=s.groups)
    >>> found = explain_groups(clf, s.X, s.groups)
    >>> found.method, found.scale, found.share_row.shape
    ('mean', 'probability', (400,))
    """
    model: Any = estimator
    features, ids = split_column(X, getattr(model, "group_column", None), groups, required=False)
    found = model.predictions(features, ids)
    if isinstance(found, NumberPredictions):
        return _explain_numbers(model, features, found)
    code = class_of_groups(found, label)
    for shares in _closed_forms(found, code):
        return shares
    answer = found.proba_group[np.arange(found.groups.n_groups), code]
    base = 1.0 / len(found.classes)
    share = _first_and_last(model, features, found.groups, answer, code, base)
    return GroupShares(found.groups, share, answer, base, "probability", "first-and-last", code)


def class_of_groups(found: Predictions, label: Any) -> NDArray[np.intp]:
    """The class of each group that is asked about."""
    if label is None:
        two = len(found.classes) == 2
        return np.full(found.groups.n_groups, 1) if two else found.code_group
    position = np.flatnonzero(found.classes == label)
    if len(position) != 1:
        raise ValueError(f"label must be one of {found.classes.tolist()}, got {show(label)}")
    return np.full(found.groups.n_groups, position[0])


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(np.allclose(one, other, rtol=1e-7, atol=1e-9))


def _closed_forms(found: Predictions, code: NDArray[np.intp]) -> Iterator[GroupShares]:
    """Rules that give the very answers the model gave, and the shares under each."""
    groups, proba = found.groups, found.proba_row
    at_group, at_row = np.arange(groups.n_groups), np.arange(groups.n_rows)
    code_row = groups.spread(code)
    own, answer = proba[at_row, code_row], found.proba_group[at_group, code]
    base = 1.0 / len(found.classes)

    def shares(
        share: NDArray[Any], method: str, base: float, value: Any = answer, scale: str = ""
    ) -> GroupShares:
        return GroupShares(groups, share, value, base, scale or "probability", method, code)

    if _same(groups.mean(proba), found.proba_group):
        yield shares(shapley_mean(own, groups, base), "mean", base)
    if _same(MajorityVote().count(found.code_row, proba, groups), found.proba_group):
        vote = (found.code_row == code_row).astype(float)
        yield shares(shapley_vote(vote, own, groups, base), "vote", base)
    if len(found.classes) != 2:
        return
    sign = np.where(code_row == 1, 1.0, -1.0)
    if _same(MeanScore().combine(proba, groups), found.proba_group):
        log_proba = np.log(np.maximum(proba, np.finfo(float).tiny))
        score = sign * (log_proba[:, 1] - log_proba[:, 0])
        yield shares(shapley_mean(score, groups), "score", 0.0, groups.mean(score), "log-odds")
    one_class = bool((code == code[0]).all())
    start = 0.0 if code[0] == 1 else 1.0  # of a group without rows: certainly negative
    positive = found.proba_group[:, 1]
    if one_class and _same(groups.max(proba[:, 1]), positive):
        yield shares(sign * shapley_maximum(proba[:, 1], groups), "maximum", start)
    none = np.exp(groups.sum(np.log(np.maximum(proba[:, 0], np.finfo(float).tiny))))
    if one_class and _same(1.0 - none, positive):
        yield shares(sign * shapley_noisy_or(proba[:, 1], groups), "noisy-or", start)


def _explain_numbers(model: Any, X: Any, found: NumberPredictions) -> GroupShares:
    groups, number = found.groups, found.y_group
    for method, total in (("mean", groups.mean(found.y_row)), ("total", groups.sum(found.y_row))):
        if np.allclose(total, number, rtol=1e-6, atol=1e-9):
            size = groups.sizes[groups.codes] if method == "mean" else 1.0
            return GroupShares(groups, found.y_row / size, number, 0.0, "number", method, None)
    share = _first_and_last(model, X, groups, number, None, 0.0)
    return GroupShares(groups, share, number, 0.0, "number", "first-and-last", None)


def _first_and_last(
    model: Any,
    X: Any,
    groups: Groups,
    answer: NDArray[Any],
    code: NDArray[np.intp] | None,
    base: float,
) -> NDArray[np.float64]:
    """Mean of what a row says alone and what its group's answer loses with it."""

    def ask(rows: NDArray[np.intp], ids: NDArray[Any], of_group: NDArray[np.intp]) -> NDArray[Any]:
        found = model.predictions(_safe_indexing(X, rows), ids)
        if code is None:
            return found.y_group
        return found.proba_group[np.arange(len(of_group)), code[of_group]]

    every = np.arange(groups.n_rows)
    first = ask(every, every, groups.codes) - base
    last = answer[groups.codes] - base  # of a row that is its group
    place = np.empty(groups.n_rows, np.intp)
    place[groups.order] = every - groups.offsets[groups.codes[groups.order]]
    for left_out in range(int(groups.sizes.max())):  # one row of every group at a time
        larger = groups.sizes > max(left_out, 1)
        here = (place == left_out) & larger[groups.codes]
        if here.any():
            kept = np.flatnonzero((place != left_out) & larger[groups.codes])
            without = np.empty(groups.n_groups)
            without[larger] = ask(kept, groups.codes[kept], np.flatnonzero(larger))
            last[here] = (answer - without)[groups.codes[here]]
    return (first + last) / 2.0

"""Groups whose label is probably wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike, RandomState
from groupwise.exceptions import GroupDataError
from groupwise.inputs import check_groups, check_number, expecting, split_column
from groupwise.inputs.labels import distinct_labels, one_entry_per_row
from groupwise.model_selection import Splitter, WholeGroupKFold, split_whole_groups

__all__ = ["LabelIssues", "find_label_issues", "rank_label_issues"]

# Probabilities as near as this are equal but for rounding.
_TIE = 1e-9

# How often folds are drawn.
N_REPEATS = 3


@dataclass(frozen=True)
class LabelIssues:
    """Groups by how little their label is believed, the least first.

    Attributes
    ----------
    table : DataFrame
        One line per group: ``group``, ``rows``, ``given`` and ``suggested`` label, ``proba`` (of
        the given label by models that have not seen the group), ``belief`` (that over its mean
        among the groups with this label: the list is in this order) and ``issue`` (whether
        confident learning counts the label as wrong).
    counts : DataFrame
        The confident joint: groups by given label (lines) and the label they confidently have.
    """

    table: pd.DataFrame
    counts: pd.DataFrame

    @property
    def n_issues(self) -> int:
        """How many labels are counted as wrong."""
        return int(self.table["issue"].sum())


def find_label_issues(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: Ids = None,
    keep_whole: ArrayLike | None = None,
    cv: int | Splitter = 5,
    random_state: RandomState = None,
) -> LabelIssues:
    r"""Rank groups by out-of-fold evidence against their labels.

    Confident learning (Northcutt, Jiang and Chuang 2021), counted over groups: with
    :math:`t_c` the mean probability of c over the groups labelled c, a group confidently has the
    most probable class among those with :math:`p(c) \ge t_c`; where that is another than its
    label, the label is an issue. Groups are ranked by :math:`p(c) / t_c` of their label c. If all
    labels are as likely to be wrong, and any other label as likely instead, the chance of an error
    depends on p(c) alone; :math:`t_c` makes up for classes that the model is shy of.

    Parameters
    ----------
    estimator : classifier
        Any of this library's for labels of groups; clones are fitted.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        The group's label, repeated on each of its rows.
    groups : array-like of shape (n_rows,), default=None
        Group ids. ``None``: each row is a group (or the estimator's ``group_column`` holds them).
    keep_whole : array-like of shape (n_rows,), default=None
        Coarser ids that no fold may divide: a user's sessions would vouch for each other.
    cv : int or splitter, default=5
        A number is that of folds of whole groups, stratified unless ``keep_whole`` is given, and
        drawn three times: probabilities are averaged, which makes the list steadier. A splitter
        tests every group as often as it likes.
    random_state : int, RandomState instance or None, default=None
        Of the folds.

    Returns
    -------
    issues : LabelIssues

    Examples
    --------
    >>> from groupwise import GroupBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.uncertainty import find_label_issues
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> found = find_label_issues(
    ...     GroupBoostClassifier(n_estimators=10), s.X, s.y, groups=s.groups, random_state=0)
    >>> found.table.columns.tolist()
    ['group', 'rows', 'given', 'suggested', 'proba', 'belief', 'issue']
    """
    X, ids = split_column(X, getattr(estimator, "group_column", None), groups)
    encoded = check_groups(ids, _num_samples(X))
    classes, codes = distinct_labels(one_entry_per_row(y, encoded), encoded)
    y_group = encoded.one_per_group(codes)
    if len(classes) < 2:
        raise GroupDataError("y holds one class only: there is no other label a group could have")
    rng = check_random_state(random_state)
    if isinstance(cv, int):
        check_number("cv", cv, "[2, inf)", whole=True)
        fewest = int(np.bincount(y_group).min())
        stratify = keep_whole is None
        if stratify and fewest < 2:
            raise GroupDataError(
                f"class {classes[np.bincount(y_group).argmin()]!r} has one group: no other group "
                "could vouch for its label"
            )
        cv = WholeGroupKFold(
            min(cv, fewest) if stratify else cv,
            n_repeats=N_REPEATS,
            stratify=stratify,
            random_state=rng,
        )
    splits = split_whole_groups(cv, X, codes, encoded, keep_whole=keep_whole)
    proba = np.zeros((encoded.n_groups, len(classes)))
    n_tests = np.zeros((encoded.n_groups, 1))
    for train, test in splits:
        model: Any = clone(estimator)
        with expecting("X", f"rows that {type(model).__name__} can be fitted to"):
            model.fit(_safe_indexing(X, train), codes[train], groups=encoded.codes[train])
        found = model.predictions(_safe_indexing(X, test), encoded.codes[test])
        proba[found.groups.names] += found.with_classes(np.arange(len(classes))).proba_group
        n_tests[found.groups.names] += 1
    if not n_tests.all():
        raise ValueError(f"cv must test every group, {cv!r} does not")
    return rank_label_issues(proba / n_tests, y_group, classes, encoded.names, encoded.sizes)


def rank_label_issues(
    proba_group: NDArray[Any],
    y_group: NDArray[np.intp],
    classes: NDArray[Any],
    names: NDArray[Any],
    sizes: NDArray[np.intp],
) -> LabelIssues:
    """Rank groups from probabilities by models that have not seen them.

    Parameters
    ----------
    proba_group : ndarray of shape (n_groups, n_classes)
    y_group : ndarray of shape (n_groups,)
        Positions in ``classes``.
    classes : ndarray of shape (n_classes,)
    names, sizes : ndarray of shape (n_groups,)
    """
    n_groups, n_classes = proba_group.shape
    one_hot = np.eye(n_classes)[y_group]
    count = np.maximum(one_hot.sum(axis=0), 1.0)
    mean = (one_hot * proba_group).sum(axis=0) / count
    confident = np.where(proba_group >= mean - _TIE, proba_group, -1.0)
    most, given = confident.max(axis=1), confident[np.arange(n_groups), y_group]
    sure = most >= 0
    held = np.where(sure & (given < most - _TIE), confident.argmax(axis=1), y_group)
    counts = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(counts, (y_group[sure], held[sure]), 1)
    proba = proba_group[np.arange(n_groups), y_group]
    other = np.where(one_hot > 0, -1.0, proba_group).argmax(axis=1)
    table = pd.DataFrame(
        {
            "group": names,
            "rows": sizes,
            "given": classes[y_group],
            "suggested": classes[np.where(held != y_group, held, other)],
            "proba": proba,
            "belief": proba / np.maximum(mean[y_group], np.finfo(float).tiny),
            "issue": held != y_group,
        }
    )
    order = np.argsort(table["belief"].to_numpy(), kind="stable")
    labels = pd.Index(classes, name="given")
    return LabelIssues(
        table.iloc[order].reset_index(drop=True),
        pd.DataFrame(counts, index=labels, columns=pd.Index(classes, name="confident")),
    )

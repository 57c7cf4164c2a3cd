"""Rows seen from inside their group: how each differs from its neighbours."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import _num_samples, has_fit_parameter

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.groups import Groups
from groupwise.inputs import (
    LARGEST_VALUE,
    check_groups,
    refuse_size,
    take_rows_like,
)
from groupwise.inputs.labels import require_y
from groupwise.inputs.rows import check_features, remember_features

__all__ = ["RelativeFeaturesClassifier", "add_relative_features"]

_RELATIVE = ("score", "difference", "mean")
# A difference so small, beside the mean, is the mean's rounding.
_ROUNDING = 4.0 * np.finfo(np.float64).eps


class RelativeFeaturesClassifier(BaseGroupClassifier):
    r"""Any classifier of this library, on features and on how they differ inside each group.

    What is much for one user is little for another, and an atom stands out in one molecule and not
    in the next. Beside the features x the estimator is given those of
    :func:`add_relative_features`, by default :math:`x - \bar x`, with the mean over the row's own
    group. They need no label, so that new groups have them, too; ask about whole groups, as the
    mean is that of the rows asked about.

    Parameters
    ----------
    estimator : classifier
        Of this library; everything is asked of it, ``score`` included.
    relative : tuple of {"score", "difference", "mean"}, default=("difference",)
        As in :func:`add_relative_features`. Standard scores suit groups that differ in scale; means
        beside differences want many groups, as trees can tell a group by its means.
    group_column : str, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        Fitted.
    relative_ : tuple of str
        Empty if every group had one row: rows alone differ from nothing, and the method is its
        estimator.
    n_groups_ : int

    References
    ----------
    Y. Mundlak (1978). On the pooling of time series and cross section data. Econometrica 46.

    Examples
    --------
    >>> from groupwise import RelativeFeaturesClassifier
    >>> from groupwise.datasets.users import make_users
    >>> from groupwise.measures import BoostedRowsClassifier
    >>> u = make_users(n_users=40, random_state=0)
    >>> clf = RelativeFeaturesClassifier(BoostedRowsClassifier(n_estimators=30))
    >>> clf = clf.fit(u.X, u.y, groups=u.groups)
    >>> clf.estimator_.n_features_in_ == 2 * u.X.shape[1]
    True
    """

    _decides_per_group = True

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        relative: tuple[str, ...] = ("difference",),
        group_column: str | None = None,
    ):
        self.estimator = estimator
        self.relative = relative
        self.group_column = group_column

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> Self:
        """Fit the estimator to rows with their relative features.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            Of what the estimator takes; a sparse matrix becomes a dense table.
        y : array-like of shape (n_rows,)
            As the estimator takes it.
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        self : estimator
        """
        _check_relative(self.relative)
        if not has_fit_parameter(self.estimator, "groups"):
            raise TypeError(
                f"estimator must be one that fits groups, got {type(self.estimator).__name__}; "
                "NaiveGroupClassifier makes one of a classifier of rows"
            )
        require_y(self, y)
        table, groups = self._groups_to_fit(X, groups)
        rows = check_features(self, table)
        encoded = check_groups(groups, _num_samples(rows))
        rows_alone = encoded.n_groups == encoded.n_rows
        relative = () if rows_alone else tuple(self.relative)
        features = _with_relative(rows, encoded, relative)
        self.estimator_ = clone(self.estimator).fit(features, y, groups=encoded)
        self.relative_ = relative
        self.classes_ = self.estimator_.classes_
        self._remember_groups(groups, encoded)
        remember_features(self, table)
        return self

    def _features(self, rows: Rows, groups: Groups) -> Rows:
        return _with_relative(rows, groups, self.relative_)

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        return self.estimator_.predictions(self._features(rows, groups), groups)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self._predictions(rows, groups)
        return found.score_row, found.proba_row

    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).y_row

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.estimator_.predict_groups(self._features(rows, groups), groups)

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.estimator_.predict_groups_proba(self._features(rows, groups), groups)

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
        """What the estimator's ``score`` says of groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            As in ``fit``.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        return self.estimator_.score(self._features(rows, encoded), y, encoded)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_rows_like(tags, self.estimator)
        return tags


def add_relative_features(
    X: ArrayLike, groups: Ids, relative: Sequence[str] = ("score",)
) -> NDArray[Any]:
    r"""Append how each row's features differ from those of its group.

    With the mean :math:`\bar x` and the standard deviation s of a feature over the row's own group:

    - ``"score"``: :math:`(x - \bar x) / s`, 0 where the group is constant;
    - ``"difference"``: :math:`x - \bar x`;
    - ``"mean"``: :math:`\bar x`.

    They use no label, and of other groups nothing, so they are as good for new groups as for known
    ones, and cannot leak from training into test. Scores and differences keep what is peculiar to a
    row without what is peculiar to its user (a shift, a scale); beside differences, means let a
    learner tell the two apart (Mundlak 1978).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Missing values (NaN) count for nothing in their group's means, and stay missing.
    groups : array-like of shape (n_rows,) or None
        ``None``: every row is its own group, and all scores and differences are 0.
    relative : sequence of {"score", "difference", "mean"}, default=("score",)
        What is appended, in this order.

    Returns
    -------
    X_both : ndarray of shape (n_rows, n_features * (1 + len(relative)))
        The features, then those appended.

    References
    ----------
    Y. Mundlak (1978). On the pooling of time series and cross section data. Econometrica 46.

    Examples
    --------
    >>> add_relative_features([[1.0], [3.0], [7.0]], ["a", "a", "b"]).tolist()
    [[1.0, -1.0], [3.0, 1.0], [7.0, 0.0]]
    >>> add_relative_features([[1.0], [3.0]], ["a", "a"], ("difference", "mean")).tolist()
    [[1.0, -1.0, 2.0], [3.0, 1.0, 2.0]]
    """
    _check_relative(relative)
    rows = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    refuse_size("X", rows, LARGEST_VALUE, name="add_relative_features", also_small=False)
    return _with_relative(rows, check_groups(groups, len(rows)), relative)


def _check_relative(relative: Sequence[str]) -> None:
    """Refuse what is no relative feature, and none at all."""
    if isinstance(relative, str) or not len(relative) or set(relative) - set(_RELATIVE):
        raise ValueError(f"relative must be some of {_RELATIVE}, got {relative!r}")


def _with_relative(X: Rows, groups: Groups, relative: Sequence[str]) -> Rows:
    """Checked rows with their relative features behind them."""
    if not relative:
        return X
    table: Any = X
    rows = table.toarray() if issparse(table) else table
    n_features = rows.shape[1]
    both = np.empty((len(rows), n_features * (1 + len(relative))), rows.dtype)
    both[:, :n_features] = rows
    for place, column in enumerate(rows.T):  # one at a time: at once they would be several tables
        mean = groups.spread(_known_mean(column, groups))
        mean += groups.spread(_known_mean(column - mean, groups))  # what the sum of many has lost
        apart = column - mean
        apart[np.abs(apart) <= _ROUNDING * np.abs(mean)] = 0.0
        features = {"difference": apart, "mean": mean}
        if "score" in relative:
            features["score"] = _score(apart, groups)
        for number, each in enumerate(relative, start=1):
            both[:, number * n_features + place] = features[each]
    return both


def _score(apart: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    unit = groups.spread(groups.max(np.nan_to_num(np.abs(apart))))
    part = np.divide(apart, unit, out=apart.copy(), where=unit > 0.0)  # its square is no underflow
    spread = np.sqrt(groups.spread(_known_mean(part**2, groups)))
    return np.divide(part, spread, out=part.copy(), where=spread > 0.0)


def _known_mean(values: NDArray[Any], groups: Groups) -> NDArray[np.float64]:
    """Mean of the values that are known, per group; NaN where none is."""
    missing = np.isnan(values)
    if not missing.any():
        return groups.mean(values)
    n_known = groups.sum(~missing)
    total = groups.sum(np.where(missing, 0.0, values))
    return np.divide(total, n_known, out=np.full_like(total, np.nan), where=n_known > 0)

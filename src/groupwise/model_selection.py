"""Splitting and cross-validation that keep groups whole."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from groupwise._compat import GroupsConsumerMixin
from groupwise._typing import Ids, MatrixLike, RandomState
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import check_groups, check_number, split_column

__all__ = [
    "Splitter",
    "WholeGroupKFold",
    "WholeGroupShuffleSplit",
    "cross_validate",
    "group_train_test_split",
    "hold_out_groups",
    "paper_split",
    "split_whole_groups",
]


@runtime_checkable
class Splitter(Protocol):
    """What scikit-learn's splitters have in common."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits."""
        ...

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        """Yield row positions for training and test."""
        ...


class _WholeGroupSplitter(GroupsConsumerMixin, ABC):
    """Split the list of groups, then take every group's rows along."""

    stratify: bool

    #: So many groups there must be.
    _least_groups: int = 2

    @abstractmethod
    def _group_splits(self, y_group: NDArray[Any] | None, n_groups: int) -> Iterator[Any]:
        """Splits of the list of groups."""

    def split(
        self, X: MatrixLike, y: ArrayLike | None = None, groups: Ids = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield row positions for training and test; no group is in both."""
        encoded = check_groups(groups, _num_samples(X))
        y_group = None
        if self.stratify and y is not None:
            y_group = encoded.one_per_group(y)
            self._check_enough(y_group)
        if encoded.n_groups < self._least_groups:
            raise GroupDataError(
                f"cannot make {self.get_n_splits()} splits of {encoded.n_groups} groups"
            )
        for _, test in self._group_splits(y_group, encoded.n_groups):
            in_test = np.zeros(encoded.n_groups, dtype=bool)
            in_test[test] = True
            row_in_test = encoded.spread(in_test)
            yield np.flatnonzero(~row_in_test), np.flatnonzero(row_in_test)

    @abstractmethod
    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Number of splits."""

    def _groups_needed_per_class(self) -> int:
        return 2

    def _check_enough(self, y_group: NDArray[Any]) -> None:
        classes, counts = np.unique(y_group, return_counts=True)
        rarest = int(counts.argmin())
        needed = self._groups_needed_per_class()
        if counts[rarest] < needed:
            raise GroupDataError(
                f"{self!r} needs at least {needed} groups of each class; class "
                f"{show(classes[rarest])} has {counts[rarest]} (stratify=False splits regardless)"
            )


class WholeGroupKFold(_WholeGroupSplitter):
    """K folds of whole groups, each with its share of every class of groups.

    scikit-learn's ``StratifiedGroupKFold`` balances rows; here it is groups that are counted, as
    they are in every score of this library.

    Parameters
    ----------
    n_splits : int, default=5
    n_repeats : int, default=1
        Repeat with other random folds.
    stratify : bool, default=True
        By the group's label; needs one label per group.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> groups = np.repeat(["a", "b", "c", "d"], 3)
    >>> y = np.repeat([0, 0, 1, 1], 3)
    >>> for train, test in WholeGroupKFold(2, random_state=0).split(groups, y, groups):
    ...     print(np.unique(groups[test]))
    ['b' 'c']
    ['a' 'd']
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 1,
        stratify: bool = True,
        random_state: RandomState = None,
    ):
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.stratify = stratify
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"WholeGroupKFold(n_splits={self.n_splits}, n_repeats={self.n_repeats})"

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Number of splits, repeats counted in."""
        return self.n_splits * self.n_repeats

    @property
    def _least_groups(self) -> int:  # type: ignore[override]  # constant in the other
        return self.n_splits

    def _groups_needed_per_class(self) -> int:
        return self.n_splits

    def _group_splits(self, y_group: NDArray[Any] | None, n_groups: int) -> Iterator[Any]:
        rng = check_random_state(self.random_state)
        kind = KFold if y_group is None else StratifiedKFold
        for _ in range(self.n_repeats):
            folds = kind(self.n_splits, shuffle=True, random_state=rng)
            yield from folds.split(np.zeros((n_groups, 1)), y_group)


class WholeGroupShuffleSplit(_WholeGroupSplitter):
    """Random splits of whole groups into training and test.

    Parameters
    ----------
    n_splits : int, default=10
    test_size : float, default=0.2
        Share of the groups.
    stratify : bool, default=True
        By the group's label; needs one label per group.
    random_state : int, RandomState instance or None, default=None
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float = 0.2,
        stratify: bool = True,
        random_state: RandomState = None,
    ):
        self.n_splits = n_splits
        self.test_size = test_size
        self.stratify = stratify
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"WholeGroupShuffleSplit(n_splits={self.n_splits}, test_size={self.test_size})"

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Number of splits."""
        return self.n_splits

    def _group_splits(self, y_group: NDArray[Any] | None, n_groups: int) -> Iterator[Any]:
        kind: Any = ShuffleSplit
        size = self.test_size
        check_number("test_size", size, "(0, 1)")
        if y_group is not None:
            kind = StratifiedShuffleSplit
            # every class has to fit on both sides
            n_classes = len(np.unique(y_group))
            size = min(max(math.ceil(size * n_groups), n_classes), n_groups - n_classes)
        splits = kind(self.n_splits, test_size=size, random_state=self.random_state)
        yield from splits.split(np.zeros((n_groups, 1)), y_group)


def paper_split(random_state: RandomState = None) -> WholeGroupShuffleSplit:
    """The split Jin and Liu (2005) choose gamma by: 80 % of the training groups against 20 %."""
    return WholeGroupShuffleSplit(1, test_size=0.2, random_state=random_state)


def hold_out_groups(
    n_groups: int,
    fraction: float,
    rng: np.random.RandomState,
    strata: tuple[NDArray[np.intp], Sequence[str]] | None = None,
) -> NDArray[np.bool_]:
    """Which groups ``early_stopping`` holds out.

    Parameters
    ----------
    n_groups : int
    fraction : float
        Share of the groups to hold out.
    rng : RandomState
    strata : (ndarray of shape (n_groups,), sequence of str), default=None
        A code per group, and what a group of each code is called. Both sides have some of each.

    Returns
    -------
    held_out : ndarray of shape (n_groups,)

    Raises
    ------
    GroupDataError
        If there is only one group of a code.
    """
    code_group, names = (None, ()) if strata is None else strata
    splitter = WholeGroupShuffleSplit(
        1, test_size=fraction, stratify=code_group is not None, random_state=rng.randint(2**31 - 1)
    )
    n_of_code = np.bincount(() if code_group is None else code_group)
    if (n_of_code == 1).any():
        raise GroupDataError(
            "early_stopping holds some groups of every kind out, and there is only one "
            f"{names[int(np.argmax(n_of_code == 1))]}: pass more of these, or set "
            "early_stopping=False"
        )
    held_out = np.zeros(n_groups, dtype=bool)
    held_out[next(splitter.split(held_out, code_group))[1]] = True
    for code in np.flatnonzero(n_of_code):
        alike = np.flatnonzero(code_group == code)
        if len(np.unique(held_out[alike])) == 1:  # so few that one side's share rounds to none
            moved = rng.choice(alike)
            held_out[moved] = ~held_out[moved]
    return held_out


def group_train_test_split(
    *arrays: Any,
    groups: ArrayLike,
    y: ArrayLike | None = None,
    keep_whole: ArrayLike | None = None,
    test_size: float = 0.25,
    random_state: RandomState = None,
) -> list[Any]:
    """Split arrays into training and test rows, groups kept whole.

    Parameters
    ----------
    *arrays : sequences of length n_rows
    groups : array-like of shape (n_rows,)
    y : array-like of shape (n_rows,), default=None
        Stratify by these labels, one per group (not with ``keep_whole``).
    keep_whole : array-like of shape (n_rows,), default=None
        Coarser ids that are not divided either: users who have several sessions each.
    test_size : float, default=0.25
        Share of the groups, or of the coarser ids.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    parts : list
        Training and test part of each array, then of ``groups`` itself.

    Examples
    --------
    >>> import numpy as np
    >>> X, groups = np.arange(8).reshape(4, 2), np.array(["a", "b", "a", "b"])
    >>> X_train, X_test, g_train, g_test = group_train_test_split(
    ...     X, groups=groups, test_size=0.5, random_state=0)
    >>> g_train.tolist(), g_test.tolist()
    (['a', 'a'], ['b', 'b'])
    """
    splitter = WholeGroupShuffleSplit(
        1,
        test_size=test_size,
        stratify=y is not None and keep_whole is None,
        random_state=random_state,
    )
    whole = groups if keep_whole is None else keep_whole
    split = next(splitter.split(arrays[0] if arrays else groups, y, whole))
    _check_none_divided([split], check_groups(groups, _num_samples(groups)), "group")
    train, test = split
    return [_safe_indexing(array, rows) for array in (*arrays, groups) for rows in (train, test)]


def cross_validate(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: Ids = None,
    keep_whole: ArrayLike | None = None,
    cv: int | Splitter = 5,
    scoring: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """scikit-learn's ``cross_validate`` with the groups passed to everyone who needs them.

    Switches metadata routing on for the call and hands ``groups`` to the splitter, the estimator
    and the scorer. (scikit-learn's own function, called with ``groups=``, hands them to the
    splitter only, and the model is trained as if every row were a group of its own.)

    Parameters
    ----------
    estimator : estimator
        A group estimator, a pipeline that ends in one, or a plain classifier.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    groups : array-like of shape (n_rows,), default=None
        May be left out when the estimator has a ``group_column``.
    keep_whole : array-like of shape (n_rows,), default=None
        Coarser ids that no split may divide, for example users who have several sessions each.
    cv : int or splitter, default=5
        An integer is the number of folds of :class:`WholeGroupKFold`, seeded with 0 and stratified
        where each group has one class (not with ``keep_whole``: a user has sessions of all kinds).
    scoring : None, scorer, list or dict, default=None
        ``None`` is the estimator's own group-level ``score``. See
        :func:`groupwise.metrics.make_scorer`.
    **options
        Passed on: ``n_jobs``, ``return_train_score``, ``return_estimator``, ``verbose``, ...

    Returns
    -------
    scores : dict of arrays
        As from scikit-learn.
    """
    ids = split_column(X, getattr(estimator, "group_column", None), groups)[1]
    encoded = check_groups(ids, _num_samples(X))
    stratify = keep_whole is None and _one_class_each(y, encoded)
    splits = split_whole_groups(
        cv, X, y, encoded, keep_whole=keep_whole, stratify=stratify, random_state=0
    )
    with sklearn.config_context(enable_metadata_routing=True):
        params = {} if ids is None else {"groups": encoded.spread(encoded.names)}
        return sklearn_cross_validate(
            estimator, X, y, params=params, cv=splits, scoring=scoring, **options
        )


def split_whole_groups(
    cv: int | Splitter,
    X: MatrixLike,
    y: ArrayLike | None,
    groups: Groups,
    *,
    keep_whole: ArrayLike | None = None,
    stratify: bool = True,
    random_state: RandomState = None,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The splits of a number of folds or a splitter; one that divides a group is an error.

    Parameters
    ----------
    cv : int or splitter
        A number is that of :class:`WholeGroupKFold`.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or None
    groups : Groups
    keep_whole : array-like of shape (n_rows,), default=None
        Coarser ids that no split may divide.
    stratify : bool, default=True
        Of the folds that a number makes.
    random_state : int, RandomState instance or None, default=None
        Of the folds that a number makes.

    Returns
    -------
    splits : list of (train, test)
        Row positions.
    """
    if not isinstance(cv, Integral | Splitter):
        raise ValueError(f"cv must be a number of folds or a splitter, got {cv!r}")
    if isinstance(cv, int | Integral):
        check_number("cv", cv, "[2, inf)", whole=True)
        cv = WholeGroupKFold(int(cv), stratify=stratify, random_state=random_state)
    whole = groups.spread(groups.names) if keep_whole is None else keep_whole
    # scikit-learn's splitters that ignore groups warn when given any
    splits = list(cv.split(X, y, whole) if _takes_groups(cv) else cv.split(X, y))
    _check_none_divided(splits, groups, "group")
    if keep_whole is not None:
        _check_none_divided(splits, check_groups(keep_whole, groups.n_rows), "keep_whole")
    return splits


def split_as_given(
    cv: Splitter,
    order: NDArray[np.intp],
    X: MatrixLike,
    y: ArrayLike,
    groups: Groups,
    *,
    keep_whole: NDArray[Any] | None = None,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """What a splitter makes of rows in the caller's order, where these lie in another.

    Parameters
    ----------
    cv : splitter
        It may go by the place of rows, as ``PredefinedSplit`` does.
    order : ndarray of shape (n_rows,)
        The place of each row among those of the caller.
    X, y, groups, keep_whole
        The rows as they lie.

    Returns
    -------
    splits : list of (train, test)
        Positions of rows as they lie, sorted.
    """
    back = np.argsort(order)
    splits = split_whole_groups(
        cv,
        _safe_indexing(X, back),
        _safe_indexing(y, back),
        Groups(groups.names[groups.codes[back]]),
        keep_whole=None if keep_whole is None else keep_whole[back],
    )
    return [(np.sort(back[train]), np.sort(back[test])) for train, test in splits]


def _one_class_each(y: ArrayLike, groups: Groups) -> bool:
    if type_of_target(y) not in ("binary", "multiclass"):
        return False
    y_row = np.asarray(y)
    return bool((y_row == y_row[groups.first_rows][groups.codes]).all())


def _takes_groups(cv: Any) -> bool:
    return hasattr(cv, "get_metadata_routing") and bool(
        cv.get_metadata_routing().consumes("split", ["groups"])
    )


def _check_none_divided(splits: list[Any], groups: Groups, unit: str) -> None:
    """Refuse splits with a group, or one of the coarser ids, in both parts."""
    for train, test in splits:
        in_train = np.zeros(groups.n_groups, dtype=bool)
        in_train[groups.codes[train]] = True
        divided = in_train[groups.codes[test]]
        if divided.any():
            name = groups.names[groups.codes[test][np.argmax(divided)]]
            raise GroupDataError(
                f"cv divides {unit} {show(name)} between training and test; use a splitter that "
                f"keeps {'groups' if unit == 'group' else 'them'} whole, such as WholeGroupKFold"
            )

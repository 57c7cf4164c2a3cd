"""Splits for transfer: source rows always train, target rows alone are judged."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from groupwise._compat import MetadataRequester
from groupwise._typing import Ids, MatrixLike, RandomState
from groupwise.exceptions import GroupDataError
from groupwise.groups import show
from groupwise.inputs import check_groups, find_target_rows
from groupwise.model_selection import Splitter

__all__ = ["Folds", "TargetKFold", "TargetShuffleSplit"]

#: What a caller may pass as ``cv``: a number, a splitter, or train and test positions.
Folds: TypeAlias = int | Splitter | Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]] | None


class _TargetSplitter(MetadataRequester, ABC):
    """Split the target's rows; the source's are in every training set."""

    __metadata_request__split = {"domains": True}  # noqa: RUF012  # scikit-learn reads a plain dict

    target_domain: Hashable | None

    @abstractmethod
    def _target_splits(self, y_target: NDArray[Any] | None, n_target: int) -> Iterator[Any]:
        """Splits of the target's rows alone."""

    @abstractmethod
    def get_n_splits(self, X: object = None, y: object = None, domains: object = None) -> int:
        """Number of splits."""

    def split(
        self, X: MatrixLike, y: ArrayLike | None = None, domains: Ids = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield row positions for training (with all source rows) and test (target rows only)."""
        n_rows = _num_samples(X)
        encoded = None if domains is None else check_groups(domains, n_rows, name="domains")
        target = np.flatnonzero(find_target_rows(encoded, self.target_domain, n_rows))
        source = np.setdiff1d(np.arange(n_rows), target)
        y_target = None
        if y is not None and type_of_target(y) in ("binary", "multiclass"):
            y_target = np.asarray(y)[target]
            self._check_enough(y_target)
        for train, test in self._target_splits(y_target, len(target)):
            yield np.sort(np.concatenate([source, target[train]])), target[test]

    def _rows_needed_per_class(self) -> int:
        return 2

    def _check_enough(self, y_target: NDArray[Any]) -> None:
        classes, counts = np.unique(y_target, return_counts=True)
        rarest, needed = int(counts.argmin()), self._rows_needed_per_class()
        if counts[rarest] < needed:
            raise GroupDataError(
                f"{self!r} needs at least {needed} target rows of each class; class "
                f"{show(classes[rarest])} has {counts[rarest]}"
            )


class TargetKFold(_TargetSplitter):
    """K folds of the target's rows; source rows are in every training set, never in a test set.

    Requests ``domains`` by default, so one ``params={"domains": d}`` (or ``fit(..., domains=d)`` of
    ``GridSearchCV``) with metadata routing on serves splitter, estimator and scorer.

    Parameters
    ----------
    n_splits : int, default=5
    target_domain : domain id, default=None
        ``None`` where there is one domain only.
    n_repeats : int, default=1
        Repeat with other random folds.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.transfer import TargetKFold
    >>> domains = np.array(["s", "s", "t", "t", "t", "t"])
    >>> y = np.array([0, 1, 0, 0, 1, 1])
    >>> for train, test in TargetKFold(2, target_domain="t", random_state=0).split(y, y, domains):
    ...     print(domains[train], domains[test], y[test])
    ['s' 's' 't' 't'] ['t' 't'] [0 1]
    ['s' 's' 't' 't'] ['t' 't'] [0 1]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        target_domain: Hashable | None = None,
        n_repeats: int = 1,
        random_state: RandomState = None,
    ):
        self.n_splits = n_splits
        self.target_domain = target_domain
        self.n_repeats = n_repeats
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"TargetKFold(n_splits={self.n_splits}, target_domain={self.target_domain!r})"

    def get_n_splits(self, X: object = None, y: object = None, domains: object = None) -> int:
        """Number of splits, repeats counted in."""
        return self.n_splits * self.n_repeats

    def _rows_needed_per_class(self) -> int:
        return self.n_splits

    def _target_splits(self, y_target: NDArray[Any] | None, n_target: int) -> Iterator[Any]:
        rng = check_random_state(self.random_state)
        kind = KFold if y_target is None else StratifiedKFold
        for _ in range(self.n_repeats):
            folds = kind(self.n_splits, shuffle=True, random_state=rng)
            yield from folds.split(np.zeros((n_target, 1)), y_target)


class TargetShuffleSplit(_TargetSplitter):
    """Random splits of the target's rows; source rows are in every training set.

    Parameters
    ----------
    n_splits : int, default=10
    target_domain : domain id, default=None
        ``None`` where there is one domain only.
    test_size : float, default=0.2
        Share of the target's rows.
    random_state : int, RandomState instance or None, default=None
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        target_domain: Hashable | None = None,
        test_size: float = 0.2,
        random_state: RandomState = None,
    ):
        self.n_splits = n_splits
        self.target_domain = target_domain
        self.test_size = test_size
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"TargetShuffleSplit(n_splits={self.n_splits}, target_domain={self.target_domain!r})"

    def get_n_splits(self, X: object = None, y: object = None, domains: object = None) -> int:
        """Number of splits."""
        return self.n_splits

    def _target_splits(self, y_target: NDArray[Any] | None, n_target: int) -> Iterator[Any]:
        kind = ShuffleSplit if y_target is None else StratifiedShuffleSplit
        splits = kind(self.n_splits, test_size=self.test_size, random_state=self.random_state)
        yield from splits.split(np.zeros((n_target, 1)), y_target)

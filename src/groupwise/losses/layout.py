"""Rows laid out group after group, in blocks, and sums over machines that hold some of them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from groupwise.groups import Groups
from groupwise.losses.logistic import exp_limit

__all__ = [
    "Block",
    "Communicator",
    "GroupedLayout",
    "LocalOnly",
    "SpreadGroups",
    "SpreadLayout",
    "layout_of",
]

Reduced = TypeVar("Reduced", float, NDArray[Any])

_BLOCK = 65_536  # rows that are computed at a time
_SMALL = 64  # rows of a group up to which beginning a sum costs more than adding up


class GroupedLayout:
    """The groups of :class:`~groupwise.groups.Groups` as runs of neighbouring rows.

    Sums over runs are several times quicker than sums over scattered rows. Rows that already lie
    together are taken as they are, whatever the order of their groups; others are moved on the way
    in and back on the way out (with ``mode="clip"``, as nobody needs to check the bounds of places
    that are known to be good).

    Parameters
    ----------
    groups : Groups

    Attributes
    ----------
    sizes : ndarray of shape (n_groups,)
        Rows of each run, as floats.
    group_codes : ndarray of shape (n_groups,)
        The position of each run's group in ``groups.names``.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> layout = GroupedLayout(Groups(["b", "a", "b"]))
    >>> values = layout.to_sorted(np.array([1.0, 5.0, 2.0]))
    >>> values.tolist(), layout.sum(values).tolist()
    ([5.0, 1.0, 2.0], [5.0, 3.0])
    >>> layout.from_sorted(values).tolist()
    [1.0, 5.0, 2.0]
    """

    def __init__(self, groups: Groups):
        codes = groups.codes
        bounds = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        self.order: NDArray[np.intp] | None = None
        if len(bounds) + 1 == groups.n_groups:
            self.group_codes = codes[np.concatenate([[0], bounds])]
        else:
            self.order = groups.order
            self.group_codes = np.arange(groups.n_groups)
        self._set_runs(groups.sizes[self.group_codes])

    def _set_runs(self, counts: NDArray[np.intp]) -> None:
        self.n_groups, self.n_rows = len(counts), int(counts.sum())
        self.starts = np.cumsum(counts) - counts
        self.sizes = counts.astype(float)
        self.singletons = self.n_groups == self.n_rows
        self._equal = int(counts[0]) if (counts == counts[0]).all() else None

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(self.n_groups), self.sizes.astype(np.intp))

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """Where each row has gone: a copy by these is quicker than one into scattered places."""
        place = np.empty(self.n_rows, np.intp)
        place[self.order] = np.arange(self.n_rows)
        return place

    @cached_property
    def blocks(self) -> list["Block"]:
        """Whole runs, some ten thousand rows at a time: what is done to them stays in the cache."""
        ends = self.starts + self.sizes.astype(np.intp)
        cuts = np.flatnonzero(np.diff(ends // _BLOCK, prepend=0, append=ends[-1] // _BLOCK + 1))
        cuts = np.unique(np.clip(cuts, 0, self.n_groups))
        edges = np.unique(np.concatenate([[0], cuts, [self.n_groups]]))
        found = []
        for first, last in pairwise(edges.tolist()):
            part = GroupedLayout.__new__(GroupedLayout)
            part.order, part.group_codes = None, np.arange(last - first)
            part._set_runs(self.sizes[first:last].astype(np.intp))
            start = int(self.starts[first])
            found.append(Block(slice(start, start + part.n_rows), slice(first, last), part))
        return found

    def to_sorted(self, values: NDArray[Any], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Rows in the order of the runs: (n_rows,), or (k, n_rows) for (n_rows, k).

        A view of the input where that is possible: not to be written to.
        """
        array = np.ascontiguousarray(values.T, dtype=dtype)
        return array if self.order is None else array.take(self.order, axis=-1, mode="clip")

    def from_sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Undo :meth:`to_sorted`: (n_rows,), or (n_rows, k) for (k, n_rows), in column order."""
        return values.T if self.order is None else values.take(self._place, axis=-1, mode="clip").T

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum over each run along the last axis, in double precision."""
        if self.singletons:
            return values.astype(np.float64, copy=False)
        if self._equal is not None and self._equal <= _SMALL:
            return np.einsum("...ij->...i", self._table(values.astype(np.float64, copy=False)))
        return np.add.reduceat(values, self.starts, axis=-1, dtype=np.float64)

    def mean(self, values: NDArray[Any]) -> NDArray[Any]:
        """Mean over each run along the last axis."""
        return self.sum(values) if self.singletons else self.sum(values) / self.sizes

    def max(self, values: NDArray[Any]) -> NDArray[Any]:
        """Largest value of each run along the last axis."""
        return values if self.singletons else np.maximum.reduceat(values, self.starts, axis=-1)

    def spread(self, values_group: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Give every row of a run the run's value; (n_groups,) or (k, n_groups)."""
        if dtype is not None:
            values_group = values_group.astype(dtype, copy=False)
        if self.singletons:
            return values_group
        return values_group.take(self._codes, axis=-1, mode="clip")

    def add(self, values: NDArray[Any], values_group: NDArray[Any]) -> None:
        """Add to every row its run's value, in place."""
        values_group = values_group.astype(values.dtype, copy=False)
        if self._equal is None:
            values += self.spread(values_group)
        else:
            table = self._table(values)
            table += values_group[..., None]

    def _table(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows of groups of equal size, one line per group."""
        return values.reshape(*values.shape[:-1], self.n_groups, -1)

    def logsumexp(self, values: NDArray[Any]) -> NDArray[Any]:
        """``log(sum(exp(values)))`` over each run, finite for finite values."""
        if self.singletons:
            return values
        term, top = self.exp(values)
        return np.log(self.sum(term)) + top

    def exp(self, values: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """``exp(values - top)``, and what was taken off so that no run is lost.

        ``top`` is one number if that will do, or else one for each run. Reciprocals of sums over
        runs are numbers, and so are their squares.
        """
        top = values.max()
        if top - values.min() < exp_limit(values.dtype) / 2.0:
            term = values - top
        else:
            top = self.max(values)
            term = values - self.spread(top, values.dtype)
        return np.exp(term, out=term), top


@dataclass(frozen=True)
class Block:
    """Neighbouring runs: which rows and which runs they are of the whole, and their own layout."""

    rows: slice
    groups: slice
    layout: GroupedLayout


class SpreadGroups(Groups):
    """Groups of which this machine holds some of the rows, and others the rest.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Of this machine's rows, positions in ``ids``.
    ids : ndarray
        Of the groups on all machines; those without any row are left out of ``names``.
    communicator : Communicator
        Of machines that all make and ask these groups in the same order.
    """

    def __init__(self, codes: NDArray[np.intp], ids: NDArray[Any], communicator: "Communicator"):
        here = np.bincount(codes, minlength=len(ids)).astype(float)
        everywhere = communicator.allreduce_sum(here)
        present = everywhere > 0
        self.names = ids[present]
        self.codes = (np.cumsum(present) - 1)[codes]
        self.communicator = communicator
        self.everywhere = everywhere[present].astype(np.intp)
        self._freeze()

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """On all machines."""
        return self.everywhere

    def sum(self, values: ArrayLike) -> NDArray[Any]:
        """Over all machines."""
        array = np.asarray(values, dtype=float)
        if array.ndim == 2:
            return np.column_stack([self.sum(column) for column in array.T])
        here = np.bincount(self.codes, weights=array, minlength=self.n_groups)
        return self.communicator.allreduce_sum(here)


class SpreadLayout(GroupedLayout):
    """Groups whose rows lie on several machines: sums are over all of them.

    Every machine has all groups, and computes the same of them; one block, as machines that ask for
    sums must do so equally often.
    """

    def __init__(self, groups: SpreadGroups):
        self.groups = groups
        self.order, self.group_codes = None, np.arange(groups.n_groups)
        self.n_groups, self.n_rows = groups.n_groups, groups.n_rows
        self.sizes = groups.sizes.astype(float)
        self.singletons, self._equal = False, None

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        return self.groups.codes

    @cached_property
    def blocks(self) -> list["Block"]:
        return [Block(slice(0, self.n_rows), slice(0, self.n_groups), self)]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.groups.sum(values.T).T

    def exp(self, values: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        communicator = self.groups.communicator
        top = communicator.allreduce_max(float(values.max(initial=-np.inf)))
        low = -communicator.allreduce_max(float(-values.min(initial=np.inf)))
        if top - low >= exp_limit(values.dtype) / 2.0:
            values = values.astype(np.float64, copy=False)
        if top - low >= exp_limit(np.float64) / 2.0:
            raise OverflowError(
                f"scores from {low:g} to {top:g} in groups that lie on several machines are too "
                "far apart to be added up; a smaller learning_rate keeps them together"
            )
        term = values - np.asarray(top, values.dtype)
        return np.exp(term, out=term), top


def layout_of(groups: Groups) -> GroupedLayout:
    """The layout that suits the groups."""
    return SpreadLayout(groups) if isinstance(groups, SpreadGroups) else GroupedLayout(groups)


class Communicator(Protocol):
    """How machines that hold different groups of one data set agree on a number.

    Every machine calls the same methods in the same order and gets the same answer.
    """

    def allreduce_sum(self, values: Reduced) -> Reduced:
        """Sum over the machines of a float or an array of floats."""
        ...

    def allreduce_max(self, value: float) -> float:
        """The largest of the machines' numbers."""
        ...


class LocalOnly:
    """One machine that holds all groups: what it found is the answer."""

    def allreduce_sum(self, values: Reduced) -> Reduced:
        return values

    def allreduce_max(self, value: float) -> float:
        return value

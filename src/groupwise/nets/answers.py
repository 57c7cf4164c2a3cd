"""What a fitted ensemble of networks says of rows and groups, in numpy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.nets.host import HostPacked
from groupwise.nets.passes import attention, encode, leave_one_out, linear, pool, standardise
from groupwise.nets.piecewise import PiecewiseLinear
from groupwise.nets.rows import blocks

__all__ = ["NetEnsemble", "collect", "less_the_others", "scores_of"]


class NetEnsemble:
    """Networks as arrays: predicting needs no torch.

    Attributes
    ----------
    weights : dict of str to ndarray
        Layers of all members, (n_members, n_in, n_out).
    pooling : str or None
    centre, scale : ndarray of shape (n_features,)
        What rows are standardised by.
    bins : PiecewiseLinear or None
        What spreads features over bins before that.
    """

    def __init__(
        self,
        weights: dict[str, NDArray[Any]],
        pooling: str | None,
        centre: NDArray[Any],
        scale: NDArray[Any],
        bins: PiecewiseLinear | None = None,
    ):
        self.weights = weights
        self.pooling = pooling
        self.centre = centre
        self.scale = scale
        self.bins = bins

    def table(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows over bins, where there are any."""
        return rows if self.bins is None else self.bins.encode(rows)

    def _standard(self, rows: NDArray[Any]) -> NDArray[Any]:
        return standardise(self.table(rows).astype(np.float64), self.centre, self.scale)

    @property
    def n_members(self) -> int:
        return len(self.weights["head_weight"])

    def scores(
        self, X: Any, groups: Groups, *, rows: bool = True
    ) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Scores of rows and of groups, averaged over the members.

        Parameters
        ----------
        X : array with rows first
        groups : Groups
        rows : bool, default=True
            Whether rows are asked about, where groups have scores of their own.

        Returns
        -------
        score_row : ndarray of shape (n_rows, n_outputs) or None
            With a pooling: what the group's score would be without the row, 0 if it is alone.
        score_group : ndarray of shape (n_groups, n_outputs) or None
            ``None`` without a pooling.
        """
        weights = {name: value.astype(np.float64) for name, value in self.weights.items()}
        return collect(X, groups, lambda part, sizes: self._block(weights, part, sizes, rows))

    def attention(self, X: Any, groups: Groups) -> NDArray[Any]:
        """Share of each row in its group's attention, averaged over the members."""
        weights = {name: value.astype(np.float64) for name, value in self.weights.items()}

        def block(rows: NDArray[Any], sizes: Any) -> tuple[Any, Any]:
            packed = HostPacked(sizes)
            hidden = encode(packed, weights, self._standard(rows))
            return attention(packed, weights, hidden).mean(0), None

        return collect(X, groups, block)[0][:, 0]

    def _block(
        self, weights: dict[str, NDArray[Any]], rows: NDArray[Any], sizes: Any, asked: bool
    ) -> tuple[Any, Any]:
        packed = HostPacked(sizes)
        hidden = encode(packed, weights, self._standard(rows))
        return scores_of(packed, weights, self.pooling, hidden, asked)


def collect(X: Any, groups: Groups, block: Any) -> tuple[Any, Any]:
    """Ask block after block of whole groups, and put the answers in the order of the rows."""
    score_row: NDArray[Any] | None = None
    score_group: NDArray[Any] | None = None
    for chosen in blocks(groups.sizes):
        positions = groups.order[groups.offsets[chosen[0]] : groups.offsets[chosen[-1] + 1]]
        row, group = block(np.asarray(X[positions]), groups.sizes[chosen])
        if row is not None:
            score_row = np.empty((groups.n_rows, row.shape[1])) if score_row is None else score_row
            score_row[positions] = row
        if group is not None:
            if score_group is None:
                score_group = np.empty((groups.n_groups, group.shape[1]))
            score_group[chosen] = group
    return score_row, score_group


def scores_of(
    packed: Any, weights: Any, pooling: str | None, hidden: Any, rows: bool
) -> tuple[Any, Any]:
    """Scores of one block, see :meth:`NetEnsemble.scores`."""
    if pooling is None:
        return linear(packed, weights, "head", hidden).mean(0), None
    group = linear(packed, weights, "head", pool(packed, weights, pooling, hidden)).mean(0)
    if not rows:
        return None, group
    if pooling == "set_transformer":
        return _without_each_row(packed, weights, pooling, hidden), group
    without = leave_one_out(packed, weights, pooling, hidden)
    score = linear(packed, weights, "head", without).mean(0)
    return score * (packed.spread(packed.size_like(score)) > 1), group


def _without_each_row(packed: Any, weights: Any, pooling: str, hidden: Any) -> Any:
    """The group's score once for each of its rows, on all others: time grows with sizes squared."""
    sizes = packed.counts
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(packed.n_rows) - starts
    n_others = np.repeat(sizes, sizes) - 1
    out = linear(packed, weights, "head", hidden)[0] * 0.0
    for part in blocks(n_others):
        part = part[n_others[part] > 0]
        if len(part) == 0:
            continue
        counts = n_others[part]
        at = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        at = at + (at >= np.repeat(within[part], counts)) + np.repeat(starts[part], counts)
        others = packed.like(counts)
        pooled = pool(others, weights, pooling, hidden[..., at, :])
        out[part] = linear(others, weights, "head", pooled).mean(0)
    return out


def less_the_others(of_groups: NDArray[Any], without: NDArray[Any], groups: Groups) -> NDArray[Any]:
    """What is left to each row of its group's total, less that of the others by themselves.

    Parameters
    ----------
    of_groups : ndarray of shape (n_groups,)
        Means.
    without : ndarray of shape (n_rows,)
        The group's mean without the row; any where the row is alone.
    groups : Groups
    """
    size = groups.spread(groups.sizes)
    return size * groups.spread(of_groups) - (size - 1) * without

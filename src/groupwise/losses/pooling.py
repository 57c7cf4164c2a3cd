"""One score of a group from the scores of its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from groupwise.groups import Groups
from groupwise.losses.layout import GroupedLayout

__all__ = ["Pooled", "pool", "pool_groups"]

_LEAST_CURVATURE = 1e-16


@dataclass(frozen=True)
class Pooled:
    r"""Scores of groups and how they change with those of rows.

    .. math:: S_i = \frac1\tau \log \frac{1}{m_i} \sum_j e^{\tau s_{ij}}, \qquad
              q_{ij} = \partial S_i / \partial s_{ij} ,

    the mean at :math:`\tau = 0` and the largest score as :math:`\tau \to \infty`. Rows of a group
    with weights count as often as these say.

    Attributes
    ----------
    score_group : ndarray of shape (n_groups,)
    share : ndarray of shape (n_rows,), or None
        q; sums to one over a group. ``None``: the same for all rows of a group.
    sharpness : float
        :math:`\tau`.
    layout : GroupedLayout
    """

    score_group: NDArray[Any]
    share: NDArray[Any] | None
    sharpness: float
    layout: GroupedLayout

    def derivatives(
        self, first: NDArray[Any], second: NDArray[Any], dtype: DTypeLike = np.float64
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        r"""Gradient and majorising curvature in rows from those in groups' scores.

        With f the loss of the groups' scores and diag(c) a majoriser of its Hessian, the Hessian in
        rows is at most :math:`c_i q q^\top + f'_i \tau (\mathrm{diag}(q) - q q^\top)` in each
        group: :math:`q q^\top \le \mathrm{diag}(q)` as q sums to one, the second term is dropped
        where f' < 0 and at most :math:`\mathrm{diag}(2 q (1 - q))` by its absolute row sums.

        Parameters
        ----------
        first, second : ndarray of shape (n_groups,)
            f' and c.
        dtype : dtype, default=float64
            Of what is returned.
        """
        spread, share = self.layout.spread, self.share
        if share is None:
            sizes = self.layout.sizes
            least = np.maximum(second / sizes, _LEAST_CURVATURE)
            return spread(first / sizes, dtype), spread(least, dtype)
        curvature = share * spread(second)
        if self.sharpness > 0.0:
            bend = 2.0 * self.sharpness * np.maximum(first, 0.0)
            curvature += share * (1.0 - share) * spread(bend)
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        return (share * spread(first)).astype(dtype), curvature.astype(dtype)


def pool(
    score: NDArray[Any],
    layout: GroupedLayout,
    sharpness: float,
    part_row: NDArray[Any] | None = None,
) -> Pooled:
    """Pool scores that are sorted by group.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> pooled = pool(np.array([1.0, 3.0, 5.0]), GroupedLayout(Groups([0, 0, 1])), 0.0)
    >>> pooled.score_group.tolist(), pooled.derivatives(np.ones(2), np.ones(2))[0].tolist()
    ([2.0, 5.0], [0.5, 0.5, 1.0])
    """
    if sharpness == 0.0 and part_row is None:
        return Pooled(layout.mean(score), None, 0.0, layout)
    score = score.astype(np.float64, copy=False)
    part = np.ones_like(score) if part_row is None else part_row
    if sharpness == 0.0:
        return Pooled(layout.mean(score * part), part / layout.spread(layout.sizes), 0.0, layout)
    term, top = layout.exp(sharpness * score + np.log(part))
    total = layout.sum(term)
    score_group = (np.log(total / layout.sizes) + top) / sharpness
    return Pooled(score_group, term / layout.spread(total), sharpness, layout)


def pool_groups(score_row: NDArray[Any], groups: Groups, sharpness: float) -> NDArray[Any]:
    """Scores of groups in the order of ``groups.names``, from scores in any order."""
    layout = GroupedLayout(groups)
    score_group = np.empty(groups.n_groups)
    score_group[layout.group_codes] = pool(
        layout.to_sorted(score_row), layout, sharpness
    ).score_group
    return score_group

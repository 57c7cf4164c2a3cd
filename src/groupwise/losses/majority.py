"""Majority supervision: SBoost's exponential loss, of margins and for gradient boosting."""

import math
import operator
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import BoundLoss, GroupLoss, RowWeights
from groupwise.losses.layout import Communicator, GroupedLayout, LocalOnly

__all__ = ["MajorityLoss", "SessionLoss"]


@dataclass(frozen=True)
class SessionLoss:
    r"""The loss of Jin and Liu (2005), eqs. (3) and (4), as a function of the rows' margins.

    With :math:`z_{ij} = y_i H(x_{ij})` the margin of row j of group i, m_i the group's size and
    :math:`\bar z_i` its mean,

    .. math:: L(z) = \sum_i e^{-\gamma \bar z_i} \sum_j e^{-z_{ij}} = \sum_{ij} e^{s_{ij}},
              \qquad s_{ij} = -z_{ij} - \gamma \bar z_i ,

    which is convex. The weights of the next round are the negative gradient,

    .. math:: D_{ij} = -\partial L/\partial z_{ij}
                     = e^{s_{ij}} + \frac{\gamma}{m_i} \sum_k e^{s_{ik}} ,
              \qquad \sum_{ij} D_{ij} = (1 + \gamma)\, L .

    Margins of any finite size give finite results: everything is computed relative to the largest
    exponent.

    Parameters
    ----------
    groups : Groups
    gamma : float
        Weight of the session term. 0 is the exponential loss of AdaBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = SessionLoss(Groups([0, 0, 1]), gamma=4.0)
    >>> log_value, weight = loss.log_value_and_weights(np.zeros(3))
    >>> float(np.exp(log_value).round(6)), weight.round(6).tolist()
    (3.0, [0.333333, 0.333333, 0.333333])
    """

    groups: Groups
    gamma: float

    @cached_property
    def _layout(self) -> GroupedLayout:
        return GroupedLayout(self.groups)

    def log_value_and_weights(self, margin_row: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """The logarithm of the loss, and D scaled to sum to one."""
        margin = self._layout.to_sorted(np.asarray(margin_row))
        weight = np.empty(len(margin))
        layout = self._layout
        log_value, scales = _session_terms(lambda rows: -margin[rows], layout, self.gamma, weight)
        for block, scale in zip(layout.blocks, scales, strict=True):
            weight[block.rows] *= scale
        return log_value, layout.from_sorted(weight)


class MajorityLoss(GroupLoss, name="majority"):
    r"""SBoost's loss in log form, as a function of log-odds.

    With :math:`y_i = \pm 1` the label of group i, :math:`m_i` its size, :math:`s_{ij}` the score of
    its row j and :math:`\bar s_i` their mean,

    .. math:: \ell(s) = N \log \frac{L}{N}, \qquad
              L = \sum_{ij} w_{ij} \exp\Big(-\frac{y_i s_{ij} + \gamma y_i \bar s_i}
                                             {2 (1 + \gamma)}\Big), \qquad N = \sum_{ij} w_{ij} ,

    the loss of Jin and Liu (2005), eq. (4), with :math:`s = 2 (1 + \gamma) H`, their estimate of
    the log-odds. A group of one row gives AdaBoost's :math:`e^{-ys/2}` whatever gamma is. With
    :math:`\hat D` the paper's row weights scaled to sum to one, the gradient is
    :math:`-\tfrac12 N y_i \hat D_{ij}`.

    More classes: every other class k of a row is a pair of its own,
    :math:`\exp(-[s_y - s_k + \gamma (\bar s_y - \bar s_k)] / (2 (1 + \gamma)))`, summed over k:
    the pairwise exponential loss of AdaBoost.M2 (Freund and Schapire 1997) with the session term
    put in. For two classes it is the loss above, and its best constant is the log of the class
    shares.

    Parameters
    ----------
    gamma : float, default=4.0
        Weight of the session's error against the rows' errors.

    Notes
    -----
    The curvature, :math:`\tfrac14 N \hat D_{ij}` for two classes, is a proven majoriser of the
    Hessian. The loss is a log-sum-exp of linear functions with weights :math:`\pi_{ij}`, so its
    Hessian is at most :math:`\sum \pi_{ij} a_{ij} a_{ij}^\top`; and
    :math:`(a_{ij}^\top d)^2 = \tfrac14 (\tfrac{d_{ij} + \gamma \bar d_i}{1 + \gamma})^2
    \le \tfrac14 \tfrac{d_{ij}^2 + \gamma\, \overline{d^2}_i}{1 + \gamma}` by convexity, twice. Over
    a step d the weights grow by at most :math:`e^{\max|d|}`, so
    :math:`\ell(s + d) \le \ell(s) + g^\top d + \tfrac12 e^{\max|d|} \sum c\, d^2` holds globally.
    For more classes :math:`(d_k - d_y)^2 \le 2 d_k^2 + 2 d_y^2` adds a factor of two.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = MajorityLoss(gamma=4.0).bind(np.array([1, 0]), Groups([0, 0, 1]))
    >>> loss.gradient(np.zeros(3)).tolist(), loss.curvature(np.zeros(3)).tolist()
    ([-0.5, -0.5, 0.5], [0.25, 0.25, 0.25])
    """

    def __init__(self, gamma: float = 4.0):
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, "[0, inf)")

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        kind = _TwoClasses if n_classes == 2 else _Pairs
        return kind(target_group, groups, n_classes, weight_row, self.gamma)


class _Exponential(BoundLoss):
    """The log-sum-exp over rows (two classes) or over rows and other classes."""

    def __init__(
        self,
        y_group: NDArray[np.intp],
        groups: Groups,
        n_classes: int,
        weight_row: NDArray[Any] | None,
        gamma: float,
    ):
        super().__init__(groups, weight_row)
        self.y_group = y_group[self.layout.group_codes]
        self.n_classes = n_classes
        self.gamma = gamma
        self._weight_row = (
            None if weight_row is None else self.layout.to_sorted(np.asarray(weight_row))
        )

    def _terms(self, score: NDArray[Any], out: NDArray[Any]) -> tuple[float, list[float]]:
        return _session_terms(
            lambda rows: self._exponents(score, rows),
            self.layout,
            self.gamma,
            out,
            weight_row=self._weight_row,
            part_row=self.part_row,
            communicator=self.communicator,
        )

    @abstractmethod
    def _exponents(self, score: NDArray[Any], rows: slice) -> NDArray[Any]:
        """The rows' own part of the exponents, in a fresh array."""

    def _value(self, score: NDArray[Any]) -> float:
        log_value, _ = self._terms(score, np.empty_like(score))
        n_pairs = self.total_weight * (self.n_classes - 1)
        return self.total_weight * (log_value - np.log(n_pairs))


class _TwoClasses(_Exponential):
    def __init__(self, *args: Any):
        super().__init__(*args)
        side = self.layout.spread(np.where(self.y_group == 1, -2.0, 2.0))
        self._minus_two_y = side.astype(np.float32)
        self._of_score = side * (0.25 / (1.0 + self.gamma))

    def init_score(self) -> NDArray[Any]:
        weight = self._class_weights(self.y_group, 2)
        return np.log(weight[1:] / weight[:1])

    def _exponents(self, score: NDArray[Any], rows: slice) -> NDArray[Any]:
        return score[rows] * self._of_score[rows].astype(score.dtype, copy=False)

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient, curvature = np.empty(score.shape, dtype), np.empty(score.shape, dtype)
        _, scales = self._terms(score, curvature)
        for block, scale in zip(self.layout.blocks, scales, strict=True):
            weight = curvature[block.rows]
            weight *= 0.25 * self.total_weight * scale
            np.multiply(weight, self._minus_two_y[block.rows], out=gradient[block.rows])
        return gradient, curvature


class _Pairs(_Exponential):
    def __init__(self, *args: Any):
        super().__init__(*args)
        self._y_row = self.layout.spread(self.y_group)[None, :]

    def init_score(self) -> NDArray[Any]:
        weight = self._class_weights(self.y_group, self.n_classes)
        return np.log(weight / weight.sum())

    def _exponents(self, score: NDArray[Any], rows: slice) -> NDArray[Any]:
        y_row = self._y_row[:, rows]
        exponent = score[:, rows] - np.take_along_axis(score[:, rows], y_row, axis=0)
        exponent *= 0.5 / (1.0 + self.gamma)
        # a class is no pair with itself; so low an exponent adds nothing beside the others' largest
        np.put_along_axis(exponent, y_row, exponent.min() - 800.0, axis=0)
        return exponent

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient = np.empty(score.shape, dtype)
        _, scales = self._terms(score, gradient)
        for block, scale in zip(self.layout.blocks, scales, strict=True):
            gradient[:, block.rows] *= 0.5 * self.total_weight * scale
        np.put_along_axis(gradient, self._y_row, 0.0, axis=0)
        curvature = gradient.copy()
        own = gradient.sum(axis=0, keepdims=True)
        np.put_along_axis(gradient, self._y_row, -own, axis=0)
        np.put_along_axis(curvature, self._y_row, own, axis=0)
        return gradient, curvature


def _session_terms(
    exponent: Callable[[slice], NDArray[Any]],
    layout: GroupedLayout,
    gamma: float,
    out: NDArray[Any],
    *,
    weight_row: NDArray[Any] | None = None,
    part_row: NDArray[Any] | None = None,
    communicator: Communicator | None = None,
) -> tuple[float, list[float]]:
    r"""Weights of rows under the exponential loss with a session term.

    With :math:`a_{ij}` the exponent of row j of group i and :math:`\bar a_i` its mean,

    .. math:: L = \sum_{ij} w_{ij} e^{a_{ij} + \gamma \bar a_i}, \qquad
              \hat D_{ij} = \frac{1}{(1 + \gamma) L} \frac{\partial L}{\partial a_{ij}} ,

    which sum to one. Block by block, relative to the largest exponent of the block: nothing
    overflows, and a weight of zero is one below the smallest float.

    Parameters
    ----------
    exponent : callable
        Gives the exponents of a slice of rows as a fresh array, (n,) or (k, n).
    layout : GroupedLayout
    gamma : float
    out : ndarray of shape (n_rows,) or (k, n_rows)
        Receives the weights, each block of ``layout`` on a scale of its own.
    weight_row, part_row : ndarray of shape (n_rows,), default=None
        Weight of each row, and its weight relative to its group's mean.
    communicator : Communicator, default=None
        Where other machines hold other groups: two numbers are agreed on, the largest exponent
        and the sum.

    Returns
    -------
    log_value : float
        The logarithm of L.
    scales : list of float
        What makes the weights of each block those that sum to one.
    """
    tops, sums = [], []
    for block in layout.blocks:
        rows, groups = block.rows, block.layout
        term = exponent(rows)
        part = None if part_row is None else part_row[rows]
        mean = groups.mean(term if part is None else term * part)
        groups.add(term, gamma * mean)
        top = float(term.max())
        # in single precision the sum is off by less than its own rounding: the largest term is 1
        weight = np.subtract(term, top, out=out[..., rows], casting="same_kind")
        np.exp(weight, out=weight)
        if weight_row is not None:
            weight *= weight_row[rows]
        tops.append(top)
        by_group = groups.sum(weight)
        sums.append(float(by_group.sum()))
        shared = gamma * by_group / groups.sizes
        if part is None:
            groups.add(weight, shared)
        else:
            weight += groups.spread(shared, weight.dtype) * part
    communicator = LocalOnly() if communicator is None else communicator
    highest = communicator.allreduce_max(max(tops))
    relative = [math.exp(top - highest) for top in tops]
    value = communicator.allreduce_sum(sum(map(operator.mul, relative, sums)))
    return math.log(value) + highest, [factor / ((1.0 + gamma) * value) for factor in relative]

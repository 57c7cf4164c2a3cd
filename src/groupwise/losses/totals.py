"""Totals of counts (cases, claims, visits) whose rates differ from row to row."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import AdditiveLoss, BoundLoss, RowWeights
from groupwise.losses.layout import Block
from groupwise.losses.logistic import sigmoid, softplus
from groupwise.losses.regression import NumberLoss

__all__ = ["NegativeBinomialTotalLoss", "PoissonTotalLoss"]

_LARGEST = 60.0  # log of a rate beyond which the loss goes on as a straight line
_LEAST_CURVATURE = 1e-16


class _TotalLoss(NumberLoss):
    takes_exposure: ClassVar[bool] = True
    by_sums: ClassVar[bool] = True

    def predict(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Rates of rows per unit of exposure."""
        return np.exp(np.minimum(score_row, _LARGEST))

    def _check_targets(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        if (target_group < 0).any():
            group = int(np.argmax(target_group < 0))
            raise GroupDataError(
                f"counts must not be negative; group {show(groups.names[group])} holds "
                f"{show(target_group[group] * groups.sizes[group])}"
            )


class PoissonTotalLoss(_TotalLoss, name="poisson"):
    r"""Negative log-likelihood of totals that are sums of the rows' Poisson counts.

    Row j of group i has the rate :math:`e^{s_{ij}}` per unit of its exposure :math:`e_{ij}` (1
    unless given), so that the total has the mean :math:`\mu_i = \sum_j e_{ij} e^{s_{ij}}`:

    .. math:: \ell(s) = \sum_i w_i m_i \Big[\frac{\mu_i}{m_i} - t_i \log \frac{\mu_i}{m_i}\Big] ,

    with :math:`t_i` the total over the number of rows :math:`m_i`; this is
    :math:`\mu_i - T_i \log \mu_i` but for a constant. A group of one row gives Poisson regression.
    Where totals are of groups, this is disaggregation regression without its spatial field.

    Notes
    -----
    The curvature, :math:`w_i e_{ij} e^{s_{ij}}`, is a proven majoriser of the Hessian: that of
    :math:`\mu_i` is the diagonal of these, and :math:`-\log \sum_j e_{ij} e^{s_{ij}}` is concave.
    Over a step d the means grow by at most :math:`e^{\max |d|}`, so
    :math:`\ell(s + d) \le \ell(s) + g^\top d + \tfrac12 e^{\max|d|} \sum c\, d^2` holds globally.
    Means beyond :math:`e^{60}` cost as on the tangent there, so that every finite score has a
    finite loss.

    References
    ----------
    A. K. Nandi, T. C. D. Lucas, R. Arambepola, P. Gething and D. J. Weiss (2023). disaggregation:
    an R package for Bayesian spatial disaggregation modeling. Journal of Statistical Software 106.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = PoissonTotalLoss().bind(np.array([2.0]), Groups(["a", "a"]))  # a total of 4
    >>> loss.value(np.zeros(2)), loss.gradient(np.zeros(2)).tolist()
    (2.0, [-1.0, -1.0])
    """

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Poisson(target_group, groups, weight_row)


class NegativeBinomialTotalLoss(_TotalLoss, name="negative_binomial"):
    r"""The same for totals that vary more than Poisson's: variance :math:`\mu + \alpha \mu^2`.

    .. math:: \ell(s) = \sum_i w_i \Big[(T_i + \tfrac1\alpha) \log(1 + \alpha \mu_i)
                        - T_i \log \mu_i \Big] ,

    with :math:`T_i` the total. Large groups, whose totals Poisson takes for nearly exact, count
    less. A group of one row gives negative-binomial regression with known dispersion.

    Parameters
    ----------
    dispersion : float, default=None
        :math:`\alpha`. ``None``: by moments around one rate for all rows,
        :math:`\sum_i [(T_i - \mu_i)^2 - \mu_i] / \sum_i \mu_i^2`, which is too large by as much as
        the features explain; the means it leads to are right whatever it is.

    Notes
    -----
    The curvature is a proven majoriser of the Hessian. With :math:`\eta = \log \mu` and q the rows'
    shares of :math:`\mu`, the Hessian is :math:`\ell'' q q^\top + \ell' (\mathrm{diag}(q) -
    q q^\top)`, primes for derivatives by :math:`\eta`; as :math:`q q^\top \le \mathrm{diag}(q)`, it
    is at most :math:`\mathrm{diag}(q) \max(\ell'', \ell')`. For one row :math:`\ell''` is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = NegativeBinomialTotalLoss(dispersion=0.5)
    >>> loss.bind(np.array([2.0]), Groups(["a", "a"])).gradient(np.zeros(2)).tolist()
    [-0.5, -0.5]
    """

    def __init__(self, dispersion: float | None = None):
        self.dispersion = dispersion

    def check_parameters(self) -> None:
        check_number("dispersion", self.dispersion, "(0, inf)", none=True)

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _NegativeBinomial(target_group, groups, weight_row, self.dispersion)


class _Totals(AdditiveLoss):
    """Of the log of the mean rate; a subclass writes its value and its derivatives."""

    def __init__(self, mean_group: NDArray[Any], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(groups, weight_row)
        self.mean_group = np.asarray(mean_group, dtype=float)[self.layout.group_codes]

    @property
    def _exposure_group(self) -> NDArray[Any]:
        """Of a group's rows in all, rows weighted by their parts."""
        exposure = np.ones(self.layout.n_rows) if self.offset is None else np.exp(self.offset)
        return self.layout.sum(exposure if self.part_row is None else exposure * self.part_row)

    def _find_one_rate(self) -> float:
        """The log of the total over the exposure."""
        weight = self.weight_group
        total, exposure = self.communicator.allreduce_sum(
            np.array(
                [weight @ (self.mean_group * self.layout.sizes), weight @ self._exposure_group]
            )
        )
        return float(np.log(max(total, 1e-12 * exposure) / exposure))

    def _terms(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The rows' terms of their group's sum, the sums, and the log of the mean rate."""
        if self.part_row is not None:
            score = score + np.log(self.part_row[block.rows]).astype(score.dtype)
        term, top = block.layout.exp(score)
        total = block.layout.sum(term)
        return term, total, np.log(total / block.layout.sizes) + top

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        return self._group_value(self._terms(score, block)[2], block.groups)

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        term, total, log_mean = self._terms(score, block)
        first, second = self._group_derivatives(log_mean, block.groups)
        scale = self.weight_group[block.groups] / total
        # the terms may be tiny where their sum is, so that their quotients are taken in double
        gradient = term * block.layout.spread(scale * first)
        curvature = term * block.layout.spread(scale * second)
        return gradient, np.maximum(curvature, _LEAST_CURVATURE)

    def _group_value(self, log_mean: NDArray[Any], groups: slice) -> NDArray[Any]:
        raise NotImplementedError

    def _group_derivatives(
        self, log_mean: NDArray[Any], groups: slice
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """By the log of the mean, and what the shares q are multiplied by for the curvature."""
        raise NotImplementedError


class _Poisson(_Totals):
    def init_score(self) -> NDArray[Any]:
        return np.array([self._find_one_rate()])

    def _group_value(self, log_mean: NDArray[Any], groups: slice) -> NDArray[Any]:
        mean = np.exp(np.minimum(log_mean, _LARGEST))
        mean *= 1.0 + np.maximum(log_mean - _LARGEST, 0.0)
        return self.layout.sizes[groups] * (mean - self.mean_group[groups] * log_mean)

    def _group_derivatives(
        self, log_mean: NDArray[Any], groups: slice
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        mean = np.exp(np.minimum(log_mean, _LARGEST))
        size = self.layout.sizes[groups]
        return size * (mean - self.mean_group[groups]), size * mean


class _NegativeBinomial(_Totals):
    def __init__(
        self,
        mean_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        dispersion: float | None,
    ):
        super().__init__(mean_group, groups, weight_row)
        self.total_group = self.mean_group * self.layout.sizes
        self._dispersion = dispersion

    @property
    def dispersion(self) -> float:
        """As it was given, or by moments."""
        # no cached_property: its lock (Python 3.11) keeps machines that are threads from meeting
        if self._dispersion is None:
            self._dispersion = self._find_dispersion()
        return self._dispersion

    def _find_dispersion(self) -> float:
        weight, mean = self.weight_group, np.exp(self._find_one_rate()) * self._exposure_group
        more, square = self.communicator.allreduce_sum(
            np.array([weight @ ((self.total_group - mean) ** 2 - mean), weight @ mean**2])
        )
        return max(float(more / max(square, 1e-300)), 1e-8)

    def init_score(self) -> NDArray[Any]:
        log_exposure = np.log(self._exposure_group / self.layout.sizes)

        def slope(score: float) -> float:  # rises with the score
            by_group = self._group_derivatives(score + log_exposure, slice(None))[0]
            return self.communicator.allreduce_sum(float(self.weight_group @ by_group))

        middle = self._find_one_rate()
        low, high = middle - 20.0, middle + 20.0
        if slope(low) >= 0.0:  # totals of zero
            return np.array([low])
        best = brentq(slope, low, high, xtol=1e-12) if slope(high) > 0.0 else high
        return np.array([best])

    def _group_value(self, log_mean: NDArray[Any], groups: slice) -> NDArray[Any]:
        total, log_total = self.total_group[groups], log_mean + np.log(self.layout.sizes[groups])
        above = softplus(log_total + np.log(self.dispersion))
        return (total + 1.0 / self.dispersion) * above - total * log_total

    def _group_derivatives(
        self, log_mean: NDArray[Any], groups: slice
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        size, total = self.layout.sizes[groups], self.total_group[groups]
        up, down = sigmoid(log_mean + np.log(size * self.dispersion))
        strength = total + 1.0 / self.dispersion
        first = up / self.dispersion - total * down  # strength * up - total
        second = strength * up * down
        return first, np.where(size == 1.0, second, np.maximum(second, first))

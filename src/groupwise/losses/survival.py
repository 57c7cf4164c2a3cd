"""Survival times of groups: Cox's partial likelihood of the group's score."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import BoundLoss, RowWeights, TargetKind
from groupwise.losses.pooling import pool, pool_groups
from groupwise.losses.regression import NumberLoss

__all__ = ["CoxLoss"]


class CoxLoss(NumberLoss, name="cox"):
    r"""Cox's partial likelihood of groups' survival times, ties as Breslow has them.

    With :math:`S_i` the mean of the group's scores, or their smooth maximum
    :math:`\frac1\tau \log \frac{1}{m_i} \sum_j e^{\tau s_{ij}}`, and :math:`R_i` the groups whose
    time is not below that of group i,

    .. math:: \ell(s) = \sum_{i\text{ with event}} w_i \Big[
              \log \frac{\sum_{k \in R_i} w_k e^{S_k}}{\sum_k w_k} - S_i \Big] .

    A group's target is its time with a sign, as XGBoost has it: positive where the event was
    observed, negative where the group was last seen without it. What is predicted is the score, a
    log hazard ratio. A group of one row gives Cox regression.

    Parameters
    ----------
    sharpness : float, default=0.0
        :math:`\tau`; 0 is the mean, for risks that the whole group has; more, for risks that its
        worst rows bring.

    Notes
    -----
    With :math:`\pi_{ik}` the share of group k in the sum over :math:`R_i`, the Hessian in the
    groups' scores is :math:`\sum_i w_i (\mathrm{diag}(\pi_i) - \pi_i \pi_i^\top)`, at most the
    diagonal of :math:`\sum_i w_i \pi_{ik}`;
    :class:`~groupwise.losses.pooling.Pooled` makes a majoriser in rows of it. The loss is no sum
    over groups: every group is in the risk sets of others, so it needs all groups on one machine.

    References
    ----------
    D. R. Cox (1972). Regression models and life-tables. Journal of the Royal Statistical Society B
    34; and the contribution of N. E. Breslow to its discussion.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = CoxLoss().bind(np.array([1.0, 2.0, -3.0]), Groups([0, 1, 2]))
    >>> loss.gradient(np.zeros(3)).round(6).tolist()  # 1/3 - 1, 1/3 + 1/2 - 1, 1/3 + 1/2
    [-0.666667, -0.166667, 0.833333]
    """

    target_kind: ClassVar[TargetKind] = "time"
    on_machines: ClassVar[bool] = False

    def __init__(self, sharpness: float = 0.0):
        self.sharpness = sharpness

    def check_parameters(self) -> None:
        check_number("sharpness", self.sharpness, "[0, inf)")

    def _check_targets(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        if (target_group == 0).any():
            group = int(np.argmax(target_group == 0))
            raise GroupDataError(
                "times must not be zero (negative: last seen without the event); group "
                f"{show(groups.names[group])} holds 0"
            )
        if not (target_group > 0).any():
            raise GroupDataError(
                f"none of {groups.n_groups} groups had the event (all times are negative), and "
                "Cox's partial likelihood has nothing to learn from"
            )

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Cox(target_group, groups, weight_row, self.sharpness)

    def combine(self, y_row: NDArray[Any], groups: Groups, *, target: str) -> NDArray[Any]:
        return pool_groups(y_row, groups, self.sharpness)


class _Cox(BoundLoss):
    def __init__(
        self,
        time_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        sharpness: float,
    ):
        super().__init__(groups, weight_row)
        self.sharpness = sharpness
        signed = np.asarray(time_group, dtype=float)[self.layout.group_codes]
        self._event_weight = self.weight_group * (signed > 0)
        times, self._code = np.unique(np.abs(signed), return_inverse=True)
        self._n_times = len(times)
        self._events_at = np.bincount(self._code, self._event_weight)
        self._log_weight = np.log(self.weight_group / self.weight_group.sum())

    def init_score(self) -> NDArray[Any]:
        return np.zeros(1)  # any constant is as good

    def _log_at_risk(self, score_group: NDArray[Any]) -> NDArray[Any]:
        """At each time, the log of the weighted sum of hazards over the groups still there."""
        at_time = np.full(self._n_times, -np.inf)
        np.logaddexp.at(at_time, self._code, score_group + self._log_weight)
        return np.logaddexp.accumulate(at_time[::-1])[::-1]

    def _value(self, score: NDArray[Any]) -> float:
        score_group = pool(score, self.layout, self.sharpness, self.part_row).score_group
        log_at_risk = self._log_at_risk(score_group)
        return float(self._events_at @ log_at_risk - self._event_weight @ score_group)

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        pooled = pool(score, self.layout, self.sharpness, self.part_row)
        with np.errstate(divide="ignore"):
            log_rate = np.log(self._events_at) - self._log_at_risk(pooled.score_group)
        log_hazard = np.logaddexp.accumulate(log_rate)[self._code]  # cumulative, at its time
        expected = np.exp(pooled.score_group + self._log_weight + log_hazard)
        return pooled.derivatives(expected - self._event_weight, expected, dtype)

"""Reported counts of several classes in small groups, exactly."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import logsumexp

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.base import BoundLoss, RowWeights
from groupwise.losses.exact_counts import (
    LARGEST_COUNT,
    LARGEST_TABLE,
    CountTables,
    count_tables,
    padded_counts,
    table_steps,
)
from groupwise.losses.logistic import log_softmax
from groupwise.losses.reported import Reported
from groupwise.losses.reported_counts import ReportedClasses, ReportedCountLoss, ends_of_classes

__all__ = ["ExactReportedLoss"]

_RULED_OUT = -5e4  # the log-likelihood of a count that a report rules out is lower still
_LEAST = 1e-200  # a likelihood below this is found again by its logarithm


class ExactReportedLoss(ReportedCountLoss, name="reported_counts_exact"):
    r"""Negative log-likelihood of what was reported of all classes together, in small groups.

    .. math:: \ell(s) = -\sum_i w_i \log \sum_c P(c | s_i) \prod_k P(\text{report}_{ik} | c_k) ,

    with :math:`P(c | s)` the distribution of the counts of all classes, as in
    :class:`~groupwise.losses.ExactCountLoss`: a range of each class sums the tables of a box.
    Where :class:`~groupwise.losses.ReportedCountLoss` takes each class against the rest, this one
    knows that the counts of a group sum to its rows. ``y`` and the parameter are the same.

    Groups whose tables (of the counts that are possible, of all classes but the one with most)
    times their rows are more than 8,192 numbers are taken class by class, as there: 19 rows of
    three classes are less if any count is possible, 20 are not. So are counts of which rows are a
    sample (``Reported(sampled=...)``). Two classes: the same as there. A group of one row whose
    class is reported gives softmax cross-entropy.

    Parameters
    ----------
    reported : Reported, default=None
        ``None``: nothing was done to the counts.

    Notes
    -----
    The gradient is :math:`p_{ij} - E[y_{ij} | \text{reports}]`. The curvature 2 p (1 - p) is a
    proven majoriser, as for exact counts: the Hessian is the covariance of the rows under p less
    that given the reports.

    Examples
    --------
    Two rows; at most one of a and at least one of b: a and b, b and b, or b and c. 5 of 9.

    >>> import numpy as np
    >>> from groupwise import Groups
    >>> ends = np.array([[[0.0, 1.0], [1.0, 2.0], [0.0, 2.0]]])
    >>> bound = ExactReportedLoss().bind(ends, Groups(["g", "g"]), n_classes=3)
    >>> round(9 * float(np.exp(-bound.value(np.zeros((2, 3))))), 6)
    5.0
    """

    def _check_targets(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        super()._check_targets(target_group, groups, n_classes, weight_row)
        reported = self.reported or Reported()
        if n_classes == 2 or reported.noise is not None:
            return
        half = n_classes * (reported.rounding or 0.0) / 2.0
        ends = ends_of_classes(target_group)
        size = reported.all_rows(groups.sizes)
        known = ~np.isnan(ends).any(axis=(1, 2))
        wrong = np.nansum(ends[..., 0], axis=1) - half > size
        wrong |= known & (ends[..., 1].sum(axis=1) + half < size)
        if wrong.any():
            group = int(np.argmax(wrong))
            raise GroupDataError(
                f"no counts of {size[group]:g} rows make what is reported of the classes of group "
                f"{show(groups.names[group])}"
            )

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        reported = self.reported or Reported()
        if n_classes == 2 or reported.sampled is not None:
            return super()._bind(target_group, groups, n_classes, weight_row)
        return _ExactReports(target_group, groups, weight_row, reported)


class _ExactReports(ReportedClasses):
    """Small groups by their tables, the others class by class."""

    def __init__(
        self,
        report_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        reported: Reported,
    ):
        super().__init__(report_group, groups, weight_row, reported)
        layout = self.layout
        size = layout.sizes.astype(np.intp)
        log_report = np.stack([each.log_report for each in self.classes])
        most = self._most(log_report, size)
        exact = _is_small(most, size)
        self._tables = [
            (table, _log_start(table, log_report, self.classes[0].firsts, size))
            for table in count_tables(most, np.flatnonzero(exact), layout)
        ]
        self._rest = np.flatnonzero(layout.spread(~exact))
        self._by_class: BoundLoss | None = None
        if len(self._rest):
            told = ends_of_classes(report_group[layout.group_codes])[~exact]
            weight = None if weight_row is None else layout.to_sorted(weight_row)[self._rest]
            runs = Groups.of_sizes(size[~exact])
            self._by_class = ReportedClasses(told, runs, weight, reported)

    def _most(self, log_report: NDArray[Any], size: NDArray[np.intp]) -> NDArray[np.intp]:
        """The largest count of each class that its report allows; all, where none is."""
        first = self.classes[0]
        place = np.where(log_report > _RULED_OUT, first.count, -1.0)
        most = np.maximum.reduceat(place, first.firsts, axis=1).astype(np.intp)
        return np.where(most < 0, size, most)

    def _given(self, score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Log-likelihoods (0 of groups that are not exact), log p, and rows given the reports."""
        log_p = log_softmax(score.astype(np.float64, copy=False))
        expected = np.exp(log_p)
        log_likely = np.zeros(self.layout.n_groups)
        for table, log_start in self._tables:
            level = log_start.max(axis=tuple(range(log_start.ndim - 1)))
            found, good = table.condition(expected, np.exp(log_start - level), _LEAST)
            log_likely[table.groups] = found + level
            for place in np.flatnonzero(~good):
                rows = table.rows[table.real[:, place], place]
                at = np.ix_(table.order[:, place], rows)
                log_found, expected[at] = _by_logarithms(log_p[at], log_start[..., place])
                log_likely[table.groups[place]] = log_found
        return log_likely, log_p, expected

    def _value(self, score: NDArray[Any]) -> float:
        value = float(-self.weight_group @ self._given(score)[0])
        if self._by_class is not None:
            value += self._by_class.value(score[:, self._rest].T)
        return self.communicator.allreduce_sum(value)

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        _, log_p, expected = self._given(score)
        p = np.exp(log_p)
        gradient, curvature = p - expected, 2.0 * p * (1.0 - p)
        found = [self._weighted_rows(gradient), self._weighted_rows(curvature)]
        if self._by_class is not None:
            others = self._by_class.gradient_and_curvature(score[:, self._rest].T)
            for all_rows, rest in zip(found, others, strict=True):
                all_rows[:, self._rest] = rest.T
        return found[0].astype(dtype), found[1].astype(dtype)


def _is_small(most: NDArray[np.intp], size: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Groups whose table, as it is rounded up, is small enough."""
    explicit = np.minimum(np.sort(most, axis=0)[:-1], LARGEST_COUNT)
    cells = (padded_counts(explicit) + 1.0).prod(axis=0)
    return np.asarray((cells * size <= LARGEST_TABLE) & (size <= LARGEST_COUNT))


def _log_start(
    table: CountTables,
    log_report: NDArray[Any],
    firsts: NDArray[np.intp],
    size: NDArray[np.intp],
) -> NDArray[np.float64]:
    """The log-likelihood of the reports at each cell of the tables, (*shape, n)."""
    n_rows, first = size[table.groups], firsts[table.groups]

    def of_class(codes: NDArray[np.intp], count: NDArray[np.intp]) -> NDArray[np.float64]:
        told = log_report[codes, first + np.clip(count, 0, n_rows)]
        return np.where((count >= 0) & (count <= n_rows), told, -np.inf)

    total = np.zeros((*table.shape, 1), np.intp)
    start = np.zeros((*table.shape, len(n_rows)))
    for axis, length in enumerate(table.shape):
        place = [1] * len(table.shape)
        place[axis] = length
        count = np.arange(length)[:, None]
        total += count.reshape(*place, 1)
        start += of_class(table.order[axis], count).reshape(*place, -1)
    return start + of_class(table.order[-1], n_rows - total)


def _by_logarithms(
    log_p: NDArray[Any], log_start: NDArray[Any]
) -> tuple[float, NDArray[np.float64]]:
    """Log-likelihood of one group, and its rows' expectations, classes in the table's order.

    As :meth:`CountTables.condition`, for scores so far apart that products would underflow.
    """
    n_rows = log_p.shape[1]
    steps = list(table_steps(log_start.ndim))
    ahead = np.full((n_rows, *log_start.shape), -np.inf)
    ahead[(0, *(0 for _ in log_start.shape))] = 0.0
    for j in range(n_rows - 1):
        ahead[j + 1] = ahead[j] + log_p[-1, j]
        for k, (before, after) in enumerate(steps):
            now = ahead[j + 1][after]
            np.logaddexp(now, ahead[j][before] + log_p[k, j], out=now)
    back, given = log_start, np.empty(log_p.shape)
    for j in range(n_rows - 1, -1, -1):
        given[-1, j] = logsumexp(ahead[j] + back) + log_p[-1, j]
        sooner = back + log_p[-1, j]
        for k, (before, after) in enumerate(steps):
            given[k, j] = logsumexp(ahead[j][before] + back[after]) + log_p[k, j]
            np.logaddexp(sooner[before], back[after] + log_p[k, j], out=sooner[before])
        back = sooner
    log_likely = float(back[tuple(0 for _ in log_start.shape)])
    return log_likely, np.exp(given - log_likely)

"""How the time of a fit is spent: its clock, and every share of its time."""

import time
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["LEAST_FOLDS", "Budget", "affordable"]

#: Fewer folds say little of how good a candidate is.
LEAST_FOLDS = 3
# Shares of what is left for the first tier, on all folds of a large table and of a sample of one;
# of the limit for one candidate on one fold; and of the limit for the last fits, before any of them
# has been timed, at most, and after its end.
_FIRST_TIER, _FIRST_TIER_OF_SAMPLE = 0.4, 0.15
_ONE_FOLD = 0.125
_LAST_FITS_UNKNOWN, _LAST_FITS_MOST, _LAST_FITS_AFTER = 0.25, 0.4, 0.05
_MARGIN = 1.2  # of the last fits over what they are expected to take
_READING, _READING_SHARE = 0.2, 0.02  # seconds, and a share of the limit, to read what they left


class Budget:
    """The time of one fit, from here on.

    A limit of T seconds is spent in this order:

    1. **A sample**, of a large table that the first tier of candidates cannot be run on in 40 % of
       what is left, on all folds: as many groups as take it 15 %. Of few groups none should be
       missed: there it is enough that two folds and the last fits can be run in 80 %.
       (:meth:`first_tier_fold`, :meth:`shortest_first_tier_fold`)
    2. **The race**, until what is kept for the last fits begins (:attr:`seconds_left`,
       :attr:`is_over`). One candidate has T / 8 for one fold (:attr:`one_fold`). After each fold
       those go on that can be afforded on three folds, then those that can be on all
       (:meth:`folds_ahead`).
    3. **The last fits**, of the members to all rows: T / 4 are kept for them, and, as soon as
       candidates have been timed, 1.2 times what the leaders will take side by side, but never
       more than 40 % of T (:meth:`keep_for_last_fits`). Where a sample competes it is 40 %, as
       the members are then fitted again, to as many more rows as what is left is enough for, and
       chosen among once more (:meth:`keep_for_more_rows`, :meth:`keep_for_choice`,
       :meth:`times_affordable`).
    4. **Reading them**: 0.2 s and 2 % of T (:meth:`begin_last_fits`).
    5. **After the end** there are 5 % of T for last fits that are quick, as on a busy machine the
       time can be over before the processes are at them (:attr:`after_the_end`).

    Without a limit everything may take as long as it takes.

    Parameters
    ----------
    limit : float or None
        T, in seconds.
    n_jobs : int, default=1
        Processes that spend it side by side.
    clock : callable, default=time.monotonic

    Examples
    --------
    >>> budget = Budget(60.0, n_jobs=2, clock=lambda: 0.0)
    >>> budget.seconds_left, budget.one_fold, budget.after_the_end
    (90.0, 7.5, 3.0)
    >>> budget.keep_for_last_fits([1.0, 2.0, 3.0])
    >>> budget.seconds_left
    106.4
    """

    def __init__(
        self,
        limit: float | None,
        n_jobs: int = 1,
        *,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.n_jobs, self._clock = n_jobs, clock
        self.is_limited = limit is not None
        self._limit = np.inf if limit is None else limit
        self._deadline = clock() + self._limit
        self._reading = _READING + _READING_SHARE * self._limit
        self._kept = _LAST_FITS_UNKNOWN * self._limit
        self._least_kept = 0.0

    @property
    def seconds_left(self) -> float:
        """What is left for folds, or for the last fits once they have begun, of all processes."""
        if not self.is_limited:
            return np.inf
        return self.n_jobs * (self._deadline - self._clock() - self._kept)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is begun."""
        return self.seconds_left < 0

    @property
    def one_fold(self) -> float:
        """What one candidate may take on one fold."""
        return _ONE_FOLD * self._limit

    @property
    def after_the_end(self) -> float:
        """What last fits that are quick may take when the time is over."""
        return _LAST_FITS_AFTER * self._limit if self.is_limited else 0.0

    def first_tier_fold(self, n_folds: int, *, sampled: bool = False) -> float:
        """What the first tier may take on each fold of a large table, of all processes."""
        return self._first_tier(_FIRST_TIER_OF_SAMPLE if sampled else _FIRST_TIER, n_folds)

    def shortest_first_tier_fold(self) -> float:
        """The same where two folds have to be enough; the last fits take as long as a third."""
        return self._first_tier(2 * _FIRST_TIER, 3)

    def _first_tier(self, share: float, n_rounds: int) -> float:
        left = max(0.0, self._deadline - self._clock())
        return share * left * self.n_jobs / n_rounds

    def folds_ahead(self, n_done: int, n_folds: int) -> int:
        """How many folds more a candidate has to be affordable on to go on."""
        aim = LEAST_FOLDS if n_done < LEAST_FOLDS < n_folds else n_folds
        return aim - n_done

    def keep_for_last_fits(self, seconds: Sequence[float]) -> None:
        """Keep time for fits that will take so long, side by side.

        In whatever order, they end after ``sum / n_jobs + max * (1 - 1 / n_jobs)`` (Graham 1969,
        Bounds on Multiprocessing Timing Anomalies).
        """
        share = 1 / self.n_jobs
        needed = share * sum(seconds) + (1 - share) * max(seconds)
        most = _LAST_FITS_MOST * self._limit
        self._kept = max(self._least_kept, min(_MARGIN * needed + self._reading, most))

    def keep_for_more_rows(self) -> None:
        """From now on keep as much as can be for the last fits: these are to more rows."""
        self._kept = self._least_kept = _LAST_FITS_MOST * self._limit

    def keep_for_choice(self, seconds: float) -> None:
        """Keep so much longer after the last fits, to choose once more."""
        self._kept += seconds

    def times_affordable(self, seconds: float) -> float:
        """How many times as long fits may take, in what is left, as those that took so long."""
        return self.seconds_left / self.n_jobs / (_MARGIN * seconds)

    def begin_last_fits(self) -> None:
        """Let the last fits have what was kept for them."""
        self._kept = self._reading


def affordable(costs: Sequence[float], seconds: float, *, first_anyway: bool = False) -> list[bool]:
    """Which of these can be paid, the most wanted first; a cheaper one may follow one that cannot.

    Parameters
    ----------
    costs : sequence of float
    seconds : float
        To be spent on them.
    first_anyway : bool, default=False
        Whether the first is paid whatever it costs.

    Examples
    --------
    >>> affordable([4.0, 8.0, 5.0], 10.0)
    [True, False, True]
    >>> affordable([12.0, 1.0], 10.0, first_anyway=True)
    [True, False]
    """
    paid = []
    for place, cost in enumerate(costs):
        paid.append(cost <= seconds or (first_anyway and place == 0))
        if paid[-1]:
            seconds -= cost
    return paid

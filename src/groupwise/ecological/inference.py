"""Cells of many tables from their margins, with intervals."""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise.ecological.bounds import count_bounds
from groupwise.ecological.margins import Margins, check_margins, check_order, divide
from groupwise.ecological.model import RateModel
from groupwise.ecological.tables import TableSampler
from groupwise.exceptions import GroupDataError
from groupwise.inputs import check_number
from groupwise.inputs.rows import expecting

__all__ = ["EcologicalInference", "fitted_model"]

# Chains side by side; steps of scoring, the first whole and the others ever shorter, so that they
# average; draws without margins for each, and of each chain; sweeps between draws: tables of two by
# two are drawn whole.
_CHAINS, _WHOLE, _SHORTER = 20, 25, 55
_APART, _GIVEN, _BETWEEN = {True: 200, False: 20}, {True: 6, False: 3}, {True: 1, False: 2}
# Draws are kept in single precision.
_SAME = 1e-6

Array = NDArray[np.float64]


class EcologicalInference(BaseEstimator):
    """Who voted how, from the margins of precincts.

    Of every unit (a precinct, a county) it is known how many people are of each row category and
    how many in each column category. Wanted is the table between: of each row category the share
    that is in each column. The rates of units scatter around a common mean, with a covariance of
    all rates that is learnt (rows may move together), and the margins of a unit cut out the tables
    that it can have: King's (1997) model, here for any number of rows and columns, with covariates
    that shift the mean, and with the chance of finite numbers of people. In tables of two by two
    rates may also be exactly 0 or 1, in as many units as the margins speak for. Draws of all
    tables (Gibbs sampling) give means and intervals.

    What no method can see is how far a unit's rates go along with its row shares beyond what
    ``covariates`` explain, nor how widely the rates of a row category scatter where it is a small
    part of the unit. Where either matters the bounds of :func:`cell_bounds` are wide, and intervals
    can be too narrow.

    Parameters
    ----------
    n_draws : int, default=1000
        Tables of every unit that are kept, from twenty chains.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    cells_ : ndarray of shape (n_units, n_rows, n_columns)
        Mean share of a unit's row category that is in the column; zero where a unit has nobody of
        the row category.
    counts_ : ndarray of shape (n_units, n_rows, n_columns)
        The same as numbers of people (shares of the unit if sizes are not known): they sum to the
        margins.
    district_ : ndarray of shape (n_rows, n_columns)
        Shares over all units.
    bounds_ : ndarray of shape (n_units, n_rows, n_columns, 2)
        What is possible at all.
    boundary_ : float
        Rates on the boundary in units of what a normal distribution has beyond it: near 0 where
        rates scatter inside, as in King's model; about 1 and more where many are 0 or 1. 0 for
        tables larger than two by two.
    row_names_, column_names_ : ndarray
        Columns of the DataFrames, or 0, 1, ...

    References
    ----------
    King, A Solution to the Ecological Inference Problem, Princeton 1997.
    Greiner and Quinn, R x C ecological inference: bounds, correlations, flexibility and
    transparency of assumptions, Journal of the Royal Statistical Society A 172, 2009.
    Tobin, Estimation of relationships for limited dependent variables, Econometrica 26, 1958.

    Examples
    --------
    >>> import pandas as pd
    >>> from groupwise.ecological import EcologicalInference
    >>> people = pd.DataFrame({"young": [80, 50, 30, 90, 10], "old": [20, 50, 70, 10, 90]})
    >>> votes = pd.DataFrame({"yes": [60, 48, 39, 66, 24], "no": [40, 52, 61, 34, 76]})
    >>> ei = EcologicalInference(n_draws=400, random_state=0).fit(people, votes)
    >>> ei.district_.round(1)  # of the young 70 % said yes
    array([[0.7, 0.3],
           [0.2, 0.8]])
    >>> ei.intervals(0.9).shape
    (5, 2, 2, 2)
    """

    def __init__(
        self, n_draws: int = 1000, *, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(
        self,
        rows: ArrayLike,
        columns: ArrayLike,
        *,
        sizes: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
    ) -> Self:
        """Draw the tables of all units.

        Parameters
        ----------
        rows : array-like or DataFrame of shape (n_units, n_rows) or (n_units,)
            People of each row category: counts, or shares. One column alone: the share of the
            first of two categories.
        columns : array-like or DataFrame of shape (n_units, n_columns) or (n_units,)
            The same of the column categories.
        sizes : array-like of shape (n_units,), default=None
            People of each unit, where both tables hold shares. Without, units count the same and
            the chance of finite numbers is left out.
        covariates : array-like of shape (n_units, n_covariates), default=None
            What may shift the rates of a unit.
        """
        check_number("n_draws", self.n_draws, "[40, inf)", whole=True)
        margins = check_margins(rows, columns, sizes)
        check_order("covariates", covariates, rows)
        _check_people(margins)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        sampler = TableSampler(margins, _CHAINS, rng)
        model = fitted_model(sampler, _standardised(covariates, len(margins.rows)))
        draws = np.empty((-(-self.n_draws // _CHAINS), *sampler.counts.shape), np.float32)
        for kept in draws:
            sampler.sweep(*model.draws(_CHAINS, rng), n_sweeps=_BETWEEN[sampler.has_boundary])
            kept[:] = sampler.counts
        self.boundary_ = float(np.exp(model.log_kappa))
        self._store(margins, draws.reshape(-1, *draws.shape[2:]), rng)
        return self

    def _store(
        self, margins: Margins, draws: NDArray[np.float32], rng: np.random.Generator
    ) -> None:
        self.row_names_, self.column_names_ = margins.row_names, margins.column_names
        self.people_ = margins.rows
        self.counts_ = draws.mean(axis=0, dtype=float)
        self.cells_ = divide(self.counts_, margins.rows[:, :, None])
        total = margins.rows.sum(axis=0)[:, None]
        self.district_ = divide(self.counts_.sum(axis=0), total)
        self.district_draws_ = divide(draws.sum(axis=1, dtype=float), total)
        low, high = count_bounds(margins)
        self.bounds_ = np.stack([low, high], axis=-1)
        of_row = margins.rows[:, :, None, None]
        self.bounds_ = np.clip(divide(self.bounds_, of_row), 0.0, 1.0)
        self.bounds_[margins.rows == 0] = [0.0, 1.0]
        if margins.counted and _are_whole(margins.rows) and _are_whole(margins.columns):
            # people are whole: up or down at random, so that the mean stays
            draws += rng.random(draws.shape, dtype=np.float32)
            np.floor(draws, out=draws)
            np.clip(draws, low, high, out=draws)
        self.draws_ = draws

    def intervals(self, coverage: float = 0.9) -> Array:
        """Shares of every unit between which the truth lies with this probability.

        Returns
        -------
        intervals : ndarray of shape (n_units, n_rows, n_columns, 2)
            Inside ``bounds_``.
        """
        check_is_fitted(self)
        ends = divide(_quantiles(self.draws_, coverage), self.people_[:, :, None, None])
        for bound in (self.bounds_[..., :1], self.bounds_[..., 1:]):
            ends = np.where(np.abs(ends - bound) < _SAME, bound, ends)
        return np.clip(ends, self.bounds_[..., :1], self.bounds_[..., 1:])

    def district_intervals(self, coverage: float = 0.9) -> Array:
        """The same of ``district_``, (n_rows, n_columns, 2)."""
        check_is_fitted(self)
        return _quantiles(self.district_draws_, coverage)

    def summary(self, coverage: float = 0.9) -> pd.DataFrame:
        """One line per cell of the district: its share, and between what it lies."""
        low, high = np.moveaxis(self.district_intervals(coverage), -1, 0)
        index = pd.MultiIndex.from_product(
            [self.row_names_, self.column_names_], names=["row", "column"]
        )
        columns = {"share": self.district_.ravel(), "low": low.ravel(), "high": high.ravel()}
        return pd.DataFrame(columns, index=index).reset_index()


def fitted_model(sampler: TableSampler, covariates: Array) -> RateModel:
    """The model at the largest marginal likelihood; the chains end in its distribution."""
    overall = sampler.counts[0].sum(axis=(0, 1)) / sampler.counts[0].sum()
    model = RateModel(
        np.column_stack([np.ones(len(covariates)), covariates]),
        np.tile(overall @ sampler.contrasts, sampler.n_rows),
        0.0 if sampler.has_boundary else -np.inf,
    )
    n_sweeps = _BETWEEN[sampler.has_boundary]
    for step in range(_WHOLE + _SHORTER):
        mean, sigma, log_kappa = model.mean, model.sigma, model.log_kappa
        given = [
            sampler.sweep(mean[None], sigma[None], np.array([log_kappa]), n_sweeps)
            for _ in range(_GIVEN[sampler.has_boundary])
        ]
        z, outside = (np.concatenate(each) for each in zip(*given, strict=True))
        apart = sampler.apart(mean, sigma, log_kappa, _APART[sampler.has_boundary])
        model.improve(z, outside, apart, 1 / max(1, step - _WHOLE))
    return model


def _are_whole(people: Array) -> bool:
    return bool(np.allclose(people, np.rint(people), rtol=0.0, atol=1e-6))


def _check_people(margins: Margins) -> None:
    for what, table, names in (
        ("row", margins.rows, margins.row_names),
        ("column", margins.columns, margins.column_names),
    ):
        empty = np.flatnonzero(table.sum(axis=0) == 0)
        if len(empty):
            raise GroupDataError(f"{what} {names[empty[0]]} has nobody in any unit: leave it out")


def _standardised(covariates: ArrayLike | None, n_units: int) -> Array:
    if covariates is None:
        return np.empty((n_units, 0))
    with expecting("covariates", "numbers"):
        table = np.asarray(covariates, dtype=float)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n_units or not np.isfinite(table).all():
        raise GroupDataError(
            f"covariates must hold finite numbers, one line per unit ({n_units}), got {table.shape}"
        )
    return divide(table - table.mean(axis=0), table.std(axis=0)[None])


def _quantiles(draws: NDArray[np.floating], coverage: float) -> Array:
    check_number("coverage", coverage, "(0, 1)")
    tail = (1 - coverage) / 2
    low = np.quantile(draws, tail, axis=0, method="lower")
    high = np.quantile(draws, 1 - tail, axis=0, method="higher")
    return np.stack([low, high], axis=-1).astype(float)

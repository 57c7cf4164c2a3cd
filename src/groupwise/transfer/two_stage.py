"""Two-stage TrAdaBoost.R2 (Pardoe and Stone 2010)."""

from collections.abc import Hashable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupRegressor
from groupwise.boosting import Rounds, boost
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import DomainRows, check_number
from groupwise.transfer.base import TransferRegressorMixin
from groupwise.transfer.content_order import target_by_content
from groupwise.transfer.model_selection import Folds
from groupwise.transfer.regression import (
    MedianEnsemble,
    RegressorRun,
    adjusted_errors,
    regression_vote,
)
from groupwise.transfer.rounds import TIE

__all__ = ["TwoStageTrAdaBoostRegressor"]


class _AdaBoostR2(Rounds):
    """AdaBoost.R2': as AdaBoost.R2, with the source's weights left alone."""

    def __init__(self, data: DomainRows, weight_row: NDArray[np.float64]):
        super().__init__()
        self.y_row, self.is_target = data.y_row, data.is_target
        self.weight_row = weight_row / weight_row.sum()
        self.total = self.weight_row[self.is_target].sum()

    def update(self, output: NDArray[Any]) -> bool:
        weight, is_target = self.weight_row, self.is_target
        adjusted = adjusted_errors(self.y_row - output)
        error = float(weight @ adjusted)
        useless = error >= 0.5 - TIE
        if useless and self.alphas:
            return True
        self.record(regression_vote(error))
        if useless or error == 0.0:
            return True
        weight = np.where(is_target, weight * np.exp(self.alphas[-1] * adjusted), weight)
        back = self.total / weight[is_target].sum()
        self.weight_row = np.where(is_target, weight * back, weight)
        return False


class TwoStageTrAdaBoostRegressor(  # type: ignore[misc]  # domains in the place of groups
    TransferRegressorMixin, BaseGroupRegressor
):
    r"""Two-stage TrAdaBoost.R2: first the weight of the source, then boosting with it frozen.

    In S steps the source's share of the weight falls from n/(n + m) to 0. After step t source rows
    are multiplied by :math:`\beta_t^{e_i}` with their adjusted errors :math:`e_i`, and
    :math:`\beta_t` is such that the target's share of the weight becomes
    :math:`\frac{m}{n+m} + \frac{t}{S-1}(1 - \frac{m}{n+m})`. In each step AdaBoost.R2', which
    leaves source weights alone, is judged by cross-validation over the target's rows; the model of
    the best step is kept. So the rows of the target are boosted, and the source can be given up
    entirely where it does harm.

    Parameters
    ----------
    estimator : regressor, default=None
        Must take ``sample_weight``. ``None``: ``DecisionTreeRegressor(max_depth=3)``.
    n_estimators : int, default=50
        Rounds of AdaBoost.R2'.
    n_steps : int, default=10
        S.
    cv : int, splitter or iterable of splits, default=5
        Folds of the target's rows; a number is lowered where the target has fewer rows, and its
        folds are drawn by what rows hold, whatever their order.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    ensemble_ : MedianEnsemble
        The rounds of the best step.
    estimators_ : list of regressors
    n_iter_ : int
        Rounds of the best step.
    estimator_weights_ : ndarray of shape (n_iter,)
    best_index_ : int
        The best step, counted from 0.
    cv_results_ : dict of str to ndarray of shape (n_steps,)
        ``"mean_squared_error"`` on held-out target rows; ``"target_share"``, the target's share of
        the weight.

    Notes
    -----
    AdaBoost.R2' takes the error over all rows, as AdaBoost.R2 does; the paper says only that it is
    "identical except that the source weights are not modified". The target's weights keep their
    total. Without source rows there is one step: AdaBoost.R2.

    References
    ----------
    D. Pardoe and P. Stone (2010). Boosting for regression transfer. ICML. Algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.transfer import TwoStageTrAdaBoostRegressor
    >>> rng = np.random.RandomState(0)
    >>> x = rng.uniform(size=(120, 1))
    >>> domains = np.repeat(["old", "new"], [100, 20])
    >>> y = np.sin(6 * x[:, 0]) + 0.3 * (domains == "old")
    >>> model = TwoStageTrAdaBoostRegressor(
    ...     n_estimators=5, n_steps=4, target_domain="new", random_state=0)
    >>> model.fit(x, y, domains=domains).cv_results_["target_share"].round(2).tolist()
    [0.17, 0.44, 0.72, 1.0]
    """

    def __init__(
        self,
        estimator: RegressorMixin | None = None,
        *,
        n_estimators: int = 50,
        n_steps: int = 10,
        cv: Folds = 5,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_steps = n_steps
        self.cv = cv
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_number("n_steps", self.n_steps, "[2, inf)", whole=True)
        if isinstance(self.cv, Integral):
            check_number("cv", self.cv, "[2, inf)", whole=True)

    def _learn(self, data: DomainRows) -> None:
        rng = check_random_state(self.random_state)
        weight_row = data.weight_row / data.weight_row.sum()
        if data.n_source == 0:
            weights, errors = [weight_row], [np.nan]
        else:
            weights, errors = self._first_stage(data, weight_row, rng)
        shares = [weight[data.is_target].sum() for weight in weights]
        self.cv_results_ = {
            "mean_squared_error": np.array(errors),
            "target_share": np.array(shares),
        }
        self.best_index_ = 0 if len(weights) == 1 else int(np.argmin(errors))
        self.ensemble_ = self._boost(data, weights[self.best_index_], rng)
        self.estimators_ = self.ensemble_.estimators
        self.estimator_weights_ = self.ensemble_.weights
        self.n_iter_ = len(self.estimators_)

    def _first_stage(
        self, data: DomainRows, weight_row: NDArray[Any], rng: np.random.RandomState
    ) -> tuple[list[NDArray[Any]], list[float]]:
        """The weights of every step and the held-out error of boosting with them."""
        splits = self._splits(data, rng)
        first = float(weight_row[data.is_target].sum())
        weights, errors = [weight_row], []
        for step in range(1, self.n_steps + 1):
            weight_row = weights[-1]
            errors.append(self._held_out_error(data, weight_row, splits, rng))
            if step == self.n_steps:
                break
            value_row = RegressorRun(self.estimator, data.X, rng).fit(data.y_row, weight_row)
            adjusted = adjusted_errors(data.y_row - value_row)
            share = first + step / (self.n_steps - 1) * (1.0 - first)
            weights.append(_shift_weight(weight_row, adjusted, data.is_target, share))
        return weights, errors

    def _splits(self, data: DomainRows, rng: np.random.RandomState) -> list[NDArray[np.intp]]:
        """Positions of the target's rows to hold out, fold by fold."""
        target_rows = np.flatnonzero(data.is_target)
        if len(target_rows) < 2:
            raise GroupDataError(
                "the choice of a step needs two rows of the target domain; there is one"
            )
        if isinstance(self.cv, Integral):
            folds = KFold(min(int(self.cv), len(target_rows)), shuffle=True, random_state=rng)
            target_rows = target_by_content(data)
        else:
            folds = check_cv(self.cv)
        return [target_rows[test] for _, test in folds.split(target_rows)]

    def _held_out_error(
        self,
        data: DomainRows,
        weight_row: NDArray[Any],
        splits: list[NDArray[Any]],
        rng: np.random.RandomState,
    ) -> float:
        squared = []
        for test in splits:
            train = np.setdiff1d(np.arange(len(data.y_row)), test)
            boosted = self._boost(data.take(train), weight_row[train], rng)
            squared.append((boosted.predict(data.X[test]) - data.y_row[test]) ** 2)
        return float(np.concatenate(squared).mean())

    def _boost(
        self, data: DomainRows, weight_row: NDArray[Any], rng: np.random.RandomState
    ) -> MedianEnsemble:
        run = RegressorRun(self.estimator, data.X, rng)
        rounds = _AdaBoostR2(data, weight_row)
        boost(run, data.y_row, rounds, self.n_estimators)
        return MedianEnsemble(run.models[: len(rounds.alphas)], np.array(rounds.alphas))

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.ensemble_.predict(rows)


def _shift_weight(
    weight_row: NDArray[Any], adjusted: NDArray[Any], is_target: NDArray[np.bool_], share: float
) -> NDArray[Any]:
    """Multiply source weights by beta^e, beta such that the target has this share; sum 1."""
    target_total = weight_row[is_target].sum()
    if share >= 1.0:
        return np.where(is_target, weight_row / target_total, 0.0)
    goal = target_total * (1.0 - share) / share
    source, error = weight_row[~is_target], adjusted[~is_target]
    low, high = -700.0, 0.0  # of ln(beta); the source's weight rises with it
    for _ in range(100):
        middle = 0.5 * (low + high)
        if (source * np.exp(middle * error)).sum() > goal:
            high = middle
        else:
            low = middle
    moved = weight_row.copy()
    moved[~is_target] = source * np.exp(high * error)
    return moved / moved.sum()

"""Two-stage TrAdaBoost.R2 (Pardoe and Stone 2010)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise.exceptions import GroupDataError
from groupwise.transfer.base import BaseTransferRegressor, TransferRows
from groupwise.transfer.regression import adjusted_errors, fit_weighted, weighted_median
from groupwise.transfer.rounds import LEAST_ERROR
from groupwise.validation import check_rows

__all__ = ["TwoStageTrAdaBoostRegressor"]


class TwoStageTrAdaBoostRegressor(BaseTransferRegressor):
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
    n_folds : int, default=5
        Of the cross-validation; fewer if the target has fewer rows.
    target : domain id, default=None
        The domain that counts. May be left out when there is only one.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimators_ : list of regressors
        The rounds of the best step.
    estimator_weights_ : ndarray of shape (n_rounds,)
    step_errors_ : ndarray of shape (n_steps,)
        Mean squared error on held-out target rows.
    target_shares_ : ndarray of shape (n_steps,)
        The target's share of the weight.
    best_step_ : int
        Counted from 0.

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
    ...     n_estimators=5, n_steps=4, target="new", random_state=0)
    >>> model.fit(x, y, domains=domains).target_shares_.round(2).tolist()
    [0.17, 0.44, 0.72, 1.0]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        n_steps: int = 10,
        n_folds: int = 5,
        target: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_steps = n_steps
        self.n_folds = n_folds
        self.target = target
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        domains: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "TwoStageTrAdaBoostRegressor":
        """Fit to rows of the target and of other domains.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            The domain of each row. ``None``: all rows are of the target, which is AdaBoost.R2.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : TwoStageTrAdaBoostRegressor
        """
        for name, least in (("n_estimators", 1), ("n_steps", 2), ("n_folds", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)!r}")
        data = self._check_training(X, y, domains, sample_weight)
        rng = check_random_state(self.random_state)
        weight_row = data.weight_row / data.weight_row.sum()
        if data.n_source == 0:
            weights, errors = [weight_row], [np.nan]
        else:
            weights, errors = self._first_stage(data, weight_row, rng)
        self.step_errors_ = np.array(errors)
        self.target_shares_ = np.array([weight[data.is_target].sum() for weight in weights])
        self.best_step_ = 0 if len(weights) == 1 else int(np.argmin(self.step_errors_))
        boosted = self._boost(data, weights[self.best_step_], rng)
        self.estimators_, self.estimator_weights_ = boosted.models, boosted.votes
        return self

    def _first_stage(
        self, data: TransferRows, weight_row: NDArray, rng: Any
    ) -> tuple[list[NDArray], list[float]]:
        """The weights of every step and the held-out error of boosting with them."""
        target_rows = np.flatnonzero(data.is_target)
        if len(target_rows) < 2:
            raise GroupDataError(
                "the choice of a step needs two rows of the target domain; there is one"
            )
        folds = KFold(min(self.n_folds, len(target_rows)), shuffle=True, random_state=rng)
        splits = [target_rows[test] for _, test in folds.split(target_rows)]
        first = float(weight_row[data.is_target].sum())
        weights, errors = [weight_row], []
        for step in range(1, self.n_steps + 1):
            weight_row = weights[-1]
            errors.append(self._held_out_error(data, weight_row, splits, rng))
            if step == self.n_steps:
                break
            model = fit_weighted(self.estimator, data.X, data.y_row, weight_row, rng)
            adjusted = adjusted_errors(data.y_row - model.predict(data.X))
            share = first + step / (self.n_steps - 1) * (1.0 - first)
            weights.append(_shift_weight(weight_row, adjusted, data.is_target, share))
        return weights, errors

    def _held_out_error(
        self, data: TransferRows, weight_row: NDArray, splits: list[NDArray], rng: Any
    ) -> float:
        squared = []
        for test in splits:
            train = np.setdiff1d(np.arange(len(data.y_row)), test)
            boosted = self._boost(data.take(train), weight_row[train], rng)
            squared.append((boosted.predict(data.X[test]) - data.y_row[test]) ** 2)
        return float(np.concatenate(squared).mean())

    def _boost(self, data: TransferRows, weight_row: NDArray, rng: Any) -> "_Boosted":
        """AdaBoost.R2': as AdaBoost.R2, with the source's weights left alone."""
        weight = weight_row / weight_row.sum()
        total = weight[data.is_target].sum()
        models: list[Any] = []
        votes: list[float] = []
        for _ in range(self.n_estimators):
            model = fit_weighted(self.estimator, data.X, data.y_row, weight, rng)
            adjusted = adjusted_errors(data.y_row - model.predict(data.X))
            error = float(weight @ adjusted)
            if error >= 0.5 and models:
                break
            models.append(model)
            least = min(max(error, LEAST_ERROR), 0.5 - LEAST_ERROR)
            votes.append(float(np.log1p(-least) - np.log(least)))
            if error >= 0.5 or error == 0.0:
                break
            weight = np.where(data.is_target, weight * np.exp(votes[-1] * adjusted), weight)
            weight = np.where(
                data.is_target, weight * (total / weight[data.is_target].sum()), weight
            )
        return _Boosted(models, np.array(votes))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the value of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return _Boosted(self.estimators_, self.estimator_weights_).predict(check_rows(self, X))


@dataclass(frozen=True)
class _Boosted:
    models: list[Any]
    votes: NDArray[np.float64]

    def predict(self, X: Any) -> NDArray[np.float64]:
        values = np.column_stack([model.predict(X) for model in self.models])
        return weighted_median(values, self.votes)


def _shift_weight(
    weight_row: NDArray, adjusted: NDArray, is_target: NDArray[np.bool_], share: float
) -> NDArray:
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

"""TrAdaBoost for regression (Pardoe and Stone 2010)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from groupwise._compat import set_random_states
from groupwise.transfer.base import BaseTransferRegressor
from groupwise.transfer.rounds import LEAST_ERROR, first_voter, source_beta
from groupwise.validation import check_rows

__all__ = ["TrAdaBoostRegressor", "adjusted_errors", "fit_weighted", "weighted_median"]

_LOSSES = ("linear", "square", "exponential")


class TrAdaBoostRegressor(BaseTransferRegressor):
    r"""TrAdaBoost.R2: AdaBoost.R2 on the target, with source rows that lose weight by their error.

    In round t, with :math:`D_t = \max_i |y_i - h_t(x_i)|` over all rows and the adjusted errors
    :math:`e_i = |y_i - h_t(x_i)| / D_t` (or :math:`e_i^2`, or :math:`1 - \exp(-e_i)`),

    .. math:: \epsilon_t = \frac{\sum_{target} w_i e_i}{\sum_{target} w_i}, \quad
              w_i \leftarrow w_i \beta^{e_i} \text{ (source)}, \quad
              w_i \leftarrow w_i \beta_t^{-e_i} \text{ (target)},

    :math:`\beta_t = \epsilon_t/(1-\epsilon_t)`, :math:`\beta = 1/(1 + \sqrt{2 \ln n / N})`. The
    prediction is the median of :math:`h_t(x)`, weighted by :math:`\ln(1/\beta_t)`, over the rounds
    :math:`\lceil N/2 \rceil, \dots, N`.

    Parameters
    ----------
    estimator : regressor, default=None
        Must take ``sample_weight``. ``None``: ``DecisionTreeRegressor(max_depth=3)``.
    n_estimators : int, default=50
        Number of rounds N.
    target : domain id, default=None
        The domain that counts. May be left out when there is only one.
    loss : {"linear", "square", "exponential"}, default="linear"
    vote : {"last_half", "all"}, default="last_half"
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimators_ : list of regressors
        Of all rounds.
    estimator_errors_ : ndarray of shape (n_rounds,)
    estimator_weights_ : ndarray of shape (n_rounds,)
        :math:`\ln(1/\beta_t)`.
    domain_names_ : ndarray of shape (n_domains,)
    domain_mass_ : ndarray of shape (n_rounds + 1, n_domains)
    row_weights_ : ndarray of shape (n_rows,)

    Notes
    -----
    At an error of 1/2 or above the run ends without that round (the first one is kept, as in
    scikit-learn's AdaBoost). An error of 0 counts as 1e-10. Without source rows all rounds vote:
    AdaBoost.R2, with weights where Drucker (1997) draws rows.

    References
    ----------
    D. Pardoe and P. Stone (2010). Boosting for regression transfer. ICML. Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.transfer import TrAdaBoostRegressor
    >>> rng = np.random.RandomState(0)
    >>> x = rng.uniform(size=(120, 1))
    >>> domains = np.repeat(["old", "new"], [100, 20])
    >>> y = np.sin(6 * x[:, 0]) + 0.3 * (domains == "old")
    >>> model = TrAdaBoostRegressor(n_estimators=10, target="new", random_state=0)
    >>> model.fit(x, y, domains=domains).predict(x[:2]).shape
    (2,)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        target: Any = None,
        loss: str = "linear",
        vote: str = "last_half",
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.target = target
        self.loss = loss
        self.vote = vote
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        domains: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "TrAdaBoostRegressor":
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
        self : TrAdaBoostRegressor
        """
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators must be at least 1, got {self.n_estimators!r}")
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be one of {_LOSSES}, got {self.loss!r}")
        if self.vote not in ("last_half", "all"):
            raise ValueError(f"vote must be 'last_half' or 'all', got {self.vote!r}")
        data = self._check_training(X, y, domains, sample_weight)
        rng = check_random_state(self.random_state)
        log_beta = np.log(source_beta(data.n_source, self.n_estimators))
        log_weight = np.log(data.weight_row / data.weight_row.sum())
        self.estimators_: list[Any] = []
        errors, votes = [], []
        mass = [data.domains.sum(np.exp(log_weight))]
        for _ in range(self.n_estimators):
            model = fit_weighted(self.estimator, data.X, data.y_row, np.exp(log_weight), rng)
            adjusted = adjusted_errors(data.y_row - model.predict(data.X), self.loss)
            error = float(softmax(log_weight[data.is_target]) @ adjusted[data.is_target])
            if error >= 0.5 and self.estimators_:
                break
            self.estimators_.append(model)
            errors.append(error)
            least = min(max(error, LEAST_ERROR), 0.5 - LEAST_ERROR)
            votes.append(float(np.log1p(-least) - np.log(least)))
            log_weight = log_weight + np.where(data.is_target, votes[-1], log_beta) * adjusted
            log_weight -= logsumexp(log_weight)
            mass.append(data.domains.sum(np.exp(log_weight)))
            if error >= 0.5 or not adjusted.any():
                break
        self.estimator_errors_, self.estimator_weights_ = np.array(errors), np.array(votes)
        self.domain_names_, self.domain_mass_ = data.domains.names, np.array(mass)
        self.row_weights_ = np.exp(log_weight)
        half = self.vote == "last_half" and data.n_source > 0
        self._first = first_voter(len(votes)) if half else 0
        return self

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
        X = check_rows(self, X)
        values = np.column_stack([model.predict(X) for model in self.estimators_[self._first :]])
        return weighted_median(values, self.estimator_weights_[self._first :])


def fit_weighted(
    estimator: Any, X: Any, y_row: NDArray, weight: NDArray, rng: np.random.RandomState
) -> Any:
    """A clone of a regressor, fitted with weights of mean 1."""
    model = clone(DecisionTreeRegressor(max_depth=3) if estimator is None else estimator)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(f"{type(model).__name__} takes no sample_weight in fit")
    set_random_states(model, rng)
    return model.fit(X, y_row, sample_weight=weight * (len(weight) / weight.sum()))


def adjusted_errors(residual: NDArray[Any], loss: str = "linear") -> NDArray[np.float64]:
    """Errors in [0, 1] as in AdaBoost.R2; all 0 where nothing is wrong."""
    size = np.abs(residual)
    largest = size.max()
    error = size / largest if largest > 0 else size
    if loss == "square":
        return error**2
    return 1.0 - np.exp(-error) if loss == "exponential" else error


def weighted_median(values: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Per row of (n_rows, n_models), the first value at which half of the weight is reached."""
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weights[order], axis=1)
    middle = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
    rows = np.arange(len(values))
    return values[rows, order[rows, middle]]

"""TrAdaBoost for regression (Pardoe and Stone 2010)."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import RegressorMixin, clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from groupwise._compat import set_random_states
from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupRegressor
from groupwise.boosting import Rounds, boost
from groupwise.groups import Groups
from groupwise.inputs import DomainRows, check_choice, check_number
from groupwise.transfer.base import TransferRegressorMixin
from groupwise.transfer.rounds import LEAST_TARGET_ERROR, TIE, first_voter, source_beta

__all__ = [
    "MedianEnsemble",
    "RegressorRun",
    "TrAdaBoostRegressor",
    "adjusted_errors",
    "regression_vote",
]

_LOSSES = ("linear", "square", "exponential")


class _Algorithm3(Rounds):
    """The weights of TrAdaBoost.R2 from round to round."""

    values = ("error", "domain_mass")

    def __init__(self, data: DomainRows, n_rounds: int, loss: str):
        super().__init__()
        self.data, self.loss = data, loss
        self.log_beta = np.log(source_beta(data.n_source, n_rounds))
        self.log_weight = np.log(data.weight_row / data.weight_row.sum())
        self.first_mass = data.domains.sum(self.weight_row)

    @property
    def weight_row(self) -> NDArray[Any]:  # type: ignore[override]  # an attribute in other methods
        return np.exp(self.log_weight)

    def update(self, output: NDArray[Any]) -> bool:
        y_row, is_target = self.data.y_row, self.data.is_target
        adjusted = adjusted_errors(y_row - output, self.loss)
        error = float(softmax(self.log_weight[is_target]) @ adjusted[is_target])
        useless = error >= 0.5 - TIE
        if useless and self.alphas:
            return True
        vote = regression_vote(error)
        self.log_weight = self.log_weight + np.where(is_target, vote, self.log_beta) * adjusted
        self.log_weight -= logsumexp(self.log_weight)
        self.record(vote, error=error, domain_mass=self.data.domains.sum(self.weight_row))
        return useless or not adjusted.any()


class TrAdaBoostRegressor(  # type: ignore[misc]  # domains in the place of groups
    TransferRegressorMixin, BaseGroupRegressor
):
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
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    loss : {"linear", "square", "exponential"}, default="linear"
    vote : {"last_half", "all"}, default="last_half"
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    ensemble_ : MedianEnsemble
        The rounds that vote.
    estimators_ : list of regressors
        Of all rounds.
    n_iter_ : int
        Rounds kept.
    estimator_errors_ : ndarray of shape (n_iter,)
    estimator_weights_ : ndarray of shape (n_iter,)
        :math:`\ln(1/\beta_t)`.
    domain_names_ : ndarray of shape (n_domains,)
    history_ : dict of str to ndarray
        ``"domain_mass"``, (n_iter + 1, n_domains): each domain's share of all weight, before the
        first and after every round.
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
    >>> model = TrAdaBoostRegressor(n_estimators=10, target_domain="new", random_state=0)
    >>> model.fit(x, y, domains=domains).predict(x[:2]).shape
    (2,)
    """

    def __init__(
        self,
        estimator: RegressorMixin | None = None,
        *,
        n_estimators: int = 50,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        loss: str = "linear",
        vote: str = "last_half",
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.loss = loss
        self.vote = vote
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_choice("loss", self.loss, _LOSSES)
        check_choice("vote", self.vote, ("last_half", "all"))

    def _learn(self, data: DomainRows) -> None:
        run = RegressorRun(self.estimator, data.X, check_random_state(self.random_state))
        rounds = _Algorithm3(data, self.n_estimators, self.loss)
        boost(run, data.y_row, rounds, self.n_estimators)
        self.n_iter_ = len(rounds.alphas)
        self.estimators_ = run.models[: self.n_iter_]
        self.estimator_weights_ = np.array(rounds.alphas)
        self.estimator_errors_ = rounds.history("error")
        self.domain_names_ = data.domains.names
        mass = [rounds.first_mass, *rounds.history("domain_mass")]
        self.history_ = {"domain_mass": np.array(mass)}
        self.row_weights_ = rounds.weight_row
        half = self.vote == "last_half" and data.n_source > 0
        first = first_voter(self.n_iter_) if half else 0
        self.ensemble_ = MedianEnsemble(self.estimators_[first:], self.estimator_weights_[first:])

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.ensemble_.predict(rows)


class RegressorRun:
    """Clones of a regressor, fitted to one weighting of the rows after another.

    ``None`` stands for ``DecisionTreeRegressor(max_depth=3)``.
    """

    def __init__(self, estimator: RegressorMixin | None, X: Rows, rng: np.random.RandomState):
        self.estimator = DecisionTreeRegressor(max_depth=3) if estimator is None else estimator
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"{type(self.estimator).__name__} takes no sample_weight in fit")
        self.X, self.rng = X, rng
        self.models: list[Any] = []

    def fit(self, target: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
        """Fit one more, with weights of mean 1; its values of the same rows."""
        model = clone(self.estimator)
        set_random_states(model, self.rng)
        model.fit(self.X, target, sample_weight=weight * (len(weight) / weight.sum()))
        self.models.append(model)
        return model.predict(self.X)


class MedianEnsemble:
    """The weighted median of regressors.

    Parameters
    ----------
    estimators : list of regressors
    weights : ndarray of shape (n_estimators,)
    """

    def __init__(self, estimators: list[Any], weights: NDArray[np.float64]):
        self.estimators = estimators
        self.weights = weights

    def predict(self, X: Rows) -> NDArray[np.float64]:
        """Per row, the first value at which half of the weight is reached."""
        values = np.column_stack([model.predict(X) for model in self.estimators])
        return weighted_median(values, self.weights)


def regression_vote(error: float) -> float:
    r""":math:`\ln(1/\beta_t)` of AdaBoost.R2; errors near 0 and 1/2 count as a little away."""
    least = min(max(error, LEAST_TARGET_ERROR), 0.5 - LEAST_TARGET_ERROR)
    return float(np.log1p(-least) - np.log(least))


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

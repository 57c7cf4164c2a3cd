"""Logistic regression on the target's rows, with what models of the source say as its prior."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import BoostedTrees, LinearLearner
from groupwise.boosting.votes import link
from groupwise.exceptions import GroupDataError, solving
from groupwise.groups import Groups
from groupwise.inputs import DomainRows
from groupwise.solvers.newton import Plane
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.learners import Learner
from groupwise.transfer.source_models import fit_source_models, source_log_odds
from groupwise.transfer.weighted import WeightedTransferClassifier, refuse_missing_class

__all__ = ["Prior", "SourcePriorClassifier", "average_planes"]

# Probabilities of the source's models are kept this far from 0 and 1.
_EDGE = 1e-6
# The priors that are averaged over: standard deviations of the models' factors and of the
# intercept, variances of the coefficients.
_SPREADS = (0.3, 1.0, 3.0)
_INTERCEPTS = (0.1, 3.0)
_VARIANCES = (1.0, 0.1, 0.01, 0.001, 0.0)
_MAX_NEWTON = 200


@dataclass(frozen=True)
class Prior:
    """What is believed of the target's plane before its rows are seen.

    Attributes
    ----------
    mean : float
        Of the factor of each model of the source; 0 with ``spread`` 0 leaves the source out.
    spread : float
        Standard deviation of these factors.
    variance : float
        Of the features' coefficients, whose mean is 0.
    intercept : float
        Standard deviation of the intercept, whose mean is 0.
    """

    mean: float
    spread: float
    variance: float
    intercept: float


class SourcePriorClassifier(BaseTransferClassifier):
    r"""Logistic regression on the target, with a prior from models of the source.

    Models :math:`m = 1, \dots, M` are fitted to the source's rows alone; :math:`s_m(x)` are their
    log-odds. On the target's rows, the likeliest

    .. math:: f(x) = \sum_m c_m s_m(x) + u^T x + b, \quad
              c_m \sim N(1/M, t^2), \quad u \sim N(0, C I), \quad b \sim N(0, r^2)

    is found. Small t, C and r leave the mean of the source's models; a large t stretches what they
    say or turns it around, a large C departs from it, a large r moves the share of the classes.
    There is a fit for every choice of three t (or none: without the source), five C and two r.
    Their planes are averaged, weighed by the probability of the target's labels under each prior
    (Laplace's approximation): a few dozen labelled rows cannot choose among these, but can weigh
    them.

    More than two classes: one plane per class against the rest, and the softmax of their scores.

    Parameters
    ----------
    estimators : sequence of classifiers or weak learners, default=None
        Fitted to the source, each as for :class:`WeightedTransferClassifier`. ``None``:
        ``LinearLearner("logistic")`` and ``BoostedTrees()``.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    source_models_ : list of WeightedTransferClassifier
        Of class codes; empty without rows of a source.
    priors_ : list of Prior
    prior_weights_ : ndarray of shape (n_planes, n_priors)
        With sum 1 for each plane; one plane for two classes.
    coef_ : ndarray of shape (n_planes, n_models + n_features)
        The averages of c and u.
    intercept_ : ndarray of shape (n_planes,)

    Notes
    -----
    As in scikit-learn's ``LogisticRegression``, columns of ``X`` should have one scale. Without
    rows of a source it is logistic regression averaged over C and r.

    References
    ----------
    C. Chelba and A. Acero (2006). Adaptation of maximum entropy capitalizer: Little data can help a
    lot. Computer Speech and Language. The penalty centred on the source's coefficients.

    J. Yang, R. Yan and A. Hauptmann (2007). Cross-domain video concept detection using adaptive
    SVMs. ACM Multimedia. Scores of source models plus a part of the target's own.

    D. MacKay (1992). The evidence framework applied to classification networks. Neural Computation.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import SourcePriorClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = SourcePriorClassifier(target_domain="target").fit(d.X, d.y, domains=d.domains)
    >>> clf.coef_.shape, clf.prior_weights_.shape
    ((1, 7), (1, 40))
    """

    def __init__(
        self,
        estimators: Sequence[Learner] | None = None,
        *,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimators = estimators
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if self.estimators is not None and not len(self.estimators):
            raise ValueError("estimators must hold at least one; None: the default ones")

    def _allows_nan(self) -> bool:
        return False

    def _learn(self, data: DomainRows) -> None:
        target = data.take(np.flatnonzero(data.is_target))
        refuse_missing_class(target)
        self.source_models_ = self._fit_source(data)
        self.priors_ = _priors(len(self.source_models_))
        found = []
        for code, score in self._source_scores(target.X, len(data.classes)):
            sign = np.where(target.y_row == code, 1.0, -1.0)
            found.append(average_planes(score, target.X, sign, target.weight_row, self.priors_))
        self.coef_ = np.array([plane.coef for plane, _ in found])
        self.intercept_ = np.array([plane.intercept for plane, _ in found])
        self.prior_weights_ = np.array([weights for _, weights in found])

    def _fit_source(self, data: DomainRows) -> list[WeightedTransferClassifier]:
        learners = self.estimators
        if learners is None:
            learners = (LinearLearner("logistic"), BoostedTrees())
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return fit_source_models(data, [self._by_position(learner) for learner in learners], seed)

    def _source_scores(self, X: Rows, n_classes: int) -> list[tuple[int, NDArray[Any]]]:
        """Of each plane the class it is for, and log-odds (n_rows, n_models) of that class."""
        score = source_log_odds(self.source_models_, X, n_classes, edge=_EDGE)
        codes = range(n_classes) if n_classes > 2 else (1,)
        return [(code, score[:, :, code]) for code in codes]

    def _score_rows(self, rows: Rows) -> NDArray[Any]:
        n_models = len(self.source_models_)
        score = rows @ self.coef_[:, n_models:].T + self.intercept_
        for plane, (_, said) in enumerate(self._source_scores(rows, len(self.classes_))):
            score[:, plane] += said @ self.coef_[plane, :n_models]
        return score[:, 0] if score.shape[1] == 1 else score

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self._score_rows(rows)
        return score_row, link(score_row)


def _priors(n_models: int) -> list[Prior]:
    """Without the source, then with it."""
    factors = [(0.0, 0.0)]
    if n_models:
        factors += [(1.0 / n_models, spread) for spread in _SPREADS]
    rest = list(product(_VARIANCES, _INTERCEPTS))
    return [Prior(*factor, *others) for factor in factors for others in rest]


def average_planes(
    score: NDArray[Any],
    X: Rows,
    sign: NDArray[Any],
    weight: NDArray[Any],
    priors: Sequence[Prior],
) -> tuple[Plane, NDArray[np.float64]]:
    r"""The likeliest planes of several priors, averaged by how probable each makes the labels.

    In units of their standard deviations coefficients have the posterior density
    :math:`\propto \exp(-\frac12|v|^2 - \sum_i w_i \ell_i)`. Laplace's approximation of its
    integral, the evidence for the prior, is the largest value over the root of the determinant of
    the Hessian there. At the maximum all coefficients follow from the slopes of the rows' losses,
    so that features may be turned into any axes meanwhile; of more features than rows the rows span
    few.

    Parameters
    ----------
    score : ndarray of shape (n_rows, n_models)
        What the source's models say.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    sign : ndarray of shape (n_rows,)
        -1 or +1.
    weight : ndarray of shape (n_rows,)
        How often a row counts.
    priors : sequence of Prior

    Returns
    -------
    plane : Plane
        Of ``score`` and ``X`` side by side.
    weights : ndarray of shape (n_priors,)
        With sum 1.
    """
    axes = _few_axes(X)
    pulls, evidences = [], []
    for prior in priors:
        columns = np.hstack([prior.spread * score, np.full((len(sign), 1), prior.intercept)])
        if prior.variance:
            columns = np.hstack([columns, np.sqrt(prior.variance) * axes])
        pull, evidence = _posterior(columns, prior.mean * score.sum(axis=1), sign, weight)
        pulls.append(pull)
        evidences.append(evidence)
    weights = softmax(evidences)

    means, *variances = np.array(
        [(p.mean, p.spread**2, p.variance, p.intercept**2) for p in priors]
    ).T
    by_score, by_row, by_intercept = ((weights * some) @ np.array(pulls) for some in variances)
    factors = weights @ means + score.T @ by_score
    return Plane(np.append(factors, X.T @ by_row), float(by_intercept.sum())), weights


def _few_axes(X: Rows) -> NDArray[np.float64]:
    """Rows with the same products with each other, in no more columns than there are rows."""
    few: Any = X if X.shape[1] <= X.shape[0] else X @ X.T
    few = few.toarray() if issparse(few) else np.asarray(few, float)
    if X.shape[1] <= X.shape[0]:
        return few
    with solving():
        values, vectors = np.linalg.eigh(few)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _posterior(
    columns: NDArray[Any], known: NDArray[Any], sign: NDArray[Any], weight: NDArray[Any]
) -> tuple[NDArray[Any], float]:
    r"""Newton's method on :math:`\frac12|v|^2 + \sum_i w_i \ell(s_i (o_i + z_i^T v))`.

    Written out, since scikit-learn's logistic regression takes no o (``known``).

    Returns
    -------
    pull : ndarray of shape (n_rows,)
        :math:`-\partial/\partial f_i` of the loss where the sum is least: v is Z'pull there.
    evidence : float
        The logarithm, up to a number that is the same for all priors.
    """
    n = columns.shape[1]
    coef = np.zeros(n)

    def cost(coef: NDArray[Any]) -> float:
        margin = sign * (known + columns @ coef)
        return float(0.5 * coef @ coef + weight @ np.logaddexp(0.0, -margin))

    least = cost(coef)
    for _ in range(_MAX_NEWTON):
        proba = expit(known + columns @ coef)
        pull = weight * ((sign > 0) - proba)
        hessian = np.eye(n) + (columns.T * (weight * proba * (1.0 - proba))) @ columns
        gradient = coef - columns.T @ pull
        with solving():
            step = np.linalg.solve(hessian, gradient)
        gain = float(gradient @ step)
        size, last = 1.0, least
        while gain > 1e-14 * last and size > 1e-10:
            least = cost(coef - size * step)
            if least <= last - 1e-4 * size * gain:
                break
            size /= 2.0
        else:  # as low as rounding lets it go
            return pull, -last - 0.5 * float(np.linalg.slogdet(hessian)[1])
        coef = coef - size * step
    raise GroupDataError(
        f"the Newton method did not end in {_MAX_NEWTON} steps; centre and scale X"
    )

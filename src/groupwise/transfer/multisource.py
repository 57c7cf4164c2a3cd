"""TrAdaBoost with several sources, of which every round takes the best (Yao and Doretto 2010)."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import Ensemble, Run, boost
from groupwise.boosting.rounds import row_loss
from groupwise.exceptions import GroupDataError
from groupwise.inputs import DomainRows, check_number
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.learners import Learner, initial_share, starting_weights
from groupwise.transfer.rounds import Algorithm1, RoundPlan, first_of_best
from groupwise.transfer.staged import StagedTransferMixin

__all__ = ["MultiSourceTrAdaBoostClassifier"]


class MultiSourceTrAdaBoostClassifier(StagedTransferMixin, BaseTransferClassifier):
    r"""MultiSource TrAdaBoost: each round learns from the source that helps the target most.

    In round t there is one candidate per source k, fitted to the rows of k and of the target. The
    one with the lowest error :math:`\epsilon_t` on the target becomes :math:`h_t`, with
    :math:`\alpha_t = \frac12 \ln\frac{1-\epsilon_t}{\epsilon_t}`,
    :math:`\alpha_S = \frac12 \ln(1 + \sqrt{2 \ln n / N})` for all n source rows and N rounds, and

    .. math:: w_i \leftarrow w_i e^{-\alpha_S |h_t(x_i) - y_i|} \text{ (sources)}, \qquad
              w_i \leftarrow w_i e^{\alpha_t |h_t(x_i) - y_i|} \text{ (target)}

    for labels -1 and +1. The classifier is the sign of :math:`\sum_t \alpha_t h_t(x)` over all
    rounds. So a source that has little to do with the target is passed over.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`.
    n_estimators : int, default=100
        Number of rounds N, each with as many fits as there are sources.
    target_domain : domain id, default=None
        Every other domain is a source of its own.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    initial : {"uniform", "equal_mass"} or float, default="uniform"
        As for :class:`TrAdaBoostClassifier`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
    domain_names_ : ndarray of shape (n_domains,)
    n_iter_ : int
        Rounds kept.
    sources_ : ndarray of shape (n_iter,)
        The source that each round's hypothesis was learnt from.
    estimator_errors_ : ndarray of shape (n_iter,)
    estimator_weights_ : ndarray of shape (n_iter,)
        :math:`2 \alpha_t`, negative where a hypothesis votes reversed.
    history_ : dict of str to ndarray
        ``"domain_mass"`` and ``"effective_source_rows"``, as for :class:`TrAdaBoostClassifier`.
    row_weights_ : ndarray of shape (n_rows,)

    Notes
    -----
    In weights this is TrAdaBoost, :math:`e^{-2\alpha_S} = \beta` and
    :math:`e^{2\alpha_t} = 1/\beta_t`; with one source it is TrAdaBoost with the vote of all rounds,
    without any AdaBoost. Errors of 0 and above 1/2, and three classes or more, are treated as
    there.

    References
    ----------
    Y. Yao and G. Doretto (2010). Boosting for transfer learning with multiple sources. CVPR.
    Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import MultiSourceTrAdaBoostClassifier
    >>> near, far = make_shifted_domains(angle=10, random_state=0), make_shifted_domains(
    ...     400, 0, random_state=1)
    >>> X, y = np.vstack([near.X, far.X]), np.r_[near.y, 1 - far.y]
    >>> domains = np.r_[near.domains, np.full(400, "far")]
    >>> clf = MultiSourceTrAdaBoostClassifier(
    ...     n_estimators=10, target_domain="target", random_state=0)
    >>> clf.fit(X, y, domains=domains).sources_[0].item()
    'source'
    """

    def __init__(
        self,
        estimator: Learner = None,
        *,
        n_estimators: int = 100,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        initial: str | float = "uniform",
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.initial = initial
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        initial_share(self.initial)

    def _learn(self, data: DomainRows) -> None:
        rng = check_random_state(self.random_state)
        n_classes = len(data.classes)
        learner = self._learner(data, self.estimator)
        codes = np.unique(data.domains.codes[~data.is_target])
        in_source = [data.is_target | (data.domains.codes == code) for code in codes]
        inner = learner.bind(data.X).start(n_classes, rng, resample=False)
        run = _BestSourceRun(inner, in_source or [data.is_target], data.is_target)
        rounds = Algorithm1(
            data.y_row,
            data.is_target,
            data.domains,
            starting_weights(data, self.initial),
            RoundPlan(self.n_estimators, data.classes),
        )
        boost(run, data.y_row, rounds, self.n_estimators)
        if not rounds.alphas:
            raise GroupDataError(
                "no source's first hypothesis is better than guessing on the rows of the target "
                "domain; initial='equal_mass' gives them more weight"
            )
        self.n_iter_ = rounds.n_kept
        self.estimator_weights_ = np.array(rounds.alphas[: self.n_iter_])
        self.estimator_errors_ = rounds.history("error")[: self.n_iter_]
        self.domain_names_, self.history_ = data.domains.names, rounds.shares(self.n_iter_)
        self.row_weights_ = rounds.weight
        chosen = np.array(run.chosen[: self.n_iter_])
        self.sources_ = data.domains.names[codes[chosen]] if len(codes) else np.array([])
        self.ensemble_ = run.combine(rounds.alphas[: self.n_iter_])


@dataclass
class _BestSourceRun:
    """A run whose hypothesis is the best of one per source, all on the same bound rows."""

    run: Run
    in_source: list[NDArray[np.bool_]]
    is_target: NDArray[np.bool_]
    chosen: list[int] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        outputs = [self.run.fit(target, np.where(rows, weight, 0.0)) for rows in self.in_source]
        on_target = np.where(self.is_target, weight, 0.0)
        errors = np.array([on_target @ row_loss(output, target) for output in outputs])
        if len(np.unique(target)) == 2:
            errors = np.minimum(errors, on_target.sum() - errors)  # reversed where that is better
        self.chosen.append(first_of_best(errors / on_target.sum()))
        return outputs[self.chosen[-1]]

    def combine(self, weights: Sequence[float]) -> "ChosenRounds":
        n_sources = len(self.in_source)
        positions = [
            n_sources * position + chosen
            for position, chosen in enumerate(self.chosen[: len(weights)])
        ]
        spread = np.zeros(n_sources * len(weights))
        spread[positions] = weights
        return ChosenRounds(self.run.combine(spread.tolist()), positions)


@dataclass(frozen=True)
class ChosenRounds:
    """An ensemble of which some hypotheses have no vote.

    Attributes
    ----------
    ensemble : Ensemble
    positions : list of int
        Of the hypotheses that vote.
    """

    ensemble: Ensemble
    positions: list[int]

    def score(self, X: Rows) -> NDArray[Any]:
        return self.ensemble.score(X)

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        voting = set(self.positions)
        for position, score in enumerate(self.ensemble.staged_score(X)):
            if position in voting:
                yield score

    def tail(self, first: int) -> "ChosenRounds":
        kept = self.positions[first:]
        start = kept[0] if kept else self.positions[-1] + 1
        return ChosenRounds(self.ensemble.tail(start), [position - start for position in kept])

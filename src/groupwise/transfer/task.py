"""Boosting with the hypotheses of other tasks (Yao and Doretto 2010)."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import Ensemble, Rounds, Run, boost
from groupwise.boosting.rounds import row_loss
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import DomainRows, check_number
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.learners import Learner
from groupwise.transfer.rounds import (
    LEAST_TARGET_ERROR,
    Algorithm1,
    RoundPlan,
    first_of_best,
    is_coin,
)

__all__ = ["TaskTrAdaBoostClassifier"]


class TaskTrAdaBoostClassifier(BaseTransferClassifier):
    r"""TaskTrAdaBoost: AdaBoost on the target, with hypotheses that were learnt on the sources.

    Phase I runs AdaBoost on each source and keeps the hypotheses whose vote
    :math:`\alpha = \frac12\ln\frac{1-\epsilon}{\epsilon}` is above a threshold. Phase II boosts on
    the target's rows, but instead of learning it takes, in each round, the kept hypothesis with the
    lowest error there (reversed where that is lower), each at most once. The target's few rows only
    choose, so it overfits less and is quick: phase II makes no fit at all.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`.
    n_estimators : int, default=100
        Rounds of either phase.
    min_vote : float, default=0.0
        The threshold :math:`\gamma` of phase I on :math:`\alpha`.
    target_domain : domain id, default=None
        Every other domain is a source of its own.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : SumEnsemble
        One ensemble per source.
    n_hypotheses_ : int
        Kept by phase I.
    n_iter_ : int
        Rounds of phase II.
    sources_ : ndarray of shape (n_iter,)
        The source of each round's hypothesis; empty without sources.
    estimator_errors_ : ndarray of shape (n_iter,)
    estimator_weights_ : ndarray of shape (n_iter,)
        :math:`2 \alpha_t`, negative where a hypothesis votes reversed.

    Notes
    -----
    A hypothesis without error on the target ends phase II. Without source rows this is AdaBoost.
    Three classes or more: the votes of SAMME, nothing is reversed, and hypotheses with errors of
    :math:`1 - 1/K` and above are passed over.

    References
    ----------
    Y. Yao and G. Doretto (2010). Boosting for transfer learning with multiple sources. CVPR.
    Algorithms 2 and 3.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import TaskTrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = TaskTrAdaBoostClassifier(n_estimators=20, target_domain="target", random_state=0)
    >>> clf.fit(d.X, d.y, domains=d.domains).n_hypotheses_
    20
    """

    def __init__(
        self,
        estimator: Learner = None,
        *,
        n_estimators: int = 100,
        min_vote: float = 0.0,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.min_vote = min_vote
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_number("min_vote", self.min_vote, "(-inf, inf)")

    def _learn(self, data: DomainRows) -> None:
        rng = check_random_state(self.random_state)
        codes = np.unique(data.domains.codes[~data.is_target])
        if len(codes):
            self._choose(data, [self._phase_one(data, code, rng) for code in codes], codes)
            return
        phase = self._phase_one(data, None, rng)
        self.n_hypotheses_ = self.n_iter_ = len(phase.votes)
        self.sources_ = np.array([])
        self.estimator_errors_, self.estimator_weights_ = phase.errors, phase.votes
        self.ensemble_ = SumEnsemble([phase.run.combine(phase.votes.tolist())])

    def _phase_one(
        self, data: DomainRows, code: int | None, rng: np.random.RandomState
    ) -> "_PhaseOne":
        """AdaBoost on the rows of one source; the target's rows are there to be predicted only."""
        in_source = data.is_target if code is None else data.domains.codes == code
        part = data.take(np.flatnonzero(in_source | data.is_target))
        learns = part.is_target if code is None else ~part.is_target
        n_rows, n_classes = len(part.y_row), len(data.classes)
        learner = self._learner(data, self.estimator)
        run = learner.bind(part.X).start(n_classes, rng, resample=False)
        target_rows = np.flatnonzero(part.is_target)
        rounds = Algorithm1(
            part.y_row,
            np.ones(n_rows, dtype=bool),
            Groups(np.zeros(n_rows, dtype=int)),
            np.where(learns, part.weight_row, 0.0),
            RoundPlan(self.n_estimators, data.classes),
            watched=target_rows,
        )
        boost(run, part.y_row, rounds, self.n_estimators)
        y_target = part.y_row[target_rows]
        loss = np.array([row_loss(output, y_target) for output in rounds.watched_outputs])
        kept = rounds.n_kept
        errors = rounds.history("error")[:kept]
        return _PhaseOne(run, np.array(rounds.alphas[:kept]), errors, loss[:kept])

    def _choose(self, data: DomainRows, phases: "list[_PhaseOne]", codes: NDArray[Any]) -> None:
        """Phase II."""
        # SAMME's votes for K classes are 2 alpha + ln(K - 1)
        least = 2.0 * self.min_vote + np.log(len(data.classes) - 1)
        found = [
            (source, position)
            for source, phase in enumerate(phases)
            for position in np.flatnonzero(phase.votes > least)
        ]
        if not found:
            raise GroupDataError(
                f"no hypothesis of the {len(phases)} source domains has a vote above "
                f"min_vote={self.min_vote}"
            )
        pool = _Kept(
            np.array([phases[source].loss[position] for source, position in found]),
            len(data.classes),
        )
        rounds = _PhaseTwo(data.weight_row[data.is_target], len(data.classes))
        y_target = data.y_row[data.is_target]
        boost(pool, y_target, rounds, min(self.n_estimators, len(found)))
        if not rounds.alphas:
            raise GroupDataError(
                "no hypothesis of the source domains is better than guessing on the target's rows"
            )
        picked = [found[position] for position in pool.picked[: len(rounds.alphas)]]
        shares = [np.zeros(len(phase.votes)) for phase in phases]
        for (source, rank), vote in zip(picked, rounds.alphas, strict=True):
            shares[source][rank] = vote
        self.n_hypotheses_, self.n_iter_ = len(found), len(picked)
        self.sources_ = data.domains.names[codes[[source for source, _ in picked]]]
        self.estimator_errors_ = rounds.history("error")
        self.estimator_weights_ = np.array(rounds.alphas)
        self.ensemble_ = SumEnsemble(
            [
                phase.run.combine(share.tolist())
                for phase, share in zip(phases, shares, strict=True)
                if share.any()
            ]
        )


@dataclass(frozen=True)
class _PhaseOne:
    """AdaBoost on one source: the run, its votes and errors, and the losses on target rows."""

    run: Run
    votes: NDArray[np.float64]
    errors: NDArray[np.float64]
    loss: NDArray[np.float64]


class _Kept:
    """The hypotheses that phase I kept, each of which is given out once, the best one first."""

    def __init__(self, loss: NDArray[np.float64], n_classes: int):
        self.loss = loss  # (n_hypotheses, n_rows)
        self.n_classes = n_classes
        self.left = np.ones(len(loss), dtype=bool)
        self.picked: list[int] = []

    def fit(self, target: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
        """The losses of the hypothesis with the lowest error, reversed where that is lower."""
        error = self.loss @ weight
        judged = np.minimum(error, 1.0 - error) if self.n_classes == 2 else error
        best = first_of_best(np.where(self.left, judged, np.inf))
        self.left[best] = False
        self.picked.append(best)
        return self.loss[best]


class _PhaseTwo(Rounds):
    """AdaBoost on the target's rows with hypotheses that are there already."""

    values = ("error",)

    def __init__(self, weight_row: NDArray[np.float64], n_classes: int):
        super().__init__()
        self.n_classes = n_classes
        self.log_weight = np.log(weight_row)

    @property
    def weight_row(self) -> NDArray[Any]:  # type: ignore[override]  # an attribute in other methods
        return np.exp(self.log_weight - np.logaddexp.reduce(self.log_weight))

    def update(self, loss: NDArray[Any]) -> bool:
        error, side = float(loss @ self.weight_row), 1.0
        if self.n_classes == 2 and error > 0.5:
            loss, error, side = 1.0 - loss, 1.0 - error, -1.0
        if is_coin(error, self.n_classes) or error > 1.0 - 1.0 / self.n_classes:
            return True
        least = max(error, LEAST_TARGET_ERROR)
        vote = float(np.log1p(-least) - np.log(least) + np.log(self.n_classes - 1))
        self.log_weight = self.log_weight + vote * loss
        self.record(side * vote, error=error)
        return error == 0.0


@dataclass(frozen=True)
class SumEnsemble:
    """The sum of several ensembles; their rounds have no common order."""

    ensembles: list[Ensemble]

    def score(self, X: Rows) -> NDArray[Any]:
        return np.sum([ensemble.score(X) for ensemble in self.ensembles], axis=0)

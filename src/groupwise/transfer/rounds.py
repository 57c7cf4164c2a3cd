"""The rounds of TrAdaBoost (Dai et al. 2007, Algorithm 1), apart from any estimator."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from groupwise._typing import Rows
from groupwise.boosting import Ensemble, Rounds
from groupwise.boosting.rounds import row_loss
from groupwise.boosting.votes import cast, decide
from groupwise.groups import Groups
from groupwise.inputs import ClassWeight
from groupwise.transfer.base import class_weighted

__all__ = [
    "LEAST_TARGET_ERROR",
    "TIE",
    "Algorithm1",
    "LastHalf",
    "RoundPlan",
    "first_of_best",
    "first_voter",
    "is_coin",
    "source_beta",
]

#: An error of 0 on the target counts as this one, or its vote would be infinite.
LEAST_TARGET_ERROR = 1e-10

#: Errors no further apart than this are the same up to rounding, which must not decide.
TIE = 1e-9

SOURCE_MASS = ("free", "kept", "dynamic")


def source_beta(n_source: int, n_rounds: int) -> float:
    r"""The factor of a misclassified source row, :math:`\beta = 1 / (1 + \sqrt{2 \ln n / N})`."""
    return 1.0 / (1.0 + np.sqrt(2.0 * np.log(n_source) / n_rounds)) if n_source else 1.0


def first_voter(n_rounds: int) -> int:
    r"""The round :math:`\lceil N/2 \rceil` from which on hypotheses vote, counted from 0."""
    return max((n_rounds + 1) // 2 - 1, 0)


def is_coin(error: float, n_classes: int) -> bool:
    """Whether an error is :math:`1 - 1/K`, that of guessing, up to rounding."""
    return abs(error - (1.0 - 1.0 / n_classes)) <= TIE


def first_of_best(error: NDArray[np.float64]) -> int:
    """The first of the lowest errors, those that are the same up to rounding among them."""
    return int(np.argmax(error <= error.min() + TIE))


@dataclass(frozen=True)
class RoundPlan:
    """How rounds are run.

    Attributes
    ----------
    n_rounds : int
    classes : ndarray of shape (n_classes,)
    source_mass : {"free", "kept", "dynamic"}
    class_weight : dict, "balanced" or None
    """

    n_rounds: int
    classes: NDArray[Any]
    source_mass: str = "free"
    class_weight: ClassWeight = None

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def for_learner(self, weight: NDArray[Any], target: NDArray[np.intp]) -> NDArray[Any]:
        """What the learner sees of the weights."""
        return class_weighted(weight, target, self.classes, self.class_weight)


class Algorithm1(Rounds):
    r"""TrAdaBoost's weights from round to round: Algorithm 1, steps 1 to 5.

    For two classes a hypothesis that errs like a coin on the target (:func:`is_coin`) has
    :math:`\beta_t = 1`: no vote, and no target row moves; source rows lose weight as always.

    Parameters
    ----------
    target : ndarray of shape (n_rows,)
        Class codes.
    is_target : ndarray of bool of shape (n_rows,)
        Whether a row is of the target domain.
    domains : Groups
    weight_row : ndarray of shape (n_rows,)
        Initial weights; zero for rows that are only watched.
    plan : RoundPlan
    watched : ndarray of int, default=None
        Rows whose predictions are kept.

    Attributes
    ----------
    alphas : list of float
        The votes :math:`\ln(1/\beta_t)`, negative where the hypothesis was reversed.
    weight : ndarray of shape (n_rows,)
        The weights after the last round, with sum 1.
    source_beta : float
    watched_outputs : list of ndarray
        What the hypotheses say of the watched rows, before a reversal.
    """

    values = ("error", "beta", "domain_mass", "effective_source_rows")

    def __init__(
        self,
        target: NDArray[np.intp],
        is_target: NDArray[np.bool_],
        domains: Groups,
        weight_row: NDArray[np.float64],
        plan: RoundPlan,
        *,
        watched: NDArray[np.intp] | None = None,
    ):
        super().__init__()
        self.target, self.is_target, self.domains, self.plan = target, is_target, domains, plan
        self.source, self.in_target = np.flatnonzero(~is_target), np.flatnonzero(is_target)
        self.source_beta = float(source_beta(len(self.source), plan.n_rounds))
        with np.errstate(divide="ignore"):
            self.log_weight, self.weight = _normalised(np.log(weight_row))
        self.kept_odds = _log_odds(self.log_weight, is_target) if len(self.source) else 0.0
        self.first = self._shares()
        self.watched = watched
        self.watched_outputs: list[NDArray[Any]] = []

    @property
    def weight_row(self) -> NDArray[Any]:  # type: ignore[override]  # an attribute in other methods
        return self.plan.for_learner(self.weight, self.target)

    def update(self, output: NDArray[Any]) -> bool:
        """Steps 3 to 5, and the end of a run in which nothing moves any more."""
        plan, is_target = self.plan, self.is_target
        loss, error, side = _judge(
            row_loss(output, self.target), self.log_weight, self.in_target, plan.n_classes
        )
        useless = is_coin(error, plan.n_classes) or error > 1.0 - 1.0 / plan.n_classes
        if useless and plan.n_classes > 2:
            return True
        beta = max(error, LEAST_TARGET_ERROR) / (1.0 - max(error, LEAST_TARGET_ERROR))
        vote = -np.log(beta) + np.log(plan.n_classes - 1)
        moved = self.log_weight + np.where(is_target, vote, np.log(self.source_beta)) * loss
        if len(self.source) and plan.source_mass != "free":
            moved = _correct_drift(moved, self.weight, is_target, plan.source_mass, self.kept_odds)
        self.log_weight, self.weight = _normalised(moved)
        self.record(side * vote, error=error, beta=beta, **self._shares())
        if self.watched is not None:
            self.watched_outputs.append(output[self.watched])
        moves = error > 0.0 and not useless
        return not moves and not loss[self.source].any()  # no weight moves any more

    @property
    def n_kept(self) -> int:
        """Rounds up to the last one that has a vote; one where none has."""
        return max(len(np.trim_zeros(self.alphas, "b")), min(len(self.alphas), 1))

    def _shares(self) -> dict[str, Any]:
        return {
            "domain_mass": self.domains.sum(self.weight),
            "effective_source_rows": _effective_number(self.log_weight[self.source]),
        }

    def shares(self, n_rounds: int) -> dict[str, NDArray[Any]]:
        r"""What became of the weight before the first and after each of ``n_rounds`` rounds.

        ``"domain_mass"``, (n_rounds + 1, n_domains): each domain's share.
        ``"effective_source_rows"``, (n_rounds + 1,): :math:`(\sum w_i)^2 / \sum w_i^2` over source
        rows.
        """
        return {
            name: np.array([first, *self.history(name)[:n_rounds]])
            for name, first in self.first.items()
        }

    def error_bound(self, first: int, last: int) -> float:
        r"""Theorem 3 for the vote of the rounds from ``first`` to ``last``, two classes.

        The error on target rows, *weighted by the weights they have when the vote begins*, is at
        most :math:`\prod_t (1 - \epsilon_t + \epsilon_t/\beta_t) \sqrt{\beta_t}`, which is the
        paper's :math:`\prod_t 2\sqrt{\epsilon_t (1-\epsilon_t)}` where no error was 0.
        """
        errors, betas = self.history("error")[first:last], self.history("beta")[first:last]
        terms = np.log1p(errors * (1.0 / betas - 1.0)) + 0.5 * np.log(betas)
        return float(np.exp(min(terms.sum(), 0.0)))

    def best_length(self, y_watched: NDArray[np.intp], *, last_half: bool) -> int:
        """The smallest number of rounds with the fewest errors on the watched rows."""
        votes = [
            vote * cast(output, self.plan.n_classes)
            for vote, output in zip(self.alphas, self.watched_outputs, strict=True)
        ][: self.n_kept]
        total = np.cumsum([np.zeros_like(votes[0]), *votes], axis=0)
        wrong = []
        for length in range(1, len(votes) + 1):
            before = total[first_voter(length) if last_half else 0]
            wrong.append(np.count_nonzero(decide(total[length] - before) != y_watched))
        return int(np.argmin(wrong)) + 1


@dataclass(frozen=True)
class LastHalf:
    """The vote of the last half of the rounds.

    Attributes
    ----------
    rounds : Ensemble
        Of all rounds.
    voters : Ensemble
        Those that vote.
    """

    rounds: Ensemble
    voters: Ensemble

    @classmethod
    def of(cls, rounds: Ensemble, n_rounds: int) -> "LastHalf":
        return cls(rounds, rounds.tail(first_voter(n_rounds)))

    def score(self, X: Rows) -> NDArray[Any]:
        return self.voters.score(X)

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        """Scores of the last half of the rounds up to each."""
        totals: dict[int, Any] = {0: 0.0}
        for length, total in enumerate(self.rounds.staged_score(X), start=1):
            totals[length] = total
            first = first_voter(length)
            yield total - totals[first]
            for passed in [key for key in totals if key < first]:
                del totals[passed]

    def tail(self, first: int) -> Ensemble:
        return self.voters.tail(first)


def _normalised(log_weight: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Logarithms of weights with sum 1, and the weights."""
    log_weight = log_weight - log_weight.max()
    weight = np.exp(log_weight)
    total = weight.sum()
    weight /= total
    log_weight -= np.log(total)
    return log_weight, weight


def _effective_number(log_weight: NDArray[Any]) -> float:
    """How many equal weights would be as uneven as these: (sum w)^2 / sum w^2."""
    if len(log_weight) == 0:
        return 0.0
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight @ weight))


def _judge(
    loss: NDArray[Any], log_weight: NDArray[Any], in_target: NDArray[np.intp], n_classes: int
) -> tuple[NDArray[Any], float, float]:
    """The error on the target (step 3); a two-class hypothesis above 1/2 is reversed."""
    error = float(softmax(log_weight[in_target]) @ loss[in_target])
    if n_classes == 2 and is_coin(error, 2):
        return loss, 0.5, 1.0
    if n_classes == 2 and error > 0.5:
        return 1.0 - loss, 1.0 - error, -1.0
    return loss, error, 1.0


def _log_odds(log_weight: NDArray[Any], is_target: NDArray[np.bool_]) -> float:
    return float(logsumexp(log_weight[~is_target]) - logsumexp(log_weight[is_target]))


def _correct_drift(
    log_weight: NDArray[Any],
    before: NDArray[Any],
    is_target: NDArray[np.bool_],
    source_mass: str,
    kept_odds: float,
) -> NDArray[Any]:
    """Scale the source rows: to their first share, or as the target has grown."""
    if source_mass == "kept":
        shift = kept_odds - _log_odds(log_weight, is_target)
    else:
        shift = float(logsumexp(log_weight[is_target]) - np.log(before[is_target].sum()))
    return log_weight + np.where(is_target, 0.0, shift)

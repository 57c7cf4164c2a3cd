"""The rounds of TrAdaBoost (Dai et al. 2007, Algorithm 1), apart from any estimator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from groupwise.boosting import Run
from groupwise.boosting.classifiers import vote_coding
from groupwise.boosting.confidence import row_loss
from groupwise.groups import Groups
from groupwise.transfer.base import decide

__all__ = ["LEAST_ERROR", "RoundPlan", "Rounds", "boost", "first_voter", "source_beta"]

#: An error of 0 counts as this one, or its vote would be infinite.
LEAST_ERROR = 1e-10

SOURCE_MASS = ("free", "kept", "dynamic")


def source_beta(n_source: int, n_rounds: int) -> float:
    r"""The factor of a misclassified source row, :math:`\beta = 1 / (1 + \sqrt{2 \ln n / N})`."""
    return 1.0 / (1.0 + np.sqrt(2.0 * np.log(n_source) / n_rounds)) if n_source else 1.0


def first_voter(n_rounds: int) -> int:
    r"""The round :math:`\lceil N/2 \rceil` from which on hypotheses vote, counted from 0."""
    return max((n_rounds + 1) // 2 - 1, 0)


@dataclass(frozen=True)
class RoundPlan:
    """How rounds are run.

    Attributes
    ----------
    n_rounds : int
    n_classes : int
    source_mass : {"free", "kept", "dynamic"}
    balance_classes : bool
    """

    n_rounds: int
    n_classes: int
    source_mass: str = "free"
    balance_classes: bool = False

    def for_learner(self, weight: NDArray[Any], target: NDArray[np.intp]) -> NDArray[Any]:
        """What the learner sees of the weights."""
        if not self.balance_classes:
            return weight
        total = np.bincount(target, weights=weight, minlength=self.n_classes)
        return weight / total[target]


@dataclass(frozen=True)
class Rounds:
    r"""What happened in a run.

    Attributes
    ----------
    votes : ndarray of shape (n_rounds,)
        :math:`\ln(1/\beta_t)`, negative where the hypothesis was reversed.
    errors : ndarray of shape (n_rounds,)
        :math:`\epsilon_t`, of the hypothesis as it votes.
    betas : ndarray of shape (n_rounds,)
    source_beta : float
    domain_mass : ndarray of shape (n_rounds + 1, n_domains)
        Each domain's share of the weight before the first and after every round.
    effective_source_rows : ndarray of shape (n_rounds + 1,)
        :math:`(\sum w_i)^2 / \sum w_i^2` over source rows.
    weight_row : ndarray of shape (n_rows,)
        The weights after the last round, with sum 1.
    watched : list of ndarray
        The hypotheses' outputs on the watched rows, signed votes not yet applied.
    n_classes : int
    """

    votes: NDArray[np.float64]
    errors: NDArray[np.float64]
    betas: NDArray[np.float64]
    source_beta: float
    domain_mass: NDArray[np.float64]
    effective_source_rows: NDArray[np.float64]
    weight_row: NDArray[np.float64]
    watched: list[NDArray[Any]]
    n_classes: int

    def error_bound(self, first: int, last: int) -> float:
        r"""Theorem 3 for the vote of the rounds from ``first`` to ``last``, two classes.

        The error on target rows, *weighted by the weights they have when the vote begins*, is at
        most :math:`\prod_t (1 - \epsilon_t + \epsilon_t/\beta_t) \sqrt{\beta_t}`, which is the
        paper's :math:`\prod_t 2\sqrt{\epsilon_t (1-\epsilon_t)}` where no error was 0.
        """
        errors, betas = self.errors[first:last], self.betas[first:last]
        terms = np.log1p(errors * (1.0 / betas - 1.0)) + 0.5 * np.log(betas)
        return float(np.exp(min(terms.sum(), 0.0)))

    def best_length(self, y_watched: NDArray[np.intp], votes_from: Callable[[int], int]) -> int:
        """The smallest number of rounds with the fewest errors on the watched rows."""
        coding = vote_coding(self.n_classes)
        votes = [
            vote * (output @ coding if output.ndim == 2 else coding[output])
            for vote, output in zip(self.votes, self.watched, strict=True)
        ]
        total = np.cumsum([np.zeros_like(votes[0]), *votes], axis=0)
        wrong = [
            np.count_nonzero(decide(total[length] - total[votes_from(length)]) != y_watched)
            for length in range(1, len(votes) + 1)
        ]
        return int(np.argmin(wrong)) + 1


def boost(
    run: Run,
    target: NDArray[np.intp],
    is_target: NDArray[np.bool_],
    domains: Groups,
    weight_row: NDArray[np.float64],
    plan: RoundPlan,
    *,
    watched: NDArray[np.intp] | None = None,
) -> Rounds:
    """Run the rounds: Algorithm 1, steps 1 to 5.

    Parameters
    ----------
    run : Run
        Of a weak learner; it keeps the hypotheses.
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

    Returns
    -------
    rounds : Rounds
    """
    with np.errstate(divide="ignore"):
        log_weight, weight = _normalised(np.log(weight_row))
    source, in_target = np.flatnonzero(~is_target), np.flatnonzero(is_target)
    log_beta = float(np.log(source_beta(len(source), plan.n_rounds)))
    kept_odds = _log_odds(log_weight, is_target) if len(source) else 0.0
    votes, errors, betas, seen = [], [], [], []
    mass, effective = [domains.sum(weight)], [_effective_number(log_weight[source])]
    for _ in range(plan.n_rounds):
        output = run.fit(target, plan.for_learner(weight, target))
        loss, error, side = _judge(row_loss(output, target), log_weight, in_target, plan.n_classes)
        if error >= 1.0 - 1.0 / plan.n_classes and plan.n_classes > 2:
            break
        beta = max(error, LEAST_ERROR) / (1.0 - max(error, LEAST_ERROR))
        vote = -np.log(beta) + np.log(plan.n_classes - 1)
        log_weight = log_weight + np.where(is_target, vote, log_beta) * loss
        if len(source) and plan.source_mass != "free":
            log_weight = _correct_drift(log_weight, weight, is_target, plan.source_mass, kept_odds)
        log_weight, weight = _normalised(log_weight)
        votes.append(side * vote)
        errors.append(error)
        betas.append(beta)
        mass.append(domains.sum(weight))
        effective.append(_effective_number(log_weight[source]))
        if watched is not None:
            seen.append(output[watched])
        if error == 0.0 and not loss[source].any():
            break  # no weight moves any more
    return Rounds(
        np.array(votes),
        np.array(errors),
        np.array(betas),
        float(np.exp(log_beta)),
        np.array(mass),
        np.array(effective),
        weight,
        seen,
        plan.n_classes,
    )


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

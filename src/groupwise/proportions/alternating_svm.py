"""Labels and support vector machines in turn, each the best for the other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from groupwise.groups import Groups
from groupwise.proportions.decode import decode_counts

__all__ = ["Alternation", "alternate"]

_MAX_TURNS = 100


@dataclass(frozen=True)
class Alternation:
    """Where the best start ended.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        The labels, which have the known counts.
    weights : ndarray of shape (n_rows, n_outputs)
    bias : ndarray of shape (n_outputs,)
    objective : float
    n_iter : int
        Machines fitted, over all starts.
    """

    codes: NDArray[np.intp]
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    objective: float
    n_iter: int


def alternate(
    gram: NDArray[np.float64],
    counts_group: NDArray[np.intp],
    groups: Groups,
    *,
    C: float,
    starts: list[NDArray[np.float64]],
) -> Alternation:
    """Alternate from each start and keep the lowest objective.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
    counts_group : ndarray of int of shape (n_groups, n_classes)
    groups : Groups
    C : float
    starts : list of ndarray of shape (n_rows, n_classes)
        Scores to decode the first labels from.

    Returns
    -------
    best : Alternation
    """
    ends = [_from_one_start(gram, counts_group, groups, C, score) for score in starts]
    best = min(ends, key=lambda end: end.objective)
    n_iter = sum(end.n_iter for end in ends)
    return Alternation(best.codes, best.weights, best.bias, best.objective, n_iter)


def _from_one_start(
    gram: NDArray[np.float64],
    counts_group: NDArray[np.intp],
    groups: Groups,
    C: float,
    score_row: NDArray[np.float64],
) -> Alternation:
    codes = decode_counts(score_row, counts_group, groups)
    outputs = _outputs(counts_group)
    n_iter = 0
    for _ in range(_MAX_TURNS):
        n_iter += 1
        weights, bias, norm = _machines(gram, codes, outputs, C)
        decision = gram @ weights + bias
        # What a label saves: the loss of "not this class" minus that of "this class".
        save = np.maximum(0.0, 1.0 + decision) - np.maximum(0.0, 1.0 - decision)
        new_codes = decode_counts(_as_scores(save), counts_group, groups)
        if np.array_equal(new_codes, codes):
            break
        codes = new_codes
    sign = np.where(codes[:, None] == outputs, 1.0, -1.0)
    loss = np.maximum(0.0, 1.0 - sign * decision).sum()
    objective = float(0.5 * norm + C * loss)
    if len(outputs) > 1:  # soft labels of 0 and 1 instead of -1 and +1
        weights, bias = 0.5 * weights, 0.5 * (1.0 + bias)
    return Alternation(codes, weights, bias, objective, n_iter)


def _outputs(counts_group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The classes that have a machine: the second of two, or every one."""
    n_classes = counts_group.shape[1]
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def _machines(
    gram: NDArray[np.float64], codes: NDArray[np.intp], outputs: NDArray[np.intp], C: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """One machine per output: weights (n_rows, n_outputs), biases, and the sum of norms."""
    weights, bias, norm = np.zeros((len(codes), len(outputs))), np.zeros(len(outputs)), 0.0
    for column, output in enumerate(outputs):
        machine = SVC(C=C, kernel="precomputed", cache_size=500, tol=1e-5).fit(
            gram, codes == output
        )
        dual = machine.dual_coef_[0]
        weights[machine.support_, column] = dual
        bias[column] = machine.intercept_[0]
        norm += float(dual @ gram[np.ix_(machine.support_, machine.support_)] @ dual)
    return weights, bias, norm


def _as_scores(save: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.zeros(len(save)), save]) if save.shape[1] == 1 else save

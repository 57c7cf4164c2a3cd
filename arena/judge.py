"""What an answer is worth: the scores of each room, with standard errors over groups."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.problem import Problem, Split
from groupwise.groups import Groups
from groupwise.metrics import get_measure

__all__ = ["LOWER_IS_BETTER", "PRIMARY", "judge"]

#: The score that ranks a room's methods.
PRIMARY = {
    "presence": "AUC",
    "proportions": "row error",
    "majority": "accuracy",
    "measure": "mean F1",
    "transfer": "target error",
}
LOWER_IS_BETTER = frozenset({"row error", "target error", "log-loss"})


def judge(
    room: str, problem: Problem, split: Split, answer: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """Scores of an answer.

    Parameters
    ----------
    room : str
    problem : Problem
    split : Split
    answer : dict of ndarray
        ``label``: class code per test group (presence, majority; groups in the order of their
        codes) or per test row. For groups also ``proba`` (n_groups, n_classes) or, for two
        classes, ``score`` (n_groups,).

    Returns
    -------
    found : dict
        ``scores``, ``se`` (of the room's primary score) and ``n`` (groups, or rows in transfer).
    """
    truth, groups = problem.truth[split.test], Groups(problem.groups[split.test])
    n_wanted = groups.n_groups if room in ("presence", "majority") else len(truth)
    label = np.asarray(answer["label"])
    if label.shape != (n_wanted,):
        raise ValueError(f"the answer has {label.shape} labels, {n_wanted} were asked for")
    if room in ("presence", "majority"):
        return _of_groups(room, truth[groups.first_rows], label, answer)
    wrong = (label != truth).astype(float)
    if room == "transfer":
        return _result({"target error": wrong.mean()}, _binomial(wrong), len(wrong))
    if room == "proportions":
        return _result({"row error": wrong.mean()}, _of_clusters(wrong, groups), groups.n_groups)
    value = np.asarray(get_measure("f1")(truth, 2.0 * label - 1.0, groups), float)
    scores = {"mean F1": value.mean(), "worst F1": value.min(), "row error": wrong.mean()}
    return _result(scores, value.std(ddof=1) / np.sqrt(len(value)), len(value))


def _of_groups(
    room: str, y: NDArray[Any], label: NDArray[Any], answer: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    right = (label == y).astype(float)
    scores, se = {"accuracy": right.mean()}, _binomial(right)
    proba, score = answer.get("proba"), answer.get("score")
    if proba is not None:
        likely = np.clip(proba[np.arange(len(y)), y], 1e-6, None)
        scores["log-loss"] = -np.log(likely).mean()
        score = proba[:, 1] if proba.shape[1] == 2 else None
    if score is not None:
        if not np.isfinite(score).all():
            raise ValueError("the answer's scores are not finite")
        scores["AUC"], error = area(y, score)
        se = error if room == "presence" else se
    return _result(scores, se, len(y))


def _result(scores: dict[str, Any], se: float, n: int) -> dict[str, Any]:
    rounded = {name: round(float(value), 6) for name, value in scores.items()}
    return {"scores": rounded, "se": round(float(se), 6), "n": int(n)}


def _binomial(right: NDArray[Any]) -> float:
    """Standard error of a share, never zero (one success and one failure added)."""
    n = len(right)
    share = (right.sum() + 1.0) / (n + 2.0)
    return float(np.sqrt(share * (1.0 - share) / n))


def _of_clusters(wrong: NDArray[Any], groups: Groups) -> float:
    """Standard error of a mean over rows whose groups were drawn (ratio estimator)."""
    n = groups.n_groups
    excess = groups.sum(wrong) - wrong.mean() * groups.sizes
    found = np.sqrt(n / (n - 1.0) * np.sum(excess**2)) / len(wrong)
    return max(float(found), _binomial(wrong) / 2.0)


def area(y: NDArray[Any], score: NDArray[Any]) -> tuple[float, float]:
    """Area under the curve and its standard error (DeLong et al. 1988); not below 1 / n groups."""
    above = score[y == 1][:, None] - score[y == 0][None, :]
    won = (above > 0) + 0.5 * (above == 0)
    of_positive, of_negative = won.mean(axis=1), won.mean(axis=0)
    variance = sum(part.var(ddof=1) / len(part) for part in (of_positive, of_negative))
    return float(won.mean()), max(float(np.sqrt(variance)), 0.5 / len(y))

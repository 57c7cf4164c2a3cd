"""The simplest answer there is, the same for everybody: what any method has to beat."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.base import Predictions
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets

__all__ = ["constant_scores"]


def constant_scores(
    supervision: Supervision, known: Targets, asked: Targets
) -> NDArray[np.float64]:
    """Scores of groups under the constant answer that suits what is known best.

    Candidates are "always this class" for each class and, where shares are known, their mean.

    Parameters
    ----------
    supervision : Supervision
    known : Targets
        Of the rows that the answer is chosen on.
    asked : Targets
        Of the rows that are judged.

    Returns
    -------
    score_group : ndarray of shape (n_groups,)
    """
    n_classes = len(known.classes)
    candidates = list(np.eye(n_classes))
    rows = supervision.judged_rows(known)
    inside = known.take(rows) if len(rows) < len(known.y) else known
    if known.y.ndim == 2:
        candidates.append(inside.y[inside.groups.first_rows].mean(axis=0))
    means = [_mean(supervision, _answer(proba, inside), inside) for proba in candidates]
    best = candidates[int(np.nanargmax(means))]
    return supervision.judge(_answer(best, asked), asked)


def _mean(supervision: Supervision, answer: Predictions, targets: Targets) -> float:
    scores = supervision.judge(answer, targets)
    if np.isnan(scores).all():
        return -np.inf
    return supervision.mean_score(scores, targets.groups.sizes)


def _answer(proba: NDArray[Any], targets: Targets) -> Predictions:
    groups, n_classes = targets.groups, len(proba)
    proba_row = np.tile(proba, (groups.n_rows, 1))
    score_row = proba_row[:, 1] - 0.5 if n_classes == 2 else proba_row
    return Predictions(
        classes=np.arange(n_classes),
        groups=groups,
        score_row=score_row,
        proba_row=proba_row,
        proba_group=np.tile(proba, (groups.n_groups, 1)),
        code_row=proba_row.argmax(axis=1),
    )

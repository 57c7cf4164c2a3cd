"""The weighted hypotheses of a solved program: one sum for each output."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from groupwise._typing import Rows
from groupwise.boosting import Ensemble
from groupwise.presence.program.master import Master

__all__ = ["ProgramEnsemble", "margin_proba", "used_hypotheses"]

_ZERO = 1e-12


@dataclass(frozen=True)
class ProgramEnsemble:
    """Weighted hypotheses.

    Attributes
    ----------
    outputs : list of Ensemble
        One sum for two classes, else one for each class.
    """

    outputs: list[Ensemble]

    def score(self, X: Rows) -> NDArray[np.float64]:
        """Scores (n_rows,) of one output, (n_rows, n_classes) of several."""
        scores = [output.score(X) for output in self.outputs]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)


def used_hypotheses(
    master: Master, weight: NDArray[np.float64]
) -> tuple[ProgramEnsemble, NDArray[np.float64]]:
    """The hypotheses of a program that have a weight, and these weights."""
    used = np.flatnonzero(weight > _ZERO)
    columns, weight = master.columns[used], weight[used]
    outputs = []
    for output in range(master.problem.n_outputs):
        mine = columns.output == output
        # equal hypotheses are summed up, so that each is evaluated once
        distinct, place = np.unique(columns.number[mine], return_inverse=True)
        signed = (columns.sign * weight)[mine]
        total = np.bincount(place, signed, minlength=len(distinct)).astype(np.float64)
        outputs.append(master.pool.combine(distinct, total))
    return ProgramEnsemble(outputs), weight


def margin_proba(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of scores; those of one output are the second class's, and minus the first's."""
    if score.ndim == 1:
        score = np.column_stack([-score, score])
    return softmax(score, axis=1)

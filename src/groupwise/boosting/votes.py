"""From votes to scores and from scores to probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from groupwise._typing import Rows
from groupwise.boosting.protocol import Ensemble
from groupwise.rules import two_columns

__all__ = ["OneVsRest", "cast", "decide", "link", "vote_coding", "vote_proba", "vote_shares"]


def vote_coding(n_classes: int) -> NDArray[Any]:
    """What a vote for each class adds to the scores, before its weight.

    Two classes: -1 and +1. More: the code of SAMME (Zhu et al. 2009), 1 for the class voted for and
    -1/(n_classes - 1) for each other, one line per class.
    """
    if n_classes == 2:
        return np.array([-1.0, 1.0])
    rest = -1.0 / (n_classes - 1)
    return np.full((n_classes, n_classes), rest) + (1.0 - rest) * np.eye(n_classes)


def cast(output: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """Votes from what a hypothesis says of rows: class codes, or probabilities of the classes."""
    coding = vote_coding(n_classes)
    return coding[output] if output.ndim == 1 else output @ coding


def decide(score: NDArray[Any]) -> NDArray[np.intp]:
    """Class codes from scores; a tie of two classes goes to the second."""
    return (score >= 0).astype(np.intp) if score.ndim == 1 else score.argmax(axis=1)


def link(score: NDArray[Any]) -> NDArray[Any]:
    """Probabilities (n_rows, n_classes) by the logistic function, or the softmax for more classes.

    Scores of two classes are one column or a flat array.
    """
    if score.ndim == 2 and score.shape[1] > 1:
        return softmax(score, axis=1)
    return two_columns(expit(score.ravel()))


def vote_proba(score: NDArray[Any], scale: float) -> NDArray[Any]:
    r"""AdaBoost's estimate of the probabilities from a weighted vote.

    Two classes: :math:`1 / (1 + e^{-2 s f})` with the scale s; more: the softmax of
    :math:`s f`.
    """
    if score.ndim == 1:
        score = np.column_stack([-score, score])
    return softmax(score * scale, axis=1)


def vote_shares(score: NDArray[Any]) -> NDArray[Any]:
    """The probabilities that one hypothesis voted with: :func:`cast` taken back.

    Examples
    --------
    >>> proba = np.array([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])
    >>> vote_shares(cast(proba, 3)).round(3).tolist()
    [[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]]
    >>> vote_shares(cast(np.array([[0.25, 0.75]]), 2)).tolist()
    [[0.25, 0.75]]
    """
    if score.ndim == 1:
        return two_columns((1.0 + score) / 2.0)
    n_classes = score.shape[1]
    return (1.0 + (n_classes - 1) * score) / n_classes


@dataclass(frozen=True)
class OneVsRest:
    """An ensemble for each class, side by side.

    Attributes
    ----------
    runs : list of Ensemble
        In the order of the classes.
    """

    runs: list[Ensemble]

    def score(self, X: Rows) -> NDArray[Any]:
        return np.column_stack([run.score(X) for run in self.runs])

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        """A run that ended early keeps its last score."""
        stages = [run.staged_score(X) for run in self.runs]
        current = [np.zeros(X.shape[0]) for _ in stages]
        while True:
            following = [next(stage, None) for stage in stages]
            if all(score is None for score in following):
                return
            pairs = zip(following, current, strict=True)
            current = [last if score is None else score for score, last in pairs]
            yield np.column_stack(current)

    def tail(self, first: int) -> "OneVsRest":
        return OneVsRest([run.tail(first) for run in self.runs])

"""Row probabilities averaged, then decided for a measure of groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.ensemble import ROW_PENALTY, Answer, RowAverage, Truth, log_odds
from groupwise.auto.scaling import is_worse
from groupwise.groups import Groups
from groupwise.measures.decision import STRENGTHS, score_for_f
from groupwise.measures.threshold import best_threshold
from groupwise.metrics import FBeta, GroupMeasure
from groupwise.metrics.counts import CountMeasure

__all__ = ["RowDecision"]


@dataclass(frozen=True)
class RowDecision:
    """Row probabilities averaged and decided for a measure; or the best member's own decision.

    Attributes
    ----------
    average : RowAverage or None
        ``None``: the one member chosen decides.
    chosen : list of int
    decision : {"own", "largest", "threshold", "expected"}
        How scores come about: the member's; log-odds; log-odds less a threshold; log-odds less the
        cut with the largest expected F of the group
        (:func:`~groupwise.measures.decision.score_for_f`).
    threshold : float
    expects : dict
        What that function is told.
    """

    average: RowAverage | None
    chosen: list[int]
    decision: str
    threshold: float = 0.0
    expects: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        answers: Sequence[Answer],
        truth: Truth,
        methods: Sequence[str],
        measure: GroupMeasure,
    ) -> "RowDecision":
        """Average and decide, unless the best member's own decisions are clearly better.

        Clearly: by two paired standard errors of the groups' measures. The best of many flatters
        itself, an average does not. Rows of a group depend on each other, so that members' scalings
        are drawn towards none by some groups' worth of rows.
        """

        def judged(score_row: NDArray[Any]) -> NDArray[Any]:
            return measure.of(truth.y_row, score_row, truth.groups)

        own = [judged(answer["score_row"]) for answer in answers]
        best = int(np.argmax([np.nanmean(values) for values in own]))
        penalty = ROW_PENALTY * truth.groups.n_rows / truth.groups.n_groups
        average, proba = RowAverage.fit_and_held_out(answers, truth, methods, penalty=penalty)
        together = _decided_for(measure, cls(average, average.chosen, "largest"), proba, truth)
        if is_worse(-judged(together.score(proba, truth.groups)), -own[best], errors=2.0):
            return cls(None, [best], "own")
        return together

    def score(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """Scores that decide, from averaged probabilities."""
        score_row = log_odds(proba_row)
        if self.decision == "threshold":
            return score_row - self.threshold
        if self.decision == "expected":
            return score_for_f(score_row, groups, **self.expects)
        return score_row

    def combine(self, answers: Sequence[Answer], groups: Groups) -> Answer:
        """The ensemble's answer from those of the members chosen."""
        if self.average is None:
            return answers[0]
        proba_row = self.average.combine(answers, groups)["proba_row"]
        return {"proba_row": proba_row, "score_row": self.score(proba_row, groups)}


def _decided_for(
    measure: GroupMeasure, start: RowDecision, proba_row: NDArray[Any], truth: Truth
) -> RowDecision:
    """F as expected; other counts by a threshold if it is better, which is tried fold by fold."""
    if truth.n_classes > 2 or not isinstance(measure, CountMeasure):
        return start

    def mean(score_row: NDArray[Any]) -> float:
        return float(np.nanmean(measure.of(truth.y_row, score_row, truth.groups)))

    if isinstance(measure, FBeta):
        tried = [replace(start, decision="expected", expects=how) for how in _of_f(measure, truth)]
        return max(tried, key=lambda each: mean(each.score(proba_row, truth.groups)))
    plain = mean(start.score(proba_row, truth.groups))
    if mean(_cross_decided(start, proba_row, truth, measure)) > plain:
        return _with_threshold(start, proba_row, truth, measure)
    return start


def _of_f(measure: FBeta, truth: Truth) -> list[dict[str, Any]]:
    """What may be expected of groups: whether they may be empty, how far shares are their own."""
    without = truth.groups.sum(truth.y_row) == 0
    how = {
        "share": float(truth.y_row.mean()),
        "beta": measure.beta,
        "may_be_empty": bool(without.any() and measure.without_positives == "count"),
    }
    return [how | {"strength": strength} for strength in STRENGTHS]


def _with_threshold(
    start: RowDecision, proba_row: NDArray[Any], truth: Truth, measure: GroupMeasure
) -> RowDecision:
    threshold, _ = best_threshold(truth.y_row, log_odds(proba_row), truth.groups, measure)
    return replace(start, decision="threshold", threshold=threshold)


def _cross_decided(
    start: RowDecision, proba_row: NDArray[Any], truth: Truth, measure: GroupMeasure
) -> NDArray[Any]:
    """Scores less a threshold that the other folds chose; of one fold, itself."""
    score_row = np.empty(len(proba_row))
    for number in np.unique(truth.fold_group):
        inside = truth.fold_group == number
        others = ~inside if not inside.all() else inside
        rows, other_rows = inside[truth.groups.codes], others[truth.groups.codes]
        tuned = _with_threshold(start, proba_row[other_rows], truth.take(others), measure)
        score_row[rows] = log_odds(proba_row[rows]) - tuned.threshold
    return score_row

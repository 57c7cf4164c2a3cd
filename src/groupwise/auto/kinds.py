"""What differs by what is known of groups: folds, losses, scores, and how members are combined."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.decision import RowDecision
from groupwise.auto.ensemble import (
    N_BEST,
    Answer,
    GroupAverage,
    NumberAverage,
    RowAverage,
    ShareAverage,
    TimeAverage,
    Truth,
    best_of_each,
    count_loss,
    log_odds,
    n_averaged_classes,
    n_averaged_numbers,
)
from groupwise.auto.problem import Problem, Split
from groupwise.auto.scaling import Scaling, log_loss
from groupwise.exceptions import GroupDataError
from groupwise.metrics import GroupMeasure, MeasureLike
from groupwise.metrics.survival import concordance_parts
from groupwise.model_selection import Splitter, split_as_given, split_whole_groups
from groupwise.rules import MajorityVote

__all__ = [
    "Ensemble",
    "Kind",
    "Labels",
    "Measured",
    "Numbers",
    "Shares",
    "Times",
    "Transferred",
    "labels",
]

Ensemble = GroupAverage | ShareAverage | NumberAverage | TimeAverage | RowAverage | RowDecision


def labels(score_row: NDArray[Any]) -> NDArray[np.intp]:
    """Class codes from scores: their sign, or the largest."""
    if score_row.ndim == 1:
        return (score_row > 0).astype(np.intp)
    return score_row.argmax(axis=1)


class Kind(ABC):
    """What the automatic choice has to know of a kind of supervision."""

    #: As in the table of methods.
    name: ClassVar[str]
    #: Parts of a prediction that are kept of held-out rows.
    keeps: ClassVar[tuple[str, ...]]
    #: What a score is the mean of.
    score_name: ClassVar[str]
    #: What such a mean is never below; R² can be anything up to 1.
    least_score: ClassVar[float] = 0.0
    #: Whether a group counts as often as it has rows.
    counts_rows: ClassVar[bool] = False

    @property
    def fixed(self) -> dict[str, Any]:
        """What estimators' constructors are told."""
        return {}

    def ids(self, problem: Problem) -> dict[str, Any]:
        """What ``fit`` is given besides rows and targets."""
        return {"groups": problem.groups}

    def counted_rows(self, problem: Problem) -> NDArray[np.intp]:
        """Rows that are held out in turn."""
        return np.arange(problem.n_rows)

    def classes_row(self, problem: Problem) -> NDArray[Any] | None:
        """Of which a sample should miss none; ``None``: rows have none."""
        return problem.y if problem.n_classes and problem.y.ndim == 1 else None

    def splits(self, problem: Problem, cv: int | Splitter, seed: int) -> list[Split]:
        """Folds of whole groups; a number is lowered where there are fewer groups."""
        groups, whole = problem.groups, problem.keep_whole
        if not isinstance(cv, int) and problem.place is not None:
            rows = problem.X, problem.y, groups
            return split_as_given(cv, problem.place, *rows, keep_whole=whole)
        if isinstance(cv, int):
            n_whole = groups.n_groups if whole is None else len(np.unique(whole))
            if n_whole < 2:
                raise GroupDataError(
                    "the automatic choice needs two groups, to learn from one and be judged on the "
                    f"other; there is one (n_samples={problem.n_rows})"
                )
            cv = min(cv, n_whole)
        return split_whole_groups(
            cv, problem.X, None, groups, keep_whole=whole, stratify=False, random_state=seed
        )

    def group_answer(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        """Class probabilities, shares or numbers of groups; where rows are labelled, votes."""
        if "proba_group" in answer:
            return answer["proba_group"]
        proba_row = answer["proba_row"]
        code_row = labels(answer.get("score_row", log_odds(proba_row)))
        return MajorityVote().count(code_row, proba_row, truth.groups)

    def n_averaged(self, n_groups: int) -> int | None:
        """How many members an ensemble has at most; ``None``: any number."""
        return N_BEST

    @abstractmethod
    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        """The loss of each group by which candidates are told apart during the race."""

    @abstractmethod
    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        """The score of each group, the larger the better; NaN leaves a group out."""

    @abstractmethod
    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> Ensemble:
        """Choose among the candidates and combine them, from their held-out answers."""


@dataclass(frozen=True)
class Labels(Kind):
    """One class per group: majority, presence or grade."""

    name: str  # type: ignore[misc]  # constant in other kinds; here there are three

    keeps: ClassVar[tuple[str, ...]] = ("proba_group",)
    score_name: ClassVar[str] = "share of groups predicted right"

    def splits(self, problem: Problem, cv: int | Splitter, seed: int) -> list[Split]:
        if problem.keep_whole is not None or not isinstance(cv, int):
            return super().splits(problem, cv, seed)
        groups = problem.groups
        rarest = int(np.bincount(problem.y[groups.first_rows]).min())
        if rarest < 2:
            raise GroupDataError(
                "the automatic choice needs two groups of each class, to learn from one and be "
                f"judged on the other; the rarest class has {rarest}"
            )
        return split_whole_groups(
            min(cv, rarest), problem.X, problem.y, groups, stratify=True, random_state=seed
        )

    def n_averaged(self, n_groups: int) -> int | None:
        return n_averaged_classes(n_groups)

    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        target = truth.one_hot(truth.y_group)
        scaling = Scaling.fit(answer["proba_group"], target, penalty=1.0, biased=truth.biased)
        return log_loss(scaling.apply(answer["proba_group"]), target)

    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return (answer["proba_group"].argmax(axis=1) == truth.y_group).astype(float)

    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> GroupAverage:
        return GroupAverage.fit(answers, truth, methods)


@dataclass(frozen=True)
class Shares(Kind):
    """Shares of the classes in each group."""

    name: ClassVar[str] = "proportions"
    keeps: ClassVar[tuple[str, ...]] = ("proba_group", "proba_row")
    score_name: ClassVar[str] = "1 - mean error of the groups' shares"

    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return count_loss(answer, truth)

    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return 1.0 - 0.5 * np.abs(answer["proba_group"] - truth.y_group).sum(axis=1)

    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> ShareAverage:
        return ShareAverage.fit(answers, truth, methods)


@dataclass(frozen=True)
class Measured(Kind):
    """Labelled rows; a measure of each group counts.

    Attributes
    ----------
    measure : GroupMeasure
    given : str, GroupMeasure, callable or None
        The same as the caller gave it: some methods know measures by name only. ``None`` in an
        older model file.
    """

    measure: GroupMeasure
    given: MeasureLike | None = None

    name: ClassVar[str] = "measure"
    keeps: ClassVar[tuple[str, ...]] = ("score_row", "proba_row")
    score_name: ClassVar[str] = "mean over groups of the measure"

    @property
    def fixed(self) -> dict[str, Any]:
        return {"measure": self.measure if self.given is None else self.given}

    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return 1.0 - self.score(answer, truth)

    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return self.measure.of(truth.y_row, answer["score_row"], truth.groups)

    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> RowDecision:
        return RowDecision.fit(answers, truth, methods, self.measure)


@dataclass(frozen=True)
class Transferred(Kind):
    """Labelled rows of several domains; those of one count."""

    name: ClassVar[str] = "transfer"
    keeps: ClassVar[tuple[str, ...]] = ("proba_row",)
    score_name: ClassVar[str] = "share of the target's rows predicted right"
    counts_rows: ClassVar[bool] = True

    @property
    def fixed(self) -> dict[str, Any]:
        return {"target_domain": 0}

    def ids(self, problem: Problem) -> dict[str, Any]:
        return {"domains": problem.domains}

    def counted_rows(self, problem: Problem) -> NDArray[np.intp]:
        assert problem.domains is not None
        return np.flatnonzero(problem.domains == 0)

    def splits(self, problem: Problem, cv: int | Splitter, seed: int) -> list[Split]:
        """Folds of the target's groups; a source row trains unless its group is being tested."""
        rows = self.counted_rows(problem)
        if len(np.unique(problem.undivided[rows])) < 2:
            raise GroupDataError(
                "the automatic choice needs two rows of the target domain, in groups of their own, "
                f"to learn from one and be judged on the other (n_samples={problem.n_rows}, of the "
                f"target {len(rows)})"
            )
        target = problem.take(rows)
        one_each = bool((target.y == target.y[target.groups.first_rows][target.groups.codes]).all())
        # a class of one row of the target is known from the source: no fold need hold it
        rarest = int(np.unique(target.y, return_counts=True)[1].min())
        spread = one_each and rarest >= 2 and target.keep_whole is None
        inside = Labels("majority") if spread else None
        folds = (
            super().splits(target, cv, seed)
            if inside is None
            else inside.splits(_with_two_of_each(target), cv, seed)
        )
        whole = problem.undivided
        splits = []
        for _, test in folds:
            tested = np.unique(whole[rows[test]])
            splits.append((np.flatnonzero(~np.isin(whole, tested)), rows[test]))
        return splits

    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        target = truth.one_hot(truth.y_row)
        scaling = Scaling.fit(answer["proba_row"], target, penalty=1.0, biased=truth.biased)
        return truth.groups.mean(log_loss(scaling.apply(answer["proba_row"]), target))

    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        right = answer["proba_row"].argmax(axis=1) == truth.y_row
        return truth.groups.mean(right.astype(float))

    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> RowAverage:
        return RowAverage.fit(answers, truth, methods, biased=False)


def _with_two_of_each(target: Problem) -> Problem:
    """The target's rows with codes of the classes it has."""
    return replace(target, y=np.unique(target.y, return_inverse=True)[1])


@dataclass(frozen=True)
class Numbers(Kind):
    """A number of each group: the mean or total of its rows."""

    target: str

    keeps: ClassVar[tuple[str, ...]] = ("y_group",)
    score_name: ClassVar[str] = "1 - squared error over the variance of the groups' numbers"
    least_score: ClassVar[float] = -np.inf

    @property
    def name(self) -> str:  # type: ignore[override]  # constant in other kinds; here there are two
        return self.target

    @property
    def fixed(self) -> dict[str, Any]:
        return {"target": self.target}

    def group_answer(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return answer["y_group"]

    def n_averaged(self, n_groups: int) -> int | None:
        return n_averaged_numbers(n_groups)

    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return (answer["y_group"] - truth.y_group) ** 2

    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        variance = float(np.var(truth.y_group))
        return 1.0 - self.loss(answer, truth) / (variance if variance > 0 else 1.0)

    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> NumberAverage:
        return NumberAverage.fit(answers, truth, methods)


@dataclass(frozen=True)
class Times(Kind):
    """Survival times of groups: the five with the best concordance within folds, weighed."""

    name: ClassVar[str] = "survival"
    keeps: ClassVar[tuple[str, ...]] = ("y_group",)
    score_name: ClassVar[str] = "concordance: share of pairs of groups in the right order"

    def classes_row(self, problem: Problem) -> NDArray[Any]:
        return problem.y > 0  # the event was seen

    def splits(self, problem: Problem, cv: int | Splitter, seed: int) -> list[Split]:
        """Whole groups, those with the event spread over the folds."""
        groups, seen = problem.groups, problem.y > 0
        n_events = int(seen[groups.first_rows].sum())
        if n_events < 2:
            raise GroupDataError(
                "the automatic choice needs two groups with the event, to learn from one and be "
                f"judged on the other; {n_events} had it"
            )
        if not isinstance(cv, int):
            return super().splits(problem, cv, seed)
        if groups.n_groups < 4:
            raise GroupDataError(
                "the automatic choice needs four groups with a time, as they are judged in pairs; "
                f"there are {groups.n_groups}"
            )
        cv = min(cv, n_events, groups.n_groups // 2)
        if problem.keep_whole is not None or groups.n_groups - n_events < cv:
            return super().splits(problem, cv, seed)
        return split_whole_groups(cv, problem.X, seen, groups, stratify=True, random_state=seed)

    def group_answer(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return answer["y_group"]

    def n_averaged(self, n_groups: int) -> int | None:
        return N_BEST

    def loss(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        return 1.0 - self.score(answer, truth)

    def score(self, answer: Answer, truth: Truth) -> NDArray[Any]:
        parts = np.empty(truth.groups.n_groups)
        for fold in np.unique(truth.fold_group):
            inside = truth.fold_group == fold
            parts[inside] = concordance_parts(truth.y_group[inside], answer["y_group"][inside])
        return parts if np.isfinite(parts).any() else np.full(len(parts), 0.5)

    def fit_ensemble(
        self, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> TimeAverage:
        losses = [float(np.nanmean(self.loss(answer, truth))) for answer in answers]
        return TimeAverage.fit(answers, truth, best_of_each(losses, methods)[:N_BEST])

"""From a race to one model: the ensemble, its estimate, and the table of all candidates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.auto.budget import LEAST_FOLDS
from groupwise.auto.ensemble import Answer, Truth
from groupwise.auto.entries import Entry
from groupwise.auto.kinds import Ensemble, Kind
from groupwise.auto.members import Member
from groupwise.auto.race import Race
from groupwise.auto.scaling import design_effect, is_worse, mean_interval, student_interval
from groupwise.exceptions import GroupDataError

__all__ = [
    "Choice",
    "Estimate",
    "HeldOutGroups",
    "board",
    "choose",
    "choose_among",
    "cross_fitted_answer",
    "held_out_groups",
    "keep_members",
    "training_luck",
]

#: Coarser ids by the names of groups, or nothing.
Whole = Mapping[int, int] | None


@dataclass(frozen=True)
class Estimate:
    """What a model is expected to score on new groups.

    Attributes
    ----------
    score : float
        Of the ensemble, with selection and scaling learned on the other folds.
    low, high : float
        Its 95 % interval for new groups like these, the luck of the training set included; with
        ``keep_whole`` for new users like these, whose groups depend on each other.
    """

    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """The ensemble, before its members are fitted to all rows.

    Attributes
    ----------
    ensemble : Ensemble
    entries : list of Entry
        Those chosen, in the order of the ensemble.
    estimate : Estimate
    answer : dict of str to ndarray
        The ensemble's about held-out rows and groups, cross-fitted.
    n_folds : int
        That the choice is made by.
    """

    ensemble: Ensemble
    entries: list[Entry]
    estimate: Estimate
    answer: Answer
    n_folds: int


@dataclass(frozen=True)
class HeldOutGroups:
    """What was said of each group when it was held out, by the ensemble and by each candidate.

    Attributes
    ----------
    group : ndarray of shape (n_held_out,)
        Positions among the groups that ``fit`` was given.
    fold : ndarray of shape (n_held_out,)
    score : dict of str to ndarray of shape (n_held_out,)
        By name of the candidate; that of the ensemble, cross-fitted, is ``"auto"``.
    answer : dict of str to ndarray of shape (n_held_out, n_classes) or (n_held_out,)
        Class probabilities, shares or numbers.
    seconds : dict of str to float
        Of one fold.
    """

    group: NDArray[np.intp]
    fold: NDArray[np.intp]
    score: dict[str, NDArray[Any]]
    answer: dict[str, NDArray[Any]]
    seconds: dict[str, float]


def held_out_groups(
    kind: Kind, race: Race, choice: Choice, position: NDArray[np.intp]
) -> HeldOutGroups:
    """Put together what reports show; ``position`` is that of each group among those given."""
    truth = race.held_out.truth(choice.n_folds)
    answers = {"auto": choice.answer}
    seconds = {"auto": sum(e.seconds / len(e.folds) for e in race.entries if e.folds)}
    for entry in race.usable(choice.n_folds):
        answers[entry.candidate.name] = race.held_out.answer(entry, choice.n_folds)
        seconds[entry.candidate.name] = entry.seconds / len(entry.folds)
    return HeldOutGroups(
        position[race.held_out.names(choice.n_folds)],
        truth.fold_group,
        {name: kind.score(answer, truth) for name, answer in answers.items()},
        {name: kind.group_answer(answer, truth) for name, answer in answers.items()},
        seconds,
    )


def choose(kind: Kind, race: Race, whole: Whole = None) -> Choice:
    """Choose among the candidates that were judged on the same folds.

    These are all folds, or, where time was short, so many that candidates times folds are the most
    (fewer, if on these somebody is clearly better than all who have more); three at least, if two
    candidates have as many: fewer say little of how good they are. ``whole`` has the coarser id of
    each group, where folds divide none.

    Raises
    ------
    GroupDataError
        If there is none.
    """
    n_folds = _n_folds(race)
    usable = race.usable(n_folds)
    if not usable:
        reasons = "; ".join(f"{e.candidate.name}: {e.reason or e.state}" for e in race.entries)
        raise GroupDataError(f"no candidate could be fitted ({reasons})")
    return choose_among(kind, race, whole, usable, n_folds)


def _n_folds(race: Race) -> int:
    """How many folds to choose by."""
    two_have = sorted(len(entry.folds) for entry in race.usable(1))[-2:]
    least = min(LEAST_FOLDS, *two_have, race.n_folds)
    folds = range(race.n_folds, least - 1, -1)
    n_folds = max(folds, key=lambda number: number * len(race.usable(number)))
    for fewer in range(n_folds - 1, LEAST_FOLDS - 1, -1):
        entries, losses, _ = race.in_order(fewer)
        with_more = [id(entry) for entry in race.usable(n_folds)]
        known = [loss for e, loss in zip(entries, losses, strict=True) if id(e) in with_more]
        if known and is_worse(min(known, key=np.nanmean), min(losses, key=np.nanmean), errors=2.0):
            n_folds = fewer
    return n_folds


def choose_among(
    kind: Kind,
    race: Race,
    whole: Whole,
    usable: Sequence[Entry],
    n_folds: int,
    *,
    luck: float | None = None,
) -> Choice:
    """Choose among these, by what they said of the first folds.

    ``luck`` is by what that of the training set multiplies the variance of the estimate; by default
    as it does where folds learn from each other.
    """
    truth = race.held_out.truth(n_folds)
    names = race.held_out.names(n_folds)
    users = _users(names, whole)
    if n_folds == 1:  # its groups were all held out: halves of them learn and judge
        truth = replace(truth, fold_group=_halves(truth, users))
    answers = [race.held_out.answer(entry, n_folds) for entry in usable]
    methods = [entry.candidate.method.name for entry in usable]
    ensemble = kind.fit_ensemble(answers, truth, methods)
    answer = cross_fitted_answer(kind, answers, truth, methods)
    score, weights = kind.score(answer, truth), _weights(kind, truth)
    inflation = training_luck(n_folds, race.n_folds) if luck is None else luck
    if whole is not None:
        inflation *= design_effect(score, users, weights)
    estimate = Estimate(*_possible(kind, mean_interval(score, weights, inflation=inflation)))
    chosen = [usable[place] for place in ensemble.chosen]
    return Choice(ensemble, chosen, estimate, answer, n_folds)


def _possible(kind: Kind, found: tuple[float, float, float]) -> tuple[float, float, float]:
    """A mean score with an interval of what it can be; that of a callable may be beyond 0 and 1."""
    mean, low, high = found
    return (
        mean,
        max(low, kind.least_score) if mean >= kind.least_score else low,
        min(high, 1.0) if mean <= 1.0 else high,
    )


def _halves(truth: Truth, users: NDArray[np.intp]) -> NDArray[np.intp]:
    """The half of each group: of users, as of events, which may be few, each has every other."""
    code = np.unique(users, return_inverse=True)[1]
    known = truth.y_group if truth.y_group.ndim == 1 else truth.y_group[:, 0]
    order = np.argsort(np.bincount(code, known) / np.bincount(code), kind="stable")
    half = np.empty(len(order), np.intp)
    half[order] = np.arange(len(order)) % 2
    return half[code]


def cross_fitted_answer(
    kind: Kind, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
) -> Answer:
    """What the ensemble says of each fold when it is learned on the others; of one fold, itself."""
    found: Answer = {}
    for number in np.unique(truth.fold_group):
        inside = truth.fold_group == number
        others = ~inside if not inside.all() else inside
        outside = [truth.take_answer(answer, others) for answer in answers]
        ensemble = kind.fit_ensemble(outside, truth.take(others), methods)
        asked = [truth.take_answer(answers[place], inside) for place in ensemble.chosen]
        said = ensemble.combine(asked, truth.take(inside).groups)
        for name, values in said.items():
            by_row = name.endswith("_row")
            at = inside[truth.groups.codes] if by_row else inside
            n = truth.groups.n_rows if by_row else truth.groups.n_groups
            found.setdefault(name, np.zeros((n, *values.shape[1:])))[at] = values
    return found


def keep_members(
    kind: Kind, race: Race, whole: Whole, choice: Choice, members: Sequence[Member | None]
) -> tuple[Choice, list[Member]]:
    """The choice among the members that were fitted in time, and these.

    Where some were not, the others are scaled, averaged and judged anew: the estimate is that of
    the model that there is.
    """
    fitted = [member for member in members if member is not None]
    if len(fitted) == len(members):
        return choice, fitted
    in_time = zip(choice.entries, members, strict=True)
    left = [entry for entry, member in in_time if member is not None]
    again = choose_among(kind, race, whole, left, choice.n_folds)
    return again, [fitted[place] for place in again.ensemble.chosen]


def board(
    kind: Kind, race: Race, whole: Whole, choice: Choice, members: set[str]
) -> list[dict[str, Any]]:
    """One line per candidate, the best score first, and those without one last.

    Groups weigh and depend on each other as in the estimate. ``members`` are the names of those
    that were chosen and fitted to all rows.
    """
    chosen = [id(e) for e in choice.entries if e.candidate.name in members]
    judged = [_judged(kind, race, whole, entry) for entry in race.entries]
    finished = [own for own in judged if own is not None]
    best = max(finished, key=lambda own: (len(own), _interval(mean_interval, own)[0]))
    lines = []
    for entry, own in zip(race.entries, judged, strict=True):
        line: dict[str, Any] = {
            "method": entry.candidate.method.name,
            "params": dict(entry.candidate.params),
            "score": None,
            "seconds": entry.seconds,
            "folds": len(entry.folds),
            "state": "chosen" if id(entry) in chosen else entry.state,
            "reason": entry.reason,
        }
        if own is not None:
            line |= _compared(kind, own, best) | {"loss": _loss(kind, race, entry)}
        lines.append(line)
    return sorted(lines, key=lambda line: np.inf if line["score"] is None else -line["score"])


def _judged(kind: Kind, race: Race, whole: Whole, entry: Entry) -> pd.DataFrame | None:
    """Scores of the groups that were held out, what each weighs and whose it is, by group.

    ``None`` where there is no score.
    """
    n_folds = len(entry.folds)
    if not n_folds or entry.state == "failed":
        return None
    truth, names = race.held_out.truth(n_folds), race.held_out.names(n_folds)
    score = kind.score(race.held_out.answer(entry, n_folds), truth)
    if np.isnan(score).all():
        return None
    columns = {"score": score, "weight": _weights(kind, truth), "user": _users(names, whole)}
    return pd.DataFrame(columns, index=names)


def _compared(kind: Kind, own: pd.DataFrame, best: pd.DataFrame) -> dict[str, float]:
    """A score, and its difference to the best one on the groups of both, with intervals."""
    both = own.index.intersection(best.index)
    paired = own.loc[both].assign(score=own["score"][both] - best["score"][both])
    score = _possible(kind, _interval(mean_interval, own))
    difference = _interval(student_interval, paired)
    names = ("score", "low", "high", "difference", "difference_low", "difference_high")
    return dict(zip(names, (*score, *difference), strict=True))


def _interval(
    interval: Callable[..., tuple[float, float, float]], own: pd.DataFrame
) -> tuple[float, float, float]:
    score, weight = own["score"].to_numpy(), own["weight"].to_numpy()
    effect = design_effect(score, own["user"].to_numpy(), weight)
    return interval(score, weight, inflation=effect)


def _loss(kind: Kind, race: Race, entry: Entry) -> float:
    n_folds = len(entry.folds)
    truth = race.held_out.truth(n_folds)
    return float(np.nanmean(kind.loss(race.held_out.answer(entry, n_folds), truth)))


def training_luck(n_judged: int, n_folds: int) -> float:
    r"""By what the variance of a mean over folds exceeds that of as many independent groups.

    .. math:: 1 + J \frac{n_{\text{test}}}{n_{\text{train}}} = 1 + \frac{J}{K - 1}

    for J of K folds: their models share most of their training groups, and with these their luck
    (Nadeau and Bengio 2003, Inference for the generalization error, Machine Learning).

    Examples
    --------
    >>> training_luck(5, 5)
    2.25
    """
    return 1.0 + n_judged / (n_folds - 1)


def _weights(kind: Kind, truth: Truth) -> NDArray[np.float64]:
    """What each group weighs in a score."""
    sizes = truth.groups.sizes.astype(float)
    return sizes if kind.counts_rows else np.ones_like(sizes)


def _users(names: NDArray[np.intp], whole: Whole) -> NDArray[np.intp]:
    """Of each group the coarser id, or its own."""
    return names if whole is None else np.array([whole[name] for name in names])

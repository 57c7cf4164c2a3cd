"""Which members are averaged and how: learned from their held-out answers, for each kind.

An answer is a dictionary of arrays: ``proba_group``, ``proba_row``, ``score_row`` or ``y_group``.
An ensemble is fitted to the held-out answers of all candidates; it knows the positions of those it
chose, and combines theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from groupwise.auto.scaling import Scaling, cross_fitted, is_worse, log_loss
from groupwise.groups import Groups
from groupwise.inputs import whole_counts
from groupwise.losses.layout import GroupedLayout
from groupwise.losses.poisson_binomial import PoissonBinomial
from groupwise.solvers.cox import PartialLikelihood, fit_cox_from_zero_up

__all__ = [
    "FEW_GROUPS",
    "N_BEST",
    "ROW_PENALTY",
    "Answer",
    "GroupAverage",
    "NumberAverage",
    "RowAverage",
    "ShareAverage",
    "TimeAverage",
    "Truth",
    "best_of_each",
    "count_loss",
    "log_odds",
    "mixture_weights",
    "n_averaged_classes",
    "n_averaged_numbers",
]

#: One candidate's answers about rows or groups.
Answer = dict[str, NDArray[Any]]

#: Below so many groups a choice between members is mostly luck: all take part, with weights.
FEW_GROUPS = 60
#: So many members are averaged.
N_BEST = 5
# Of numbers fewer, where groups are not few: they have equal weights.
_N_BEST_NUMBERS = 3
# Of classes of groups so many, as long as these are fewer than the second.
_N_BEST_CLASSES, _MANY_GROUPS = 8, 1000
# How many groups' worth of evidence it takes to move a member's scaling, and the average's: the
# members differ in what they call a probability, their average is nearly right already, if a little
# unsure of itself. Averages of shares have no such fault.
_MEMBER_PENALTY = 1.0
_AVERAGE_PENALTY = 3.0
_SHARE_PENALTY = 10.0
#: The same for members that answer for rows, of which a target domain may have forty.
ROW_PENALTY = 10.0
# Groups' or rows' worth of belief that members of a weighted average are equally good.
_EQUALLY_GOOD = 5.0
# A held-out group's counts speak for or against members of shares like half a group: members that
# learned from the same groups err together.
_SHARE_EVIDENCE = 0.5
# Members of shares with less weight are left out: they would be fitted and asked for nothing.
_LEAST_WEIGHT = 0.01
# Draws weights of survival members to 0, per group: towards each other, where they agree.
_TIME_PENALTY = 0.3
# Probabilities of rows are kept this far from 0 and 1 in the likelihood of counts.
_ROW_EDGE = 0.01


@dataclass(frozen=True)
class Truth:
    """What is known of the rows and groups that were held out.

    Attributes
    ----------
    y_row : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class codes, shares of the group, or numbers.
    groups : Groups
    fold_group : ndarray of shape (n_groups,)
        The fold that held the group out.
    n_classes : int
    n_all : int, default=None
        Groups of the whole, where these are a part.
    """

    y_row: NDArray[Any]
    groups: Groups
    fold_group: NDArray[np.intp]
    n_classes: int
    n_all: int | None = None

    @property
    def n_groups(self) -> int:
        """By which it is decided how many members there are."""
        return self.groups.n_groups if self.n_all is None else self.n_all

    @property
    def y_group(self) -> NDArray[Any]:
        return self.y_row[self.groups.first_rows]

    @property
    def fold_row(self) -> NDArray[np.intp]:
        return self.fold_group[self.groups.codes]

    @property
    def biased(self) -> bool:
        """Whether scalings move classes: of more than two each may be in few folds only."""
        return self.n_classes == 2

    def one_hot(self, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Classes as zeros and ones."""
        return np.eye(self.n_classes)[codes]

    def take(self, groups: NDArray[np.bool_]) -> "Truth":
        """The same for some of the groups."""
        rows = groups[self.groups.codes]
        return Truth(
            self.y_row[rows],
            Groups(self.groups.codes[rows]),
            self.fold_group[groups],
            self.n_classes,
            self.n_groups,
        )

    def take_answer(self, answer: Answer, groups: NDArray[np.bool_]) -> Answer:
        """The part of an answer that is about some of the groups."""
        rows = groups[self.groups.codes]
        return {k: v[rows if k.endswith("_row") else groups] for k, v in answer.items()}


def best_of_each(losses: Sequence[float], methods: Sequence[str]) -> list[int]:
    """Positions in order of loss, of each method the best only.

    Examples
    --------
    >>> best_of_each([0.4, 0.3, 0.2, 0.5], ["a", "b", "b", "c"])
    [2, 0, 3]
    """
    order = sorted(range(len(losses)), key=lambda place: losses[place])
    first: dict[str, int] = {}
    for place in order:
        first.setdefault(methods[place], place)
    return list(first.values())


def n_averaged_classes(n_groups: int) -> int | None:
    """How many members tell the classes of groups at most; ``None``: any number.

    Examples
    --------
    >>> [n_averaged_classes(n_groups) for n_groups in (59, 60, 1000)]
    [None, 8, 5]
    """
    if n_groups < FEW_GROUPS:
        return None
    return _N_BEST_CLASSES if n_groups < _MANY_GROUPS else N_BEST


def n_averaged_numbers(n_groups: int) -> int:
    """How many members tell the numbers of groups at most.

    Examples
    --------
    >>> [n_averaged_numbers(n_groups) for n_groups in (59, 60)]
    [5, 3]
    """
    return N_BEST if n_groups < FEW_GROUPS else _N_BEST_NUMBERS


def log_odds(proba: NDArray[Any]) -> NDArray[Any]:
    """Scores from probabilities: of two classes log-odds, of more logarithms."""
    logs = np.log(np.maximum(proba, np.finfo(float).tiny))
    return logs[:, 1] - logs[:, 0] if proba.shape[1] == 2 else logs


def _equal(n_members: int) -> NDArray[np.float64]:
    return np.full(n_members, 1.0 / n_members)


def _of_the_truth(probas: Sequence[NDArray[Any]], code: NDArray[np.intp]) -> NDArray[Any]:
    """What each member gave to the class that came true, (n, n_members)."""
    return np.column_stack([proba[np.arange(len(code)), code] for proba in probas])


def _weighted(probas: Sequence[NDArray[Any]], weights: NDArray[Any]) -> NDArray[Any]:
    return np.tensordot(weights, np.array(probas), axes=1)


def mixture_weights(proba_true: NDArray[Any], prior: float = _EQUALLY_GOOD) -> NDArray[np.float64]:
    r"""Weights of the mixture of members that says most of what was held out.

    .. math:: \max_w \sum_i \log \sum_m w_m p_{im} + \frac{c}{M} \sum_m \log w_m

    The stacking of distributions of Yao, Vehtari, Simpson and Gelman (2018), drawn towards equal
    weights. As :math:`-(n + c) \sum_m w_m` in the place of :math:`\sum_m w_m = 1` has the same
    solution (multiply the gradient's zeros by w and add them up), it is found by Newton's method.

    Parameters
    ----------
    proba_true : ndarray of shape (n, n_members)
        What each member gave to what came true, above 0.
    prior : float, default=5.0
        c, in groups or rows, above 0.

    Examples
    --------
    >>> sure, unsure = np.full(40, 0.9), np.full(40, 0.5)
    >>> mixture_weights(np.column_stack([sure, unsure]), prior=5.0).round(2).tolist()
    [0.88, 0.12]
    """
    n, n_members = proba_true.shape
    each = prior / n_members

    def cost_at(weights: NDArray[Any]) -> float:
        if weights.min() <= 0.0:
            return np.inf
        said = np.log(proba_true @ weights).sum() + each * np.log(weights).sum()
        return float((n + prior) * weights.sum() - said)

    weights = _equal(n_members)
    cost = cost_at(weights)
    for _ in range(100):
        share = proba_true / (proba_true @ weights)[:, None]
        gradient = n + prior - share.sum(axis=0) - each / weights
        hessian = share.T @ share + np.diag(each / weights**2)
        step = np.linalg.solve(hessian, gradient)
        gain = float(gradient @ step)
        if gain < 1e-9:
            break
        size = 1.0
        while (trial := cost_at(weights - size * step)) > cost - 0.25 * size * gain:
            size /= 2.0
            if size < 1e-8:  # nothing is left but rounding
                return weights / weights.sum()
        weights, cost = weights - size * step, trial
    return weights / weights.sum()


@dataclass(frozen=True)
class GroupAverage:
    """The mean of scaled group probabilities, scaled again.

    Every member is scaled on its held-out probabilities; the eight with the least log-loss (where
    groups are few all, where they are many five) are averaged with weights by what they said of
    held-out groups, and the average is scaled on cross-fitted values, cautiously.

    Attributes
    ----------
    chosen : list of int
    scalings : list of Scaling
        Of each member chosen.
    weights : ndarray of shape (n_chosen,)
    last : Scaling
        Of their mean.
    """

    chosen: list[int]
    scalings: list[Scaling]
    weights: NDArray[np.float64]
    last: Scaling

    @classmethod
    def fit(cls, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]) -> "GroupAverage":
        """Scale, choose and average."""
        target, fold = truth.one_hot(truth.y_group), truth.fold_group
        held_out = [answer["proba_group"] for answer in answers]
        how: dict[str, Any] = {"penalty": _MEMBER_PENALTY, "biased": truth.biased}
        scaled = [cross_fitted(p, target, fold, **how) for p in held_out]
        losses = [float(log_loss(p, target).mean()) for p in scaled]
        chosen = best_of_each(losses, methods)[: n_averaged_classes(truth.n_groups)]
        said = _of_the_truth([scaled[m] for m in chosen], truth.y_group)
        weights = mixture_weights(said)
        average = _weighted([scaled[m] for m in chosen], weights)
        return cls(
            chosen,
            [Scaling.fit(held_out[m], target, **how) for m in chosen],
            weights,
            Scaling.fit(average, target, penalty=_AVERAGE_PENALTY, biased=truth.biased),
        )

    def combine(self, answers: Sequence[Answer], groups: Groups) -> Answer:
        """The ensemble's answer from those of the members chosen."""
        pairs = zip(self.scalings, answers, strict=True)
        scaled = [scaling.apply(answer["proba_group"]) for scaling, answer in pairs]
        return {"proba_group": self.last.apply(_weighted(scaled, self.weights))}


def count_loss(answer: Answer, truth: Truth) -> NDArray[Any]:
    """Negative log-likelihood of each group's counts given its rows' probabilities.

    Each class against the rest; of two classes one says it all.
    """
    groups = truth.groups
    counts = whole_counts(truth.y_group * groups.sizes[:, None])
    layout = GroupedLayout(groups)
    classes = range(1, truth.n_classes) if truth.n_classes == 2 else range(truth.n_classes)
    total = np.zeros(groups.n_groups)
    for code in classes:
        proba = np.clip(answer["proba_row"][:, code], _ROW_EDGE, 1.0 - _ROW_EDGE)
        score = layout.to_sorted(np.log(proba) - np.log1p(-proba))
        total += PoissonBinomial(counts[:, code], layout).log_loss(score)
    return total / len(classes)


@dataclass(frozen=True)
class ShareAverage:
    r"""The weighed mean of the five with the likeliest counts; shares with one temperature.

    .. math:: w_m \propto \prod_g P_m(\text{counts of } g)^{1/2}

    over held-out groups g: the pseudo-BMA weights of Yao, Vehtari, Simpson and Gelman (2018),
    tempered. Who is clearly behind has hardly any weight, and is left out below one in a hundred.

    Attributes
    ----------
    chosen : list of int
    last : Scaling
        Of the mean shares; no bias.
    weights : ndarray of shape (n_chosen,) or None
        ``None``: equal, in an older model file.
    """

    chosen: list[int]
    last: Scaling
    weights: NDArray[np.float64] | None = None

    @classmethod
    def fit(cls, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]) -> "ShareAverage":
        """Choose, weigh and average."""
        losses = np.array([count_loss(answer, truth).sum() for answer in answers])
        best = best_of_each(losses.tolist(), methods)[:N_BEST]
        weights = softmax(-_SHARE_EVIDENCE * losses[best])
        weights = weights[weights >= _LEAST_WEIGHT]  # the first: they are in order
        chosen, weights = best[: len(weights)], weights / weights.sum()
        average = _weighted([answers[m]["proba_group"] for m in chosen], weights)
        last = Scaling.fit(average, truth.y_group, penalty=_SHARE_PENALTY, biased=False)
        return cls(chosen, last, weights)

    def combine(self, answers: Sequence[Answer], groups: Groups) -> Answer:
        """The ensemble's answer from those of the members chosen."""
        weights = _equal(len(answers)) if self.weights is None else self.weights
        mean = {
            name: _weighted([answer[name] for answer in answers], weights)
            for name in ("proba_group", "proba_row")
        }
        return mean | {"proba_group": self.last.apply(mean["proba_group"])}


@dataclass(frozen=True)
class NumberAverage:
    """The mean number of the best few by squared error, without those clearly behind the best.

    Attributes
    ----------
    chosen : list of int
    """

    chosen: list[int]

    @classmethod
    def fit(
        cls, answers: Sequence[Answer], truth: Truth, methods: Sequence[str]
    ) -> "NumberAverage":
        """Choose and average."""
        losses = [(answer["y_group"] - truth.y_group) ** 2 for answer in answers]
        order = best_of_each([float(loss.mean()) for loss in losses], methods)
        best = order[: n_averaged_numbers(truth.n_groups)]
        return cls([m for m in best if not is_worse(losses[m], losses[best[0]], errors=2.0)])

    def combine(self, answers: Sequence[Answer], groups: Groups) -> Answer:
        """The ensemble's answer from those of the members chosen."""
        return _weighted_numbers(answers, _equal(len(answers)))


@dataclass(frozen=True)
class TimeAverage:
    r"""A sum of members' log hazard ratios, weighed by Cox regression on those of held-out groups.

    .. math:: \max_{w \ge 0} \log L(Z w) - \frac{\alpha n}{2} \|w\|^2

    with L the partial likelihood and Z the members' log hazard ratios of n groups, each less its
    mean over the fold and divided by its spread within folds, as one method is bolder than another:
    the stacked regressions of Breiman (1996). Members that agree share a weight; who says nothing
    has none and is left out.

    Attributes
    ----------
    chosen : list of int
    weights : ndarray of shape (n_chosen,)
        Of log hazard ratios as the members tell them.
    """

    chosen: list[int]
    weights: NDArray[np.float64]

    @classmethod
    def fit(cls, answers: Sequence[Answer], truth: Truth, best: Sequence[int]) -> "TimeAverage":
        """Weigh the members ``best``; the first alone where none of them says anything."""
        fold = Groups(truth.fold_group)
        told = np.column_stack([answers[m]["y_group"] for m in best])
        told = told - fold.spread(fold.mean(told))
        spread = np.sqrt((told**2).mean(axis=0))
        spread[spread <= 0.0] = np.inf  # the same of all groups
        likelihood = PartialLikelihood(told / spread, truth.y_group)
        weights = fit_cox_from_zero_up(likelihood, _TIME_PENALTY * len(told))
        kept = np.flatnonzero(weights > _LEAST_WEIGHT * weights.sum())
        if not kept.size:
            return cls([best[0]], np.ones(1))
        return cls([best[int(place)] for place in kept], (weights / spread)[kept])

    def combine(self, answers: Sequence[Answer], groups: Groups) -> Answer:
        """The ensemble's answer from those of the members chosen."""
        return _weighted_numbers(answers, self.weights)


def _weighted_numbers(answers: Sequence[Answer], weights: NDArray[np.float64]) -> Answer:
    """Weighted sums of what members say of groups, and of rows where they are asked for these."""
    names = [name for name in ("y_group", "y_row") if name in answers[0]]
    return {name: _weighted([answer[name] for answer in answers], weights) for name in names}


@dataclass(frozen=True)
class RowAverage:
    """The mean of scaled row probabilities, weighed: who says nothing has hardly any weight.

    Attributes
    ----------
    chosen : list of int
    scalings : list of Scaling
    weights : ndarray of shape (n_chosen,)
    """

    chosen: list[int]
    scalings: list[Scaling]
    weights: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        answers: Sequence[Answer],
        truth: Truth,
        methods: Sequence[str],
        *,
        biased: bool = True,
    ) -> "RowAverage":
        """Scale, choose the best five by log-loss, and weigh them by what was held out.

        ``biased``: whether scalings of two classes move them; few rows cannot say which is too
        common.
        """
        return cls.fit_and_held_out(answers, truth, methods, biased=biased)[0]

    @classmethod
    def fit_and_held_out(
        cls,
        answers: Sequence[Answer],
        truth: Truth,
        methods: Sequence[str],
        *,
        penalty: float = ROW_PENALTY,
        biased: bool = True,
    ) -> "tuple[RowAverage, NDArray[Any]]":
        """The same, and the average's probabilities of held-out rows.

        ``penalty`` draws the members' scalings towards none.
        """
        target, fold = truth.one_hot(truth.y_row), truth.fold_row
        held_out = [answer["proba_row"] for answer in answers]
        how: dict[str, Any] = {"penalty": penalty, "biased": biased and truth.biased}
        scaled = [cross_fitted(p, target, fold, **how) for p in held_out]
        losses = [float(log_loss(p, target).mean()) for p in scaled]
        chosen = best_of_each(losses, methods)[:N_BEST]
        best = [scaled[m] for m in chosen]
        weights = mixture_weights(_of_the_truth(best, truth.y_row))
        scalings = [Scaling.fit(held_out[m], target, **how) for m in chosen]
        return cls(chosen, scalings, weights), _weighted(best, weights)

    def combine(self, answers: Sequence[Answer], groups: Groups) -> Answer:
        """The ensemble's answer from those of the members chosen."""
        pairs = zip(self.scalings, answers, strict=True)
        scaled = [scaling.apply(answer["proba_row"]) for scaling, answer in pairs]
        return {"proba_row": _weighted(scaled, self.weights)}

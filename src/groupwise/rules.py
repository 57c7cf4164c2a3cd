"""Decision rules: from the rows' class probabilities to one probability vector per group.

A rule is a small printable value. It maps the probabilities of the rows, (n_rows, n_classes), to
those of the groups, (n_groups, n_classes); the group's class is the largest entry, the first one
where two are equal.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from groupwise.groups import Groups

__all__ = [
    "AnyPositive",
    "MajorityVote",
    "MeanProbability",
    "MeanScore",
    "Presence",
    "Rule",
    "get_rule",
    "two_columns",
]


def two_columns(positive: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of two classes, (n, 2), from that of the second."""
    return np.column_stack([1.0 - positive, positive])


@runtime_checkable
class Rule(Protocol):
    """What a decision rule has to offer."""

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """Group probabilities (n_groups, n_classes) from row probabilities."""
        ...


@dataclass(frozen=True)
class MajorityVote:
    r"""The class most of the group's rows are given (Jin and Liu 2005, eq. 2).

    .. math:: p_i(c) = \frac{\#\{j : \hat y_{ij} = c\} + \bar p_i(c)}{m_i + 1}

    The mean row probability :math:`\bar p_i` has one vote beside the rows, and that vote is split.
    So it decides ties between classes, and nothing else: a class that is a whole vote ahead stays
    ahead. A tie in the mean as well goes to the first class.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> p = np.array([[0.9, 0.1], [0.4, 0.6]])  # one row each way, the first one surer
    >>> MajorityVote().combine(p, Groups([0, 0])).round(3).tolist()
    [[0.55, 0.45]]
    """

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return self.count(proba_row.argmax(axis=1), proba_row, groups)

    def count(
        self, code_row: NDArray[np.intp], proba_row: NDArray[Any], groups: Groups
    ) -> NDArray[Any]:
        """The same where the rows' classes are known, which settles their ties in another way."""
        votes = np.zeros(proba_row.shape)
        votes[np.arange(len(proba_row)), code_row] = 1.0
        return (groups.sum(votes) + groups.mean(proba_row)) / (groups.sizes[:, None] + 1.0)


@dataclass(frozen=True)
class AnyPositive:
    """Positive if at least one row is (Jin and Liu 2005, eq. 2'); two classes, the second positive.

    The group's probability of the positive class is its rows' largest one.
    """

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        if proba_row.shape[1] != 2:
            raise ValueError(
                f"the rule 'any' needs two classes, a negative and a positive one; "
                f"got {proba_row.shape[1]}"
            )
        return two_columns(groups.max(proba_row[:, 1]))


@dataclass(frozen=True)
class Presence:
    r"""A group has a class if a row has it, and the background class if all rows do.

    .. math:: P_i(c) \propto \max_j p_{ij}(c), \qquad P_i(b) \propto \min_j p_{ij}(b)

    With two classes, the first one in the background, this is the rule ``"any"``.

    Parameters
    ----------
    background : int, default=None
        Position of the background class; ``None``: no class is one.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> p = np.array([[0.9, 0.1], [0.3, 0.7]])
    >>> Presence(0).combine(p, Groups(["a", "a"])).tolist()
    [[0.3, 0.7]]
    """

    background: int | None = None

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        top = groups.max(proba_row)
        if self.background is not None:
            top[:, self.background] = -groups.max(-proba_row[:, self.background])
        total = top.sum(axis=1, keepdims=True)
        return np.divide(top, total, out=np.full_like(top, 1.0 / top.shape[1]), where=total > 0)


@dataclass(frozen=True)
class MeanProbability:
    """The mean of the rows' probabilities (a soft vote)."""

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(proba_row)


@dataclass(frozen=True)
class MeanScore:
    """The mean of the rows' log-probabilities, made a distribution again.

    For a boosted model this is the sign of the mean score, the session term of SBoost's loss. One
    row with a probability of zero all but rules a class out for its whole group; prefer
    :class:`MeanProbability` for single trees.
    """

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        log_proba = np.log(np.maximum(proba_row, np.finfo(float).tiny))
        return softmax(groups.mean(log_proba), axis=1)


RULES: dict[str, Rule] = {
    "majority": MajorityVote(),
    "any": AnyPositive(),
    "mean": MeanProbability(),
    "score": MeanScore(),
    "presence": Presence(),
}


def get_rule(rule: str | Rule) -> Rule:
    """Look a rule up by name, or take the object as it is."""
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]
    if isinstance(rule, Rule):
        return rule
    raise ValueError(
        f"rule must be one of {sorted(RULES)} or an object with combine(), got {rule!r}"
    )

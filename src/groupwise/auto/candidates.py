"""Which methods take part in the race, and in which order: cheap and strong ones first."""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from groupwise.methods import AUTO, Method, methods_for

__all__ = ["Candidate", "first_candidates", "variants"]

# Of each kind, what is tried first and never dropped: simple methods that are hard to beat, the
# cheapest first.
_BASELINES: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "majority": (
        ("means-logistic", {}),
        ("naive-boosting", {"rule": "mean"}),
        ("naive-boosting", {"rule": "score"}),
        ("naive-forest", {}),
        ("statistics", {}),
    ),
    "presence": (
        ("means-logistic", {}),
        ("naive-boosting", {"rule": "mean"}),
        ("naive-boosting", {"rule": "score"}),
        ("statistics", {}),
    ),
    "grade": (
        ("means-logistic", {}),
        ("naive-boosting", {"rule": "mean"}),
        ("naive-boosting", {"rule": "score"}),
        ("statistics", {}),
    ),
    "proportions": (("constant", {}), ("means-logistic", {}), ("naive-boosting", {})),
    "measure": (("boosted-rows", {}),),  # the average tunes a threshold itself
    "transfer": (
        ("target-logistic", {}),
        ("equal-mass-logistic", {}),
        ("union-logistic", {}),
        ("source-prior", {}),
        ("source-scores", {}),
        ("equal-mass-forest", {}),
        ("target-only", {}),
        ("equal-mass", {}),
        ("union", {}),
    ),
    **dict.fromkeys(
        ("mean", "total"),
        (("constant", {}), ("means-ridge", {}), ("naive-boosting", {}), ("statistics", {})),
    ),
    "survival": (("means-cox", {}), ("statistics", {})),
}
_ROUNDS = "n_estimators"
# Where more rounds are worth it there are three times as many, or trees of LightGBM's usual size.
_MORE_ROUNDS = 3
_LARGE_TREES = {"trees__max_depth": 8, "trees__max_leaf_nodes": 31}
_BY_NAME = "for counts or outliers, by name"  # the automatic choice is by squared error
_FEW_ROWS = "seldom the best; few rows cannot tell"  # benchmarks/transfer_forests.py
_SLOW = "slow, and never among the best"  # on the sets that the rule was chosen on
_UNLABELLED = "for rows without a label"  # which the automatic choice is not given
# Of each kind, methods that apply and do not compete.
_LEFT_OUT: dict[str, dict[str, str]] = {
    "presence": dict.fromkeys(("dpboost", "em-dd", "rectangles", "citation-knn"), _SLOW),
    "transfer": dict.fromkeys(
        ("balanced", "tradaboost", "multisource", "task", "augmentation"), _FEW_ROWS
    )
    | dict.fromkeys(("importance", "transductive-svm"), _UNLABELLED),
    "mean": {"group-boost-absolute": _BY_NAME},
    "total": dict.fromkeys(
        ("group-boost-absolute", "group-boost-poisson", "group-boost-negative-binomial"), _BY_NAME
    ),
}


@dataclass(frozen=True)
class Candidate:
    """A method with parameters, and its place in the race.

    Attributes
    ----------
    method : Method
    params : dict
    is_baseline : bool
        Whether it stays in the race whatever it scores: simple methods, and the kind's preferred.
    """

    method: Method
    params: dict[str, Any] = field(default_factory=dict)
    is_baseline: bool = False

    @property
    def name(self) -> str:
        """The method with its parameters.

        Examples
        --------
        >>> from groupwise.methods import get_method
        >>> method = get_method("majority", "sboost", n_rows=9, n_classes=2)
        >>> Candidate(method, {"gamma": 4.0}).name
        'sboost(gamma=4.0)'
        """
        if not self.params:
            return self.method.name
        given = ", ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.method.name}({given})"

    def key(self) -> str:
        """Everything that makes the fit what it is, as text."""
        made = [self.method.path, self.method.params, self.params, self.method.relative]
        return json.dumps(made, sort_keys=True, default=repr)

    @property
    def rounds(self) -> int:
        """How many rounds it boosts; 0 where these are not searched."""
        return int(self._parameters()[_ROUNDS]) if _ROUNDS in self.method.search else 0

    @property
    def effort(self) -> int:
        """Its rounds, each counted twice with large trees: about what it costs."""
        return self.rounds * (2 if self._has_large_trees else 1)

    def grown(self) -> list["Candidate"]:
        """The same with three times the rounds, and with large trees."""
        larger = [{_ROUNDS: _MORE_ROUNDS * self.rounds}]
        if not self._has_large_trees and self._parameters().keys() >= _LARGE_TREES.keys():
            larger.append({_ROUNDS: self.rounds} | _LARGE_TREES)
        return [Candidate(self.method, self.params | params) for params in larger]

    def is_smaller(self, other: "Candidate") -> bool:
        """Whether it is the ``other`` but for fewer rounds or smaller trees."""
        return (
            self._without_size() == other._without_size()
            and self.rounds <= other.rounds
            and self._has_large_trees <= other._has_large_trees
            and self.effort < other.effort
        )

    @property
    def _has_large_trees(self) -> bool:
        return self.params.keys() >= _LARGE_TREES.keys()

    def _without_size(self) -> str:
        """What makes the fit what it is, but for rounds and trees."""
        size = {_ROUNDS, *_LARGE_TREES}
        params = {name: value for name, value in self.params.items() if name not in size}
        return Candidate(self.method, params).key()

    def _parameters(self) -> dict[str, Any]:
        return self.method.parameters(self.params)


def first_candidates(
    kind: str, *, n_rows: int, n_features: int, n_classes: int, measure: str | None
) -> tuple[list[list[Candidate]], dict[str, str]]:
    """The baselines with the kind's preferred method, then the other methods; and who cannot.

    Returns
    -------
    tiers : list of list of Candidate
    not_tried : dict of str to str
        Methods that do not apply, with the reason.
    """
    methods = _methods(kind)
    reasons = {
        m.name: m.reason_against(n_rows, n_classes, measure, n_features=n_features)
        for m in methods.values()
    }
    reasons |= _LEFT_OUT.get(kind, {})
    not_tried = {name: reason for name, reason in reasons.items() if reason is not None}
    free = [method for name, method in methods.items() if name not in not_tried]
    first = [
        Candidate(methods[name], params, is_baseline=True)
        for name, params in _BASELINES[kind]
        if name not in not_tried
    ]
    named = {candidate.method.name for candidate in first}
    others = [method for method in free if method.name not in named]
    first += [Candidate(method, is_baseline=True) for method in others[:1]]
    return [first, [Candidate(method) for method in others[1:]]], not_tried


def variants(candidate: Candidate) -> list[Candidate]:
    """The settings of the method's small search, but for those it has been tried with."""
    method, grid = candidate.method, candidate.method.search
    if not grid:
        return []
    default = method.parameters(candidate.params)
    settings = [
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    ]
    return [
        Candidate(method, candidate.params | setting)
        for setting in settings
        if any(default[name] != value for name, value in setting.items())
    ]


def _methods(kind: str) -> dict[str, Method]:
    return {method.name: method for method in methods_for(kind) if method.name != AUTO}

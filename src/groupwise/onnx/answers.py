"""Links, decision rules and the losses' own group probabilities as nodes.

Each table is looked up by the very function that a fitted model would call, so that a loss or rule
of one's own, or a subclass that answers otherwise, is refused and never taken for its parent.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from groupwise.losses import (
    CountLikelihoodLoss,
    CoxLoss,
    GroupLoss,
    NoisyOrLoss,
    NumberLoss,
    OrdinalLoss,
    PoissonTotalLoss,
    ReportedCountLoss,
    SeveralGroupings,
    ShareLoss,
    SmoothMaxLoss,
)
from groupwise.onnx.nodes import GraphBuilder, GroupNodes
from groupwise.rules import AnyPositive, MajorityVote, MeanProbability, MeanScore, Presence, Rule

__all__ = ["group_numbers", "group_proba", "row_numbers", "row_proba", "vote_proba"]

_LARGEST = 60.0  # of the log of a rate, as in groupwise.losses.totals


def row_proba(graph: GraphBuilder, loss: GroupLoss, score: str, n_scores: int) -> str:
    """Probabilities of rows from their scores, (n_rows, n_classes)."""
    loss = _deciding(loss)
    if type(loss).proba is OrdinalLoss.proba:
        return _ordinal(graph, loss, score)
    if type(loss).proba is not GroupLoss.proba:
        raise _refused(loss)
    return _link(graph, score, n_scores)


def vote_proba(graph: GraphBuilder, score: str, scale: float, n_scores: int) -> str:
    """AdaBoost's probabilities from votes."""
    if n_scores == 1:
        score = graph.columns(graph.add("Neg", score), score)
    return graph.softmax(graph.add("Mul", score, float(scale)))


def group_proba(
    graph: GraphBuilder,
    groups: GroupNodes,
    loss: GroupLoss | None,
    rule: Rule | None,
    score: str,
    proba: str,
    n_classes: int,
) -> str:
    """Probabilities of groups, (n_groups, n_classes), by the rule or else by the loss."""
    if rule is not None:
        combine = _RULES.get(type(rule))
        if combine is None:
            raise _refused(rule)
        return combine(graph, groups, rule, proba, n_classes)
    loss = _deciding(loss)
    of_loss = _LOSSES.get(type(loss).proba_groups)
    if of_loss is None:
        raise _refused(loss)
    return of_loss(graph, groups, loss, score, proba)


def row_numbers(graph: GraphBuilder, loss: GroupLoss, score: str) -> str:
    """What a regressor predicts of rows, (n_rows, 1)."""
    loss = _deciding(loss)
    kind: Any = type(loss)
    if kind.predict is PoissonTotalLoss.predict:
        return graph.add("Exp", graph.add("Min", score, _LARGEST))
    if kind.predict is not NumberLoss.predict:
        raise _refused(loss)
    return score


def group_numbers(
    graph: GraphBuilder, groups: GroupNodes, loss: GroupLoss, y_row: str, target: str
) -> str:
    """Means or totals of groups, or their pooled risk, (n_groups, 1)."""
    loss = _deciding(loss)
    kind: Any = type(loss)
    if kind.combine is CoxLoss.combine:
        return _pooled(graph, groups, y_row, loss)
    if kind.combine is not NumberLoss.combine:
        raise _refused(loss)
    return groups.sum(y_row) if target == "total" else groups.mean(y_row)


def _refused(what: object) -> ValueError:
    return ValueError(f"{what!r} has no counterpart in ONNX here and cannot be exported")


def _deciding(loss: Any) -> Any:
    """Of several groupings the first decides."""
    return loss.first if isinstance(loss, SeveralGroupings) else loss


def _link(graph: GraphBuilder, score: str, n_scores: int) -> str:
    if n_scores > 1:
        return graph.softmax(score)
    return graph.columns(graph.sigmoid(graph.add("Neg", score)), graph.sigmoid(score))


def _ordinal(graph: GraphBuilder, loss: Any, score: str) -> str:
    edges = np.array(loss.thresholds_, dtype=float)[None]
    at_most = graph.sigmoid(graph.add("Sub", edges, score))
    none = graph.add("Mul", score, 0.0)
    upper = graph.columns(at_most, graph.add("Add", none, 1.0))
    return graph.add("Sub", upper, graph.columns(none, at_most))


def _pooled(graph: GraphBuilder, groups: GroupNodes, score: str, loss: Any) -> str:
    """See :mod:`groupwise.losses.pooling`."""
    sharpness = float(loss.sharpness)
    if sharpness == 0.0:
        return groups.mean(score)
    total = groups.logsumexp(graph.add("Mul", score, sharpness))
    mean = graph.add("Sub", total, graph.add("Log", groups.sizes))
    return graph.add("Div", mean, sharpness)


def _noisy_or(graph: GraphBuilder, groups: GroupNodes, loss: Any, score: str, proba: str) -> str:
    none = graph.add("Exp", graph.add("Neg", groups.sum(graph.softplus(score))))
    return graph.columns(none, graph.add("Sub", 1.0, none))


def _smooth_max(graph: GraphBuilder, groups: GroupNodes, loss: Any, score: str, proba: str) -> str:
    return _link(graph, _pooled(graph, groups, score, loss), 1)


def _of_grades(graph: GraphBuilder, groups: GroupNodes, loss: Any, score: str, proba: str) -> str:
    return _ordinal(graph, loss, _pooled(graph, groups, score, loss))


def _shares(graph: GraphBuilder, groups: GroupNodes, loss: Any, score: str, proba: str) -> str:
    return groups.mean(proba)


_LOSSES: dict[Any, Callable[..., str]] = {
    NoisyOrLoss.proba_groups: _noisy_or,
    SmoothMaxLoss.proba_groups: _smooth_max,
    OrdinalLoss.proba_groups: _of_grades,
    CountLikelihoodLoss.proba_groups: _shares,
    ShareLoss.proba_groups: _shares,
    ReportedCountLoss.proba_groups: _shares,
}


def _majority(graph: GraphBuilder, groups: GroupNodes, rule: Any, proba: str, n: int) -> str:
    add = graph.add
    code = add("ArgMax", proba, axis=1, keepdims=1)
    votes = graph.cast(add("Equal", code, np.arange(n, dtype=np.int64)[None]))
    total = add("Add", groups.sum(votes), groups.mean(proba))
    return add("Div", total, add("Add", groups.sizes, 1.0))


def _any(graph: GraphBuilder, groups: GroupNodes, rule: Any, proba: str, n: int) -> str:
    return graph.two_columns(groups.max(graph.column(proba, 1)))


def _presence(graph: GraphBuilder, groups: GroupNodes, rule: Any, proba: str, n: int) -> str:
    add = graph.add
    top = groups.max(proba)
    if rule.background is not None:
        least = add("Neg", groups.max(add("Neg", proba)))
        top = add("Where", (np.arange(n) == rule.background)[None], least, top)
    total = add("ReduceSum", top, np.array([1], dtype=np.int64), keepdims=1)
    some = add("Greater", total, 0.0)
    divided = add("Div", top, add("Where", some, total, 1.0))
    return add("Where", some, divided, 1.0 / n)


def _mean(graph: GraphBuilder, groups: GroupNodes, rule: Any, proba: str, n: int) -> str:
    return groups.mean(proba)


def _mean_score(graph: GraphBuilder, groups: GroupNodes, rule: Any, proba: str, n: int) -> str:
    least = float(np.finfo(float).tiny)
    return graph.softmax(groups.mean(graph.add("Log", graph.add("Max", proba, least))))


_RULES: dict[type, Callable[..., str]] = {
    MajorityVote: _majority,
    AnyPositive: _any,
    Presence: _presence,
    MeanProbability: _mean,
    MeanScore: _mean_score,
}

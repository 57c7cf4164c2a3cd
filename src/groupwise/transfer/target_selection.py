"""Choosing between models on held-out rows of the target."""

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from groupwise._typing import Ids
from groupwise.exceptions import GroupDataError
from groupwise.groups import show
from groupwise.inputs import DomainRows, check_number
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.content_order import target_by_content
from groupwise.transfer.model_selection import Folds, TargetKFold

__all__ = [
    "NegativeTransferWarning",
    "TargetSelection",
    "fit_to_rows",
    "select_on_target",
    "select_safely",
]

Model = TypeVar("Model", bound=BaseTransferClassifier)


_FEW_ROWS = 20
# Losses no further apart than this are the same up to rounding.
_SAME_LOSS = 1e-9

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


class NegativeTransferWarning(UserWarning):
    """The rows of other domains did harm on held-out rows of the target."""


@dataclass(frozen=True)
class TargetSelection:
    """What a comparison on held-out target rows found.

    Attributes
    ----------
    chosen : str
    errors : dict of str to float
        Share of held-out target rows predicted wrong, all folds together.
    losses : dict of str to float
        Mean logistic loss of the same predictions (see :func:`select_on_target`).
    n_rows : int
        Held-out predictions each is judged by.
    """

    chosen: str
    errors: dict[str, float]
    losses: dict[str, float]
    n_rows: int

    @property
    def negative_transfer(self) -> bool:
        """Whether the target alone is the best."""
        return self.chosen == "target_only"


def select_on_target(
    candidates: Mapping[str, BaseTransferClassifier],
    data: DomainRows,
    target_domain: Hashable | None,
    rng: np.random.RandomState,
    *,
    cv: Folds = None,
) -> TargetSelection:
    r"""Compare unfitted models by cross-validation over the target's rows.

    The fewest errors win. Candidates with equally few go by the mean logistic loss
    :math:`\ln(1 + e^{-m})` of the margins m, each model's scores scaled to a mean size of 1, so
    that models with scores on different scales can be compared; then by their order.

    Parameters
    ----------
    candidates : dict of str to transfer classifier
        In order of preference.
    data : DomainRows
    target_domain : domain id or None
    rng : RandomState
        Of the folds, which are the same for all.
    cv : int, splitter or iterable of splits, default=None
        Folds of the target's rows; a splitter is given the class codes and the domains as
        :class:`TargetKFold` is. ``None``: five folds, twice over. A number is lowered where a class
        has fewer rows in the target. Folds by number are drawn by what rows hold, so that their
        order makes no difference.

    Returns
    -------
    selection : TargetSelection
    """
    held_out = _held_out(candidates, data, _folds(cv, data, target_domain, rng))
    return _selection(held_out, list(candidates))


def select_safely(
    candidates: Mapping[str, BaseTransferClassifier],
    data: DomainRows,
    target_domain: Hashable | None,
    rng: np.random.RandomState,
    *,
    start: str,
    cv: Folds = None,
) -> TargetSelection:
    """As :func:`select_on_target`; with few target rows, the start unless the evidence is strong.

    Below 20 rows held-out errors are mostly noise: another candidate is taken only if it makes
    fewer by more than two standard errors of the difference, row by row.
    """
    held_out = _held_out(candidates, data, _folds(cv, data, target_domain, rng))
    admitted = list(candidates)
    n_target = int(np.count_nonzero(data.is_target))
    if n_target < _FEW_ROWS:
        better = [n for n in candidates if _clearly_better(held_out[n], held_out[start], n_target)]
        admitted = better or [start]
    return _selection(held_out, admitted)


def _selection(held_out: "dict[str, _HeldOutErrors]", admitted: list[str]) -> TargetSelection:
    """The fewest errors, then the least loss, then the order."""
    errors = {name: parts.error for name, parts in held_out.items()}
    losses = {name: float(np.mean(parts.loss)) for name, parts in held_out.items()}
    fewest = [name for name in admitted if errors[name] == min(errors[n] for n in admitted)]
    least = min(losses[name] for name in fewest) + _SAME_LOSS
    chosen = next(name for name in fewest if losses[name] <= least)
    return TargetSelection(chosen, errors, losses, len(held_out[chosen].wrong))


def _clearly_better(one: "_HeldOutErrors", other: "_HeldOutErrors", n_rows: int) -> bool:
    """Repeats over the same ``n_rows`` rows add no evidence."""
    fewer = other.wrong.astype(float) - one.wrong
    return bool(fewer.mean() > 2.0 * fewer.std() / np.sqrt(min(n_rows, len(fewer))))


@dataclass(frozen=True)
class _HeldOutErrors:
    """Held-out predictions of one candidate, fold after fold: mistakes and margins."""

    wrong: NDArray[np.bool_]
    margin: NDArray[np.float64]

    @property
    def error(self) -> float:
        return float(np.mean(self.wrong))

    @property
    def loss(self) -> NDArray[Any]:
        """Logistic losses of the margins, scaled to a mean size of 1."""
        size = float(np.abs(self.margin).mean())
        return np.logaddexp(0.0, -self.margin / (size if size > 0 else 1.0))


def _folds(
    cv: Folds, data: DomainRows, target_domain: Hashable | None, rng: np.random.RandomState
) -> list[Split]:
    """Positions to train on and to hold out; our own folds go by what rows hold."""
    names = data.domains.spread(data.domains.names)
    if cv is not None and not isinstance(cv, Integral):
        return list(check_cv(cv).split(data.y_row, data.y_row, names))
    n_splits, n_repeats = (5, 2) if cv is None else (cv, 1)
    check_number("cv", n_splits, "[2, inf)", whole=True)
    n_splits = min(int(n_splits), _least_class(data))
    folds = TargetKFold(
        n_splits, target_domain=target_domain, n_repeats=n_repeats, random_state=rng
    )
    order = np.concatenate([np.flatnonzero(~data.is_target), target_by_content(data)])
    y_row = data.y_row[order]
    return [(order[train], order[test]) for train, test in folds.split(y_row, y_row, names[order])]


def _held_out(
    candidates: Mapping[str, BaseTransferClassifier], data: DomainRows, folds: list[Split]
) -> dict[str, _HeldOutErrors]:
    """Every candidate on the same held-out rows of the target."""
    found: dict[str, list[tuple[NDArray[Any], NDArray[Any]]]] = {name: [] for name in candidates}
    for train, test in folds:
        part, truth = data.take(train), data.classes[data.y_row[test]]
        for name, candidate in candidates.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = fit_to_rows(clone(candidate), part)
            predicted = model.predictions(data.X[test])
            known = np.searchsorted(model.classes_, truth)
            found[name].append((predicted.y_row != truth, _margin(predicted.score_row, known)))
    return {
        name: _HeldOutErrors(*(np.concatenate(parts) for parts in zip(*pairs, strict=True)))
        for name, pairs in found.items()
    }


def fit_to_rows(model: Model, data: DomainRows) -> Model:
    """Fit another transfer classifier to rows that have been checked."""
    domains: Ids = data.domains
    if not data.n_source:
        only: Any = 0 if model.target_domain is None else model.target_domain
        domains = [only] * len(data.y_row)
    return model.fit(
        data.X,
        data.classes[data.y_row],
        domains=domains,
        sample_weight=data.weight_row,
        X_unlabeled=data.X_unlabeled,
    )


def _least_class(data: DomainRows) -> int:
    """Target rows of the rarest class that the target has: at least two, or an error."""
    y_target = data.y_row[data.is_target]
    counts = np.bincount(y_target, minlength=len(data.classes))
    rarest = int(np.where(counts > 0, counts, len(y_target)).argmin())
    if counts[rarest] < 2:
        raise GroupDataError(
            "a choice on held-out rows needs two target rows of each class; class "
            f"{show(data.classes[rarest])} has {counts[rarest]}"
        )
    return int(counts[rarest])


def _margin(score: NDArray[Any], code: NDArray[np.intp]) -> NDArray[Any]:
    """How far the true class is ahead of the best other one."""
    if score.ndim == 1:
        return np.where(code == 1, score, -score)
    rows = np.arange(len(score))
    others = score.copy()
    others[rows, code] = -np.inf
    return score[rows, code] - others.max(axis=1)

"""What the network reads of a table: one vector per row.

The same columns as ``training/incontext/columns.py`` makes of made-up tables, for one table:

- features: standard scores or normal quantiles over the context, relevant ones first, each with the
  sign that makes it rise with the class it tells most of;
- what four regressions on group means say of the row, with and without its own group;
- what is known of its group and of the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from groupwise.incontext.network import KINDS, MAX_CLASSES, MAX_FEATURES
from groupwise.incontext.projections import Projection, StandardScores

__all__ = ["N_SCORERS", "Context", "ReadRows", "Reader", "read_context"]

N_SCORERS = 4
#: Widths of the Gaussian kernels, as multiples of 1 / (2 n_features).
_WIDTHS = (0.7, 3.0)
_RIDGES = (0.03, 0.5)
_CHUNK = 512

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Context:
    """Rows that others may look at, group after group, groups with a label first.

    Attributes
    ----------
    x : ndarray of shape (n_rows, n_features)
        NaN where missing.
    sizes : ndarray of shape (n_groups,)
        Rows per group.
    label : ndarray of shape (n_known, n_classes)
        Shares, or one for the class, of the first groups.
    kind : {"majority", "proportions", "presence"}
    """

    x: Array
    sizes: NDArray[np.intp]
    label: Array
    kind: str

    @property
    def codes(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def n_known_rows(self) -> int:
        return int(self.sizes[: len(self.label)].sum())


@dataclass(frozen=True)
class NormalScores:
    """Normal quantiles of the mean rank among the context's values; missing values stay."""

    ordered: tuple[Array, ...]

    @classmethod
    def of(cls, x: Array) -> "NormalScores":
        return cls(tuple(np.sort(column[~np.isnan(column)]) for column in x.T))

    def __call__(self, x: Array) -> Array:
        out = np.empty_like(x)
        for place, ordered in enumerate(self.ordered):
            n = max(len(ordered), 1)
            column = x[:, place]
            asked = np.nan_to_num(column)
            rank = np.searchsorted(ordered, asked) + np.searchsorted(ordered, asked, side="right")
            level = np.clip(rank / (2 * n), 0.5 / n, 1 - 0.5 / n)
            out[:, place] = np.where(np.isnan(column), np.nan, ndtri(level))
        return out


@dataclass(frozen=True)
class ReadRows:
    """What a reader says of rows, before features and classes are put in order.

    ``label`` is zero where the group's is not known.
    """

    x: Array
    score: Array
    alone: Array
    label: Array
    known: Array
    context: bool
    log_size: Array


@dataclass(frozen=True)
class Reader:
    """One way to look at a context: features, scaling, and regressions on its known groups.

    Attributes
    ----------
    context : Context
    projection : Projection
        Not more features than the network takes.
    normal : NormalScores or None
        ``None``: standard scores of the features themselves.
    standard : StandardScores
    correlation : ndarray of shape (n_features, n_classes)
        Of features' group means with labels, over the known groups.
    base : ndarray of shape (n_classes,)
        Mean of the known labels.
    quality : ndarray of shape (N_SCORERS,)
        Part of the labels' variance that each regression explains on groups left out.
    weight : ndarray of shape (N_SCORERS, n_known, n_classes)
        Scores of rows are their kernel with the known groups times this.
    inverse : ndarray of shape (N_SCORERS, n_known, n_known)
    """

    context: Context
    projection: Projection
    normal: NormalScores | None
    standard: StandardScores
    known_x: Array
    correlation: Array
    base: Array
    quality: Array
    weight: Array
    inverse: Array

    @property
    def n_features(self) -> int:
        return len(self.correlation)

    @property
    def relevance(self) -> Array:
        return (self.correlation**2).sum(axis=1)

    def read(self, x: Array, sizes: NDArray[np.intp]) -> ReadRows:
        """Rows that are asked about, group after group."""
        scaled = self._scaled(x)
        score = self._score(self._of_rows(scaled))
        n_classes = self.context.label.shape[1]
        return ReadRows(
            scaled,
            score,
            score,
            np.zeros((len(x), n_classes)),
            np.zeros(len(x)),
            False,
            np.repeat(np.log(sizes), sizes),
        )

    def read_context(self) -> ReadRows:
        """The rows of the context itself."""
        context = self.context
        scaled = self._scaled(context.x)
        of_rows = self._of_rows(scaled)
        score = self._score(of_rows)
        n_known, n = context.n_known_rows, len(context.x)
        codes = context.codes[:n_known]
        alone = score.copy()
        for place in range(N_SCORERS):
            own = np.diagonal(self.inverse[place])
            step = (of_rows[:n_known, place] * self.inverse[place][codes]).sum(axis=1)
            lost = (self.weight[place] / np.maximum(own, 1e-6)[:, None])[codes]
            raw = of_rows[:n_known, place] @ self.weight[place] - step[:, None] * lost
            alone[:n_known, place] = np.clip(raw + self.base, -2, 3)
        label = np.zeros((n, context.label.shape[1]))
        label[:n_known] = context.label[codes]
        known = (np.arange(n) < n_known).astype(float)
        log_size = np.repeat(np.log(context.sizes), context.sizes)
        return ReadRows(scaled, score, alone, label, known, True, log_size)

    def columns(
        self, rows: ReadRows, order: NDArray[np.intp], place: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """The network's columns.

        Parameters
        ----------
        rows : ReadRows
        order : ndarray of shape (n_features,)
            Of the features.
        place : ndarray of shape (n_classes,)
            Where each class stands among the network's classes.
        """
        n, d = rows.x.shape
        x = np.zeros((n, MAX_FEATURES))
        x[:, :d] = (rows.x * self._sign(place))[:, order] * np.sqrt(MAX_FEATURES / d)
        present = np.zeros(MAX_CLASSES)
        present[place] = 1.0
        about_table = np.concatenate(
            [
                np.array(KINDS) == self.context.kind,
                present,
                _placed(self.base, place),
                0.3 * np.log([len(self.context.label), len(self.context.x)]),
                [0.5 * np.log(d)],
                self.quality,
            ]
        )
        return np.concatenate(
            [
                x,
                _placed(rows.score, place).reshape(n, -1),
                _placed(rows.alone, place).reshape(n, -1),
                _placed(rows.label, place),
                np.column_stack([rows.known, np.full(n, rows.context), 0.5 * rows.log_size]),
                np.broadcast_to(about_table, (n, len(about_table))),
            ],
            axis=1,
        ).astype(np.float32)

    def _sign(self, place: NDArray[np.intp]) -> Array:
        if len(place) == 2:  # of two classes the second: correlations are equal and opposite
            signed = self.correlation[:, np.argmax(place == 1)]
        else:
            strongest = np.abs(self.correlation).argmax(axis=1)
            signed = self.correlation[np.arange(self.n_features), strongest]
        return np.where(signed < 0, -1.0, 1.0)

    def _scaled(self, x: Array) -> Array:
        return _scaled(self.projection(x), self.normal, self.standard)

    def _of_rows(self, scaled: Array) -> Array:
        sizes = self.context.sizes[: len(self.context.label)]
        return _mean_kernels(scaled, self.known_x, sizes, self.relevance)

    def _score(self, of_rows: Array) -> Array:
        raw = np.einsum("nkg,kgc->nkc", of_rows, self.weight, optimize=True)
        return np.clip(raw + self.base, -2, 3)


def read_context(context: Context, projection: Projection, *, quantiles: bool) -> Reader:
    """Fit what a reader knows of its context."""
    x = projection(context.x)
    normal = NormalScores.of(x) if quantiles else None
    standard = StandardScores.of(x if normal is None else normal(x))
    known_x = _scaled(x, normal, standard)[: context.n_known_rows]
    label = context.label
    sizes = context.sizes[: len(label)]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    mean_group = np.add.reduceat(known_x, starts, axis=0) / sizes[:, None]
    correlation = _unit(mean_group).T @ _unit(label)
    base = label.mean(axis=0)
    weight, inverse, quality = _regress(
        known_x, sizes, starts, (correlation**2).sum(axis=1), label - base
    )
    return Reader(
        context, projection, normal, standard, known_x, correlation, base, quality, weight, inverse
    )


def _scaled(x: Array, normal: NormalScores | None, standard: StandardScores) -> Array:
    return standard(x if normal is None else normal(x))


def _unit(values: Array) -> Array:
    centred = values - values.mean(axis=0)
    return centred / np.maximum(np.sqrt((centred**2).sum(axis=0)), 1e-6)


def _placed(values: Array, place: NDArray[np.intp]) -> Array:
    """The last axis spread over the network's classes."""
    out = np.zeros((*values.shape[:-1], MAX_CLASSES))
    out[..., place] = values
    return out


def _regress(
    x: Array, sizes: NDArray[np.intp], starts: NDArray[np.intp], relevance: Array, target: Array
) -> tuple[Array, Array, Array]:
    """Regressions on group means: weights of groups, inverse systems, quality.

    With ``C = A K A' + ridge I`` the weights are ``C^-1 t``. Of two ridges that with the smaller
    error on groups left out is taken: left out, group g misses its target by ``(C^-1 t)_g /
    C^-1_gg``.
    """
    of_rows = _mean_kernels(x, x, sizes, relevance)
    of_groups = np.add.reduceat(of_rows, starts, axis=0) / sizes[:, None, None]
    variance = max(float((target**2).sum()), 1e-6)
    n_known = len(target)
    weights = np.empty((N_SCORERS, n_known, target.shape[1]))
    inverses = np.empty((N_SCORERS, n_known, n_known))
    quality = np.empty(N_SCORERS)
    for place in range(N_SCORERS):
        kernel = of_groups[:, place]
        mean = np.trace(kernel) / n_known
        least = np.inf
        for part in _RIDGES:
            inverse = np.linalg.inv(kernel + (part * mean + 1e-4) * np.eye(n_known))
            weight = inverse @ target
            error = ((weight / np.maximum(np.diagonal(inverse), 1e-6)[:, None]) ** 2).sum()
            if error < least:
                least = error
                weights[place], inverses[place] = weight, inverse
        quality[place] = np.clip(1 - least / variance, -1, 1)
    return weights, inverses, quality


def _mean_kernels(x: Array, known_x: Array, sizes: NDArray[np.intp], relevance: Array) -> Array:
    """Kernels of rows with known groups, (n_rows, N_SCORERS, n_known)."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    out = np.empty((len(x), N_SCORERS, len(sizes)))
    for start in range(0, len(x), _CHUNK):
        part = slice(start, start + _CHUNK)
        for place, kernel in enumerate(_kernels(x[part], known_x, relevance)):
            out[part, place] = np.add.reduceat(kernel, starts, axis=1)
    out /= sizes
    return out


def _kernels(x: Array, known_x: Array, relevance: Array) -> Iterator[Array]:
    """Linear, wide, narrow, and wide with relevant features stretched."""
    d = x.shape[1]
    stretch = np.sqrt(relevance / max(relevance.sum(), 1e-6) * d)
    yield 1 + x @ known_x.T / d
    wide = _squares(x, known_x)
    for width in _WIDTHS:
        yield np.exp(wide * (-width / (2 * d)))
    yield np.exp(_squares(x * stretch, known_x * stretch) * (-_WIDTHS[0] / (2 * d)))


def _squares(x: Array, other: Array) -> Array:
    out = -2 * x @ other.T
    out += (x**2).sum(axis=1)[:, None]
    out += (other**2).sum(axis=1)
    return np.maximum(out, 0, out=out)

"""Tables of any width as tables of at most 48 features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Projection", "StandardScores", "principal_axes"]

_CLIP = 5.0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StandardScores:
    """Standard scores over a context, clipped; missing values and constants become zero."""

    mean: Array
    scale: Array

    @classmethod
    def of(cls, x: Array) -> "StandardScores":
        seen = ~np.isnan(x)
        n = np.maximum(seen.sum(axis=0), 1)
        mean = np.where(seen, x, 0.0).sum(axis=0) / n
        variance = np.where(seen, (x - mean) ** 2, 0.0).sum(axis=0) / n
        constant = variance <= 1e-24 * mean**2
        return cls(mean, np.where(constant, 0.0, 1 / np.sqrt(np.where(constant, 1.0, variance))))

    def __call__(self, x: Array) -> Array:
        return np.clip(np.nan_to_num((x - self.mean) * self.scale), -_CLIP, _CLIP)


@dataclass(frozen=True)
class Projection:
    """Some of the features, or sums of them.

    Attributes
    ----------
    subset : ndarray of shape (n_kept,) or None
        Positions of the features to take; ``None``: all.
    axes : ndarray of shape (n_features, n_kept) or None
        Directions in the space of the features' standard scores.
    scores : StandardScores or None
        With ``axes``.
    """

    subset: NDArray[np.intp] | None = None
    axes: Array | None = None
    scores: StandardScores | None = None

    def __call__(self, x: Array) -> Array:
        if self.axes is not None and self.scores is not None:
            return self.scores(x) @ self.axes
        return x if self.subset is None else x[:, self.subset]


def principal_axes(x: Array, n_kept: int) -> Projection:
    """The first principal components of the features' standard scores."""
    scores = StandardScores.of(x)
    z = scores(x)
    # The smaller of the two Gram matrices has the same directions.
    if z.shape[1] <= len(z):
        _, vectors = np.linalg.eigh(z.T @ z)
        axes = vectors[:, ::-1][:, :n_kept]
    else:
        value, vectors = np.linalg.eigh(z @ z.T)
        value, vectors = value[::-1][:n_kept], vectors[:, ::-1][:, :n_kept]
        kept = value > 1e-9 * max(float(value[0]), 1e-300)
        axes = z.T @ (vectors[:, kept] / np.sqrt(value[kept]))
    if axes.shape[1] == 0:  # constant features only
        axes = np.zeros((x.shape[1], 1))
    return Projection(axes=np.ascontiguousarray(axes), scores=scores)

"""Points on lines with a normal density on each of three parts: between two ends, beyond them."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

__all__ = ["draw_on_line", "truncated_normal"]

Array = NDArray[np.float64]


def draw_on_line(
    slope: Array,
    curvature: Array,
    ends: Array,
    beyond_slope: Array,
    beyond_curvature: Array,
    log_weight: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array, NDArray[np.intp]]:
    """Draw from the density with three parts.

    Between the ends it is exp(-slope s - curvature s^2 / 2); beyond the end e it is that value at e
    times exp(log_weight - beyond_slope u - beyond_curvature u^2 / 2), u > 0.

    Parameters
    ----------
    slope, curvature : ndarray of shape (...)
    ends, beyond_slope, beyond_curvature, log_weight : ndarray of shape (2, ...)
        Of the lower and of the upper end.
    rng : numpy Generator

    Returns
    -------
    s : ndarray of shape (...)
        At most the ends.
    u : ndarray of shape (...)
        How far beyond the end; zero between the ends.
    part : ndarray of int of shape (...)
        0 between the ends, 1 beyond the lower one, 2 beyond the upper one.
    """
    middle, width = -slope / curvature, 1 / np.sqrt(curvature)
    log_mass = np.empty((3, *slope.shape))
    log_mass[0] = 0.5 * (middle / width) ** 2 + np.log(width)
    log_mass[0] += _log_between(*((ends - middle) / width))
    tail = 1 / np.sqrt(beyond_curvature)
    log_mass[1:] = log_weight - slope * ends - 0.5 * curvature * ends**2
    log_mass[1:] += np.log(tail) + _log_tail(beyond_slope * tail)
    mass = np.cumsum(np.exp(log_mass - log_mass.max(axis=0)), axis=0)
    part = (rng.random(slope.shape) * mass[-1] >= mass[:-1]).sum(axis=0)
    # one variable serves for either: s between the ends, u beyond them
    beyond = part > 0
    upper = part == 2
    end, tail_middle, tail_width = (
        np.where(upper, each[1], each[0]) for each in (ends, -beyond_slope * tail**2, tail)
    )
    drawn = truncated_normal(
        np.where(beyond, tail_middle, middle),
        np.where(beyond, tail_width, width),
        np.where(beyond, 0.0, ends[0]),
        np.where(beyond, np.inf, ends[1]),
        rng,
    )
    return np.where(beyond, end, drawn), np.where(beyond, drawn, 0.0), part


def truncated_normal(
    mean: Array, sd: Array, low: Array, high: Array, rng: np.random.Generator
) -> Array:
    """Normal variables between limits, by the lower tail, where probabilities are exact."""
    a, b = (low - mean) / sd, (high - mean) / sd
    flip = a + b > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    u = 1 - rng.random(mean.shape)
    below = ndtr(a)
    x = ndtri(below + u * (ndtr(b) - below))
    # far out, where probabilities are too small for a float, the tail is exponential
    x = np.clip(np.where(b < -35, b + np.log(u) / np.maximum(-b, 35.0), x), a, b)
    return np.clip(mean + sd * np.where(flip, -x, x), low, high)


def _log_between(a: Array, b: Array) -> Array:
    """Logarithm of Phi(b) - Phi(a), b > a."""
    flip = a + b > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    upper = log_ndtr(b)
    with np.errstate(divide="ignore"):
        return np.asarray(upper + np.log(-np.expm1(np.minimum(log_ndtr(a) - upper, 0.0))))


def _log_tail(h: Array) -> Array:
    """Logarithm of exp(h^2 / 2) Phi(-h)."""
    far = np.log(0.5 * erfcx(np.maximum(h, 0.0) / np.sqrt(2)))
    return np.asarray(np.where(h > 0, far, 0.5 * h**2 + log_ndtr(-h)))

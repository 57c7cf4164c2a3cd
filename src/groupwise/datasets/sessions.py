"""Sessions made of labelled rows (Jin and Liu 2005, section 4 and Figure 1)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from groupwise._typing import RandomState
from groupwise.datasets.data import GroupedData
from groupwise.exceptions import GroupDataError
from groupwise.groups import show

__all__ = ["make_sessions", "make_triangle_sessions"]


def make_sessions(
    X: ArrayLike,
    y: ArrayLike,
    *,
    size: int = 10,
    n_other: tuple[int, int] = (1, 5),
    n_sessions: int | None = None,
    reuse: bool = False,
    random_state: RandomState = None,
) -> GroupedData:
    """Mix labelled rows into sessions whose label is (mostly) that of the majority.

    A session of class c holds a random number of rows of other classes, uniform over ``n_other``,
    and is filled up with rows of c. Classes take turns in random order. With the paper's 1 to 5
    foreign rows of ten, every fifth session is a tie.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    size : int, default=10
        Rows per session.
    n_other : tuple of int, default=(1, 5)
        Fewest and most rows of other classes.
    n_sessions : int, default=None
        ``None`` makes as many as the rows allow (needs ``reuse=False``).
    reuse : bool, default=False
        Let a row be in several sessions. It then leaks from training into test; the paper does not
        say what it did.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    sessions : GroupedData

    Examples
    --------
    >>> import numpy as np
    >>> s = make_sessions(np.arange(40).reshape(40, 1), np.repeat(["a", "b"], 20), random_state=0)
    >>> s.X.shape[0] % 10, len(np.unique(s.X)) == len(s.X)
    (0, True)
    """
    rows = check_array(X, dtype=None, ensure_all_finite=False)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    n_classes = len(classes)
    low, high = n_other
    if n_classes < 2:
        raise GroupDataError("sessions need rows of at least two classes")
    if not 0 <= low <= high < size:
        raise ValueError(f"n_other must satisfy 0 <= low <= high < size={size}, got {n_other}")
    if reuse and n_sessions is None:
        raise ValueError("n_sessions must be given when rows may be reused")
    rng = check_random_state(random_state)
    n_plan = n_sessions or 2 * (len(rows) // size + n_classes)
    turns = [rng.permutation(n_classes) for _ in range(-(-n_plan // n_classes))]
    label = np.concatenate(turns)[:n_plan]
    needed = _rows_needed(label, n_classes, size, rng.randint(low, high + 1, n_plan), rng)
    if not reuse:
        needed, label = _affordable(needed, label, codes, classes, n_sessions)
    chosen = _draw(needed, codes, reuse, rng)
    groups = np.repeat(np.arange(len(label)), size)
    return GroupedData(rows[chosen], classes[label[groups]], groups, classes[codes[chosen]])


def _rows_needed(
    label: NDArray[np.intp], n_classes: int, size: int, n_foreign: NDArray[Any], rng: Any
) -> NDArray[np.intp]:
    """How many rows of each class each session takes, (n_sessions, n_classes)."""
    step = rng.randint(1, n_classes, (len(label), int(n_foreign.max(initial=0))))
    foreign = (label[:, None] + step) % n_classes  # any class but the session's own
    wanted = np.arange(foreign.shape[1]) < n_foreign[:, None]
    needed = np.zeros((len(label), n_classes), dtype=np.intp)
    np.add.at(needed, (np.nonzero(wanted)[0], foreign[wanted]), 1)
    needed[np.arange(len(label)), label] += size - n_foreign
    return needed


def _affordable(
    needed: NDArray[Any],
    label: NDArray[Any],
    codes: NDArray[Any],
    classes: NDArray[Any],
    n_sessions: int | None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The longest beginning of the plan that the rows suffice for."""
    available = np.bincount(codes, minlength=len(classes))
    short = needed.cumsum(axis=0) > available
    fits = ~short.any(axis=1)
    n_fit = int(fits.sum())  # cumulative sums only grow: the sessions that fit come first
    if n_fit == 0 or (n_sessions is not None and n_fit < n_sessions):
        scarce = classes[int(np.argmax(short[n_fit]))]
        raise GroupDataError(
            f"the rows suffice for {n_fit} sessions only, for want of class {show(scarce)}; "
            "reuse=True draws rows more than once"
        )
    return needed[:n_fit], label[:n_fit]


def _draw(
    needed: NDArray[Any], codes: NDArray[Any], reuse: bool, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Row positions, session by session."""
    session, row = [], []
    for code in range(needed.shape[1]):
        pool = np.flatnonzero(codes == code)
        count = int(needed[:, code].sum())
        row.append(rng.choice(pool, count) if reuse else rng.permutation(pool)[:count])
        session.append(np.repeat(np.arange(len(needed)), needed[:, code]))
    shuffled = rng.permutation(sum(map(len, row)))
    order = shuffled[np.argsort(np.concatenate(session)[shuffled], kind="stable")]
    return np.concatenate(row)[order]


def make_triangle_sessions(
    n_sessions: int = 400,
    *,
    size: int = 10,
    own: int = 4,
    spread: float = 0.25,
    random_state: RandomState = None,
) -> GroupedData:
    """The toy problem of Figure 1: four classes, three on a triangle and one at its centre.

    A session of A, B or C holds ``own`` rows of its class and equal parts of the other two (4, 3
    and 3 of ten); one of D only rows of D. The classes are well apart, but the means of the
    sessions' rows are all near the centre, which defeats learners that take each row for an example
    of its session's class.

    Parameters
    ----------
    n_sessions : int, default=400
        Classes take turns.
    size : int, default=10
        Rows per session; ``size - own`` must be even.
    own : int, default=4
    spread : float, default=0.25
        Standard deviation of each class; the corners lie at distance 1 from the centre.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    sessions : GroupedData
    """
    if not 0 < own <= size or (size - own) % 2:
        raise ValueError(f"size - own must be even and own in 1..size, got {size=}, {own=}")
    rng = check_random_state(random_state)
    angle = np.pi / 2 + 2 * np.pi * np.arange(3) / 3
    centre = np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), [[0.0, 0.0]]])
    other = (size - own) // 2
    parts = np.array(
        [(corner + np.repeat([0, 1, 2], [own, other, other])) % 3 for corner in range(3)]
        + [np.full(size, 3)]
    )
    label = np.arange(n_sessions) % 4
    shuffled = rng.uniform(size=(n_sessions, size)).argsort(axis=1)
    code = np.take_along_axis(parts[label], shuffled, axis=1).ravel()
    X = centre[code] + spread * rng.normal(size=(len(code), 2))
    names = np.array(["A", "B", "C", "D"])
    groups = np.repeat(np.arange(n_sessions), size)
    return GroupedData(X, names[label[groups]], groups, names[code])

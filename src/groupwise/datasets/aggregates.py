"""Groups of which only class counts are known, made of labelled rows; and real sets to use."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from groupwise._typing import RandomState
from groupwise.datasets.data import AggregateData, LabelledData
from groupwise.datasets.loaders import data_folder
from groupwise.exceptions import GroupDataError

__all__ = [
    "load_adult",
    "load_bank",
    "load_ecological",
    "load_ionosphere",
    "make_aggregates",
]


def make_aggregates(
    X: ArrayLike,
    y: ArrayLike,
    *,
    size: int = 10,
    randomness: float = 1.0,
    random_state: RandomState = None,
) -> AggregateData:
    """Put labelled rows into groups and tell only each group's class counts.

    Rows sorted by class are cut into groups of ``size`` (the last one may be smaller), which are
    pure but for the seams. Then a share ``randomness`` of all rows, drawn at random, change places
    with each other: 0 leaves the groups pure, 1 makes them random. This is the protocol of Musicant
    et al. (2007) and Chen et al. (2009) as far as the latter describes it.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows stay in their order.
    y : array-like of shape (n_rows,)
    size : int, default=10
        Rows per group, n_b.
    randomness : float, default=1.0
        The papers' r, from 0 to 1.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : AggregateData

    Examples
    --------
    >>> import numpy as np
    >>> d = make_aggregates(np.zeros((4, 1)), list("abab"), size=2, randomness=0, random_state=0)
    >>> d.groups.tolist(), d.y.to_numpy().tolist()
    ([0, 1, 0, 1], [[2, 0], [0, 2], [2, 0], [0, 2]])
    """
    rows = check_array(X, dtype=None, ensure_all_finite=False)
    y_row = np.asarray(y)
    if y_row.shape != (len(rows),):
        raise GroupDataError(f"y must hold one label per row ({len(rows)}), got {y_row.shape}")
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size!r}")
    if not 0.0 <= randomness <= 1.0:
        raise ValueError(f"randomness must be between 0 and 1, got {randomness!r}")
    rng = check_random_state(random_state)
    classes, codes = np.unique(y_row, return_inverse=True)
    shuffled = rng.permutation(len(rows))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    moved = rng.choice(len(rows), round(randomness * len(rows)), replace=False)
    order[moved] = order[rng.permutation(moved)]
    groups = np.empty(len(rows), np.intp)
    groups[order] = np.arange(len(rows)) // size
    counts = np.zeros((int(groups.max()) + 1, len(classes)), np.intp)
    np.add.at(counts, (groups, codes), 1)
    return AggregateData(rows, pd.DataFrame(counts[groups], columns=classes), groups, y_row)


def load_ionosphere() -> LabelledData:
    """Rows and labels "b" and "g" of the ionosphere radar returns, 351 x 34."""
    table = pd.read_csv(data_folder("uci", "ionosphere.csv.gz"))
    return LabelledData(table.drop(columns="class").to_numpy(float), table["class"].to_numpy(str))


def load_adult() -> LabelledData:
    """Census features and whether the income is above 50,000, 48,842 rows; ``?`` is a category."""
    table = pd.read_csv(data_folder("llp", "adult.csv.gz"))
    above = table["income"].str.strip().str.startswith(">50K")
    return LabelledData(table.drop(columns="income"), above.to_numpy().astype(np.intp))


def load_bank() -> LabelledData:
    """Bank clients and whether they took the offer, 4,521 rows."""
    table = pd.read_csv(data_folder("llp", "bank_10pct.csv.gz"))
    took = (table["y"] == "yes").to_numpy().astype(np.intp)
    return LabelledData(table.drop(columns="y"), took)


def load_ecological(name: str) -> pd.DataFrame:
    """Tables of ecological inference whose cells are known, one line per unit.

    Parameters
    ----------
    name : {"matproii", "senc"}
        ``"matproii"``: 268 counties with x (share of one kind of row), t (share with the outcome),
        n (rows) and the true tb and tw (share with the outcome among either kind). ``"senc"``: 212
        precincts of North Carolina, party by race, with the true cells.

    Returns
    -------
    table : DataFrame
    """
    files = {"matproii": "ei_matproii.csv.gz", "senc": "eipack_senc.csv.gz"}
    if name not in files:
        raise ValueError(f"name must be one of {sorted(files)}, got {name!r}")
    return pd.read_csv(data_folder("llp", files[name]))

"""Groups that hold at least one positive row (Andrews and Hofmann 2003), made and real."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from groupwise._typing import RandomState
from groupwise.datasets.data import GroupedData
from groupwise.datasets.loaders import data_folder

__all__ = [
    "MIL_SETS",
    "load_mil",
    "make_presence_bags",
    "perfect_knowledge",
    "perfect_selector",
    "presence_intensity",
]

#: Names that :func:`load_mil` knows.
MIL_SETS = (
    "musk1", "musk2", "elephant", "fox", "tiger", "newsgroups1", "newsgroups2", "newsgroups3",
    "mutagenesis1", "mutagenesis2", "corel_dogs", "corel_african", "birds_winter_wren",
    "web_recommendation_1",
)  # fmt: skip

# centre, width and height of the hills that the picture is made of
_HILLS = (
    (0.25, 0.70, 0.16, 1.0),
    (0.75, 0.35, 0.18, 1.0),
    (0.30, 0.20, 0.12, 0.8),
    (0.50, 0.50, 0.10, -0.4),
)


def presence_intensity(X: NDArray[Any]) -> NDArray[Any]:
    """Intensity of the picture at points of the unit square, between 0 (black) and 1 (white)."""
    total = np.zeros(len(X))
    for x, y, width, height in _HILLS:
        total += height * np.exp(-((X[:, 0] - x) ** 2 + (X[:, 1] - y) ** 2) / (2 * width**2))
    return np.clip(total, 0.0, 1.0)


def make_presence_bags(
    n_groups: int = 20,
    *,
    mean_size: float = 3.0,
    n_single: int | None = None,
    positive_single: float = 0.5,
    margin: float = 0.1,
    random_state: RandomState = None,
) -> GroupedData:
    """Groups with one positive row among negative ones, and rows that are certain.

    Points of the unit square are drawn from the white (positive) and black (negative) parts of a
    picture with grey shores between them. An ambiguous group has a Poisson number of rows (two at
    least), one positive and the others negative; as many single rows have a known label.

    Parameters
    ----------
    n_groups : int, default=20
        Ambiguous groups, all positive.
    mean_size : float, default=3.0
        Mean of the Poisson distribution of sizes: the degree of ambiguity.
    n_single : int, default=None
        Groups of one row; ``None``: as many as ambiguous ones.
    positive_single : float, default=0.5
        Share of positive ones among them.
    margin : float, default=0.1
        Half the width of the grey part, as a share of the intensities.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    bags : GroupedData
        Labels 0 and 1; ``y_row`` holds the hidden ones.

    Notes
    -----
    The paper's text names neither its picture nor the labels of its single rows; ours are choices.

    References
    ----------
    S. Andrews and T. Hofmann (2003). Multiple instance learning via disjunctive programming
    boosting. NIPS, section 4.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> d = make_presence_bags(5, random_state=0)
    >>> len(set(d.groups)), [int(d.y_row[d.groups == g].sum()) for g in range(5)]
    (10, [1, 1, 1, 1, 1])
    """
    if not (0 <= margin < 0.5 and 0 <= positive_single <= 1):
        raise ValueError(
            f"margin must be in [0, 0.5) and positive_single in [0, 1], got {margin=}, "
            f"{positive_single=}"
        )
    rng = check_random_state(random_state)
    n_single = n_groups if n_single is None else n_single
    sizes = np.concatenate(
        [np.maximum(rng.poisson(mean_size, n_groups), 2), np.ones(n_single, dtype=int)]
    )
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y_group = np.ones(len(sizes), dtype=int)
    n_positive = round(positive_single * n_single)
    y_group[n_groups + n_positive :] = 0
    y_row = np.zeros(len(groups), dtype=int)
    first = np.cumsum(sizes) - sizes
    y_row[first + rng.randint(sizes)] = 1  # one positive row, anywhere in its group
    y_row &= y_group[groups]
    X = np.empty((len(groups), 2))
    for label, low, high in ((0, -1.0, 0.5 - margin), (1, 0.5 + margin, 2.0)):
        X[y_row == label] = _draw(int((y_row == label).sum()), low, high, rng)
    return GroupedData(X, y_group[groups], groups, y_row)


def _draw(n: int, low: float, high: float, rng: np.random.RandomState) -> NDArray[Any]:
    """Points drawn evenly from the part of the square between two intensities."""
    kept = np.empty((0, 2))
    while len(kept) < n:
        points = rng.uniform(size=(4 * n + 50, 2))
        level = presence_intensity(points)
        kept = np.concatenate([kept, points[(level > low) & (level < high)]])
    return kept[:n]


def perfect_knowledge(data: GroupedData) -> GroupedData:
    """Every row on its own with its true label: nothing can be learned better."""
    y_row = _known_rows(data)
    return GroupedData(data.X, y_row, np.arange(len(y_row)), y_row)


def perfect_selector(data: GroupedData) -> GroupedData:
    """Only the rows that have their group's label, each on its own."""
    right = data.take(_known_rows(data) == data.y)
    return GroupedData(right.X, right.y, np.arange(len(right.y)), right.y_row)


def _known_rows(data: GroupedData) -> NDArray[Any]:
    if data.y_row is None:
        raise ValueError("the rows' own labels (y_row) are not known")
    return data.y_row


def load_mil(name: str) -> GroupedData:
    """Rows, group labels (0 or 1, repeated on rows) and group ids of a multiple-instance data set.

    Parameters
    ----------
    name : str
        One of :data:`MIL_SETS`; read from ``mil/`` below the folder that GROUPWISE_DATA names.

    Returns
    -------
    bags : GroupedData
        ``X`` is sparse for ``"web_recommendation_1"``; nobody knows ``y_row``.
    """
    if name not in MIL_SETS:
        raise ValueError(f"name must be one of {sorted(MIL_SETS)}, got {name!r}")
    if name == "web_recommendation_1":
        parts = np.load(data_folder("mil", f"{name}.npz"))
        content = (parts["data"].astype(float), parts["indices"], parts["indptr"])
        X = csr_array(content, shape=tuple(parts["shape"]))
        return GroupedData(X, parts["bag_label"].astype(np.intp), parts["bag"].astype(np.intp))
    table = pd.read_csv(data_folder("mil", f"{name}.csv.gz"))
    y, groups = table["bag_label"].to_numpy(np.intp), table["bag"].to_numpy(np.intp)
    return GroupedData(table.drop(columns=["bag", "bag_label"]).to_numpy(float), y, groups)

"""Tasks with a source and a target domain: the paper's text and mushroom data, and made ones."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from groupwise._typing import RandomState
from groupwise.datasets.data import TransferData
from groupwise.datasets.loaders import data_folder

__all__ = [
    "NEWSGROUP_TASKS",
    "REUTERS_TASKS",
    "load_mushroom_task",
    "load_newsgroups_task",
    "load_reuters",
    "load_reuters_task",
    "make_shifted_domains",
]


#: Newsgroups whose names end so, (source, target) of each task; the task's name is in them.
NEWSGROUP_TASKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rec-talk": (
        ("rec.autos", "rec.motorcycles", "talk.politics.guns", "talk.politics.misc"),
        ("rec.sport.baseball", "rec.sport.hockey", "talk.politics.mideast", "talk.religion.misc"),
    ),
    "rec-sci": (
        ("rec.autos", "rec.sport.baseball", "sci.med", "sci.space"),
        ("rec.motorcycles", "rec.sport.hockey", "sci.crypt", "sci.electronics"),
    ),
    "sci-talk": (
        ("sci.electronics", "sci.med", "talk.politics.misc", "talk.religion.misc"),
        ("sci.crypt", "sci.space", "talk.politics.guns", "talk.politics.mideast"),
    ),
}

#: Pairs of the Reuters tag fields a task tells apart.
REUTERS_TASKS = {
    "orgs-people": ("orgs", "people"),
    "orgs-places": ("orgs", "places"),
    "people-places": ("people", "places"),
}


def load_newsgroups_task(name: str, *, tfidf: bool = True) -> TransferData:
    r"""A 20-newsgroups task: top categories to tell apart, subcategories split over domains.

    Parameters
    ----------
    name : {"rec-talk", "rec-sci", "sci-talk"}
        The subcategories of each side are those that give the paper's sizes to within five
        documents; the paper does not name them.
    tfidf : bool, default=True
        The weights :math:`\ln(1 + tf) \ln(n/df)` over the task's n documents, rows of length 1.
        (With scikit-learn's :math:`1 + \ln(n/df)` words such as "the" keep so much weight that
        rows group by style instead of subject.) ``False``: counts.

    Returns
    -------
    task : TransferData
    """
    if name not in NEWSGROUP_TASKS:
        raise ValueError(f"name must be one of {sorted(NEWSGROUP_TASKS)}, got {name!r}")
    with np.load(data_folder("20newsgroups", "20news_bydate_counts.npz")) as parts:
        counts, label = _counts(parts), parts["target_names"][parts["target"]].astype(str)
    source, target = NEWSGROUP_TASKS[name]
    return _text_task(
        counts, np.isin(label, source), np.isin(label, target), _starts(label, name), tfidf
    )


def _starts(label: NDArray[np.str_], name: str) -> NDArray[np.intp]:
    return np.char.startswith(label, name.split("-")[0] + ".").astype(np.intp)


def load_reuters() -> tuple[csr_matrix, pd.DataFrame]:
    """Word counts and tags of all documents of Reuters-21578, in the same order."""
    with np.load(data_folder("reuters21578", "reuters21578_counts.npz")) as parts:
        counts, newid = _counts(parts), parts["newid"]
    table = pd.read_csv(
        data_folder("reuters21578", "reuters21578_labels.csv.gz"), keep_default_na=False
    )
    return counts, table.set_index("newid").loc[newid]


def load_reuters_task(name: str, *, tfidf: bool = True) -> TransferData:
    """A Reuters-21578 task: which of two kinds of tag a document has.

    The paper does not say how it split the tags, and took a part of ``places`` only. Here: a
    document counts for a kind if it has tags of that kind and none of the other; its first tag
    decides its domain, tags in alphabetical order going to source and target in turn so that the
    two sides have near the same number of documents; ``places`` without ``usa`` and without tags
    that are more than a tenth of what is left is thinned to the size of the other kind, every k-th
    document.

    Parameters
    ----------
    name : {"orgs-people", "orgs-places", "people-places"}
    tfidf : bool, default=True

    Returns
    -------
    task : TransferData
    """
    if name not in REUTERS_TASKS:
        raise ValueError(f"name must be one of {sorted(REUTERS_TASKS)}, got {name!r}")
    kinds = REUTERS_TASKS[name]
    counts, table = load_reuters()
    filled = counts.getnnz(axis=1) > 0
    sides = [_reuters_kind(table, kinds, position, filled) for position in (0, 1)]
    if len(sides[1]) > 2 * len(sides[0]):
        step = len(sides[1]) // len(sides[0])
        sides[1] = sides[1].iloc[::step]
    source = np.zeros(len(table), dtype=bool)
    target, positive = source.copy(), source.copy()
    for position, first_tag in enumerate(sides):
        in_source = _split_tags(first_tag)
        source[first_tag.index[in_source]] = True
        target[first_tag.index[~in_source]] = True
        positive[first_tag.index] = position == 0
    return _text_task(counts, source, target, positive.astype(np.intp), tfidf)


def _reuters_kind(
    table: pd.DataFrame, kinds: tuple[str, str], position: int, filled: NDArray[np.bool_]
) -> pd.Series:
    """First tag of the documents of one kind, by position in the collection."""
    own, other = table[kinds[position]], table[kinds[1 - position]]
    if kinds[position] == "places":  # nearly every document has a place: the other kind decides
        keep = (own != "") & (other == "")
    elif kinds[1 - position] == "places":
        keep = own != ""
    else:
        keep = (own != "") & (other == "")
    first = own.str.split(" ").str[0].to_numpy()
    chosen = np.flatnonzero(keep.to_numpy() & filled)
    series = pd.Series(first[chosen], index=chosen)
    if kinds[position] == "places":
        series = series[series != "usa"]
        share = series.map(series.value_counts(normalize=True))
        series = series[share <= 0.1]
    return series


def _split_tags(first_tag: pd.Series) -> NDArray[np.bool_]:
    """Give each tag to the side that has fewer documents so far, largest tags first."""
    sizes = (
        first_tag.value_counts(sort=False).sort_index().sort_values(ascending=False, kind="stable")
    )
    mass = [0, 0]
    source_tags = set()
    for tag, size in sizes.items():
        side = int(mass[1] < mass[0])
        mass[side] += int(size)
        if side == 0:
            source_tags.add(tag)
    return first_tag.isin(source_tags).to_numpy()


def load_mushroom_task(*, source: str = "tapering") -> TransferData:
    """Edible (1) against poisonous (0) mushrooms, split by the shape of their stalks.

    The attributes are coded one column per value, ``stalk_shape`` left out. The paper's text calls
    the source enlarging, its Table 1 gives the source the 4,608 rows that are tapering: the sizes
    are followed by default.

    Parameters
    ----------
    source : {"tapering", "enlarging"}, default="tapering"

    Returns
    -------
    task : TransferData
    """
    codes = {"tapering": "t", "enlarging": "e"}
    if source not in codes:
        raise ValueError(f"source must be one of {sorted(codes)}, got {source!r}")
    table = pd.read_csv(data_folder("uci", "mushroom.csv.gz"), dtype=str, keep_default_na=False)
    X = pd.get_dummies(table.drop(columns=["class", "stalk_shape"])).to_numpy(float)
    domains = np.where(table["stalk_shape"] == codes[source], "source", "target")
    return TransferData(X, (table["class"] == "e").to_numpy().astype(np.intp), domains)


def _counts(parts: Any) -> csr_matrix:
    return csr_matrix(
        (parts["data"].astype(float), parts["indices"].astype(np.int32), parts["indptr"]),
        shape=tuple(parts["shape"]),
    )


def _text_task(
    counts: csr_matrix,
    source: NDArray[np.bool_],
    target: NDArray[np.bool_],
    y: NDArray[np.intp],
    tfidf: bool,
) -> TransferData:
    rows = np.concatenate([np.flatnonzero(source), np.flatnonzero(target)])
    X = counts[rows]
    X = X[:, X.getnnz(axis=0) > 0]
    domains = np.repeat(["source", "target"], [source.sum(), target.sum()])
    return TransferData(_tfidf(X) if tfidf else X, y[rows], domains)


def _tfidf(counts: csr_matrix) -> csr_matrix:
    idf = np.log(counts.shape[0] / counts.getnnz(axis=0))
    X = counts.copy()
    X.data = np.log1p(X.data) * idf[X.indices]
    return normalize(X, copy=False)


def make_shifted_domains(
    n_source: int = 400,
    n_target: int = 40,
    *,
    n_features: int = 5,
    angle: float = 40.0,
    noise: float = 0.1,
    random_state: RandomState = None,
) -> TransferData:
    """Two domains whose classes are divided by planes at an angle to each other.

    Rows are normal; the label is the side of a plane through the origin, which in the target is
    turned by ``angle`` degrees.

    Parameters
    ----------
    n_source, n_target : int
    n_features : int, default=5
        At least 2.
    angle : float, default=40.0
        0 makes the domains alike, 180 makes every source label wrong.
    noise : float, default=0.1
        Share of labels flipped.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : TransferData

    Examples
    --------
    >>> d = make_shifted_domains(3, 2, random_state=0)
    >>> d.X.shape, d.domains.tolist()
    ((5, 5), ['source', 'source', 'source', 'target', 'target'])
    """
    rng = check_random_state(random_state)
    X = rng.normal(size=(n_source + n_target, n_features))
    turn = np.deg2rad(np.repeat([0.0, angle], [n_source, n_target]))
    side = X[:, 0] * np.cos(turn) + X[:, 1] * np.sin(turn) > 0
    flipped = rng.uniform(size=len(X)) < noise
    domains = np.repeat(["source", "target"], [n_source, n_target])
    return TransferData(X, (side ^ flipped).astype(np.intp), domains)

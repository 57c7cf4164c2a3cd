"""Labelled rows of users: a generator with personal shifts, and two real collections."""

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state

from groupwise._typing import RandomState
from groupwise.datasets.data import GroupedData
from groupwise.datasets.loaders import data_folder

__all__ = ["load_protein", "load_spam_inboxes", "make_users"]


def make_users(
    n_users: int = 250,
    *,
    n_rows: int = 125,
    n_features: int = 10,
    positive: float = 0.08,
    skew: float = 1.0,
    shift: float = 1.0,
    signal: float = 2.0,
    random_state: RandomState = None,
) -> GroupedData:
    r"""Rows of users who differ: in how many they have, in their habits and in their class shares.

    User u has a log-normal number of rows (median ``n_rows``), a personal shift
    :math:`s_u \sim N(0, \text{shift}^2 I)` of all its features, and a share of positives with
    log-odds :math:`\mathrm{logit}(\text{positive}) + N(0, \text{skew}^2)`. A positive row lies
    ``signal`` along one of two directions, a negative row around the user's own centre, so that the
    classes are not linear in the features. Every user has both classes.

    Parameters
    ----------
    n_users : int, default=250
    n_rows : int, default=125
        Median number of rows of a user.
    n_features : int, default=10
    positive : float, default=0.08
        Share of positive rows of the median user.
    skew : float, default=1.0
        How much that share differs between users.
    shift : float, default=1.0
        How much the users' features differ.
    signal : float, default=2.0
        Distance of the classes, in units of the rows' spread times sqrt(3).
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    users : GroupedData
        ``y`` and ``y_row`` are the same: rows are labelled.

    Examples
    --------
    >>> u = make_users(n_users=5, random_state=0)
    >>> len(np.unique(u.groups)), sorted(np.unique(u.y).tolist())
    (5, [0, 1])
    """
    if not 0.0 < positive < 1.0:
        raise ValueError(f"positive must be a share between 0 and 1, got {positive!r}")
    if n_features < 4:
        raise ValueError(f"n_features must be at least 4, got {n_features!r}")
    rng = check_random_state(random_state)
    sizes = np.maximum(2, np.round(n_rows * np.exp(0.6 * rng.normal(size=n_users)))).astype(int)
    log_odds = np.log(positive / (1.0 - positive)) + skew * rng.normal(size=n_users)
    share = 1.0 / (1.0 + np.exp(-log_odds))
    groups = np.repeat(np.arange(n_users), sizes)
    y = (rng.uniform(size=len(groups)) < share[groups]).astype(np.intp)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    y[first], y[first + 1] = 1, 0
    centre = shift * rng.normal(size=(n_users, n_features))
    X = rng.normal(size=(len(groups), n_features)) + centre[groups]
    side = rng.randint(2, size=len(groups))  # of the two kinds of positives
    X[:, :2] += signal * (y * side)[:, None] * np.sqrt(1.5)
    X[:, 2:4] += signal * (y * (1 - side))[:, None] * np.sqrt(1.5)
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    return GroupedData(X[order], y[order], groups[order], y[order])


def load_protein() -> GroupedData:
    """KDD Cup 2004 protein homology: rows, 0/1 labels and the block (query) of each row.

    145,751 rows of 74 features in 153 blocks, 1,296 of them positive.
    """
    parts = []
    for number in (1, 2, 3):
        with np.load(data_folder("kddcup2004_protein", f"bio_train_part{number}.npz")) as stored:
            n_features = len(stored["cols_int16"]) + len(stored["cols_int32"])
            X = np.empty((len(stored["y"]), n_features), np.float32)
            for kind in ("int16", "int32"):
                X[:, stored[f"cols_{kind}"]] = stored[f"x100_{kind}"] / 100.0
            parts.append((X, stored["y"].astype(np.intp), stored["block"].astype(np.intp)))
    X, y, block = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return GroupedData(X, y, block, y)


def load_spam_inboxes(task: str = "b") -> GroupedData:
    """ECML/PKDD 2006 spam: word counts of e-mails, 1 for spam, and whose inbox each is in.

    Task ``"a"``: 3 inboxes of 2,500; ``"b"``: 15 inboxes of 400 (the 100 labelled mails of no
    inbox are left out). Half of every inbox is spam.
    """
    if task not in ("a", "b"):
        raise ValueError(f"task must be 'a' or 'b', got {task!r}")
    with np.load(data_folder("ecml_pkdd2006_spam", f"task_{task}.npz")) as stored:
        counts = (stored["data"].astype(float), stored["indices"].astype("int32"), stored["indptr"])
        X = csr_matrix(counts, shape=tuple(stored["shape"]))
        y, user = stored["is_spam"].astype(np.intp), stored["user"].astype(np.intp)
    inbox = user >= 0
    return GroupedData(X[inbox], y[inbox], user[inbox], y[inbox])

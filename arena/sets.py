"""The data sets of each room, in the order in which they are run: small ones first.

Each has a rule that makes its groups, written here; random draws have seed 0. Nothing is chosen by
looking at a score.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from arena.problem import Problem
from groupwise.datasets import (
    GroupedData,
    data_folder,
    load_mil,
    load_uci,
    load_wisdm,
    make_aggregates,
    make_sessions,
    make_shifted_domains,
    make_users,
)
from groupwise.datasets.aggregates import load_adult, load_bank, load_ionosphere
from groupwise.datasets.transfer import (
    NEWSGROUP_TASKS,
    REUTERS_TASKS,
    load_mushroom_task,
    load_newsgroups_task,
    load_reuters,
    load_reuters_task,
)
from groupwise.datasets.users import load_protein, load_spam_inboxes

__all__ = ["ROOMS", "SETS", "Set", "get_set"]

ROOMS = ("presence", "proportions", "majority", "measure", "transfer")
N_WORDS = 300


@dataclass(frozen=True)
class Set:
    """A data set of a room.

    Attributes
    ----------
    room, name : str
    load : callable
        Makes the :class:`~arena.problem.Problem`; ``FileNotFoundError`` where the data are absent.
    about : str
        How its rows and groups come about.
    """

    room: str
    name: str
    load: Callable[[], Problem]
    about: str


def _codes(values: Any) -> NDArray[np.intp]:
    return np.unique(np.asarray(values), return_inverse=True)[1]


def _of_groups(data: GroupedData) -> Problem:
    y = _codes(data.y)
    whole = None if data.keep_whole is None else _codes(data.keep_whole)
    return Problem(np.asarray(data.X, float), y, _codes(data.groups), y, whole)


def _some(X: Any, y: Any, n_rows: int) -> tuple[Any, Any]:
    """At most so many rows, drawn at random."""
    if len(y) <= n_rows:
        return X, y
    chosen = np.sort(np.random.RandomState(0).choice(len(y), n_rows, replace=False))
    return (X.iloc[chosen] if isinstance(X, pd.DataFrame) else X[chosen]), y[chosen]


def _numbers(table: pd.DataFrame) -> NDArray[Any]:
    """Numbers as they are, one column per category."""
    return pd.get_dummies(table).to_numpy(float)


def _common(counts: Any, n_words: int) -> NDArray[Any]:
    """The columns with the largest sums, dense; labels play no part."""
    total = np.asarray(counts.sum(axis=0)).ravel()
    return np.asarray(counts[:, np.sort(np.argsort(-total, kind="stable")[:n_words])].todense())


# --- rows with labels of their own ----------------------------------------------------------------


def _rows(name: str) -> tuple[Any, NDArray[np.intp]]:
    """Labelled rows that groups are made of."""
    if name == "ionosphere":
        radar = load_ionosphere()
        return radar.X, _codes(radar.y)
    if name in ("spam", "cmc", "german"):
        uci = load_uci(name)
        return uci.X, uci.y
    if name == "cmc3":
        table = pd.read_csv(data_folder("uci", "cmc.csv.gz"))
        label = table.pop("contraceptive_method")
        return table.to_numpy(float), _codes(label)
    if name == "mushroom":
        mushroom = load_mushroom_task()
        return mushroom.X, mushroom.y
    if name in ("adult", "bank"):
        people = load_adult() if name == "adult" else load_bank()
        X, y = _some(people.X, people.y, 1500)
        return _numbers(X), y
    X, y = _PACKAGED[name](return_X_y=True)
    return X, y % 2 if name == "digits" else y


_PACKAGED = {
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}


def _mil(name: str) -> Problem:
    data = load_mil(name)
    if name == "web_recommendation_1":
        data = GroupedData(_common(data.X, N_WORDS), data.y, data.groups)
    return _of_groups(data)


def _counted(name: str, size: int) -> Problem:
    """Random groups of which the counts are told."""
    X, y = _some(*_rows(name), 1000)
    made = make_aggregates(X, y, size=size, random_state=0)
    return Problem(made.X, made.y.to_numpy(), made.groups, _codes(made.y_row))


def _counted_by(name: str, columns: tuple[str, ...]) -> Problem:
    """Groups that are there: rows that are alike in some columns, which are no features."""
    people = load_adult() if name == "adult" else load_bank()
    table, y = _some(people.X, people.y, 1500)
    groups = _codes(table[list(columns)].astype(str).agg(" ".join, axis=1))
    counts = np.zeros((groups.max() + 1, 2), int)
    np.add.at(counts, (groups, y), 1)
    return Problem(_numbers(table.drop(columns=list(columns))), counts[groups], groups, y)


def _sessions(name: str) -> Problem:
    X, y = _some(*_rows(name), 1500)
    return _of_groups(make_sessions(X, y, random_state=0))


def _windows() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Windows of four seconds of recordings at the wrist: features, activity, who, recording."""
    with np.load(data_folder("sessions", "hmp_wrist_accelerometer.npz")) as file:
        xyz, session = file["xyz"].astype(float), file["session"]
        activity, volunteer = file["activity"], file["volunteer"]
    features, owner = [], []
    for recording, rows in enumerate(np.split(xyz, np.flatnonzero(np.diff(session)) + 1)):
        for window in np.array_split(rows, max(1, len(rows) // 128)):
            spread = window.std(axis=0)
            steps = np.abs(np.diff(window, axis=0)).mean(axis=0)
            ends = (window.min(axis=0), window.max(axis=0))
            features.append(np.concatenate([window.mean(axis=0), spread, *ends, steps]))
            owner.append(recording)
    return np.array(features), activity[owner], volunteer[owner], np.array(owner)


def _hmp() -> Problem:
    """Recordings of 14 activities; volunteers stay whole."""
    windows, activity, volunteer, groups = _windows()
    return Problem(windows, _codes(activity), groups, _codes(activity), _codes(volunteer))


# --- rows with labels, judged per group -----------------------------------------------------------


def _users(n_users: int, n_rows: int, seed: int) -> Problem:
    return _of_groups(make_users(n_users, n_rows=n_rows, random_state=seed))


def _inboxes() -> Problem:
    data = load_spam_inboxes("b")
    return _of_groups(GroupedData(_common(data.X, 100), data.y, data.groups))


def _protein(first: int) -> Problem:
    """Thirty blocks: their positives and 150 of their negatives."""
    data = load_protein()
    rng = np.random.RandomState(0)
    chosen = []
    for block in np.unique(data.groups)[first : first + 30]:
        rows = np.flatnonzero(data.groups == block)
        negative = rows[data.y[rows] == 0]
        kept = rng.choice(negative, min(150, len(negative)), replace=False)
        chosen.append(np.sort(np.concatenate([rows[data.y[rows] == 1], kept])))
    return _of_groups(data.take(np.concatenate(chosen)))


def _walking() -> Problem:
    data = load_wisdm()
    assert data.keep_whole is not None
    y = (np.asarray(data.y) == "Walking").astype(np.intp)
    return Problem(data.X.to_numpy(float), y, _codes(data.keep_whole), y)


def _incomes() -> Problem:
    people = load_adult()
    table, y = _some(people.X, people.y, 3000)
    return _people(table, y, ("occupation", "gender"), ("occupation",))


def _incomes_by_schooling() -> Problem:
    """Every sixteenth person, grouped otherwise."""
    people = load_adult()
    left_out = ("education", "educational_num")
    return _people(people.X[::16], people.y[::16], ("education", "workclass"), left_out)


def _subscribers() -> Problem:
    people = load_bank()
    table, y = _some(people.X, people.y, 3000)
    return _people(table, y, ("job", "education"), ("job",))


def _credit() -> Problem:
    table = pd.read_csv(data_folder("uci", "german.csv.gz"))
    bad = (table.pop("credit_risk") == 2).to_numpy(int)
    return _people(table, bad, ("employment", "housing"), ("employment",))


def _contraception() -> Problem:
    table = pd.read_csv(data_folder("uci", "cmc.csv.gz"))
    none = (table.pop("contraceptive_method") == 1).to_numpy(int)
    return _people(table, none, ("wife_education", "standard_of_living"), ("wife_education",))


def _people(
    table: pd.DataFrame, y: Any, columns: tuple[str, ...], left_out: tuple[str, ...]
) -> Problem:
    """Groups of 20 and more who are alike in some columns, not all of which are features."""
    groups = _codes(table[list(columns)].astype(str).agg(" ".join, axis=1))
    large = np.bincount(groups)[groups] >= 20
    X = _numbers(table.drop(columns=list(left_out)))
    return Problem(X[large], y[large], _codes(groups[large]), y[large])


def _stairs() -> Problem:
    windows, activity, volunteer, _ = _windows()
    y = (activity == "climb_stairs").astype(np.intp)
    return Problem(windows, y, _codes(volunteer), y)


def _newswire() -> Problem:
    counts, table = load_reuters()
    rows = np.sort(np.random.RandomState(0).choice(len(table), 3000, replace=False))
    day = _codes(table["date"].str.split().str[0].to_numpy(str)[rows])
    y = np.array(["acq" in topics.split() for topics in table["topics"].iloc[rows]], np.intp)
    large = np.bincount(day)[day] >= 20
    return Problem(_common(counts[rows], 100)[large], y[large], _codes(day[large]), y[large])


# --- domains --------------------------------------------------------------------------------------


def _transfer(X: Any, y: Any, is_target: Any, n_rows: int = 2000) -> Problem:
    """At most so many rows of either domain."""
    rng = np.random.RandomState(0)
    kept = []
    for domain in (False, True):
        rows = np.flatnonzero(np.asarray(is_target) == domain)
        kept.append(np.sort(rng.permutation(rows)[:n_rows]))
    chosen = np.concatenate(kept)
    y, domains = np.asarray(y)[chosen], np.asarray(is_target)[chosen].astype(np.intp)
    return Problem(X[chosen], y, np.arange(len(chosen)), y, domains=domains)


def _words(load: Callable[[str], Any], name: str) -> Problem:
    data = load(name)
    return _transfer(_common(data.X, N_WORDS), data.y, data.domains == "target")


def _mushroom() -> Problem:
    data = load_mushroom_task()
    return _transfer(data.X, data.y, data.domains == "target")


def _shifted(angle: float) -> Problem:
    data = make_shifted_domains(1000, 1000, angle=angle, random_state=0)
    return _transfer(data.X, data.y, data.domains == "target")


def _inbox() -> Problem:
    data = load_spam_inboxes("b")
    return _transfer(_common(data.X, N_WORDS), data.y, data.groups == 0)


# --- the table ------------------------------------------------------------------------------------

_MIL = {
    "mutagenesis2": "molecules; atoms, bonds", "musk1": "molecules; shapes",
    "web_recommendation_1": "index pages; linked pages, the 300 commonest words",
    "tiger": "images; segments", "fox": "images; segments", "elephant": "images; segments",
    "newsgroups2": "newsgroups; posts", "newsgroups1": "newsgroups; posts",
    "newsgroups3": "newsgroups; posts", "corel_african": "images; segments",
    "corel_dogs": "images; segments", "musk2": "molecules; shapes",
    "mutagenesis1": "molecules; atoms, bonds", "birds_winter_wren": "recordings; sounds",
}  # fmt: skip
_COUNTED = {
    "iris": 5, "wine": 5, "ionosphere": 10, "breast cancer": 10, "german": 10, "cmc": 10,
    "mushroom": 20, "spam": 20, "digits": 10, "cmc3": 10,
}  # fmt: skip


def _all_sets() -> list[Set]:
    sets = [Set("presence", name, partial(_mil, name), about) for name, about in _MIL.items()]
    for name, size in _COUNTED.items():
        rule = f"up to 1,000 rows in random groups of {size}"
        sets.append(Set("proportions", name, partial(_counted, name, size), rule))
    for name, columns in {"adult": ("occupation", "gender"), "bank": ("job", "education")}.items():
        rule = f"1,500 rows in groups by {' and '.join(columns)}"
        load = partial(_counted_by, name, columns)
        sets.append(Set("proportions", f"{name} by {columns[0]}", load, rule))
    sessions = "sessions of ten with one to five rows of another class, up to 1,500 rows"
    of_rows = [
        Set("majority", name, partial(_sessions, name), sessions)
        for name in ("ionosphere", "german", "cmc", "breast cancer", "spam", "digits", "adult")
    ]
    sets += [
        *of_rows[:2],
        Set("majority", "wisdm", lambda: _of_groups(load_wisdm()), "sessions; users stay whole"),
        Set("majority", "hmp", _hmp, "recordings in windows of 4 s; volunteers stay whole"),
        *of_rows[2:],
        Set("measure", "users", partial(_users, 60, 40, 0), "made: users with habits; F1"),
        Set("measure", "protein", partial(_protein, 0), "30 blocks, 150 negatives of each; F1"),
        Set("measure", "inboxes", _inboxes, "15 inboxes, the 100 commonest words; F1"),
        Set("measure", "incomes", _incomes, "3,000 people by occupation and gender; F1"),
        Set("measure", "walking", _walking, "36 users, walking or not; F1"),
        Set("measure", "credit", _credit, "1,000 people by employment and housing; F1"),
        Set("measure", "contraception", _contraception, "couples by schooling and living; F1"),
        Set("measure", "small users", partial(_users, 150, 12, 1), "made: a dozen rows each; F1"),
        Set("measure", "subscribers", _subscribers, "3,000 people by job and education; F1"),
        Set("measure", "schooling", _incomes_by_schooling, "incomes by education and work; F1"),
        Set("measure", "protein 2", partial(_protein, 30), "the next 30 blocks; F1"),
        Set("measure", "newswire", _newswire, "documents by day, acquisitions or not; F1"),
        Set("measure", "stairs", _stairs, "16 volunteers, climbing stairs or not; F1"),
        Set("transfer", "turned by 40", partial(_shifted, 40.0), "made: planes 40 degrees apart"),
        Set("transfer", "turned by 120", partial(_shifted, 120.0), "made: 120 degrees apart"),
        Set("transfer", "mushroom", _mushroom, "tapering stalks, then enlarging ones"),
    ]
    words = f"the {N_WORDS} columns with most tf-idf weight, up to 2,000 documents per domain"
    for load_words, names in (
        (load_reuters_task, REUTERS_TASKS),
        (load_newsgroups_task, NEWSGROUP_TASKS),
    ):
        for name in names:
            sets.append(Set("transfer", name, partial(_words, load_words, name), words))
    about = f"other inboxes, then this one; the {N_WORDS} commonest words"
    return [*sets, Set("transfer", "inbox", _inbox, about)]


SETS = _all_sets()


def get_set(room: str, name: str) -> Set:
    """A set by its name.

    Raises
    ------
    ValueError
        If the room has no such set.
    """
    of_room = {each.name: each for each in SETS if each.room == room}
    if name not in of_room:
        raise ValueError(f"{room} has no set {name!r}; it has {', '.join(of_room)}")
    return of_room[name]

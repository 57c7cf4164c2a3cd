"""The outer folds, the same for all methods, kept in a file beside a mark of the data.

Each set is a string with one character per unit (groups, or what is kept whole, in the order of
their codes; in transfer the target's rows in their order): the fold in which the unit is tested.
In transfer, letters mark the few target rows that are labelled in a fold (``a`` in fold 0, ...).
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from arena.problem import Problem, Split

__all__ = ["N_FOLDS", "N_LABELLED", "FoldFile", "fingerprint", "make_folds", "splits_of"]

N_FOLDS = 3
#: Target rows with labels in each fold of transfer.
N_LABELLED = 50
SEED = 0


def fingerprint(problem: Problem) -> str:
    """A mark of the values of a problem, told from others by any change of six decimals.

    Logarithms differ between processors by the last bit, and tf-idf weights with them.
    """
    mark = hashlib.sha256()
    for part in (problem.X, problem.y, problem.groups, problem.truth):
        rounded = np.round(np.asarray(part, float), 6) + 0.0  # no negative zeros
        mark.update(np.ascontiguousarray(rounded).tobytes())
    return mark.hexdigest()[:16]


def make_folds(problem: Problem, n_folds: int = N_FOLDS) -> str:
    """The folds of a problem as a string; transfer has three."""
    if problem.domains is not None:
        return _labelled_and_tested(problem.truth[problem.domains == 1])
    units = problem.groups if problem.keep_whole is None else problem.keep_whole
    _, first, codes = np.unique(units, return_index=True, return_inverse=True)
    n_units = len(first)
    alike = bool((problem.truth == problem.truth[first][codes]).all())
    splitter: Any = StratifiedKFold if alike else KFold
    chosen = splitter(n_folds, shuffle=True, random_state=SEED)
    fold = np.empty(n_units, int)
    for number, (_, test) in enumerate(chosen.split(np.zeros(n_units), problem.truth[first])):
        fold[test] = number
    return "".join(map(str, fold))


def _labelled_and_tested(y: NDArray[Any]) -> str:
    """Disjoint draws of labelled rows with both classes in proportion, and thirds of the rest."""
    rng = np.random.RandomState(SEED)
    marks = np.full(len(y), " ")
    by_class = [rng.permutation(np.flatnonzero(y == label)) for label in (0, 1)]
    n_positive = round(N_LABELLED * float(np.mean(y)))
    for number in range(N_FOLDS):
        for rows, size in zip(by_class, (N_LABELLED - n_positive, n_positive), strict=True):
            marks[rows[number * size : (number + 1) * size]] = chr(ord("a") + number)
    rest = rng.permutation(np.flatnonzero(marks == " "))
    marks[rest] = (np.arange(len(rest)) % N_FOLDS).astype(str)
    return "".join(marks)


def splits_of(problem: Problem, folds: str) -> list[Split]:
    """Row positions of each fold."""
    marks = np.array(list(folds))
    if problem.domains is None:
        units = problem.groups if problem.keep_whole is None else problem.keep_whole
        fold = marks[np.unique(units, return_inverse=True)[1]]
        return [
            Split(np.flatnonzero(fold != str(k)), np.flatnonzero(fold == str(k)))
            for k in range(int(max(folds)) + 1)
        ]
    target, source = (np.flatnonzero(problem.domains == domain) for domain in (1, 0))
    return [
        Split(np.concatenate([source, target[marks == chr(ord("a") + k)]]), target[marks == str(k)])
        for k in range(N_FOLDS)
    ]


class FoldFile:
    """Folds of all sets that were ever run, as JSON.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        self.path = path
        self.known: dict[str, dict[str, str]] = (
            json.loads(path.read_text()) if path.exists() else {}
        )

    def splits(self, key: str, problem: Problem, n_folds: int = N_FOLDS) -> list[Split]:
        """The stored folds of a set; those of a new one are made and stored.

        Raises
        ------
        ValueError
            If the data are not those the folds were made for.
        """
        mark = fingerprint(problem)
        if key not in self.known:
            self.known[key] = {"data": mark, "folds": make_folds(problem, n_folds)}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known, indent=1) + "\n")
        stored = self.known[key]
        if stored["data"] != mark:
            raise ValueError(
                f"{self.path} holds folds of {key} for data {stored['data']}, these are {mark}"
            )
        return splits_of(problem, stored["folds"])

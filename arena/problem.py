"""What a set holds, and what a method is given of it."""

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Problem", "Split", "pack", "task_of"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set as the arena sees it: numbers and codes.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        May hold missing values.
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
        What a learner may see of training rows: class codes, or the group's counts on each row.
    groups : ndarray of shape (n_rows,)
        Codes; in transfer every row is a group.
    truth : ndarray of shape (n_rows,)
        Class codes that answers are judged by, of rows or (repeated) of groups.
    keep_whole : ndarray of shape (n_rows,) or None
        Coarser codes that no fold divides.
    domains : ndarray of shape (n_rows,) or None
        In transfer: 1 for the target's rows, 0 for others.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    groups: NDArray[Any]
    truth: NDArray[Any]
    keep_whole: NDArray[Any] | None = None
    domains: NDArray[Any] | None = None

    @property
    def n_classes(self) -> int:
        """Classes, numbered from zero."""
        return int(self.truth.max()) + 1


@dataclass(frozen=True)
class Split:
    """Row positions of one outer fold."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]


def task_of(problem: Problem, split: Split, room: str, seed: int) -> dict[str, Any]:
    """All that a method gets: training rows with labels, test rows without.

    Features are standardised by the training rows, the same for every method; missing values
    become the training mean.
    """
    train, test = split.train, split.test
    centre = np.nanmean(problem.X[train], axis=0)
    spread = np.nanstd(problem.X[train], axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def scaled(rows: NDArray[np.intp]) -> NDArray[Any]:
        return np.nan_to_num((problem.X[rows] - centre) / spread, copy=False)

    task = {
        "about": {"room": room, "seed": seed, "n_classes": problem.n_classes},
        "X": scaled(train),
        "y": problem.y[train],
        "groups": problem.groups[train],
        "X_asked": scaled(test),
        "groups_asked": problem.groups[test],
    }
    if problem.keep_whole is not None:
        task["keep_whole"] = problem.keep_whole[train]
    if problem.domains is not None:
        task["domains"] = problem.domains[train]
    return task


def pack(task: dict[str, Any]) -> bytes:
    """A task as the file that the method's process reads."""
    file = io.BytesIO()
    about = json.dumps(task["about"])
    np.savez(file, **{**task, "about": np.array(about)})
    return file.getvalue()

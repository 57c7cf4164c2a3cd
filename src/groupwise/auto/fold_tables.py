"""The rows of each fold; where columns need what is learned from rows, it is learned there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from groupwise._typing import MatrixLike, Rows
from groupwise.auto.kinds import Problem, Split
from groupwise.files import atomic_write
from groupwise.inputs.rows import CategoryColumns

__all__ = ["FoldTables", "fold_tables"]

_ROWS = "rows"
_NO_ROWS = np.empty((0, 0))


@dataclass(frozen=True)
class FoldTables:
    """Training and held-out rows of each fold, prepared once for all candidates and processes.

    Attributes
    ----------
    problem : Problem
        Its ``X`` is mapped from a file, which all processes share.
    splits : sequence of (train, test)
    folder : Path
        Where that file and prepared rows are kept.
    """

    problem: Problem
    splits: Sequence[Split]
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return _mapped, (replace(self.problem, X=_NO_ROWS), self.splits, self.folder)

    def path(self, fold: int) -> Path:
        """Where the prepared rows of a fold are, once they are made."""
        return self.folder / f"rows-{fold}"

    def missing(self, folds: Sequence[int]) -> list[int]:
        """Those of the folds whose rows are still to be prepared."""
        if self.problem.unprepared is None:
            return []
        return [fold for fold in folds if not self.path(fold).exists()]

    def make(self, fold: int) -> None:
        """Learn the preparation from the training rows of a fold, and keep what it makes."""
        assert self.problem.unprepared is not None
        made = _as_numbers(*self.problem.unprepared.fold(*self.splits[fold]))
        with atomic_write(self.path(fold)) as part:
            joblib.dump(made, part)

    def problems(self, fold: int) -> tuple[Problem, Problem]:
        """Training and held-out rows."""
        train, test = self.splits[fold]
        if self.problem.unprepared is None:
            return self.problem.take(train), self.problem.take(test)
        for number in self.missing([fold]):
            self.make(number)
        X_train, X_test, categories = joblib.load(self.path(fold))
        held_out = self.problem.take_as(test, X_test, categories)
        return self.problem.take_as(train, X_train, categories), held_out


@contextmanager
def fold_tables(problem: Problem, splits: Sequence[Split]) -> Iterator[FoldTables]:
    """The rows of the folds, for as long as the block runs."""
    with TemporaryDirectory(prefix="groupwise-auto-") as folder:
        joblib.dump(problem.X, Path(folder) / _ROWS)
        problem = replace(problem, X=_NO_ROWS)  # not in memory any more
        yield _mapped(problem, list(splits), Path(folder))


def _mapped(problem: Problem, splits: Sequence[Split], folder: Path) -> FoldTables:
    X = _plain(joblib.load(folder / _ROWS, mmap_mode="r"))
    return FoldTables(replace(problem, X=X), splits, folder)


def _plain(X: Any) -> Rows:
    """Mapped rows as arrays like any others, which a model may hold and save."""
    if not issparse(X):
        return np.asarray(X)
    parts = (np.asarray(part) for part in (X.data, X.indices, X.indptr))
    return type(X)(tuple(parts), shape=X.shape)


def _as_numbers(train: MatrixLike, test: MatrixLike) -> tuple[Rows, Rows, tuple[int, ...]]:
    """Numbers, and the columns that hold codes of the categories that training rows have."""
    known = CategoryColumns.of(train, as_codes=True)
    tables: list[Any] = [train, test]
    if known is not None:
        tables = [known.to_numbers(table) for table in tables]
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    X_train, X_test = (check_array(t, ensure_all_finite="allow-nan", **options) for t in tables)
    return X_train, X_test, () if known is None else known.positions

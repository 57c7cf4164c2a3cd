"""The rows of each fold; where columns need what is learned from rows, it is learned there."""

import ctypes
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.utils import check_array

from groupwise._typing import MatrixLike, Rows
from groupwise.auto.problem import Problem, Split
from groupwise.files import atomic_write, locked
from groupwise.inputs.rows import CategoryColumns
from groupwise.preparation import Prepared, fit_preparation, needs_preparation, prepare

__all__ = ["FoldTables", "ReadyRows", "fold_tables"]

_ROWS, _SPLITS = "rows", "splits"
_LARGE = 2**24  # bytes
_NO_ROWS = np.empty((0, 0))


@dataclass(frozen=True)
class ReadyRows:
    """Rows as some estimators take them.

    Attributes
    ----------
    parts : tuple of Problem
        Training and held-out rows of a fold, or all rows.
    X : tuple of {array, sparse matrix, DataFrame}
        Their features as the estimators take them.
    preparation : ColumnTransformer or None
        What made them so.
    """

    parts: tuple[Problem, ...]
    X: tuple[Prepared, ...]
    preparation: ColumnTransformer | None


@dataclass(frozen=True)
class FoldTables:
    """Training and held-out rows of each fold, prepared once for all candidates and processes.

    They lie in files that all processes map: what several have in hand is in memory once.

    Attributes
    ----------
    problem : Problem
        Its ``X`` is mapped as well.
    splits : sequence of (train, test)
        Mapped, too.
    folder : Path
        Where the files are.
    """

    problem: Problem
    splits: Sequence[Split]
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return _mapped, (replace(self.problem, X=_NO_ROWS), self.folder)

    def with_splits(self, splits: Sequence[Split]) -> "FoldTables":
        """The same rows, in these folds."""
        joblib.dump(list(splits), self.folder / _SPLITS)
        return replace(self, splits=_load_splits(self.folder))

    def path(self, fold: int) -> Path:
        """Where the rows of a fold are, once they are made."""
        return self.folder / f"{_ROWS}-{fold}"

    def missing(self, folds: Sequence[int]) -> list[int]:
        """Those of the folds that a preparation is still to be learned for."""
        if self.problem.unprepared is None:
            return []
        return [fold for fold in folds if not self.path(fold).exists()]

    def make(self, fold: int) -> None:
        """Have the rows of a fold in their file; what is to be learned, its training rows tell."""
        path = self.path(fold)
        _keep(path, partial(self._rows, fold), path.with_name(f"{path.name}.lock"))

    def _rows(self, fold: int) -> tuple[Rows, Rows, tuple[int, ...]]:
        train, test = self.splits[fold]
        if self.problem.unprepared is not None:
            return _as_numbers(*self.problem.unprepared.fold(train, test))
        X = _load(self.folder / _ROWS)  # mapped anew: when it goes, so do the pages that were read
        return X[train], X[test], self.problem.categories

    def give_back(self) -> None:
        """Let the system have what was freed, which glibc keeps for the process otherwise.

        Of small tables it is little, and getting it again takes time.
        """
        if sys.platform == "linux" and (self.folder / _ROWS).stat().st_size > _LARGE:
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other libraries have none
            if trim is not None:
                trim(0)

    def problems(self, fold: int | None) -> tuple[Problem, ...]:
        """Training and held-out rows of a fold; ``None``: all rows."""
        if fold is None:
            return (self.problem,)
        self.make(fold)
        *tables, categories = _load(self.path(fold))
        parts = zip(self.splits[fold], tables, strict=True)
        return tuple(self.problem.take_as(rows, X, categories) for rows, X in parts)

    def ready(self, fold: int | None, estimator: BaseEstimator) -> ReadyRows:
        """The same as an estimator takes them."""
        parts = self.problems(fold)
        if not needs_preparation(parts[0].X, estimator):
            tables = tuple(prepare(part.X, part.categories, None) for part in parts)
            return ReadyRows(parts, tables, None)
        path = self._path_prepared(fold)
        # one fold at a time: it takes copies of the table
        _keep(path, partial(_prepared, parts, estimator), self.folder / "prepared.lock")
        preparation, *tables = _load(path)
        parts = tuple(replace(part, X=X) for part, X in zip(parts, tables, strict=True))
        return ReadyRows(parts, tuple(tables), preparation)

    def _path_prepared(self, fold: int | None) -> Path:
        return self.folder / f"prepared-{fold}"

    def keep_only(self, folds: Collection[int | Path | None]) -> None:
        """Remove what is quickly made again of all folds but these, which someone has in hand."""
        for fold in set(range(len(self.splits))) - set(folds):
            paths = [self._path_prepared(fold)]
            if self.problem.unprepared is None:
                paths.append(self.path(fold))
            for path in paths:
                with suppress(PermissionError):  # Windows, as long as a process maps it
                    path.unlink(missing_ok=True)


@contextmanager
def fold_tables(problem: Problem, splits: Sequence[Split] = ()) -> Iterator[FoldTables]:
    """The rows of the folds, for as long as the block runs."""
    with TemporaryDirectory(prefix="groupwise-auto-") as folder:
        joblib.dump(problem.X, Path(folder) / _ROWS)
        joblib.dump(list(splits), Path(folder) / _SPLITS)
        problem = replace(problem, X=_NO_ROWS)  # not in memory any more
        del splits
        yield _mapped(problem, Path(folder))


def _mapped(problem: Problem, folder: Path) -> FoldTables:
    X = _load(folder / _ROWS)
    return FoldTables(replace(problem, X=X), _load_splits(folder), folder)


def _load_splits(folder: Path) -> list[Split]:
    return [(_plain(train), _plain(test)) for train, test in _load(folder / _SPLITS)]


def _keep(path: Path, make: Callable[[], Any], lock: Path) -> None:
    """Have a file made, unless another process has made it meanwhile."""
    with locked(lock):
        if not path.exists():
            with atomic_write(path, sync=False) as part:
                joblib.dump(make(), part)


def _load(path: Path) -> Any:
    """What was kept, mapped, as arrays like any others, which a model may hold and save."""
    kept = joblib.load(path, mmap_mode="r")
    return tuple(map(_plain, kept)) if isinstance(kept, tuple) else _plain(kept)


def _plain(kept: Any) -> Any:
    if isinstance(kept, np.memmap):
        return np.asarray(kept)
    if not issparse(kept):
        return kept
    parts = (np.asarray(part) for part in (kept.data, kept.indices, kept.indptr))
    return type(kept)(tuple(parts), shape=kept.shape)


def _prepared(parts: Sequence[Problem], estimator: BaseEstimator) -> tuple[Any, ...]:
    """What is learned from the first part, and what it makes of each."""
    train, *others = parts
    preparation, X = fit_preparation(train.X, train.numbers, train.categories, estimator)
    return preparation, X, *(prepare(part.X, part.categories, preparation) for part in others)


def _as_numbers(train: MatrixLike, test: MatrixLike) -> tuple[Rows, Rows, tuple[int, ...]]:
    """Numbers, and the columns that hold codes of the categories that training rows have."""
    known = CategoryColumns.of(train, as_codes=True)
    tables: list[Any] = [train, test]
    if known is not None:
        tables = [known.to_numbers(table) for table in tables]
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    X_train, X_test = (check_array(t, ensure_all_finite="allow-nan", **options) for t in tables)
    return X_train, X_test, () if known is None else known.positions

"""Rows on their way to the device: arrays, memory-mapped arrays, folders of embeddings."""

import hashlib
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError

__all__ = [
    "ROWS_AT_ONCE",
    "FolderRows",
    "blocks",
    "fingerprint",
    "is_raw",
    "moments",
    "raw_rows",
    "read_folder",
    "row_shape",
]

#: Rows that networks are given together, about.
ROWS_AT_ONCE = 20_000
_BLOCK = 65_536  # rows that are looked at together
_HASHED = 1 << 26  # bytes that are hashed together


class FolderRows:
    """Rows in files, one group per file; they are read when a batch needs them.

    Made by :func:`read_folder`.

    Attributes
    ----------
    files : list of Path
    shape : tuple of int
        (n_rows, ...), as of an array.
    dtype : dtype
    """

    def __init__(self, files: list[Path]):
        self.files = files
        self.columns = None if files[0].suffix == ".npy" else _number_columns(files[0])
        shapes = [_file_shape(path) for path in files]
        for path, (shape, _) in zip(files, shapes, strict=True):
            if shape[1:] != shapes[0][0][1:]:
                raise GroupDataError(
                    f"{path.name} holds rows of shape {shape[1:]}, {files[0].name} of "
                    f"{shapes[0][0][1:]}"
                )
            if self.columns is not None and set(_number_columns(path)) != set(self.columns):
                raise GroupDataError(
                    f"{path.name} has other columns than {files[0].name}: "
                    f"{sorted(set(_number_columns(path)) ^ set(self.columns))}"
                )
            if shape[0] == 0:
                raise GroupDataError(f"{path.name} holds no rows")
        self.sizes = np.array([shape[0] for shape, _ in shapes])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.shape = (int(self.sizes.sum()), *shapes[0][0][1:])
        self.dtype = shapes[0][1]
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"FolderRows({len(self.files)} files, shape={self.shape})"

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Rows by slice or positions."""
        places = np.arange(len(self))[rows]
        out = np.empty((len(places), *self.shape[1:]), self.dtype)
        file_of = np.searchsorted(self.starts, places, side="right") - 1
        for at in np.unique(file_of):
            mine = file_of == at
            out[mine] = _read_file(self.files[at], self.columns)[places[mine] - self.starts[at]]
        return out


def read_folder(folder: str | Path) -> tuple[FolderRows, NDArray[Any]]:
    """Embeddings of a folder with one file per group, without reading them into memory.

    Parameters
    ----------
    folder : str or Path
        Holds files ``<group>.npy`` (rows first, any shape) or ``<group>.parquet`` (a table of
        numbers; columns are told by their names, an index of pandas is none), of one kind.

    Returns
    -------
    X : FolderRows
        To be given to ``fit`` and ``predict`` as ``X``.
    groups : ndarray of shape (n_rows,)
        The files' names without their ending.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from groupwise.nets import read_folder
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, n_rows in (("slide_a", 3), ("slide_b", 2)):
    ...     np.save(folder / f"{name}.npy", np.zeros((n_rows, 4), np.float16))
    >>> X, groups = read_folder(folder)
    >>> X.shape, groups.tolist()
    ((5, 4), ['slide_a', 'slide_a', 'slide_a', 'slide_b', 'slide_b'])
    """
    folder = Path(folder)
    files = sorted(path for path in folder.iterdir() if path.suffix in (".npy", ".parquet"))
    kinds = {path.suffix for path in files}
    if len(kinds) != 1:
        raise GroupDataError(
            f"{folder} must hold files <group>.npy or <group>.parquet, of one kind; it holds "
            f"{sorted(kinds) or 'none'}"
        )
    rows = FolderRows(files)
    return rows, np.repeat([path.stem for path in files], rows.sizes)


def _file_shape(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if path.suffix == ".npy":
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return array.shape, array.dtype
    import pyarrow.parquet as pq  # not needed for .npy

    n_rows = pq.read_metadata(path).num_rows
    return (n_rows, len(_number_columns(path))), np.dtype(np.float32)


def _number_columns(path: Path) -> list[str]:
    """Columns of a Parquet file by name, without those that pandas keeps its index in."""
    import pyarrow.parquet as pq  # not needed for .npy
    from pyarrow import types

    schema = pq.read_schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    fields = [field for field in schema if field.name not in index]
    for field in fields:
        kind = field.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise GroupDataError(
                f"{path.name} must hold a table of numbers; column {field.name!r} holds {kind}"
            )
    return [field.name for field in fields]


def _read_file(path: Path, columns: list[str] | None) -> NDArray[Any]:
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    import pyarrow.parquet as pq  # not needed for .npy

    table = pq.read_table(path, columns=columns)
    return np.column_stack([table[name].to_numpy().astype(np.float32) for name in columns or ()])


def is_raw(X: Any) -> bool:
    """Whether rows are taken as they are: images, memory-mapped arrays, folders of embeddings."""
    return isinstance(X, FolderRows | np.memmap) or (isinstance(X, np.ndarray) and X.ndim > 2)


def raw_rows(X: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Refuse rows that hold no numbers, or have another shape than those of training."""
    if X.ndim < 2 or len(X) == 0:
        raise GroupDataError(f"X must hold rows first, at least one; got the shape {X.shape}")
    if np.dtype(X.dtype).kind not in "fiub":
        raise GroupDataError(f"X must hold numbers; got {X.dtype}")
    if shape is not None and tuple(X.shape[1:]) != shape:
        raise GroupDataError(f"X has rows of shape {X.shape[1:]}; fit saw rows of shape {shape}")
    return X


def blocks(sizes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Positions of whole groups of these sizes in order, about ``ROWS_AT_ONCE`` rows at a time."""
    place = np.cumsum(sizes) // ROWS_AT_ONCE
    return np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(place)) + 1)


def row_shape(X: Any) -> tuple[int, ...]:
    """Of one row."""
    return tuple(int(size) for size in X.shape[1:])


def fingerprint(X: Any) -> str:
    """A hash of all rows, read a part at a time: rows may be larger than the memory.

    Examples
    --------
    >>> fingerprint(np.zeros((2, 3))) == fingerprint(np.zeros((2, 3))[:, ::-1])
    True
    >>> fingerprint(np.zeros((2, 3))) == fingerprint(np.zeros((3, 2)))
    False
    """
    kind = np.dtype(X.dtype)
    digest = hashlib.sha256(f"{kind.str} {tuple(X.shape)}".encode())
    step = max(1, _HASHED // (kind.itemsize * math.prod(row_shape(X))))
    for start in range(0, len(X), step):
        digest.update(np.ascontiguousarray(X[start : start + step]).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Moments:
    """Of each feature: mean, standard deviation (1 where it is constant), share of zeros."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    zeros: NDArray[np.float64]
    n_rows: int

    def rare(self, share: float) -> NDArray[np.bool_]:
        """Features that are zero in so many rows, as counts of words are."""
        return self.zeros >= share

    def as_if_seen_once(self, share: float) -> "Moments":
        r"""Features that no row has, in the units of the rarest one that some row has.

        A word of one row in n has the mean :math:`v / n` and a deviation of about :math:`v /
        \sqrt n`. A word that no training row has is taken for such a one: where it turns up it is
        as far out as any rare word, and all other rows have a little less than nothing of it,
        which is what its weights learn from. Features that no row has are left alone where no
        other one is rare.
        """
        unseen = self.zeros == 1.0
        seen = self.rare(share) & ~unseen
        if not (unseen.any() and seen.any()):
            return self
        least = self.deviation[seen].min()
        mean = np.where(unseen, least / np.sqrt(self.n_rows), self.mean)
        return replace(self, mean=mean, deviation=np.where(unseen, least, self.deviation))


def moments(X: Any, chosen: NDArray[np.bool_] | None = None, more: Any = None) -> Moments:
    """Mean, standard deviation and share of zeros of each feature, in one reading.

    ``chosen`` says which rows of ``X`` count; all are looked at. ``more`` are further rows.

    Raises
    ------
    GroupDataError
        If a number is missing or infinite; the message names the row.
    """
    n_seen, mean, square, zeros = 0, *(np.zeros(X.shape[1:]) for _ in range(3))
    parts = itertools.chain(_finite(X, chosen), () if more is None else _finite(more))
    for part in parts:
        if len(part) == 0:
            continue
        total = n_seen + len(part)
        step = part.mean(axis=0) - mean
        square += ((part - part.mean(axis=0)) ** 2).sum(axis=0)
        square += step**2 * n_seen * len(part) / total
        mean += step * len(part) / total
        zeros += (part == 0).sum(axis=0)
        n_seen = total
    deviation = np.sqrt(square / n_seen)
    return Moments(mean, np.where(deviation > 0, deviation, 1.0), zeros / n_seen, n_seen)


def _finite(X: Any, chosen: NDArray[np.bool_] | None = None) -> Iterator[NDArray[np.float64]]:
    """Blocks of rows, those that are chosen; all are checked."""
    for start in range(0, len(X), _BLOCK):
        part = np.asarray(X[start : start + _BLOCK], dtype=np.float64)
        lost = ~np.isfinite(part.reshape(len(part), -1)).all(axis=1)
        if lost.any():
            raise GroupDataError(
                f"X must be finite; row {start + int(np.argmax(lost))} holds a missing or "
                "infinite number"
            )
        yield part if chosen is None else part[chosen[start : start + _BLOCK]]

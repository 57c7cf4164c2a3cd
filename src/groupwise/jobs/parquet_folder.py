"""A folder of Parquet parts in pieces that are read when they are needed."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from groupwise.tables import TableError

__all__ = ["ParquetFolder", "Piece"]

_ROWS = 1_000_000  # of a piece; a part with more is read in several


@dataclass(frozen=True)
class Piece:
    """Some row groups of one part."""

    path: str
    row_groups: tuple[int, ...]

    def read(self, columns: list[str] | None = None) -> pd.DataFrame:
        """These rows, or some of their columns."""
        with pq.ParquetFile(self.path) as file:
            table = file.read_row_groups(list(self.row_groups), columns=columns)
        for position, field in enumerate(table.schema):
            if pa.types.is_decimal(field.type):
                numbers = table[field.name].cast(pa.float64())
                table = table.set_column(position, field.name, numbers)
        return table.to_pandas(ignore_metadata=True)


@dataclass(frozen=True)
class ParquetFolder:
    """Parquet parts that every worker can read.

    Attributes
    ----------
    name : str
    pieces : list of Piece
    n_rows : int
    fingerprint : str
        Of the parts' names, sizes and times of change: their contents are not read for it.
    """

    name: str
    pieces: list[Piece]
    n_rows: int
    fingerprint: str

    @classmethod
    def open(cls, source: str) -> "ParquetFolder":
        """Look at the parts, at what they say of themselves only.

        Raises
        ------
        TableError
            If this is no folder of Parquet parts, or no file of that kind.
        """
        path = Path(source)
        parts = [path] if path.is_file() else sorted(path.rglob("*"))
        parts = [part for part in parts if part.suffix.lower() in (".parquet", ".pq")]
        if not parts:
            raise TableError(f"{source}: a cluster needs a folder of Parquet parts (*.parquet)")
        pieces, n_rows, digest = [], 0, hashlib.sha256()
        for part in parts:
            try:
                metadata = pq.read_metadata(part)
            except (pa.ArrowException, OSError) as error:
                raise TableError(f"{part}: {error}") from error
            sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
            pieces += [Piece(str(part.absolute()), some) for some in _bundles(sizes)]
            n_rows += metadata.num_rows
            state = part.stat()
            line = f"{part.relative_to(path)} {state.st_size} {state.st_mtime_ns}\n"
            digest.update(line.encode())
        if not n_rows:
            raise TableError(f"{source}: there are no rows")
        return cls(source, pieces, n_rows, f"parts:{digest.hexdigest()}")

    def sample(self) -> pd.DataFrame:
        """The rows of the first piece that has any, which show what the columns hold."""
        return next(frame for frame in (piece.read() for piece in self.pieces) if len(frame))


def _bundles(sizes: list[int]) -> list[tuple[int, ...]]:
    """Neighbouring row groups, up to a million rows together."""
    bundles: list[list[int]] = []
    room = 0
    for position, size in enumerate(sizes):
        if not bundles or size > room:
            bundles.append([])
            room = _ROWS
        bundles[-1].append(position)
        room -= size
    return [tuple(bundle) for bundle in bundles]

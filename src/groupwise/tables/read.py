"""From a file, a folder, standard input or a query to a table."""

import hashlib
import io
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa

from groupwise.tables.errors import TableError
from groupwise.tables.formats import (
    compression_of,
    detect_format,
    headerless_hint,
    is_database,
    is_database_file,
    without_password,
)
from groupwise.tables.sql import run_query

__all__ = ["LoadedTable", "TableLike", "as_table", "as_text", "frame_fingerprint", "read_table"]

_SAVE_AS = "; save it as UTF-8 (in Excel 'CSV UTF-8')"

#: A file, a DataFrame of pandas, polars or any library that speaks Arrow, or a table as read.
TableLike = Any


@dataclass(frozen=True)
class LoadedTable:
    """A table in memory, and where it came from.

    Attributes
    ----------
    frame : DataFrame
    name : str
        For messages and reports; without any password.
    fingerprint : str
        SHA-256 of what was read: of the file's bytes, or of a query's answer.
    notes : tuple of str
        What a person should know about how it was read.
    of_groups : tuple of str
        Columns that came from a table of groups.
    """

    frame: pd.DataFrame
    name: str
    fingerprint: str
    notes: tuple[str, ...] = ()
    of_groups: tuple[str, ...] = ()


def read_table(
    source: str | Path, *, sql: str | None = None, text: Sequence[str] = (), header: bool = True
) -> LoadedTable:
    """Read a table from a file, or by a query from a database.

    Parameters
    ----------
    source : str or Path
        A CSV, TSV, Parquet, Feather/Arrow or JSON lines file, compressed (gzip, bz2, zstd, lz4) or
        not; a folder of Parquet parts; ``"-"`` for standard input; with ``sql``, a DuckDB or SQLite
        file or a ``postgresql://`` address.
    sql : str, default=None
        A query; it cannot change the database.
    text : sequence of str, default=()
        Columns that a CSV file shall give as text as it stands there (ids such as ``"007"``).
    header : bool, default=True
        Whether the first line of a CSV file, or of a sheet, names the columns; otherwise they are
        called ``c1``, ``c2``, ...

    Returns
    -------
    table : LoadedTable

    Raises
    ------
    TableError
        If there is no table to be had; the message names the source.
    """
    name = without_password(as_text(str(source)))
    if sql is None and (
        is_database_file(source) if Path(source).is_file() else is_database(str(source))
    ):
        raise TableError(f"{name} is a database: say which rows with --sql")
    digest = hashlib.sha256()
    answer = None if sql is None else run_query(str(source), sql)
    try:
        if answer is not None:
            frame = _as_frame([answer])
            shown = f"{name}: {without_password(sql or '')}"
            return LoadedTable(frame, shown, frame_fingerprint(frame))
        frame = _as_frame([_read_part(part, text, digest, header) for part in _parts(source)])
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise TableError(f"{name}: {_reason(error)}") from error
    return LoadedTable(frame, name, digest.hexdigest())


def as_table(
    given: TableLike,
    *,
    name: str = "the table",
    sql: str | None = None,
    text: Sequence[str] = (),
    header: bool = True,
) -> LoadedTable:
    """A table from whatever holds one.

    Parameters
    ----------
    given : str, Path, DataFrame or LoadedTable
        A DataFrame may be of pandas, polars or any library that speaks Arrow; anything else is read
        by :func:`read_table`.
    name : str, default="the table"
        Of a DataFrame, for messages.
    sql, text, header
        As for :func:`read_table`.

    Examples
    --------
    >>> as_table(pd.DataFrame({"x": [1, 2]})).frame.shape
    (2, 1)
    """
    if isinstance(given, LoadedTable):
        return given
    if isinstance(given, str | Path):
        return read_table(given, sql=sql, text=text, header=header)
    if isinstance(given, pd.DataFrame):
        frame = given.reset_index(drop=True)
        frame.columns = [str(column) for column in frame.columns]
    elif hasattr(given, "__arrow_c_stream__"):
        frame = pa.table(given).to_pandas()
    else:
        raise TableError(
            f"{name} must be a file or a DataFrame of pandas or polars, got {type(given).__name__}"
        )
    if not len(frame):
        raise TableError(f"{name}: there are no rows")
    if not frame.columns.is_unique:
        twice = sorted(set(frame.columns[frame.columns.duplicated()]))
        raise TableError(
            f"{name}: there is more than one column called {', '.join(map(repr, twice))}"
        )
    return LoadedTable(frame, name, frame_fingerprint(frame))


def as_text(argument: str) -> str:
    r"""An argument of the command line as UTF-8, whatever the locale took its bytes for.

    Examples
    --------
    >>> as_text("\udcc3\udca9t\udcc3\udca9.csv")
    'été.csv'
    """
    escaped = any("\ud800" <= character <= "\udfff" for character in argument)
    return os.fsencode(argument).decode("utf-8", "replace") if escaped else argument


def _parts(source: str | Path) -> list[Path | None]:
    if str(source) == "-":
        return [None]
    path = Path(source)
    if not path.exists():
        raise TableError("there is no such file")
    if not path.is_dir():
        return [path]
    parts: list[Path | None] = [
        p for p in sorted(path.rglob("*")) if p.suffix.lower() in (".parquet", ".pq")
    ]
    if not parts:
        raise TableError("the folder holds no Parquet parts (*.parquet)")
    return parts


def _read_part(path: Path | None, text: Sequence[str], digest: Any, header: bool) -> pa.Table:
    with _opened(path) as raw:
        hashed = _Hashed(raw, digest)
        head = hashed.peek()
        if not head:
            raise TableError("is empty")
        compression = compression_of(head)
        stream: Any = hashed
        if compression is not None:
            stream = pa.CompressedInputStream(pa.PythonFile(hashed, mode="r"), compression)
            stream = io.BufferedReader(_Raw(stream), 1 << 20)
            head = stream.peek(8)[:8]
        table = detect_format(path, head).read(stream, text, header)
        hashed.drain()
        return table


def _opened(path: Path | None) -> BinaryIO:
    if path is None:
        if sys.stdin is None:
            raise TableError("standard input is closed")
        return io.BufferedReader(_Raw(sys.stdin.buffer), 1 << 20)
    return path.open("rb")


class _Raw(io.RawIOBase):
    """Any object with ``read`` as a raw stream, which the standard library can buffer."""

    def __init__(self, source: Any):
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Hashed:
    """A stream that hashes what is read of it."""

    def __init__(self, stream: BinaryIO, digest: Any):
        self._stream, self._digest = stream, digest
        self.closed = False

    def peek(self) -> bytes:
        return self._stream.peek(8)[:8]  # type: ignore[attr-defined]  # always a buffered one

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._digest.update(data)
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True

    def drain(self) -> None:
        """Hash what a reader had no need of."""
        while self.read(1 << 20):
            pass


def _as_frame(tables: list[pa.Table]) -> pd.DataFrame:
    """One table of the parts, with what pandas wrote beside the columns left out."""
    for position, part in enumerate(tables):
        _check_names(part.column_names)
        part.validate(full=True)  # an altered Arrow file could make its reader read anywhere
        tables[position] = part.replace_schema_metadata(None)
    table = pa.concat_tables(tables, promote_options="default") if tables[1:] else tables.pop()
    if table.num_rows == 0:
        raise TableError("there are no rows")
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise TableError(f"column {field.name!r} holds text that is not UTF-8{_SAVE_AS}")
        if pa.types.is_decimal(field.type):
            position = table.schema.get_field_index(field.name)
            table = table.set_column(position, field.name, table[field.name].cast(pa.float64()))
    # frees each column of the Arrow table as soon as pandas has it
    return table.to_pandas(split_blocks=True, self_destruct=True, ignore_metadata=True)


def _check_names(columns: list[str]) -> None:
    if not columns:
        raise TableError("there are no columns")
    twice = sorted(column for column, n in Counter(columns).items() if n > 1)
    if twice:
        raise TableError(
            f"there is more than one column called {_listed(twice)}{headerless_hint(columns)}"
        )


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def frame_fingerprint(frame: pd.DataFrame) -> str:
    """SHA-256 of a table's names and values."""
    digest = hashlib.sha256("\0".join(frame.columns).encode())
    for column in frame.columns:
        values = frame[column]
        hashable = values if values.map(pd.api.types.is_hashable).all() else values.map(repr)
        digest.update(np.ascontiguousarray(pd.util.hash_array(hashable.to_numpy())).tobytes())
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    """One line of a reader's message, with its own file names left out."""
    if isinstance(error, UnicodeDecodeError):
        return f"there are names or texts that are not UTF-8{_SAVE_AS}"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0] if isinstance(error, TableError | OSError) else f"cannot be read: {lines[0]}"

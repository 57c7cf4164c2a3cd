"""Tables out, whole or not at all."""

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from groupwise.files import atomic_write
from groupwise.tables.errors import TableError
from groupwise.tables.formats import is_database, without_password

__all__ = ["check_writable", "may_be_replaced", "spreadsheet_safe", "write_table"]

# Texts that a spreadsheet takes for a formula, with any apostrophes that stand before already (so
# that one apostrophe off is the way back); a text that is a plain number is none.
_FORMULA = r"^'*[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
_NUMBER = r"^[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?$"


def spreadsheet_safe(table: pa.Table) -> pa.Table:
    r"""The table with an apostrophe before every text that a spreadsheet would run as a formula.

    The way back takes one apostrophe off:
    ``column.str.replace(r"^'(?='*[=+\-@\t\r\n])", "", regex=True)``.

    Examples
    --------
    >>> table = pa.table({"user": ["ann", "=1+1", "-7", "'@x"]})
    >>> spreadsheet_safe(table)["user"].to_pylist()
    ['ann', "'=1+1", '-7', "''@x"]
    """
    for position, name in enumerate(table.column_names):
        column = table.column(position)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            safe = _safe_texts(column)
            if safe is not column:
                table = table.set_column(position, name, safe)
    names = pa.array(table.column_names, pa.string())
    return table.rename_columns(_safe_texts(names).to_pylist())


def _safe_texts(texts: Any) -> Any:
    runs = pc.and_(
        pc.match_substring_regex(texts, _FORMULA),
        pc.invert(pc.match_substring_regex(texts, _NUMBER)),
    )
    if not pc.any(runs).as_py():
        return texts
    marked = pc.binary_join_element_wise(
        pa.scalar("'", texts.type), texts, pa.scalar("", texts.type)
    )
    return pc.if_else(pc.fill_null(runs, False), marked, texts)


def _json_lines(table: pa.Table, sink: BinaryIO) -> None:
    table.to_pandas().to_json(
        sink, orient="records", lines=True, compression=None, date_format="iso"
    )


def _comma_separated(table: pa.Table, sink: BinaryIO) -> None:
    pyarrow.csv.write_csv(spreadsheet_safe(table), sink)


def _tab_separated(table: pa.Table, sink: BinaryIO) -> None:
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(spreadsheet_safe(table), sink, options)


def _sqlite(table: pa.Table, path: Path) -> None:
    """A new database with one table; the values are bound, and the names quoted."""
    connection = sqlite3.connect(path)
    try:
        names = ", ".join(_quoted(name) for name in table.column_names)
        marks = ", ".join("?" * table.num_columns)
        connection.execute(f"create table {_PREDICTIONS} ({names})")
        plain = [_plain_values(column) for column in table.columns]
        connection.executemany(
            f"insert into {_PREDICTIONS} values ({marks})", zip(*plain, strict=True)
        )
        connection.commit()
    finally:
        connection.close()


def _plain_values(column: Any) -> list[Any]:
    """What SQLite has types for: dates become text."""
    values = column.to_pylist()
    return [v if isinstance(v, int | float | str | None) else str(v) for v in values]


def _duckdb(table: pa.Table, path: Path) -> None:
    try:
        import duckdb
    except ImportError as error:
        raise TableError(
            f"{path}: DuckDB is not installed (pip install 'groupwise[sql]')"
        ) from error
    path.unlink(missing_ok=True)  # an empty file is no database to it
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute(f"create table {_PREDICTIONS} as select * from given")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# What stands behind an answer.
_BESIDE = ("p_", "share", "set", "low", "high", "weight", "why")
# The one table of a database that is written.
_PREDICTIONS = "predictions"
_DATABASES: dict[str, Callable[[pa.Table, Path], None]] = {
    ".sqlite": _sqlite,
    ".duckdb": _duckdb,
}
_WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    ".csv": _comma_separated,
    ".tsv": _tab_separated,
    ".parquet": pyarrow.parquet.write_table,
    ".feather": pyarrow.feather.write_feather,
    ".arrow": pyarrow.feather.write_feather,
    ".jsonl": _json_lines,
}


def check_writable(path: str | Path) -> Path:
    """Refuse a table's name before any work is done for it."""
    path = Path(path)
    address = re.sub(r"^(\w+):/+", r"\1://", str(path))  # a Path has made one slash of two
    suffix = path.suffix.lower()
    if is_database(address) or suffix not in _WRITERS | _DATABASES:
        kinds = ", ".join(_WRITERS | _DATABASES)
        raise TableError(
            f"{without_password(address)}: a table can be written as a file: {kinds}, not as "
            f"{suffix!r}"
        )
    return path


def may_be_replaced(path: Path) -> bool:
    """Whether a file holds answers of ours, by its columns; a database may hold more than these."""
    suffix = path.suffix.lower()
    return suffix not in _DATABASES and _are_answers(list(_columns_of(path, suffix)))


def _are_answers(columns: list[str]) -> bool:
    """Whether they are what commands write, and not a table with one column of such a name."""
    if {"given", "suggested", "issue"} <= set(columns):
        return True  # of doubts
    for name in ("predicted", "risk"):
        if name not in columns:
            continue
        at = columns.index(name)
        before, behind = columns[:at], columns[at + 1 :]
        known = all(other.startswith(_BESIDE) for other in behind)
        of_classes = bool(behind) and behind[0].startswith("p_")
        return known and (of_classes or len(before) <= 1 or before[-1] == "rows")
    behind = columns[columns.index("rows") + 1 :] if "rows" in columns else []
    return bool(behind) and all(other.startswith(("share_", "low_", "high_")) for other in behind)


def _columns_of(path: Path, suffix: str) -> Sequence[str]:
    """The columns of a table; none of what cannot be read as one."""
    try:
        if suffix == ".parquet":
            return pyarrow.parquet.read_schema(path).names
        if suffix in (".feather", ".arrow"):
            with pa.ipc.open_file(path) as file:
                return file.schema.names
        with path.open(encoding="utf-8") as lines:
            first = lines.readline(1 << 20)
        if suffix == ".jsonl":
            found = json.loads(first)
            return list(found) if isinstance(found, dict) else []
        return next(csv.reader([first], delimiter="\t" if suffix == ".tsv" else ","), [])
    except (OSError, ValueError, csv.Error, pa.ArrowException):
        return []


def write_table(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table in the format its name ends with: csv, tsv, parquet, feather, arrow, jsonl.

    In csv and tsv, texts that a spreadsheet would run get an apostrophe (:func:`spreadsheet_safe`);
    the other formats hold them as they are. A name that ends with sqlite or duckdb gives a new
    database with the table ``predictions``; an existing one is replaced, not added to.
    """
    path = check_writable(path)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix.lower() in _DATABASES:
        with atomic_write(path) as part:
            _DATABASES[path.suffix.lower()](table, part)
        return path
    # a stream, as Arrow takes a path for UTF-8 and not every locale gives one
    with atomic_write(path) as part, part.open("wb") as sink:
        _WRITERS[path.suffix.lower()](table, sink)
    return path

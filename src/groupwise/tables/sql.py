"""The answer to a query against DuckDB, SQLite or PostgreSQL, as an Arrow table."""

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from groupwise.tables.errors import TableError
from groupwise.tables.formats import is_database_url, without_password

__all__ = ["run_query"]


def run_query(source: str, sql: str) -> pa.Table:
    """Run a query that reads; the connection does not allow it to write.

    Parameters
    ----------
    source : str
        ``postgresql://...``, an SQLite file, a DuckDB file, or ``:memory:`` for a DuckDB without a
        file, whose queries may read Parquet and CSV files.
    sql : str

    Raises
    ------
    TableError
        If the driver is not installed, the database cannot be opened or the query is wrong.
    """
    name = without_password(source)
    if is_database_url(source):
        return _postgresql(source, name, sql)
    if source != ":memory:" and not Path(source).is_file():
        raise TableError(f"{name}: there is no such database file")
    if source != ":memory:" and _is_sqlite(source):
        return _sqlite(source, sql)
    return _duckdb(source, sql)


def _is_sqlite(source: str) -> bool:
    with Path(source).open("rb") as stream:
        return stream.read(15) == b"SQLite format 3"


def _sqlite(source: str, sql: str) -> pa.Table:
    try:
        connection = sqlite3.connect(f"{Path(source).resolve().as_uri()}?mode=ro", uri=True)
        try:
            return _fetched(connection.execute(sql), source)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TableError(f"{source}: {error}") from error


def _duckdb(source: str, sql: str) -> pa.Table:
    try:
        import duckdb
    except ImportError as error:
        raise TableError(
            f"{source}: DuckDB is not installed (pip install 'groupwise[sql]')"
        ) from error
    try:
        with duckdb.connect(source, read_only=source != ":memory:") as connection:
            answer = connection.sql(sql)
            if answer is None:
                raise TableError(f"{source}: the query gives no rows and columns back")
            return answer.to_arrow_table()
    except duckdb.Error as error:
        raise TableError(f"{source}: {_first_line(error)}") from error


def _postgresql(source: str, name: str, sql: str) -> pa.Table:
    try:
        import psycopg
    except ImportError as error:
        raise TableError(
            f"{name}: psycopg is not installed (pip install 'groupwise[sql]')"
        ) from error
    try:
        with psycopg.connect(source, connect_timeout=10) as connection:
            connection.read_only = True
            return _fetched(connection.execute(sql.encode()), name)
    except psycopg.Error as error:
        raise TableError(f"{name}: {_first_line(error)}") from error


def _fetched(cursor: Any, name: str) -> pa.Table:
    """All rows of a DB-API cursor, column by column."""
    if cursor.description is None:
        raise TableError(f"{name}: the query gives no rows and columns back")
    columns = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = []
    for column, cells in zip(columns, values, strict=True):
        plain = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
        try:
            arrays.append(pa.array(plain))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TableError(f"{name}: column {column!r} mixes types ({error})") from error
    return pa.Table.from_arrays(arrays, names=columns)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]

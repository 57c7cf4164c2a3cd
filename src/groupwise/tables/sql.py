"""The answer to a query against DuckDB, SQLite or PostgreSQL, as an Arrow table."""

import json
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from groupwise.tables.errors import TableError
from groupwise.tables.formats import check_address, is_database, passwords_in, without_password

__all__ = ["run_query"]

_ONE_SELECT = "a query must be one SELECT (or WITH ... SELECT, VALUES)"

# What a statement may do in SQLite: read columns, call functions, recurse. Not: attach, pragma, ...
_SQLITE_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION,
                   sqlite3.SQLITE_RECURSIVE}  # fmt: skip
_SQLITE_FUNCTIONS_REFUSED = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}

# Nothing is fetched or installed, and a query cannot change that.
_DUCKDB_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_DUCKDB_LOCKS = ("set python_enable_replacements = false", "set lock_configuration = true")

_DUCKDB_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE"}
_DUCKDB_TABLE_FUNCTIONS = {
    "generate_series", "glob", "parquet_scan", "range", "read_csv", "read_csv_auto", "read_json",
    "read_json_auto", "read_ndjson", "read_ndjson_auto", "read_parquet", "read_text", "repeat",
    "unnest",
}  # fmt: skip


def run_query(source: str, sql: str) -> pa.Table:
    """Run one SELECT; neither the statement nor the connection can write.

    Parameters
    ----------
    source : str
        ``postgresql://...`` or ``host=... dbname=...``, an SQLite file, a DuckDB file, or
        ``:memory:`` for a DuckDB without a file, whose queries may read local Parquet, CSV and JSON
        files. Queries of a database file see that file only.
    sql : str

    Raises
    ------
    TableError
        If the driver is not installed, the database cannot be opened, or the query is wrong or
        anything but one SELECT.
    """
    if source == ":memory:":
        return _duckdb(source, sql)
    if Path(source).is_file():
        return _sqlite(source, sql) if _is_sqlite(source) else _duckdb(source, sql)
    if is_database(source):
        return _postgresql(source, sql)
    raise TableError(f"{without_password(source)}: there is no such database file")


def _is_sqlite(source: str) -> bool:
    with Path(source).open("rb") as stream:
        return stream.read(15) == b"SQLite format 3"


def _sqlite(source: str, sql: str) -> pa.Table:
    try:
        connection = sqlite3.connect(f"{Path(source).resolve().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("pragma trusted_schema = off")
            connection.execute("pragma query_only = on")
            connection.set_authorizer(_may)
            return _fetched(connection.execute(sql), source)
        finally:
            connection.close()
    except (sqlite3.Error, sqlite3.Warning) as error:  # several statements are a Warning
        reason = str(error)
        if "not authorized" in reason or "one statement" in reason:
            reason = f"{_ONE_SELECT}; {reason}"
        raise TableError(f"{source}: {reason}") from error


def _may(action: int, _first: str | None, function: str | None, *_: str | None) -> int:
    """SQLite asks this of everything a statement would do."""
    if action not in _SQLITE_ALLOWED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (function or "").lower() in _SQLITE_FUNCTIONS_REFUSED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _duckdb(source: str, sql: str) -> pa.Table:
    try:
        import duckdb
    except ImportError as error:
        raise TableError(
            f"{source}: DuckDB is not installed (pip install 'groupwise[sql]')"
        ) from error
    in_memory = source == ":memory:"
    config = _DUCKDB_CONFIG | ({} if in_memory else {"enable_external_access": "false"})
    try:
        with duckdb.connect(source, read_only=not in_memory, config=config) as connection:
            for lock in _DUCKDB_LOCKS:
                connection.execute(lock)
            kinds = [statement.type.name for statement in connection.extract_statements(sql)]
            if kinds != ["SELECT"]:
                raise TableError(f"{source}: {_ONE_SELECT}, got {', '.join(kinds) or 'nothing'}")
            (tree,) = connection.execute("select json_serialize_sql(?)", [sql]).fetchall()[0]
            _check_select(json.loads(tree), source)
            return connection.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise TableError(f"{source}: {_first_line(error)}") from error


def _check_select(tree: Any, source: str) -> None:
    """Refuse what DuckDB hides in a SELECT: a COPY as a common table expression, say.

    The grammar grows with every version, so what is known to read is listed, not what writes.
    """
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
            kind, function = str(part.get("type")), part.get("function")
            if kind.endswith("_NODE") and kind not in _DUCKDB_NODES:
                raise TableError(f"{source}: {_ONE_SELECT}, got a {kind.split('_')[0]} in it")
            name = function.get("function_name") if isinstance(function, dict) else None
            if kind == "TABLE_FUNCTION" and name not in _DUCKDB_TABLE_FUNCTIONS:
                raise TableError(f"{source}: rows cannot be taken from the function {name}")


def _postgresql(source: str, sql: str) -> pa.Table:
    name = without_password(source)
    try:
        import psycopg
    except ImportError as error:
        raise TableError(
            f"{name}: psycopg is not installed (pip install 'groupwise[sql]')"
        ) from error
    address = check_address(source)
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            connection.read_only = True
            # DECLARE ... CURSOR FOR takes a SELECT or VALUES only, without writing parts, and one
            # statement: it is sent as a prepared one is
            with connection.cursor(name="groupwise") as cursor:
                cursor.itersize = 50_000
                cursor.execute(sql.encode())
                answer = _fetched(cursor, name)
            connection.rollback()  # older servers let large objects be made in any transaction
            return answer
    except psycopg.Error as error:
        reason = _hidden(_first_line(error), source)
        if isinstance(error, psycopg.errors.SyntaxError | psycopg.errors.FeatureNotSupported):
            reason = f"{reason} ({_ONE_SELECT})"
        raise TableError(f"{name}: {reason}") from error


def _hidden(message: str, source: str) -> str:
    """A driver's message without any part of the address that is a password."""
    for secret in passwords_in(source):
        if len(secret) > 2:
            message = message.replace(secret, "***")
    return without_password(message)


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

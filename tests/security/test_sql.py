"""A query is one SELECT: it cannot write, attach, install or leave its database."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import duckdb
import psycopg
import pytest

from groupwise.tables import TableError, read_table


def files(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    with contextlib.chdir(folder):
        make_databases()
    return folder


@pytest.fixture
def databases(made_once, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def make_databases():
    for name in ("a.duckdb", "other.duckdb"):
        with duckdb.connect(name) as connection:
            connection.execute("create table t as select 1 as a, 'x' as b")
            connection.execute("create sequence s")
    with duckdb.connect() as connection:
        connection.execute("copy (select 42 as n) to 'p.parquet'")
    for name in ("a.sqlite", "other.sqlite"):
        connection = sqlite3.connect(name)
        connection.execute("create table t as select 1 as a, 'x' as b")
        connection.commit()
        connection.close()


GOOD = ["select * from t", "SELECT a, b FROM t;", "with q as (select * from t) select * from q",
        "values (1, 2)", "-- words\nselect a from t /* more */", "select ';' as a from t",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) "
        "select i from n"]  # fmt: skip

WRITES = ["delete from t", "drop table t", "insert into t values (2, 'y')", "update t set a = 3",
          "create table u (a int)", "create table u as select 1 as a", "vacuum", "begin",
          "select 1; delete from t", "select 1 as a; select 2 as a", "delete from t; select 1 as a",
          "attach 'other.duckdb' as o", "attach 'new.sqlite' as o", "", ";", "nonsense",
          "attach 'other.duckdb' as o; delete from o.t; select 1 as a",
          "attach 'other.sqlite' as o; delete from o.t; select 1 as a",
          "with d as (delete from t returning *) select * from d",
          "select nextval('s')", "pragma journal_mode = delete",
          "pragma user_version = 7", "detach database main", "alter table t add column c int",
          "replace into t values (1, 'z')", "create temp table u (a int)", "reindex",
          "select load_extension('x')", "select writefile('w.txt', 'x')"]  # fmt: skip

DUCKDB = ["copy (select 42) to 'w.csv'", "copy t to 'w.csv'; select 1 a, 2 b",
          "export database 'e'",
          "copy (select 42) to 'w.csv'; select 1 a, 2 b", "install httpfs", "load httpfs",
          "attach 'other.duckdb' as o (read_write); insert into o.t values (9, 'q')",
          "set enable_external_access = true", "set lock_configuration = false", "checkpoint",
          "set threads = 1; select 1", "create secret s (type s3)", "call pragma_version()",
          "prepare v as select 1", "execute v", "create macro m() as 1", "use other",
          "select * from enable_logging(storage := 'file', storage_path := 'logs')",
          "with x as (copy (select 1) to 'w.csv') select * from x",
          "select * from checkpoint()", "with x as (insert into t values (1, 'y')) select 1",
          "select * from query('with x as (copy (select 1) to ''w.csv'') select * from x')",
          "with x as (attach 'other.duckdb') select 1",
          "select * from query('copy (select 1) to ''w.csv''')",
          "select * from query('delete from t')",
          "select * from 'https://example.com/x.parquet'",
          "import database 'e'", "comment on table t is 'x'"]  # fmt: skip


@pytest.mark.parametrize("source", ["a.duckdb", "a.sqlite"])
@pytest.mark.parametrize("sql", GOOD)
def test_one_select_is_read(databases, source, sql):
    before = files(databases)
    assert len(read_table(source, sql=sql).frame) >= 1
    assert files(databases) == before


@pytest.mark.parametrize("source", ["a.duckdb", "a.sqlite", ":memory:"])
@pytest.mark.parametrize("sql", WRITES + DUCKDB)
def test_nothing_else_is(databases, source, sql):
    before = files(databases)
    with pytest.raises(TableError) as error:
        read_table(source, sql=sql)
    assert source in str(error.value)
    assert files(databases) == before


def test_files_are_read_in_memory_only(databases):
    assert read_table(":memory:", sql="select n from 'p.parquet'").frame["n"].tolist() == [42]
    for sql in ("select * from 'p.parquet'", "select * from read_text('/etc/hostname')"):
        with pytest.raises(TableError, match=r"disabled (by|through) configuration"):
            read_table("a.duckdb", sql=sql)
    here = [1, 2]  # a variable of Python is no table
    with pytest.raises(TableError, match="does not exist"):
        read_table(":memory:", sql="select * from here")
    assert here


POSTGRES = [*WRITES, "copy t to '{folder}/w.csv'", "copy t to program 'touch {folder}/w'",
            "commit; delete from t; select 1", "rollback; delete from t; select 1 as a",
            "select 1; commit; delete from t", "set transaction read write",
            "set default_transaction_read_only = off; delete from t",
            "select set_config('transaction_read_only', 'off', false); delete from t",
            "do $$ begin delete from t; end $$", "select * into u from t", "lock table t",
            "with i as (insert into t values (3, 'q') returning *) select * from i",
            "select set_config('transaction_read_only', 'off', false), wipe()", "select wipe()",
            "select 1 as a for update", "declare c cursor for select 1", "listen x",
            "close groupwise; delete from t", "prepare p as delete from t", "call wipe_it()",
            "create function f() returns int language sql as 'select 1'",
            "grant all on t to public", "truncate t"]  # fmt: skip


def test_postgresql_reads_one_select(postgres):
    address = postgres.replace(":secret", "")
    with psycopg.connect(address) as connection:
        connection.execute("drop table if exists t")
        connection.execute("drop sequence if exists s")
        connection.execute("create table t as select 1 as a, 'x'::text as b")
        connection.execute("create sequence s")
        connection.execute("create or replace function wipe() returns int language plpgsql as "
                           "$$ begin delete from t; return 1; end $$")  # fmt: skip
        connection.execute("create or replace procedure wipe_it() language plpgsql as "
                           "$$ begin delete from t; end $$")  # fmt: skip
    for sql in GOOD:
        assert len(read_table(postgres, sql=sql).frame) >= 1
    folder = Path(address.partition("host=")[2])  # the server may write there
    for sql in (sql.replace("{folder}", str(folder)) for sql in POSTGRES):
        if sql == "select 1 as a for update":  # no rows of a table to lock: harmless
            continue
        with pytest.raises(TableError) as error:
            pytest.fail(f"{sql} gave {read_table(postgres, sql=sql).frame}")
        assert "secret" not in str(error.value), sql
    assert folder.exists() and not list(folder.glob("w*"))
    try:
        read_table(postgres, sql="select lo_create(77) as n")  # servers before 16 allow it
    except TableError as error:
        assert "read-only" in str(error)
    with psycopg.connect(address) as connection:
        assert connection.execute("select count(*) from pg_largeobject_metadata").fetchone() == (0,)
        assert connection.execute("select a, b from t").fetchall() == [(1, "x")]
        assert connection.execute("select last_value, is_called from s").fetchone() == (1, False)
        tables = connection.execute("select tablename from pg_tables where schemaname = 'public'")
        assert ("u",) not in tables.fetchall()

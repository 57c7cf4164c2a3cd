import bz2
import datetime
import gzip
import io
import sqlite3
import sys
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.feather
import pytest

from groupwise.tables import TableError, formats, read_table, write_table


def same(found, people):
    assert list(found.columns) == list(people.columns)
    assert found["visit"].tolist() == people["visit"].tolist()
    np.testing.assert_allclose(found["height"], people["height"])
    assert found["steps"].tolist() == people["steps"].tolist()
    assert found["colour"].isna().tolist() == people["colour"].isna().tolist()
    assert found["colour"].dropna().tolist() == people["colour"].dropna().tolist()


def write(people, folder, kind):
    path = folder / f"people.{kind}"
    text = people.to_csv(index=False).encode()
    if kind == "csv":
        path.write_bytes(text)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(text))
    elif kind == "tsv.bz2":
        path.write_bytes(bz2.compress(people.to_csv(index=False, sep="\t").encode()))
    elif kind in ("csv.zst", "csv.lz4"):
        codec = {"zst": "zstd", "lz4": "lz4"}[kind[-3:]]
        with pa.CompressedOutputStream(str(path), codec) as stream:
            stream.write(text)
    elif kind == "semicolon.csv":
        path.write_bytes(people.to_csv(index=False, sep=";").encode())
    elif kind == "utf16.csv":
        path.write_bytes(people.to_csv(index=False, sep="\t").encode("utf-16"))
    elif kind == "jsonl":
        people.to_json(path, orient="records", lines=True, date_format="iso")
    elif kind == "jsonl.gz":
        lines = people.to_json(orient="records", lines=True, date_format="iso")
        path.write_bytes(gzip.compress(lines.encode()))
    elif kind == "stream.arrow":
        table = pa.Table.from_pandas(people)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
            out.write_table(table)
    elif kind == "parts":
        (path / "year=2024").mkdir(parents=True)
        people.iloc[:25].to_parquet(path / "year=2024" / "a.parquet")
        people.iloc[25:].to_parquet(path / "year=2024" / "b.parquet")
    elif kind == "unnamed":  # told by its first bytes
        people.to_parquet(path)
    else:
        write_table(people, path)
    return path


KINDS = ["csv", "csv.gz", "csv.zst", "csv.lz4", "tsv", "tsv.bz2", "semicolon.csv",
         "utf16.csv", "parquet", "feather", "arrow", "stream.arrow", "jsonl", "jsonl.gz", "parts",
         "unnamed"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_table(people, tmp_path, kind):
    path = write(people, tmp_path, kind)
    table = read_table(path, text=["visit"])
    same(table.frame, people)
    assert table.name == str(path) and len(table.fingerprint) == 64
    assert read_table(str(path), text=["visit"]).fingerprint == table.fingerprint


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_standard_input(people, tmp_path, kind, monkeypatch):
    content = write(people, tmp_path, kind).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    same(read_table("-", text=["visit"]).frame, people)


def test_the_fingerprint_is_that_of_the_file(people, tmp_path):
    import hashlib

    path = write(people, tmp_path, "csv.gz")
    assert read_table(path).fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    people.loc[3, "steps"] += 1
    assert read_table(write(people, tmp_path, "csv")).fingerprint != read_table(path).fingerprint


def test_sqlite_and_duckdb(people, tmp_path):
    people = people.assign(when=people["when"].astype(str))
    light, duck = tmp_path / "people.db", tmp_path / "people.duckdb"
    with sqlite3.connect(light) as connection:
        people.to_sql("people", connection, index=False)
    connection.close()
    with duckdb.connect(str(duck)) as connection:
        connection.execute("create table people as select * from people")
    query = "select visit, height, steps, colour from people"
    for path in (light, duck):
        table = read_table(path, sql=query)
        same(table.frame, people[["visit", "height", "steps", "colour"]])
        assert table.name == f"{path}: {query}"
        assert table.fingerprint == read_table(path, sql=query).fingerprint
    people.to_parquet(tmp_path / "p.parquet")
    count = f"select count(*) as n from '{tmp_path / 'p.parquet'}'"
    assert read_table(":memory:", sql=count).frame["n"].tolist() == [40]


def test_a_query_cannot_change_a_database(people, tmp_path):
    light, duck = tmp_path / "people.db", tmp_path / "people.duckdb"
    with sqlite3.connect(light) as connection:
        people[["visit"]].to_sql("people", connection, index=False)
    connection.close()
    with duckdb.connect(str(duck)) as connection:
        connection.execute("create table people as select visit from people")
    for path in (light, duck):
        with pytest.raises(TableError, match=r"people\.(db|duckdb): "):
            read_table(path, sql="delete from people")
        assert read_table(path, sql="select count(*) as n from people").frame["n"].tolist() == [40]


def test_postgresql(people, postgres):
    address = postgres.replace(":secret", "")
    with psycopg.connect(address) as connection:
        connection.execute("drop table if exists people")
        connection.execute(
            "create table people (visit text, height float8, steps int, price numeric)"
        )
        rows = people[["visit", "height", "steps"]].itertuples(index=False)
        with connection.cursor() as cursor:
            cursor.executemany("insert into people values (%s, %s, %s, 2.5)", list(rows))
    table = read_table(postgres, sql="select * from people order by visit")
    assert table.frame["price"].tolist() == [2.5] * 40
    assert sorted(table.frame["steps"]) == sorted(people["steps"])
    assert "secret" not in table.name and "***" in table.name
    for query, message in [
        ("delete from people", "one SELECT"),
        ("select * from nowhere", "nowhere"),
        ("set role postgres", "one SELECT"),
        ("with d as (delete from people returning *) select * from d", "data-modifying"),
    ]:
        with pytest.raises(TableError, match=message) as error:
            read_table(postgres, sql=query)
        assert "secret" not in str(error.value)
    with pytest.raises(TableError, match="say which rows with --sql"):
        read_table(postgres)


def test_an_unreachable_server_is_told_without_its_password():
    with pytest.raises(TableError, match=r"postgresql://ann:\*\*\*@localhost:1/x") as error:
        read_table("postgresql://ann:secret@localhost:1/x", sql="select 1")
    assert "secret" not in str(error.value)


def test_decimals_are_numbers(tmp_path):
    path = tmp_path / "d.parquet"
    from decimal import Decimal

    table = pa.table({"price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2))})
    pa.parquet.write_table(table, path)
    found = read_table(path).frame["price"]
    assert found.dtype == float and found[0] == 1.5 and np.isnan(found[1])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".feather", ".arrow", ".jsonl"])
def test_what_is_written_is_read_back(people, tmp_path, suffix):
    path = write_table(people, tmp_path / f"out{suffix}")
    same(read_table(path, text=["visit"]).frame, people)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_table_that_cannot_be_written_leaves_the_old_one(people, tmp_path):
    path = write_table(people, tmp_path / "out.parquet")
    before = path.read_bytes()
    with pytest.raises(pa.ArrowInvalid):
        write_table(pd.DataFrame({"a": [1, "x"]}), path)
    with pytest.raises(TableError, match=r"not as '\.xlsx'"):
        write_table(people, tmp_path / "out.xlsx")
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_excel(tmp_path):
    calamine = pytest.importorskip("python_calamine")
    assert calamine is not None
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in (["id", "x", "odd", "when"], ["007", 1.5, "a", datetime.datetime(2024, 3, 31)],
                 ["8", None, 3, None], ["9", 2, "?", None]):  # fmt: skip
        book.active.append(line)
    book.save(tmp_path / "t.xlsx")
    frame = read_table(tmp_path / "t.xlsx", text=["id"]).frame
    assert frame["id"].tolist() == ["007", "8", "9"] and frame["x"].tolist()[::2] == [1.5, 2.0]
    assert frame["odd"].tolist()[:2] == ["a", "3"] and frame["odd"].isna().tolist()[2]
    assert frame["when"].iloc[0] == datetime.date(2024, 3, 31)
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(TableError, match=r"broken.xlsx: cannot be read"):
        read_table(tmp_path / "broken.xlsx")


@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
def test_predictions_as_a_database(tmp_path, suffix):
    frame = pd.DataFrame({'a "b"': ["x", "y'); drop table predictions; --"], "p": [0.5, None]})
    path = tmp_path / f"out.{suffix}"
    for _ in range(2):  # the second replaces the first
        write_table(frame, path)
    back = read_table(path, sql="select * from predictions").frame
    assert (
        back.columns.tolist() == frame.columns.tolist()
        and back.iloc[:, 0].tolist() == frame['a "b"'].tolist()
    )
    assert back["p"].isna().tolist() == [False, True]


def test_a_database_elsewhere_is_not_written_to():
    with pytest.raises(
        TableError, match=r"postgresql://ann:\*\*\*@h/x: a table can be written as a file"
    ):
        write_table(pd.DataFrame({"x": [1]}), "postgresql://ann:secret@h/x")


def test_without_a_line_of_names(tmp_path):
    (tmp_path / "t.data").write_text("007,?,1\n8,a,2.5\n")
    frame = read_table(tmp_path / "t.data", header=False, text=["c1"]).frame
    assert frame.columns.tolist() == ["c1", "c2", "c3"] and frame["c1"].tolist() == ["007", "8"]
    assert frame["c2"].isna().tolist() == [True, False] and frame["c3"].tolist() == [1.0, 2.5]


def test_arrow_holds_no_object_of_python_after_reading_a_small_table():
    """Its threads let go of one too late when the program ends at once, which aborted it."""
    content = ("x,y\n" + "1,2\n" * 9).encode()
    held = sys.getrefcount(content)
    first, source = formats._first_line(io.BytesIO(content))
    assert (first, source.read()) == (b"x,y", content)
    source = formats._source(content)
    assert sys.getrefcount(content) == held


def test_a_large_table_is_read_piece_by_piece(monkeypatch, tmp_path):
    monkeypatch.setattr(formats, "_SMALL", 64)
    path = tmp_path / "large.csv"
    path.write_text("x,y\n" + "1,2\n" * 50_000)
    assert read_table(path).frame.sum().tolist() == [50_000, 100_000]

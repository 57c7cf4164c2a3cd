"""Passwords, in whatever form they are given, are shown nowhere."""

import json
import sys

import pandas as pd
import pytest

from groupwise.tables import TableError, read_table
from groupwise.tables.formats import check_address, is_database, passwords_in, without_password

# every address holds a piece of "hunter2" as its secret
ADDRESSES = [
    "postgresql://ann:hunter2@localhost:1/shop",
    "postgres://ann:hunter2@localhost:1/shop",
    "POSTGRESQL://ann:hunter2@localhost:1/shop",
    "PostgreSQL://ann:hunter2@localhost:1/shop",
    "postgresql+psycopg://ann:hunter2@localhost:1/shop",
    "postgresql://ann:hu@hunter2@localhost:1/shop",
    "postgresql://ann:hunter2@hunter2@localhost:1/shop",
    "postgresql://ann:hunter2/hunter2@localhost:1/shop",
    "postgresql://ann:hunter2?hunter2@localhost:1/shop",
    "postgresql://ann:hunter2#hunter2@localhost:1/shop",
    "postgresql://ann:a:hunter2@localhost:1/shop",
    "postgresql://ann:hunter2%zz@localhost:1/shop",
    "postgresql://ann:hunter2 x@localhost:1/shop",
    "postgresql://:hunter2@localhost:1/shop",
    "postgresql://localhost:1/shop?user=ann&password=hunter2",
    "postgresql://localhost:1/shop?password=hunter2&user=ann",
    "postgresql://localhost:1/shop?PASSWORD=hunter2",
    "postgresql://localhost:1/shop?%70assword=hunter2",
    "postgresql://localhost:1/shop?p%61ss%77ord=hunter2",
    "postgresql://localhost:1/shop?sslpassword=hunter2&sslmode=disable",
    "postgresql://ann:hunter2@localhost:1/shop?password=hunter2",
    "  postgresql://ann:hunter2@localhost:1/shop",
    "host=localhost port=1 user=ann password=hunter2",
    "host=localhost port=1 password='hunter2 and more'",
    "host=localhost port=1 password = hunter2 user=ann",
    "password=hunter2 host=localhost port=1",
    "PASSWORD=hunter2 host=localhost port=1",
    "host=localhost port=1 password=hun&hunter2;hunter2 user=ann",
    "host=localhost port=1 password=hun=hunter2",
    "user=ann password='hun\\'hunter2' host=localhost port=1",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_form_is_shown(address):
    assert "hunter2" not in without_password(address)
    assert "hunter2" not in without_password(f"--table={address}")
    assert is_database(address)
    assert any("hunter2" in secret for secret in passwords_in(address))
    for sql in ("select 1", None):
        with pytest.raises(TableError) as error:
            read_table(address, sql=sql)
        assert "hunter2" not in str(error.value)


def test_what_is_no_password_stays():
    for text in ("postgresql://ann@db:5432/shop", "postgresql://[::1]:5432/shop?sslmode=require",
                 "a=b.csv", "/data/x.parquet", "C:\\\\data\\\\x.csv", "host=db user=ann",
                 "select a from t where passed = 1 and n >= 2", ":memory:", "-"):  # fmt: skip
        assert without_password(text) == text
    assert not is_database("/data/host=3/x.parquet") and not is_database("a.csv")


def test_odd_characters_are_refused_with_the_way_out():
    with pytest.raises(TableError, match="%40") as error:
        check_address("postgresql://ann:hu@nter2@h/db")
    assert "nter2" not in str(error.value)
    assert check_address("POSTGRES://ann:a%40b@h/db") == "postgresql://ann:a%40b@h/db"


@pytest.mark.parametrize("variable", ["PGPASSWORD", "PGPASSFILE"])
def test_the_environment_is_not_shown(variable, tmp_path, monkeypatch):
    passfile = tmp_path / "pgpass"
    passfile.write_text("localhost:1:*:ann:hunter2\n")
    passfile.chmod(0o600)
    monkeypatch.setenv(variable, "hunter2" if variable == "PGPASSWORD" else str(passfile))
    with pytest.raises(TableError) as error:
        read_table("postgresql://ann@localhost:1/shop", sql="select 1")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("address", ADDRESSES[::6])
def test_the_command_line_does_not_show_it(run, address):
    ended = run("fit", address, "--sql", "select 1", "-g", "a", "-l", "b")
    assert ended.exit_code == 3 and "hunter2" not in ended.stdout + ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_models_reports_and_folds_hold_no_password(run, postgres, tmp_path, monkeypatch):
    import psycopg

    monkeypatch.chdir(tmp_path)
    address = postgres.replace(":secret@", ":hunter2@") + "&password=hunter2"
    rows = [(f"s{i // 4}", float((i * 7) % 11), "ab"[(i // 4) % 2]) for i in range(160)]
    with psycopg.connect(address) as connection:
        connection.execute("drop table if exists visits")
        connection.execute("create table visits (session text, x float8, kind text)")
        with connection.cursor() as cursor:
            cursor.executemany("insert into visits values (%s, %s, %s)", rows)
    sql = "select * from visits where 'password=hunter2' <> session"
    common = ("--sql", sql, "-g", "session", "-l", "kind", "-q", "--folds", "2")
    monkeypatch.setattr(sys, "argv", ["groupwise", "fit", address, *common])  # what a model tells
    ended = run(
        "fit", address, *common, "-m", "naive-logistic", "--report", "page.html", "-o", "m.skops"
    )
    assert ended.exit_code == 0, ended.stderr
    ended = run("compare", address, *common, "--no-search", "-m", "naive-logistic", "-o", "c")
    assert ended.exit_code == 0, ended.stderr
    from groupwise.io import read_result

    about = json.loads(read_result(tmp_path / "m.skops"))["about"]
    assert "***" in about["table"] and "***" in about["command"]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 5
    for path in written:
        assert b"hunter2" not in path.read_bytes(), path
    assert isinstance(read_table(address, sql="select 1 as a").frame, pd.DataFrame)

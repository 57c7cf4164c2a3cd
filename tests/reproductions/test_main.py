"""``python -m reproductions``."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproductions import Result, sboost
from reproductions.__main__ import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_it_prints_and_stores(tmp_path, monkeypatch):
    def fake(out, *, repeats, seed, track):
        list(track([1, 2], "steps"))
        table = pd.DataFrame({"ours": [0.5, None], "what": ["x", "y"]}, index=["a", "b"])
        return Result("sboost", {"T": table}, {"repeats": repeats, "seed": seed}, ["a note"])

    monkeypatch.setattr(sboost, "run", fake)
    shown = run("sboost", "--out", tmp_path, "--repeats", "3")
    assert shown.exit_code == 0, shown.output
    assert "0.500" in shown.stdout and "a note" in shown.stdout
    assert '"repeats": 3' in (tmp_path / "sboost.json").read_text()


def test_without_time_nothing_is_measured(tmp_path, monkeypatch):
    def fake(out, *, repeats, seed, track):
        done = list(track([1, 2], "steps"))
        return Result("sboost", {"T": pd.DataFrame({"ours": done}, index=done)}, {})

    monkeypatch.setattr(sboost, "run", fake)
    assert run("sboost", "--out", tmp_path).exit_code == 0
    first = (tmp_path / "sboost.md").read_text()
    assert run("sboost", "--out", tmp_path, "--minutes", "0").exit_code == 0
    second = (tmp_path / "sboost.md").read_text()
    assert second.split("## Notes")[0] == first.split("## Settings")[0]
    assert "and not again, T: 1; 2." in second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nope"], "not 'nope'"), (["sboost"], "GROUPWISE_DATA")],
)
def test_errors(arguments, message, monkeypatch):
    monkeypatch.delenv("GROUPWISE_DATA", raising=False)
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert message in shown.output
    assert "Traceback" not in shown.output

import pytest
from typer.testing import CliRunner

import groupwise
from groupwise.cli import app
from groupwise.io import load_model
from groupwise.reproduce import Result, sboost

run = CliRunner().invoke


def test_version_and_help():
    assert run(app, ["--version"]).stdout.strip() == f"groupwise {groupwise.__version__}"
    for command in ("demo", "reproduce"):
        shown = run(app, [command, "--help"])
        assert shown.exit_code == 0 and f"Example: groupwise {command}" in shown.stdout


def test_demo(tmp_path):
    out = tmp_path / "demo"
    shown = run(app, ["demo", "--out", str(out), "--repeats", "1"])
    assert shown.exit_code == 0, shown.output
    assert "SBoost" in shown.stdout and "178 sessions" in shown.stdout
    assert (out / "demo.png").read_bytes()[:4] == b"\x89PNG"
    assert load_model(out / "demo.skops").classes_.tolist() == ["even", "odd"]


def test_reproduce_prints_and_stores(tmp_path, monkeypatch):
    import pandas as pd

    def fake(out, *, repeats, seed, track):
        list(track([1, 2], "steps"))
        table = pd.DataFrame({"ours": [0.5, None], "what": ["x", "y"]}, index=["a", "b"])
        return Result("sboost", {"T": table}, {"repeats": repeats, "seed": seed}, ["a note"])

    monkeypatch.setattr(sboost, "run", fake)
    shown = run(app, ["reproduce", "sboost", "--out", str(tmp_path), "--repeats", "3"])
    assert shown.exit_code == 0, shown.output
    assert "0.500" in shown.stdout and "a note" in shown.stdout
    assert '"repeats": 3' in (tmp_path / "sboost.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["reproduce", "nope"], "not 'nope'"), (["reproduce", "sboost"], "GROUPWISE_DATA")],
)
def test_errors_are_one_line(arguments, message, monkeypatch):
    monkeypatch.delenv("GROUPWISE_DATA", raising=False)
    shown = run(app, arguments)
    assert shown.exit_code == 2
    assert message in shown.output
    assert "Traceback" not in shown.output

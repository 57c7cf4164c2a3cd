import json

import numpy as np
import pandas as pd
import pytest

from reproductions import PAPERS, Result, load, sboost
from reproductions.sboost import METHODS, TRIANGLE_METHODS


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """Made-up tables with the names and columns of the three sets."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "data" / "uci"
    folder.mkdir(parents=True)
    for file, label, values in (
        ("spambase.csv.gz", "is_spam", [0, 1]),
        ("cmc.csv.gz", "contraceptive_method", [1, 2, 3]),
        ("german_numeric.csv.gz", "credit_risk", [1, 2]),
    ):
        y = rng.choice(values, 160)
        X = rng.normal(size=(160, 3)) + (y == values[0])[:, None]
        pd.DataFrame(X, columns=list("abc")).assign(**{label: y}).to_csv(folder / file, index=False)
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path / "data"))
    return tmp_path


def test_whole_run_on_small_data(small_data, monkeypatch):
    monkeypatch.setattr(sboost, "ROUNDS", 3)
    chosen = [
        "SBoost",
        "naive AdaBoost",
        "SBoost, gamma 4",
        "ceiling: gradient boosting on true row labels",
    ]
    monkeypatch.setattr(sboost, "METHODS", {name: METHODS[name] for name in chosen})
    toys = ["naive Gaussian Bayes", "SBoost SAMME, gamma 4"]
    monkeypatch.setattr(sboost, "TRIANGLE_METHODS", {name: TRIANGLE_METHODS[name] for name in toys})
    headings = []

    def track(steps, heading):
        headings.append(heading)
        return steps

    result = load("sboost").run(small_data / "out", repeats=2, seed=1, track=track)
    assert headings == ["Table 3, spam", "Table 3, cmc", "Table 3, german", "Figure 1, triangle"]
    table = result.tables["Table 3, spam: session error"]
    assert table.loc["SBoost", "paper"] == 0.189
    assert table.loc["naive AdaBoost", "minus naive AdaBoost"] == 0
    assert table["ours"].between(0, 1).all()
    assert result.figures[0].exists()
    stored = json.loads(result.save(small_data / "out").read_text())
    assert stored["settings"]["seed"] == 1 and stored["versions"]["groupwise"]
    assert np.isnan(table.loc["SBoost, gamma 4", "paper"])
    assert "| SBoost | 0.189 |" in (small_data / "out" / "sboost.md").read_text()


def test_a_run_that_ends_early_keeps_the_page(small_data, monkeypatch):
    """Methods without all splits have no row of their own; those of the page stay."""
    monkeypatch.setattr(sboost, "ROUNDS", 3)
    for name in ("METHODS", "TRIANGLE_METHODS"):
        quick = {m: lambda split, seed: 0.25 for m in ("SBoost", "naive AdaBoost", "naive tree")}
        monkeypatch.setattr(sboost, name, quick)
    out = small_data / "out"
    sboost.run(out, repeats=2).save(out)
    (out / "sboost_splits.jsonl").unlink()
    short = sboost.run(out, repeats=2, track=lambda steps, heading: steps[:5])
    assert list(short.tables["Figure 1: session error"].index) == ["SBoost", "naive AdaBoost"]
    whole = short.completed(out)
    for title in ("Figure 1: session error", "Table 3, cmc: session error"):
        assert list(whole.tables[title].index) == list(quick)
        assert list(whole.earlier[title]) == ["naive tree"]


def test_every_method_runs(small_data):
    split = sboost._splits("cmc", 1, 0)[0]
    for name, measure in METHODS.items():
        if "repeated" not in name:
            assert 0 <= measure(split, 0) <= 1, name
    toy = sboost._split(sboost.make_triangle_sessions(40, random_state=0), 0)
    for name, measure in TRIANGLE_METHODS.items():
        assert 0 <= measure(toy, 0) <= 1, name


def test_markdown_of_odd_cells():
    table = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None]})
    text = Result("demo", {"T": table}, {"k": 1}).markdown()
    assert "| 1.000 | x |\n|  |  |" in text


def test_unknown_paper():
    assert "sboost" in PAPERS
    with pytest.raises(ValueError, match="to reproduce, not 'nope'"):
        load("nope")

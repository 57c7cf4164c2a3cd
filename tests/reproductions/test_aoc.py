"""The reproduction of Chen et al. (2009), on made-up data."""

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

import reproductions.aoc as aoc
from groupwise.proportions import KNNAOCClassifier


def write(path, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        table.to_csv(file, index=False)


@pytest.fixture
def small_folder(tmp_path, monkeypatch):
    """Tables of the shapes that the loaders expect, a few dozen rows each."""
    rng = np.random.RandomState(0)

    def rows(n, label, values):
        X, y = make_blobs(n, centers=2, n_features=3, random_state=1)
        return pd.DataFrame(X, columns=["p", "q", "s"]).assign(**{label: np.array(values)[y]})

    write(tmp_path / "uci" / "ionosphere.csv.gz", rows(60, "class", ["b", "g"]))
    write(tmp_path / "uci" / "german_numeric.csv.gz", rows(60, "credit_risk", [1, 2]))
    write(tmp_path / "uci" / "spambase.csv.gz", rows(60, "is_spam", [0, 1]))
    mushroom = rows(60, "class", ["e", "p"]).round().astype(str)
    write(tmp_path / "uci" / "mushroom.csv.gz", mushroom.assign(stalk_shape=["e", "t"] * 30))
    word = rng.choice(["u", "v"], size=200)
    write(tmp_path / "llp" / "adult.csv.gz", rows(200, "income", ["<=50K", ">50K"]).assign(w=word))
    write(tmp_path / "llp" / "bank_10pct.csv.gz", rows(200, "y", ["no", "yes"]).assign(w=word))
    x = rng.uniform(0.1, 0.9, size=12)
    tb, tw = rng.uniform(0.5, 0.9, size=12), rng.uniform(0.1, 0.4, size=12)
    unit = pd.DataFrame({"x": x, "t": x * tb + (1 - x) * tw, "n": 100, "tb": tb, "tw": tw})
    write(tmp_path / "llp" / "ei_matproii.csv.gz", unit)
    black = np.arange(10, 70, 5)
    senc = pd.DataFrame({"total": 100, "black": black, "bldem": black // 2})
    write(tmp_path / "llp" / "eipack_senc.csv.gz", senc.assign(dem=black // 2 + 10))
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.filterwarnings("ignore::groupwise.exceptions.EqualSharesWarning")
def test_everything_runs_on_made_up_data(small_folder, monkeypatch, tmp_path):
    named = ("AOC-kNN", "AOC-ANN", "il-L2", "il-L2 + bias", "count likelihood")
    quick = {name: (lambda goal, data: KNNAOCClassifier(3)) for name in named}
    monkeypatch.setattr(aoc, "METHODS", quick)
    monkeypatch.setattr(aoc, "_ROWS", 60)
    monkeypatch.setattr(aoc, "RANDOMNESS", (0.5, 1.0))
    result = aoc.run(tmp_path / "out", repeats=1, seed=0)
    assert all(path.exists() for path in result.figures)
    assert result.save(tmp_path / "out").exists()
    summary = result.tables["All sets: mean error (%) over n_b and r"]
    assert set(summary.index.get_level_values("set")) >= {"ionosphere", "wine (3 classes)"}
    assert summary["induction"].notna().all()
    times = result.tables["Table 3: run times"]
    assert times.loc["il-L2", "ours cpu s / il-L2"] == 1.0
    assert times.loc["AOC-kNN", "printed s"] == 0.0244
    paired = result.tables["Count likelihood against il-L2 with bias, transduction, paired"]
    assert (paired["points gained"] == 0).all()  # the same stand-in on the same draws


def test_every_method_can_be_made_and_measured(monkeypatch):
    X, y = make_blobs(40, centers=2, random_state=0)
    cell = aoc.Cell("blobs", X, y, 5, 0.5, 0)
    for name in ("AOC-SVM", "il-L1", "il-L2", "bl-L2", "il-L2 + bias", "mean map", "EasyLLP"):
        made = aoc.METHODS[name]("induction", cell.groups(np.arange(40)))
        assert hasattr(made, "fit")
    assert hasattr(aoc.METHODS["count likelihood"]("induction", None), "fit")
    assert hasattr(aoc.METHODS["AOC-ANN"]("induction", None), "fit")
    assert hasattr(aoc.METHODS["AOC-kNN"]("induction", None), "fit")
    boosted = aoc._measure(cell, "GroupBoost")  # keeps no training rows
    assert "with counts" not in boosted
    measured = aoc._measure(cell, "il-L2 + bias")
    assert measured["induction"] <= 0.25
    assert set(measured) == {"cpu s", "transduction", "with counts", "induction", "norm"}

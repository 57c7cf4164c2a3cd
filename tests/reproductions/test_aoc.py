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


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.EqualSharesWarning")
def test_everything_runs_on_made_up_data(small_folder, monkeypatch, tmp_path):
    named = ("AOC-kNN", "AOC-ANN", "il-L2", "il-L2 + bias", "count likelihood")
    quick = {name: (lambda goal, cell: KNNAOCClassifier(3)) for name in named}
    monkeypatch.setattr(aoc, "METHODS", quick)
    monkeypatch.setattr(aoc, "_ROWS", 60)
    monkeypatch.setattr(aoc, "RANDOMNESS", (1.0,))
    result = aoc.run(tmp_path / "out", repeats=2, seed=0)
    assert all(path.exists() for path in result.figures)
    assert result.save(tmp_path / "out").exists()
    summary = result.tables["All sets: mean error (%) over n_b and r"]
    assert set(summary.index.get_level_values("set")) >= {"ionosphere", "wine (3 classes)"}
    assert summary["induction"].notna().all()
    needed = result.tables["Draws of the cells, and draws to go to standard errors of .3 points"]
    assert (needed["induction: draws"] == 2).all()
    store = aoc.Store(tmp_path / "out" / "aoc_draws.jsonl", aoc._KEY)
    monkeypatch.setattr(aoc, "_fitted", None)  # a second run finds all draws on disk
    again = aoc.run(tmp_path / "out", repeats=2, seed=0)
    pd.testing.assert_frame_equal(again.tables["All sets: mean error (%) over n_b and r"], summary)
    assert len(store.records) == len(store.table().drop_duplicates(list(store.key)))
    times = result.tables["Table 3: run times"]
    assert times.loc["il-L2", "ours cpu s / il-L2"] == 1.0
    assert times.loc["AOC-kNN", "printed s"] == 0.0244
    paired = result.tables["Count likelihood against il-L2 with bias, transduction, paired"]
    assert (paired["points gained"] == 0).all()  # the same stand-in on the same draws


def test_standard_errors_by_hand():
    """Draws of .1 and .3 have a mean with an error of 10 points; four such cells one of 5."""
    cells = [(size, r) for size in (5, 10) for r in (0.0, 1.0)]
    draws = pd.DataFrame(
        [("a", "m", size, r, value) for size, r in cells for value in (0.1, 0.3)],
        columns=["set", "method", "n_b", "r", "transduction"],
    )
    draws["induction"] = draws["transduction"] / 10
    assert (aoc._spread(draws, "transduction") == 10.0).all(axis=None)
    assert aoc._summary_error(draws, "transduction").loc[("a", "m")] == 5.0
    assert "in 0 of the 4 cells of Figure 1 and 0 of" in aoc._reached(draws)[0]
    needed = aoc._needed(draws).loc["m"]
    assert needed["transduction: largest s.e."] == 10.0
    assert needed["transduction: cells above .3"] == 4
    assert needed["induction: draws to go"] == 4 * (np.ceil((2**0.5 / 0.3) ** 2) - 2)


def test_a_cell_with_more_draws_counts_once():
    """Errors of .1 in one cell and of .3 in the other: .2, though the second has three draws."""
    keys = ["set", "method", "n_b", "r", "seed", "transduction", "cpu s"]
    lines = [(5, 0.1), (10, 0.3), (10, 0.3), (10, 0.3)]
    rows = [
        (aoc._FIRST, method, size, 0.0, seed, error + more, seconds)
        for method, more, seconds in (("il-L2 + bias", 0.0, 1.0), ("count likelihood", 0.01, 2.0))
        for seed, (size, error) in enumerate(lines)
    ]
    draws = pd.DataFrame(rows, columns=keys).assign(induction=0.0, norm=1.0)
    draws["with counts"] = 0.0
    assert aoc._summary(draws).loc[(aoc._FIRST, "il-L2 + bias"), "transduction"] == 20.0
    paired = aoc._paired(draws).loc[aoc._FIRST]
    assert paired["points gained"] == -1.0 and paired["draws"] == 2


def test_every_method_can_be_made_and_measured():
    X, y = make_blobs(40, centers=2, random_state=0)
    cell = aoc.Cell("blobs", X, y, 5, 0.5, draw=0, seed=0, n_cells=1)
    for name in aoc.METHODS:
        assert hasattr(aoc.METHODS[name]("induction", cell), "fit")
    boosted = aoc._transduction(cell, "GroupBoost")  # keeps no training rows
    assert set(boosted) == {"cpu s", "transduction"}
    assert set(aoc._transduction(cell, "il-L2")) == {"cpu s", "transduction", "with counts"}
    measured = aoc._induction(cell, "il-L2 + bias")
    assert measured["induction"] <= 0.25
    assert set(measured) == {"induction", "norm"}


def test_the_l1_form_takes_what_the_l2_form_of_the_draw_chose(monkeypatch):
    X, y = make_blobs(40, centers=2, random_state=0)
    cell = aoc.Cell("blobs", X, y, 5, 0.5, draw=0, seed=0, n_cells=1)
    guide, _ = aoc._fitted(cell, "bl-L2", "induction")
    monkeypatch.setattr(aoc, "_fitted", None)  # it is not fitted again
    made = aoc.METHODS["bl-L1"]("induction", cell)
    assert (made.level, made.loss, made.fit_intercept) == ("group", "l1", False)
    assert (made.width, made.gamma1) == (guide.width_, guide.gamma1_)
    assert made.gamma2 == guide.gamma2_


def test_a_printed_mean_needs_no_more_draws_when_its_error_is_small():
    """n draws at +-d have a mean with the error d / sqrt(n - 1); two such cells one over sqrt(2).

    Of the paper's set the cells are printed, of others their mean.
    """
    for name, n_draws, n_means in (("a", 4, 2), (aoc._FIRST, 10, 1)):
        cell = aoc.Cell(name, None, None, 5, 0.0, draw=4, seed=0, n_cells=2)
        step = 0.003 * np.sqrt(n_means) * np.sqrt(n_draws - 1.0)  # the error is then .3 points
        for factor, good in ((0.99, True), (1.01, False)):
            spread = aoc._Spread([])
            for r in (1.0, 0.0):
                for draw in range(n_draws):
                    assert not spread.is_good(cell, "m", "transduction")
                    error = 0.1 + factor * step * (-1) ** draw
                    record = {"set": name, "method": "m", "n_b": 5, "r": r}
                    spread.add(record | {"goal": "transduction", "transduction": error})
            assert spread.is_good(cell, "m", "transduction") == good
            assert not spread.is_good(cell, "m", "induction")


def test_what_is_precise_is_not_drawn_again(tmp_path, monkeypatch):
    """Transduction without spread ends after ten draws; induction goes on."""
    monkeypatch.setattr(aoc, "METHODS", {"m": None})
    monkeypatch.setattr(aoc, "_transduction", lambda cell, method: {"transduction": 0.1})
    monkeypatch.setattr(aoc, "_induction", lambda cell, method: {"induction": cell.draw % 2})
    cells = [aoc.Cell(aoc._FIRST, None, None, 5, 0.0, n, seed=n, n_cells=1) for n in range(12)]
    store = aoc.Store(tmp_path / "draws.jsonl", aoc._KEY)
    found = aoc._all_measures(store, cells, aoc.quiet)
    found = found[found["method"] == "m"]
    assert (found["transduction"].count(), found["induction"].count()) == (10, 12)

import numpy as np
import pandas as pd
import pytest

from groupwise.auto import base
from groupwise.auto.candidates import Candidate
from groupwise.methods import methods_for

QUICK = {"majority": ("naive-logistic", "means-logistic")}


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    """The automatic choice is between two quick methods."""

    def candidates(kind, **_):
        named = [method for method in methods_for(kind) if method.name in QUICK[kind]]
        return [[Candidate(method, is_baseline=True) for method in named]], {"others": "slow"}

    monkeypatch.setattr(base, "first_candidates", candidates)


@pytest.fixture(scope="session")
def good():
    """16 groups of 6 rows: ids, gaps, a category, a date, labels of groups and of rows."""
    rng = np.random.RandomState(2)
    n_groups, size = 16, 6
    high = np.repeat(np.arange(n_groups) % 2, size)
    row = (rng.rand(n_groups * size) < 0.2 + 0.6 * high).astype(int)
    frame = pd.DataFrame(
        {
            "row_id": np.arange(len(row)),
            "group": np.repeat([f"{k:03d}" for k in range(n_groups)], size),
            "x": rng.normal(size=len(row)) + 2 * row,
            "z": np.where(rng.rand(len(row)) < 0.1, np.nan, rng.normal(size=len(row))),
            "colour": rng.choice(["red", "blue"], len(row)),
            "when": pd.date_range("2024-03-01", periods=len(row), freq="min"),
            "kind": np.where(high, "high", "low"),
            "hit": np.where(row, "yes", "no"),
            "site": np.where(np.repeat(np.arange(n_groups), size) < 6, "new", "old"),
        }
    )
    yes = frame.groupby("group")["hit"].transform(lambda v: (v == "yes").sum())
    return frame.assign(n_no=size - yes, n_yes=yes)


@pytest.fixture(scope="session")
def fitted(good, run, tmp_path_factory):
    """A folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("fitted")
    good.drop(columns=["hit", "site", "n_no", "n_yes"]).to_csv(folder / "good.csv", index=False)
    done = run(
        "fit", folder / "good.csv", "-g", "group", "-l", "kind", "-m", "group-boost",
        "-p", "n_estimators=10", "--folds", 2, "-o", folder / "model.skops",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder

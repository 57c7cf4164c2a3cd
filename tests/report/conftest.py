import numpy as np
import pandas as pd
import pytest

from groupwise.jobs import Comparison, Job, make_supervision
from groupwise.report import render
from groupwise.tables import LoadedTable


@pytest.fixture(scope="session")
def frame():
    """30 groups of 5 to 9 rows; the names hold what HTML must escape."""
    rng = np.random.RandomState(0)
    sizes = rng.randint(5, 10, size=30)
    high = np.repeat(np.arange(30) % 2, sizes)
    row = (rng.rand(sizes.sum()) < 0.2 + 0.6 * high).astype(int)
    names = [f"visit <{k:02d}> & co" for k in range(29)] + ["</script><b>x</b>"]
    frame = pd.DataFrame({"x": rng.normal(size=len(row)) + row, "z": rng.rand(len(row))})
    frame["visit"], frame["kind"] = np.repeat(names, sizes), np.where(high, "high", "low")
    frame["hit"] = np.where(row, "yes", "no")
    frame["site"] = np.where(frame.index % 3 == 0, "new", "old")
    return frame


def result_of(frame, folder, methods, kind, **columns):
    table = LoadedTable(frame, "visits <2024>.csv", "ab" * 32)
    job = Job.from_table(table, make_supervision(kind, **columns), wanted=["x", "z"])
    comparison = Comparison(
        job, folder, methods=methods, n_splits=2, search=False, command="groupwise compare ..."
    )
    for step in comparison.steps():
        comparison.run(step)
    return comparison.result()


@pytest.fixture(scope="session")
def results(frame, tmp_path_factory):
    """One small result of each kind."""
    folder = tmp_path_factory.mktemp("results")
    shares = frame.groupby("visit")["hit"].transform(lambda v: (v == "yes").mean())
    frame = frame.assign(yes=shares, no=1 - shares)
    visit = {"group": "visit"}
    return {
        "majority": result_of(frame, folder / "a", ["sboost", "naive-logistic"], "majority",
                              label=("kind",), **visit),
        "proportions": result_of(frame, folder / "b", ["group-boost"], "proportions",
                                 label=("no", "yes"), **visit),
        "measure": result_of(frame, folder / "c", ["boosted-rows"], "measure", label=("hit",),
                             measure="f1", **visit),
        "transfer": result_of(frame, folder / "d", ["tradaboost"], "transfer", group=None,
                              label=("hit",), domain="site", target_domain="new"),
    }  # fmt: skip


@pytest.fixture(scope="session")
def texts(results):
    """Their pages."""
    return {kind: render(result) for kind, result in results.items()}

"""The command line: how much of ``groupwise fit`` is learning, and how much memory it takes.

Every run is a process of its own, as a user starts it; CPU seconds count from the start of Python,
imports included.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from harness import Report, own_peak

TURNS = 3
GROUP_SIZE = 20


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> pa.Table:
    """Sessions of 20 rows; five columns tell the row's class, one has gaps, one is a category."""
    rng = np.random.default_rng(seed)
    group = np.arange(n_rows) // GROUP_SIZE
    high = group % 2
    row = rng.random(n_rows) < 0.2 + 0.6 * high
    columns: dict[str, Any] = {}
    for k in range(n_columns - 1):
        values = rng.normal(size=n_rows).round(6) + (row if k < 5 else 0.0)
        columns[f"x{k}"] = np.where(rng.random(n_rows) < 0.05, np.nan, values) if k == 7 else values
    columns["colour"] = rng.choice(["red", "green", "blue", "grey"], n_rows)
    columns["session"] = group
    columns["kind"] = np.where(high, "high", "low")
    return pa.table(columns)


def fit_once(table: str, method: str, rounds: int) -> None:
    """Run the command in this process and print what its parts took, in CPU seconds."""
    from groupwise.cli import app
    from groupwise.gbdt import GroupBoostClassifier
    from groupwise.jobs import job
    from groupwise.majority import SBoostClassifier

    started = time.process_time()
    spent = {"learner": 0.0, "fit": 0.0, "judge": 0.0}

    def timed(name: str, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            before = time.process_time()
            try:
                return function(*args, **options)
            finally:
                spent[name] += time.process_time() - before

        return call

    for learner in (GroupBoostClassifier, SBoostClassifier):
        learner.fit = timed("learner", learner.fit)
    job.fit_model = timed("fit", job.fit_model)
    job.evaluate_fold = timed("judge", job.evaluate_fold)
    arguments = ["fit", table, "-g", "session", "-l", "kind", "-m", method, "-q"]
    arguments += ["-p", f"n_estimators={rounds}", "-o", f"{table}.skops"]
    try:
        app(arguments)
    except SystemExit as done:
        assert not done.code
    print(*spent.values(), started, time.process_time(), own_peak())


def measure(table: Path, method: str, rounds: int) -> list[float]:
    code = f"import bench_cli; bench_cli.fit_once({str(table)!r}, {method!r}, {rounds})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(value) for value in done.stdout.split()]


def share_of_learning(folder: Path) -> list[dict[str, Any]]:
    table = folder / "t.parquet"
    pa.parquet.write_table(make_table(100_000, 50), table)
    rows = []
    for method, rounds in (("group-boost", 100), ("sboost", 30)):
        runs = [measure(table, method, rounds) for _ in range(TURNS)]
        learner, fit, judge, start, total, peak = (median(run[k] for run in runs) for k in range(6))
        rows.append(
            {
                "method": method,
                "rounds": rounds,
                "cpu s": round(total, 1),
                "inside the learner": f"{learner / total:.0%}",
                "preparing columns": f"{(fit - learner) / total:.0%}",
                "judging folds": f"{judge / total:.0%}",
                "start and imports": f"{start / total:.0%}",
                "reading, checking, writing": f"{(total - start - fit - judge) / total:.0%}",
                "peak MiB": round(peak),
                "runs": TURNS,
            }
        )
    return rows


def memory_of_a_csv(folder: Path) -> list[dict[str, Any]]:
    table = folder / "t.csv"
    pyarrow.csv.write_csv(make_table(1_000_000, 50), table)
    _, fit, _, _, total, peak = measure(table, "group-boost", 20)
    size = table.stat().st_size / 2**20
    return [
        {
            "table": f"1,000,000 x 50, CSV of {size:.0f} MiB",
            "rounds": 20,
            "cpu s": round(total, 1),
            "learning s": round(fit, 1),
            "peak MiB": round(peak),
        }
    ]


def main() -> None:
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    report = Report("cli", f"groupwise fit, five folds and the model itself; {threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        note = (
            "Reading, checking, writing includes shuffling columns on held-out groups, to see what "
            "the score hangs on."
        )
        report.add("100,000 rows x 50 columns, Parquet", share_of_learning(Path(folder)), note)
        report.add("A million rows of CSV", memory_of_a_csv(Path(folder)))


if __name__ == "__main__":
    main()

"""``groupwise compare`` with one process and with two, in turns: seconds on the clock.

Run ``python benchmarks/bench_jobs.py`` on a machine with two idle cores. Both must give the same
result to the last bit, but for what clocks and meters say.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from harness import Report

from groupwise.cli.demo import digit_sessions
from groupwise.tables import write_table

TURNS = 3
FOLDS = 10
METHODS = "sboost,group-boost,naive-boosting,statistics,naive-logistic"
MEASURED = ("seconds_search", "seconds_fit", "seconds_predict", "memory_mib")


def compare(table: Path, jobs: int, folder: Path) -> tuple[float, str]:
    """Seconds of a comparison, and what it found."""
    program = "import groupwise.cli; groupwise.cli.main()"
    command = [sys.executable, "-c", program, "compare", table, "-g", "session", "-l",
               "kind", "-m", METHODS, "--folds", FOLDS, "--jobs", jobs, "-o",
               folder, "--quiet"]  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, env=environment)
    seconds = time.perf_counter() - started
    methods = json.loads((folder / "result.json").read_text())["methods"]
    for fold in (fold for folds in methods.values() for fold in folds):
        for name in MEASURED:
            fold.pop(name)
    return seconds, json.dumps(methods, sort_keys=True)


def main() -> None:
    wall: dict[int, list[float]] = {1: [], 2: []}
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        table = write_table(digit_sessions(0), Path(folder) / "sessions.parquet")
        for turn in range(TURNS):
            for jobs, seconds in wall.items():
                took, result = compare(table, jobs, Path(folder) / f"{turn}-{jobs}")
                seconds.append(took)
                found.add(result)
    assert len(found) == 1, "the results differ"
    ratios = [one / two for one, two in zip(wall[1], wall[2], strict=True)]
    lines = [
        {"jobs": jobs, "wall s": round(median(seconds), 1), "runs": len(seconds)}
        for jobs, seconds in wall.items()
    ]
    note = (
        f"{METHODS.count(',') + 1} methods with their searches, {FOLDS} folds, start of Python "
        f"included; --jobs 2 is {median(ratios):.2f} times as fast ({min(ratios):.2f} to "
        f"{max(ratios):.2f}), with the same result to the bit."
    )
    report = Report("jobs", "groupwise compare in two processes")
    report.add("sessions of digits", lines, note)


if __name__ == "__main__":
    main()

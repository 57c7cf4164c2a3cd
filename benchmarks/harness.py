"""Side-by-side timing: competitors take turns in one process, memory is measured in their own.

A benchmark file makes competitors (a name and a function without arguments), calls
:func:`take_turns` for times and :func:`peak_memory` for memory, and hands rows to a
:class:`Report`, which writes JSON and a markdown table.
"""

import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("groupwise", "lightgbm", "xgboost-cpu", "scikit-learn", "numpy", "scipy", "pandas")


@dataclass(frozen=True)
class Timing:
    """Times of one competitor.

    Attributes
    ----------
    name : str
    cpu : list of float
        CPU seconds of each run, all threads: what other work on the machine disturbs least.
    wall : list of float
        Seconds on the clock.
    """

    name: str
    cpu: list[float]
    wall: list[float]

    @property
    def seconds(self) -> float:
        """Median CPU seconds."""
        return median(self.cpu)

    @property
    def spread(self) -> float:
        """Largest less smallest, over the median."""
        return (max(self.cpu) - min(self.cpu)) / self.seconds

    def row(self, base: "Timing") -> dict[str, Any]:
        """One line of a table, with the ratio to ``base``."""
        return {
            "method": self.name,
            "cpu s": round(self.seconds, 4),
            "wall s": round(median(self.wall), 4),
            "ratio": round(self.ratio(base), 3),
            "spread": f"{self.spread:.0%}",
            "runs": len(self.cpu),
        }

    def ratio(self, base: "Timing") -> float:
        """Median over the turns of own time over the other's time in the same turn."""
        if len(self.cpu) != len(base.cpu):
            return self.seconds / base.seconds
        return median(own / other for own, other in zip(self.cpu, base.cpu, strict=True))


def take_turns(
    competitors: dict[str, Callable[[], Any]], repeats: int, *, warm_up: bool = True
) -> dict[str, Timing]:
    """Run A B C, C B A, ...: a turn's times are comparable whatever the machine does meanwhile.

    Parameters
    ----------
    competitors : dict
        Name to function.
    repeats : int
        Turns.
    warm_up : bool, default=True
        One run of each beforehand that does not count.
    """
    cpu: dict[str, list[float]] = {name: [] for name in competitors}
    wall: dict[str, list[float]] = {name: [] for name in competitors}
    if warm_up:
        for run in competitors.values():
            run()
    for turn in range(repeats):
        order = list(competitors.items())
        for name, run in order if turn % 2 == 0 else order[::-1]:
            before, clock = time.process_time(), time.perf_counter()
            run()
            cpu[name].append(time.process_time() - before)
            wall[name].append(time.perf_counter() - clock)
    return {name: Timing(name, cpu[name], wall[name]) for name in competitors}


def peak_memory(file: str, function: str, *args: Any, python: str = sys.executable) -> float:
    """Largest resident memory (MiB) of a process of its own that calls ``function(*args)``.

    Parameters
    ----------
    file : str
        A benchmark file; its folder goes on the path.
    function : str
        Name of a function at its top level.
    *args
        Anything that ``repr`` writes as code.
    python : str
        The interpreter, for competitors that need an environment of their own.
    """
    path = Path(file).resolve()
    code = (
        f"import sys; sys.path.insert(0, {str(path.parent)!r}); "
        f"import harness, {path.stem} as bench; bench.{function}(*{args!r}); "
        "print(harness.own_peak())"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def own_peak() -> float:
    """Largest resident memory (MiB) of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage also counts what the parent held when it started this process
        line = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
        return int(line.split()[1]) / 1024
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What is kept in a file of one JSON object per line; nothing where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_lines(path: Path, cases: Iterable[Any], make: Callable[[Any], dict[str, Any]]) -> None:
    """Make the line of each case, without its warnings, and keep it at once."""
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = make(case)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log seconds over log size (least squares): 1 is linear cost."""
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def machine() -> dict[str, Any]:
    """Where and with what this was measured."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "absent"
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = lines[0].split(":")[1].strip() if lines else model
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **versions,
    }


@dataclass
class Report:
    """Tables that belong together, written as JSON and markdown to ``benchmarks/results``."""

    name: str
    title: str
    tables: list[dict[str, Any]] = field(default_factory=list)
    system: dict[str, Any] = field(default_factory=machine)

    def add(self, heading: str, rows: list[dict[str, Any]], note: str = "") -> None:
        """Append a table and write what there is so far."""
        self.tables.append({"heading": heading, "note": note, "rows": rows})
        self.write()

    def write(self) -> None:
        """Write both files."""
        RESULTS.mkdir(exist_ok=True)
        content = {"title": self.title, "system": self.system, "tables": self.tables}
        (RESULTS / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n")
        lines = [f"# {self.title}", "", ", ".join(f"{k} {v}" for k, v in self.system.items()), ""]
        for table in self.tables:
            lines += [f"## {table['heading']}", ""]
            lines += [table["note"], ""] if table["note"] else []
            lines += [*markdown(table["rows"]), ""]
        (RESULTS / f"{self.name}.md").write_text("\n".join(lines))


def markdown(rows: list[dict[str, Any]]) -> list[str]:
    """A table, one line per row; columns as they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    for row in rows:
        lines.append("| " + " | ".join(str(row.get(column, "")) for column in columns) + " |")
    return lines

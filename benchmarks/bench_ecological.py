"""Cells of tables from their margins, on sets whose cells are known.

Run ``python benchmarks/bench_ecological.py`` with ``GROUPWISE_DATA`` set; for PyEI's lines set
``PYEI_PYTHON`` to the interpreter of an environment that has it (``pip install pyei``). Our lines
are means of four seeds. docs/ecological.md says what of model and prior was settled before these
cells were looked at, and what after. Coverage counts cells of row categories that have people in
the unit; "open" leaves out those that the bounds alone tell to within one hundredth.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import Report

from groupwise.datasets.aggregates import load_ecological
from groupwise.ecological import EcologicalInference, GoodmanRegression, cell_bounds

HERE = Path(__file__).parent
COVERAGE = 0.9
N_SEEDS = 4


def matproii() -> tuple[np.ndarray, np.ndarray]:
    """Registration by race in 268 counties."""
    table = load_ecological("matproii")
    people = table["n"].to_numpy(float)
    first = np.rint(table["x"] * people).to_numpy()
    rows = np.column_stack([first, people - first])
    yes = rows * table[["tb", "tw"]].to_numpy()
    # shares have four digits: margins that fit the cells
    return rows, np.stack([yes, rows - yes], axis=-1)


def senc() -> tuple[np.ndarray, np.ndarray]:
    """Party by race in 212 precincts."""
    table = load_ecological("senc")
    rows = table[["white", "black", "natam"]].to_numpy(float)
    cells = [table[[f"{race}{party}" for party in ("dem", "rep", "non")]].to_numpy(float)
             for race in ("wh", "bl", "natam")]  # fmt: skip
    return rows, np.stack(cells, axis=1)


def senc_two() -> tuple[np.ndarray, np.ndarray]:
    """The same: black or not, Democrat or not."""
    _, cells = senc()
    of_black = np.stack([cells[:, 1], cells[:, 0] + cells[:, 2]], axis=1)
    both = np.stack([of_black[:, :, 0], of_black[:, :, 1:].sum(axis=2)], axis=2)
    return both.sum(axis=2), both


def judge(
    cells: np.ndarray, estimate: np.ndarray, intervals: np.ndarray | None, seconds: float | None
) -> dict[str, str]:
    """One line: coverage and width of intervals, error of units and of the district."""
    people = cells.sum(axis=2)
    truth = np.divide(cells, people[:, :, None], out=np.zeros(cells.shape),
                      where=people[:, :, None] > 0)  # fmt: skip
    counted = np.broadcast_to((people > 0)[:, :, None], cells.shape)
    bounds = cell_bounds(people, cells.sum(axis=1))
    open_cells = counted & (bounds[..., 1] - bounds[..., 0] > 0.01)
    line = dict.fromkeys(("coverage", "coverage, open", "width", "width, open"), "")
    if intervals is not None:
        hit = (truth >= intervals[..., 0] - 1e-9) & (truth <= intervals[..., 1] + 1e-9)
        width = intervals[..., 1] - intervals[..., 0]
        line["coverage"] = f"{hit[counted].mean():.3f}"
        line["coverage, open"] = f"{hit[open_cells].mean():.3f}"
        line["width"] = f"{width[counted].mean():.3f}"
        line["width, open"] = f"{width[open_cells].mean():.3f}"
    total = people.sum(axis=0)[:, None]
    district = np.einsum("ur,urc->rc", people, estimate) / total
    weighed = (np.abs(estimate - truth) * people[:, :, None]).sum() / people.sum() / 2
    line["error, cells"] = f"{np.abs(estimate - truth)[counted].mean():.4f}"
    line["error, people"] = f"{weighed:.4f}"
    line["error, district"] = f"{np.abs(district - cells.sum(axis=0) / total).mean():.4f}"
    line["cpu s"] = "" if seconds is None else f"{seconds:.2f}"
    return line


def our_own(rows: np.ndarray, cells: np.ndarray, seed: int) -> dict[str, str]:
    """The line of one fit."""
    start = time.process_time()
    ei = EcologicalInference(random_state=seed).fit(rows, cells.sum(axis=1))
    intervals = ei.intervals(COVERAGE)
    line = judge(cells, ei.cells_, intervals, time.process_time() - start)
    print(seed, line, f"boundary {ei.boundary_:.2f}", flush=True)
    return line


def mean_line(lines: list[dict[str, str]]) -> dict[str, str]:
    """Mean of the lines of several seeds; of coverage also the range."""
    mean = {}
    for name, first in lines[0].items():
        values = [float(line[name]) for line in lines]
        digits = len(first.split(".")[1])
        mean[name] = f"{np.mean(values):.{digits}f}"
        if name == "coverage":
            mean[name] += f" ({min(values):.3f}-{max(values):.3f})"
    return mean


def pyei(rows: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray] | None:
    """PyEI with two short chains, in its own environment."""
    python = os.environ.get("PYEI_PYTHON")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        whole = np.rint(columns).astype(int)
        np.savez(source, rows=np.rint(rows).astype(int), columns=whole)
        subprocess.run([python, HERE / "ecological_pyei.py", source, target], check=True)
        return dict(np.load(target))


def main() -> None:
    """Every set, every method."""
    report = Report("ecological", f"Ecological inference, intervals at {COVERAGE:.0%}")
    sets = {"matproii, 268 counties, 2 x 2": matproii, "senc, 212 precincts, 2 x 2": senc_two,
            "senc, 212 precincts, 3 x 3": senc}  # fmt: skip
    for name, load in sets.items():
        rows, cells = load()
        columns = cells.sum(axis=1)
        own = [our_own(rows, cells, seed) for seed in range(N_SEEDS)]
        goodman = GoodmanRegression().fit(rows, columns).district_
        alike = np.broadcast_to(goodman, cells.shape)
        bounds = cell_bounds(rows, columns)
        lines = {
            "EcologicalInference": mean_line(own),
            "Goodman": judge(cells, alike, None, None),
            "Goodman, within the bounds": judge(
                cells, np.clip(alike, bounds[..., 0], bounds[..., 1]), None, None
            ),
            "middle of the bounds": judge(cells, bounds.mean(axis=-1), bounds, None),
        }
        other = pyei(rows, columns)
        if other is not None:
            lines[f"PyEI {other['version']}"] = judge(
                cells, other["cells"], other["intervals"], float(other["seconds"])
            )
        report.add(name, [{"method": method, **line} for method, line in lines.items()])


if __name__ == "__main__":
    main()

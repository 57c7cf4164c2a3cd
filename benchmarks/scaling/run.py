"""Rows, workers, memory, bytes and the price of the group part, on a cluster of this machine.

    python benchmarks/scaling/run.py rows|price|memory|error|groups [--folder FOLDER]

Each part adds its lines to ``benchmarks/results/scaling.json``; ``cost.py`` fits the cost model and
writes ``scaling.md``.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any

sys.path.insert(1, str(Path(__file__).parent.parent))

import harness
from cluster import Watched, cluster
from error import error
from fits import group_fit, plain_fit
from groups import groups
from rows import write

OUT = harness.RESULTS / "scaling.json"
ROUNDS = (5, 25)


def keep(part: str, lines: list[dict[str, Any]]) -> None:
    """Replace the lines of one part."""
    kept = json.loads(OUT.read_text()) if OUT.exists() else {}
    kept[part] = {"written": datetime.now(UTC).isoformat(timespec="seconds"), "lines": lines}
    OUT.write_text(json.dumps(kept, indent=1) + "\n")


def rows(folder: Path, sizes: list[int], limit: str) -> None:
    """Time, bytes and memory against rows and workers; other sizes are kept."""
    before = json.loads(OUT.read_text()) if OUT.exists() else {}
    lines = [line for line in before.get("rows", {}).get("lines", []) if line["rows"] not in sizes]
    for n_rows in sizes:
        data = write(folder / f"{n_rows}x20", n_rows, 20)
        for n_workers in (1, 2):
            with cluster(n_workers, limit) as client:
                seen = []
                for n_rounds in ROUNDS if n_rows <= 5_000_000 else ROUNDS[1:]:
                    with Watched(client) as watched:
                        many = group_fit(client, data, "majority", 3, n_rounds)
                    seen.append(watched)
                seconds, moved = many.seconds_, [watched.bytes_moved for watched in seen]
                rounds = ROUNDS[1] - ROUNDS[0]
                lines.append(
                    {
                        "rows": n_rows,
                        "features": 20,
                        "workers": n_workers,
                        "limit": limit,
                        "round s": seconds["boosting"] / ROUNDS[1],
                        "round cpu s": seconds["boosting_cpu"] / ROUNDS[1],
                        "binning s": seconds["binning"],
                        "all s": seconds["all"],
                        "rounds": ROUNDS[1],
                        "bytes a round": (moved[-1] - moved[0]) / rounds if moved[1:] else None,
                        "peak MiB": max(watched.peak_mib for watched in seen),
                    }
                )
                print(lines[-1], flush=True)
        keep("rows", lines)


LOSSES = (
    "majority",
    "majority_softmax",
    "presence_lse",
    "presence",
    "proportions_squared",
    "proportions",
)


def price(
    folder: Path, n_rows: int, n_features: int, turns: int, depth: int, losses: tuple[str, ...]
) -> None:
    """What the group part adds to a round of plain XGBoost on Dask, in turns."""
    part = f"price {n_features} {depth}"
    if losses != LOSSES:
        part += f" {' '.join(losses)}"
    data = write(folder / f"{n_rows}x{n_features}", n_rows, n_features)
    lines = []
    with cluster(2, "5GiB") as client:
        for turn in range(turns):
            for name in ("plain", *losses):
                if name == "plain":
                    seconds = plain_fit(client, data, depth, 30)
                else:
                    seconds = group_fit(client, data, name, depth, 30).seconds_
                lines.append(
                    {
                        "rows": n_rows,
                        "features": n_features,
                        "depth": depth,
                        "turn": turn,
                        "method": name,
                        "round s": seconds["boosting"] / 30,
                        "round cpu s": seconds["boosting_cpu"] / 30,
                    }
                )
                print(lines[-1], flush=True)
            keep(part, lines)


def memory(folder: Path, n_rows: int, n_features: int, limit: str, dtype: str) -> None:
    """Data that do not fit the memory limit of a worker."""
    size = {"float32": 4, "float64": 8}[dtype]
    ending = "f8" if size == 8 else ""
    data = write(folder / f"{n_rows}x{n_features}{ending}", n_rows, n_features, dtype)
    with cluster(2, limit) as client:
        with Watched(client) as watched:
            many = group_fit(client, data, "majority", 3, 10, on_disk=True)
        line = {
            "rows": n_rows,
            "features": n_features,
            "numbers": dtype,
            "data MiB": n_rows * (size * n_features + 9) / 2**20,
            "limit": limit,
            "workers": 2,
            "all s": many.seconds_["all"],
            "peak MiB": watched.peak_mib,
            "workers there at the end": len(client.nthreads()),
            "rounds": many.estimator_.n_iter_,
        }
    print(line, flush=True)
    before = json.loads(OUT.read_text()).get("memory", {}).get("lines", [])
    keep("memory", [other for other in before if other["rows"] != n_rows] + [line])


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("part", choices=["rows", "price", "memory", "error", "groups"])
    asked.add_argument("--folder", type=Path, default=Path(gettempdir()) / "scaling")
    asked.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000, 20_000_000])
    asked.add_argument("--features", type=int, default=28)
    asked.add_argument("--limit", default="3GiB")
    asked.add_argument("--turns", type=int, default=3)
    asked.add_argument("--depth", type=int, default=3)
    asked.add_argument("--losses", nargs="+", default=LOSSES, help="these only, against plain")
    asked.add_argument("--numbers", choices=["float32", "float64"], default="float64")
    given = asked.parse_args()
    if given.part == "rows":
        rows(given.folder, given.rows, given.limit)
    elif given.part == "price":
        losses = tuple(given.losses)
        price(given.folder, given.rows[0], given.features, given.turns, given.depth, losses)
    elif given.part == "memory":
        memory(given.folder, given.rows[0], given.features, given.limit, given.numbers)
    elif given.part == "error":
        keep("error", error())
    else:
        keep("groups", groups())

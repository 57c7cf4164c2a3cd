"""The cost model of a round, fitted to the runs, and what it says of a larger cluster.

    python benchmarks/scaling/cost.py

Reads ``benchmarks/results/scaling.json``, writes ``scaling.md``.
"""

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls

sys.path.insert(1, str(Path(__file__).parent.parent))

import harness

FOUND = json.loads((harness.RESULTS / "scaling.json").read_text())
DEPTH, N_FEATURES = 3, 20
BINS = 5 * 212 + 15 * 200  # distinct values of the 20 features in rows.py
LATENCY, BANDWIDTH = 50e-6, 1e9  # of a step between two machines of a data centre; bytes a second


def histogram_bytes(depth: int) -> int:
    """Of the histograms that are summed in a round: of each pair of children only one."""
    nodes = 1 + sum(2 ** (level - 1) for level in range(1, depth))
    return nodes * BINS * 16


def ring(n_workers: int, n_bytes: float) -> float:
    """Seconds of one sum around the ring: two turns, of a share of the bytes each step."""
    return (2 * n_workers - 1) * LATENCY + sent(n_workers, n_bytes) / BANDWIDTH


def sent(n_workers: int, n_bytes: float) -> float:
    """Bytes that a worker sends for one sum; for two workers 1.5 times the bytes, as measured."""
    return (2 * n_workers - 1) / n_workers * n_bytes


def communication(n_workers: int, depth: int, n_scalars: int) -> tuple[float, float]:
    """Seconds of a round for histograms, and for the numbers of the loss."""
    levels = histogram_bytes(depth) / depth
    small = (n_workers - 1) * LATENCY  # XGBoost sends a few bytes around once
    return depth * ring(n_workers, levels), n_scalars * small


def fitted() -> tuple[Any, Any]:
    """CPU seconds of a round on one worker: a constant and seconds a row, neither negative."""
    lines = FOUND["rows"]["lines"]
    share = np.array([line["rows"] / line["workers"] for line in lines])
    seconds = np.array([line["round cpu s"] for line in lines])
    A = np.column_stack([np.ones(len(share)), share]) / seconds[:, None]  # relative errors
    found, _ = nnls(A, np.ones(len(share)))
    return found, A @ found - 1.0


def table(lines: list[dict[str, Any]]) -> str:
    return "\n".join(harness.markdown(lines))


def rows_part() -> str:
    lines = [
        {
            "rows": f"{line['rows']:,}",
            "workers": line["workers"],
            "round s": f"{line['round s']:.3f}",
            "round cpu s": f"{line['round cpu s']:.3f}",
            "binning s": f"{line['binning s']:.0f}",
            "all s": f"{line['all s']:.0f}",
            "kB a round": ""
            if line["bytes a round"] is None
            else f"{line['bytes a round'] / 1e3:.0f}",
            "peak MiB a worker": f"{line['peak MiB']:.0f}",
        }
        for line in FOUND["rows"]["lines"]
    ]
    return table(lines)


def price_part() -> str:
    """Of a loss that was measured again later, the later runs only."""
    lines = []
    parts = sorted((n for n in FOUND if n.startswith("price")), key=lambda n: FOUND[n]["written"])
    for place, part in enumerate(parts):
        later = {run["method"] for other in parts[place + 1 :] for run in FOUND[other]["lines"]}
        later.discard("plain")
        runs = [run for run in FOUND[part]["lines"] if run["method"] not in later]
        for depth in sorted({run["depth"] for run in runs}):
            for method in dict.fromkeys(run["method"] for run in runs):
                own = [r for r in runs if r["depth"] == depth and r["method"] == method]
                base = [r for r in runs if r["depth"] == depth and r["method"] == "plain"]
                ratios = {
                    key: [a[key] / b[key] for a, b in zip(own, base, strict=True)]
                    for key in ("round s", "round cpu s")
                }
                lines.append(
                    {
                        "features": own[0]["features"],
                        "depth": depth,
                        "loss": "XGBoost's logistic" if method == "plain" else method,
                        "round s": f"{median(r['round s'] for r in own):.3f}",
                        "round cpu s": f"{median(r['round cpu s'] for r in own):.3f}",
                        "ratio": _spread(ratios["round s"]),
                        "ratio of cpu": _spread(ratios["round cpu s"]),
                        "turns": len(own),
                    }
                )
    return table(lines)


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def error_part() -> str:
    lines = FOUND["error"]["lines"]
    where = list(dict.fromkeys(line["where"] for line in lines))
    errors = {w: np.array([line["error"] for line in lines if line["where"] == w]) for w in where}
    alone = errors["one machine"]
    return table(
        [
            {
                "where": w,
                "mean error": f"{errors[w].mean():.4f}",
                "spread over seeds": f"{errors[w].std(ddof=1):.4f}",
                "largest difference to one machine": f"{np.abs(errors[w] - alone).max():.4f}",
                "mean difference": f"{(errors[w] - alone).mean():+.4f}",
            }
            for w in where
        ]
    )


def memory_part() -> str:
    return table(
        [
            {
                "rows": f"{line['rows']:,}",
                "features": f"{line['features']} {line['numbers']}",
                "data MiB": f"{line['data MiB']:,.0f}",
                "workers": line["workers"],
                "limit of each": line["limit"],
                "data over limit": f"{line['data MiB'] / float(line['limit'][:-3]):.2f}",
                "rounds": line["rounds"],
                "all s": f"{line['all s']:.0f}",
                "peak MiB a worker": f"{line['peak MiB']:.0f}",
                "workers lost": line["workers"] - line["workers there at the end"],
            }
            for line in FOUND["memory"]["lines"]
        ]
    )


def prediction() -> str:
    (constant, per_row), off = fitted()
    large = [run for run in FOUND["rows"]["lines"] if run["rows"] / run["workers"] == 1e7]
    measured = large[0]["round cpu s"]
    lines = []
    for n_workers, n_rows in ((2, 20_000_000), (10, 100_000_000), (100, 1_000_000_000)):
        compute = max(measured, constant + per_row * n_rows / n_workers)
        histograms, scalars = communication(n_workers, DEPTH, 2)
        total = compute + histograms + scalars
        lines.append(
            {
                "workers": n_workers,
                "rows": f"{n_rows:,}",
                "rows' work s": f"{compute:.2f}",
                "histograms s": f"{histograms:.4f}",
                "two numbers s": f"{scalars:.4f}",
                "a round s": f"{total:.2f}",
                "100 rounds": f"{100 * total / 60:.1f} min",
                "MB sent by a worker": f"{sent(n_workers, histogram_bytes(DEPTH)) / 1e6:.2f}",
            }
        )
    return (
        f"Fitted: {1e3 * constant:.1f} ms + {1e9 * per_row:.1f} ns a row of the worker's own "
        f"(CPU of one core, {N_FEATURES} features, depth {DEPTH}). The model is "
        f"{np.abs(off).max():.0%} off at worst, and too low for many rows: at ten million rows a "
        f"worker a round took {measured:.2f} s, which the table takes for the rows' work.\n\n"
        f"{table(lines)}"
    )


def main() -> None:
    two = [line for line in FOUND["rows"]["lines"] if line["workers"] == 2]
    measured = median(line["bytes a round"] for line in two if line["bytes a round"] is not None)
    days = ", ".join(f"{part} {found['written'][:10]}" for part, found in FOUND.items())
    page = f"""# Beyond one machine

{", ".join(f"{key} {value}" for key, value in harness.machine().items() if key != "load")}

Written on that day; measured: {days}
(of versions before 0.2.0 until 2026-11-15).

## Rows and workers

Majority loss, {N_FEATURES} features (float32, some 200 values each), depth {DEPTH}, one thread a
worker, Parquet parts in (89 bytes a row in memory). A round: the mean of
{two[0]["rounds"]}. The machine has two cores and had other work at the same time, so seconds on the
clock are worse than they need be; CPU seconds of the first worker are less disturbed.

{rows_part()}

Two workers send each other {measured / 1e3:.0f} kB a round (loopback device), however many rows
there are. The model says {2 * sent(2, histogram_bytes(DEPTH)) / 1e3:.0f} kB: the histograms of a
round hold {histogram_bytes(DEPTH) / 1e3:.0f} kB (16 bytes a bin, of each pair of children one), and
each of two workers sends 1.5 times that. Depths 1, 2 and 4 gave the same factor; the two numbers of
the majority loss are lost in the rest.

## What the group part costs

Rounds of the group losses against XGBoost's own Dask interface with its own logistic loss of rows,
in turns in one run, 2 workers, {FOUND["price 28 3"]["lines"][0]["rows"]:,} rows. Ratios are medians
over the turns, with the least and the largest, against XGBoost's own of the same run (the nearest
above). In the last run other work had most of both cores, so that its ratios of seconds on the
clock say little; those of CPU hold. The exact likelihood of counts ("proportions") finds
the distribution of every group's count, which is more arithmetic than a tree of depth 3;
"proportions_squared" learns from the same counts at the price of the others.

{price_part()}

## A million groups

Interleaved rows, ids of text, partitions cut without regard to groups, so that all rows are
shuffled.

{table(FOUND["groups"]["lines"])}

## Data larger than memory

Workers that Dask ends at 95 % of the limit, measured as resident memory; `on_disk=True`; Parquet
parts in, times with reading. No worker was lost.

{memory_part()}

## Continuous features

Error on 4,000 sessions not trained on; more distinct values than bins; each seed draws new data.

{error_part()}

## The cost model, and a cluster we do not have

A round is work on the worker's own rows, and sums over the workers: one of histograms at each level
of the tree, and, for the majority loss, two of one number each.

{prediction()}

Assumed, not measured: {1e6 * LATENCY:.0f} microseconds a step and {BANDWIDTH / 1e9:.0f} GB/s
between two machines; XGBoost's ring, so that the steps of a sum grow with the number of workers;
workers that all take the same time (the slowest decides); one core a worker (with more, the rows'
work shrinks by nearly their number, the rest does not); rows already read and binned.
"""
    (harness.RESULTS / "scaling.md").write_text(page)


if __name__ == "__main__":
    main()

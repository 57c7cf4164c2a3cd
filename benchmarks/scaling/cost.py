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
    """Seconds of one sum around the ring: two turns, each worker sends nearly twice the bytes."""
    steps = 2 * (n_workers - 1)
    return steps * LATENCY + steps / n_workers * n_bytes / BANDWIDTH


def communication(n_workers: int, depth: int, n_scalars: int) -> tuple[float, float]:
    """Seconds of a round for histograms, and for the numbers of the loss."""
    levels = histogram_bytes(depth) / depth
    small = (n_workers - 1) * LATENCY  # XGBoost sends a few bytes around once
    return depth * ring(n_workers, levels), n_scalars * small


def fitted() -> tuple[Any, Any]:
    """CPU seconds of a round on one worker: a constant, and seconds a row."""
    lines = FOUND["rows"]["lines"]
    share = np.array([line["rows"] / line["workers"] for line in lines])
    seconds = np.array([line["round cpu s"] for line in lines])
    A = np.column_stack([np.ones(len(share)), share]) / seconds[:, None]  # relative errors
    found, *_ = np.linalg.lstsq(A, np.ones(len(share)), rcond=None)
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
    lines = []
    for part in (name for name in FOUND if name.startswith("price")):
        runs = FOUND[part]["lines"]
        for depth in sorted({run["depth"] for run in runs}):
            for method in dict.fromkeys(run["method"] for run in runs):
                own = [r for r in runs if r["depth"] == depth and r["method"] == method]
                base = [r for r in runs if r["depth"] == depth and r["method"] == "plain"]
                ratio = {
                    key: median(a[key] / b[key] for a, b in zip(own, base, strict=True))
                    for key in ("round s", "round cpu s")
                }
                lines.append(
                    {
                        "features": own[0]["features"],
                        "depth": depth,
                        "loss": "XGBoost's logistic" if method == "plain" else method,
                        "round s": f"{median(r['round s'] for r in own):.3f}",
                        "round cpu s": f"{median(r['round cpu s'] for r in own):.3f}",
                        "ratio": f"{ratio['round s']:.2f}",
                        "ratio of cpu": f"{ratio['round cpu s']:.2f}",
                        "turns": len(own),
                    }
                )
    return table(lines)


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


def prediction() -> str:
    (constant, per_row), off = fitted()
    lines = []
    for n_workers, n_rows in ((2, 20_000_000), (10, 100_000_000), (100, 1_000_000_000)):
        compute = constant + per_row * n_rows / n_workers
        histograms, scalars = communication(n_workers, DEPTH, 2)
        total = compute + histograms + scalars
        sent = 2 * (1 - 1 / n_workers) * histogram_bytes(DEPTH)
        lines.append(
            {
                "workers": n_workers,
                "rows": f"{n_rows:,}",
                "rows' work s": f"{compute:.2f}",
                "histograms s": f"{histograms:.4f}",
                "two numbers s": f"{scalars:.4f}",
                "a round s": f"{total:.2f}",
                "100 rounds": f"{100 * total / 60:.1f} min",
                "MB sent by a worker": f"{sent / 1e6:.2f}",
            }
        )
    return (
        f"Fitted: {1e3 * constant:.1f} ms + {1e9 * per_row:.1f} ns a row of the worker's own "
        f"(CPU of one core, {N_FEATURES} features, depth {DEPTH}); the runs lie within "
        f"{np.abs(off).max():.0%} of it.\n\n{table(lines)}"
    )


def main() -> None:
    two = [line for line in FOUND["rows"]["lines"] if line["workers"] == 2]
    measured = median(line["bytes a round"] for line in two if line["bytes a round"] is not None)
    memory = FOUND["memory"]["lines"][0]
    page = f"""# Beyond one machine

{", ".join(f"{key} {value}" for key, value in harness.machine().items() if key != "load")}

## Rows and workers

Majority loss, {N_FEATURES} features (float32, some 200 values each), depth {DEPTH}, one thread a
worker, {two[0]["limit"]} of memory a worker, Parquet parts in. A round: the mean of
{two[0]["rounds"]}. The machine has two cores and had other work at the same time, so seconds on the
clock are worse than they need be; CPU seconds of the first worker are less disturbed.

{rows_part()}

Two workers send each other {measured / 1e3:.0f} kB a round, however many rows there are. The model
says {2 * histogram_bytes(DEPTH) / 1e3:.0f} kB: {histogram_bytes(DEPTH) / 1e3:.0f} kB of histograms
(16 bytes a bin, of each pair of children one), which each of two workers sends once around.

## What the group part costs

Rounds of the group losses against XGBoost's own Dask interface with its own logistic loss of rows,
in turns in one run, 2 workers, {FOUND["price 28"]["lines"][0]["rows"]:,} rows.

{price_part()}

## Data larger than memory

{memory["rows"]:,} rows of {memory["features"]} float64 features, {memory["data MiB"]:,.0f} MiB, on
{memory["workers"]} workers that Dask ends at 95 % of {memory["limit"]} each: the data are
{memory["data MiB"] / float(memory["limit"].removesuffix("MiB")):.2f} times the limit of a worker.
{memory["rounds"]} rounds with `on_disk=True` were done after {memory["all s"]:.0f} s, reading
included; no worker was lost, and the largest resident memory was {memory["peak MiB"]:.0f} MiB.

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

"""Encoding ids and reducing per group, against the numpy calls a user would write.

Run ``python benchmarks/bench_groups.py`` (about a minute). A million rows in 100 thousand groups.
"""

from typing import Any

import numpy as np
from harness import Report, take_turns

from groupwise import Groups

N_ROWS, N_GROUPS, TURNS = 1_000_000, 100_000, 15


def encoding() -> list[dict[str, Any]]:
    codes = np.random.default_rng(0).integers(0, N_GROUPS, N_ROWS)
    text = np.char.add("session ", codes.astype(str))
    kinds = {
        "integers": codes,
        "dates": np.datetime64("2026-01-01T00:00:00") + codes,
        "numpy strings": text,
        "objects (strings)": text.astype(object),
    }
    rows = []
    for name, ids in kinds.items():
        times = take_turns(
            {
                "np.unique(return_inverse=True)": lambda ids=ids: np.unique(
                    ids, return_inverse=True
                ),
                "Groups": lambda ids=ids: Groups(ids),
            },
            3 if name.startswith("objects") else 5,
        )
        base = times["np.unique(return_inverse=True)"]
        rows += [{"ids": name, **timing.row(base)} for timing in times.values()]
    return rows


def reductions(interleaved: bool) -> list[dict[str, Any]]:
    """Each against ``np.add.reduceat`` on the same values sorted by group beforehand."""
    rng = np.random.default_rng(1)
    ids = rng.integers(0, N_GROUPS, N_ROWS)
    groups = Groups(ids if interleaved else np.sort(ids))
    values = rng.normal(size=N_ROWS)
    in_order, starts = values[groups.order], groups.offsets[:-1]
    group_values = groups.mean(values)
    times = take_turns(
        {
            "np.add.reduceat": lambda: np.add.reduceat(in_order, starts),
            "sum": lambda: groups.sum(values),
            "mean": lambda: groups.mean(values),
            "max": lambda: groups.max(values),
            "logsumexp": lambda: groups.logsumexp(values),
            "numpy: log(reduceat(exp))": lambda: np.log(np.add.reduceat(np.exp(in_order), starts)),
            "logsumexp, wide values": lambda: groups.logsumexp(100.0 * in_order),
            "spread": lambda: groups.spread(group_values),
            "one_per_group": lambda: groups.one_per_group(groups.codes),
        },
        TURNS,
    )
    return [timing.row(times["np.add.reduceat"]) for timing in times.values()]


def main() -> None:
    report = Report("groups", "Groups: a million rows in 100 thousand groups")
    report.add("Encoding ids", encoding())
    note = "The base sums values that were sorted by group beforehand; sorting is not counted."
    report.add("Reductions, rows sorted by group", reductions(interleaved=False), note)
    report.add("Reductions, rows interleaved", reductions(interleaved=True), note)


if __name__ == "__main__":
    main()

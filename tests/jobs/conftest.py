import numpy as np
import pandas as pd
import pytest

from groupwise.tables import LoadedTable


@pytest.fixture(scope="session")
def table():
    """24 groups of 8 rows with every kind of label, a category and gaps."""
    rng = np.random.RandomState(1)
    n_groups, size = 24, 8
    label = np.arange(n_groups) % 2
    share = np.where(label, 0.75, 0.25)
    row = (rng.rand(n_groups, size) < share[:, None]).astype(int).ravel()
    group = np.repeat([f"g{k:02d}" for k in range(n_groups)], size)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=row.size) + 2.0 * row,
            "z": np.where(rng.rand(row.size) < 0.1, np.nan, rng.normal(size=row.size)),
            "colour": np.where(row, "red", rng.choice(["red", "blue"], row.size)),
            "group": group,
            "kind": np.repeat(np.where(label, "high", "low"), size),
            "row": np.where(row, "yes", "no"),
            "domain": np.where(np.repeat(np.arange(n_groups), size) % 3 == 0, "new", "old"),
        }
    )
    counts = frame.groupby("group")["row"].transform(lambda v: (v == "yes").sum())
    frame["n_yes"], frame["n_no"] = counts, size - counts
    frame["grade"] = np.digitize(counts, [3, 5])
    frame["mean"] = frame.groupby("group")["x"].transform("mean")
    frame["days"], frame["seen"] = 9 - counts, (np.repeat(np.arange(n_groups), size) % 3 > 0) * 1
    frame["wave"] = np.repeat(np.arange(n_groups) // 4, size)  # of four groups
    of_wave = frame.groupby("wave")["row"].transform(lambda v: (v == "yes").sum())
    frame["wave_yes"], frame["wave_no"] = of_wave, 4 * size - of_wave
    return LoadedTable(frame, "table", "0" * 64)


COLUMNS = {
    "majority": {"group": "group", "label": ("kind",)},
    "presence": {"group": "group", "label": ("kind",)},
    "grade": {"group": "group", "label": ("grade",)},
    "mean": {"group": "group", "label": ("mean",)},
    "total": {"group": "group", "label": ("n_yes",)},
    "survival": {"group": "group", "label": ("days",), "event": "seen"},
    "proportions": {"group": "group", "label": ("n_no", "n_yes")},
    "reported": {"group": "group", "label": ("n_yes",), "reported": "rounded 2"},
    "measure": {"group": "group", "label": ("row",), "measure": "f1"},
    "transfer": {"group": "group", "label": ("row",), "domain": "domain", "target_domain": "new"},
    "groupings": {
        "group": "group",
        "label": ("n_no", "n_yes"),
        "of": "proportions",
        "groups": ("group", "wave"),
        "labels": (("n_no", "n_yes"), ("wave_no", "wave_yes")),
        "weights": (1.0, 0.5),
    },
}


@pytest.fixture(scope="session")
def columns():
    return COLUMNS

"""Made-up sessions in Parquet parts: many features, two classes, groups of unequal size."""

from pathlib import Path

import numpy as np
import pandas as pd

PART_NUMBERS = 5_000_000  # 250,000 rows of 20 features


def part(number: int, n_rows: int, n_features: int, dtype: str = "float32") -> pd.DataFrame:
    """One part: whole groups of one to forty rows; a group's label and each row's own class."""
    rng = np.random.default_rng([number, n_rows, n_features])
    sizes = np.minimum(rng.geometric(0.1, n_rows), 40)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n_rows)) + 1]
    sizes[-1] -= sizes.sum() - n_rows
    sizes = sizes[sizes > 0]
    group = np.repeat(np.arange(len(sizes)) + number * 10_000_000, sizes)
    label = rng.integers(0, 2, len(sizes))[np.repeat(np.arange(len(sizes)), sizes)]
    own = np.where(rng.random(n_rows) < 0.2, 1 - label, label)  # rows that do what others do
    X = rng.integers(0, 200, (n_rows, n_features)).astype(dtype)
    X[:, : n_features // 4] += (12 * own[:, None]).astype(dtype)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(n_features)])
    return frame.assign(label=label.astype(np.int8), own=own.astype(np.int8), session=group)


def write(folder: Path, n_rows: int, n_features: int, dtype: str = "float32") -> Path:
    """Write the parts that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    part_rows = PART_NUMBERS // n_features
    for number in range(-(-n_rows // part_rows)):
        path = folder / f"part-{number:04d}.parquet"
        if not path.exists():
            size = min(part_rows, n_rows - number * part_rows)
            part(number, size, n_features, dtype).to_parquet(path, index=False, compression=None)
    return folder

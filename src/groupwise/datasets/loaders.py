"""Loaders of the data sets that the reproductions use, from a folder the user names."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from groupwise.datasets.data import GroupedData, LabelledData

__all__ = ["data_folder", "load_uci", "load_wisdm"]

# file, column of the label, labels that count as positive
_UCI = {
    "spam": ("spambase.csv.gz", "is_spam", [1]),
    "cmc": ("cmc.csv.gz", "contraceptive_method", [2, 3]),  # any use of contraception
    "german": ("german_numeric.csv.gz", "credit_risk", [1]),
}


def data_folder(*parts: str) -> Path:
    """The folder that the variable ``GROUPWISE_DATA`` names, or a path below it.

    Raises
    ------
    FileNotFoundError
        If the variable is not set or the path does not exist.
    """
    root = os.environ.get("GROUPWISE_DATA")
    if not root:
        raise FileNotFoundError("set GROUPWISE_DATA to the folder that holds the data sets")
    path = Path(root, *parts)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist (GROUPWISE_DATA is {root})")
    return path


def load_uci(name: str) -> LabelledData:
    """Rows and 0/1 labels of ``"spam"``, ``"cmc"`` (no use against use) or ``"german"``."""
    if name not in _UCI:
        raise ValueError(f"name must be one of {sorted(_UCI)}, got {name!r}")
    file, label, positive = _UCI[name]
    table = pd.read_csv(data_folder("uci", file))
    y = table[label].isin(positive).to_numpy().astype(np.intp)
    return LabelledData(table.drop(columns=label).to_numpy(float), y)


def load_wisdm() -> GroupedData:
    """WISDM activity windows: features, activities, sessions (user and activity) and users.

    Features without values where the recording shows no peak stay missing (NaN). A split should
    keep the user's sessions together: ``keep_whole`` holds the user ids.
    """
    table = pd.read_csv(data_folder("sessions", "wisdm_v1.1_transformed.csv.gz"))
    user = table["user"].to_numpy()
    activity = table["activity"].to_numpy(str)
    session = np.char.add(np.char.add(user.astype(str), " "), activity)
    return GroupedData(table.drop(columns=["user", "activity"]), activity, session, keep_whole=user)

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def people():
    """Mixed columns: ids with leading zeros, missing values, categories, dates, whole numbers."""
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "visit": np.repeat(["007", "08", "11", "12"], 10),
            "height": rng.normal(size=40),
            "steps": rng.randint(100, size=40),
            "colour": ["red", "green", None, "blue"] * 10,
            "when": pd.date_range("2024-01-01", periods=40, freq="h"),
            "ill": np.repeat(["no", "yes", "no", "yes"], 10),
        }
    )

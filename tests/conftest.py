import os

# Two test processes on two cores: more threads would only wait for each other. Before any import
# that starts a thread pool.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from groupwise.datasets import GroupedData, data_folder, make_sessions


@pytest.fixture
def sessions() -> GroupedData:
    """Two overlapping classes, 52 sessions of five rows, sorted by session."""
    rng = np.random.RandomState(3)
    y_row = rng.randint(2, size=300)
    X = rng.normal(size=(300, 4)) + y_row[:, None]
    return make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=3)


@pytest.fixture(scope="session")
def real_data():
    """The data folder; tests that use it are skipped where it is absent."""
    if not os.environ.get("GROUPWISE_DATA"):
        pytest.skip("GROUPWISE_DATA names no folder of data sets")
    return data_folder()

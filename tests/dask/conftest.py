"""Real clusters of processes: threads of one process could not be workers of a collective."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def client():
    """Two workers of one thread each."""
    yield from _cluster(2)


@pytest.fixture(scope="session")
def one_worker():
    yield from _cluster(1)


def _cluster(n_workers):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def coarse():
    """Interleaved rows of groups with string ids; features of few values, some missing."""

    def make(n_groups=120, n_classes=2, seed=0):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 12, n_groups)
        group = np.repeat(np.arange(n_groups), sizes)
        y = np.arange(n_groups) % n_classes
        X = rng.integers(0, 20, (len(group), 5)).astype(float)
        X[:, 0] += 5 * y[group]
        X[rng.random(X.shape) < 0.05] = np.nan
        order = rng.permutation(len(group))
        names = np.array([f"s{name:05d}" for name in rng.permutation(n_groups)])
        return X[order], y[group][order], names[group][order]

    return make


@pytest.fixture
def cut():
    """Arrays as Dask arrays in about equal parts."""
    import dask.array as da

    def make(array, n_partitions):
        size = -(-len(array) // n_partitions)
        return da.from_array(array, chunks=(size, *array.shape[1:]))

    return make


@pytest.fixture
def apart():
    """The largest difference between two models' scores."""

    def measure(model, other, X):
        ask = "decision_function" if hasattr(model, "decision_function") else "predict"
        return np.abs(getattr(model, ask)(X) - getattr(other, ask)(X)).max()

    return measure

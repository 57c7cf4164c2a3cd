import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from threadpoolctl import threadpool_limits

from groupwise.datasets import AggregateData, make_aggregates


@pytest.fixture(scope="session")
def blobs() -> AggregateData:
    """Two classes well apart, 24 groups of five, half mixed."""
    X, y = make_blobs(120, centers=[[-2, 0], [2, 0]], cluster_std=0.8, random_state=2)
    return make_aggregates(X, np.array(["no", "yes"])[y], size=5, randomness=0.6, random_state=1)


@pytest.fixture(scope="session")
def iris() -> AggregateData:
    """Three classes, 30 groups of five."""
    X, y = load_iris(return_X_y=True)
    return make_aggregates(X, y, size=5, randomness=0.7, random_state=0)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small matrices are slower on two threads, and much slower where others want them too."""
    with threadpool_limits(1):
        yield

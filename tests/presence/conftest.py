import numpy as np
import pytest

from groupwise.datasets import GroupedData, make_presence_bags


@pytest.fixture(scope="session")
def easy():
    """Positive groups hold one row near (3, 3); all other rows lie around the origin."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(40), 4)
    y = groups % 2
    X = rng.normal(scale=0.5, size=(160, 2))
    X[::4] += 3.0 * y[::4, None]
    return X, y, groups


@pytest.fixture(scope="session")
def bags() -> GroupedData:
    """Fifteen positive groups and as many single negative rows."""
    return make_presence_bags(15, random_state=3)

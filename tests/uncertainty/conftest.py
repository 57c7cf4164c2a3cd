"""Groups that are exchangeable by the way they are made."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from groupwise import NaiveGroupClassifier


def make_groups(n_groups, seed, *, size=6, effect=1.0, n_classes=2):
    """Rows around their group's own centre, which leans towards the centre of its class."""
    rng = np.random.RandomState(seed)
    sizes = rng.randint(1, 2 * size, n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    label = rng.randint(n_classes, size=n_groups)
    centre = rng.normal(scale=effect, size=(n_groups, 2))
    centre[:, 0] += 1.5 * label
    X = centre[groups] + rng.normal(size=(len(groups), 2))
    return X, label[groups], groups


@pytest.fixture(scope="session")
def plain():
    return NaiveGroupClassifier(LogisticRegression(), rule="mean")

"""Small boosters, and features of few values."""

import importlib.util

import numpy as np
import pytest

from groupwise import HistTrees
from groupwise.gbdt import GroupBoostClassifier

HAS_XGBOOST = importlib.util.find_spec("xgboost") is not None


@pytest.fixture(
    params=[
        "lightgbm",
        pytest.param(
            "xgboost",
            marks=pytest.mark.skipif(not HAS_XGBOOST, reason="the extra xgboost is not installed"),
        ),
    ]
)
def engine(request):
    return request.param


@pytest.fixture
def make():
    """A classifier of ten rounds; ``trees`` are parameters of its trees."""

    def make(engine="lightgbm", loss="majority", trees=None, **options):
        options = {"n_estimators": 10, "random_state": 0, **options}
        trees = HistTrees(**{"n_jobs": 1, **(trees or {})})
        return GroupBoostClassifier(loss, engine=engine, trees=trees, **options)

    return make


@pytest.fixture
def grid_data():
    """Features of few values, so that every engine cuts at the same places."""

    def make(seed=0, n_groups=60, n_classes=2):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(n_groups), rng.integers(1, 8, n_groups))
        X = rng.integers(0, 8, (len(groups), 5)).astype(float)
        y_group = rng.permutation(np.arange(n_groups) % n_classes)
        X[:, 0] += 2 * y_group[groups]
        mixed = rng.permutation(len(groups))
        return X[mixed], y_group[groups][mixed], groups[mixed]

    return make

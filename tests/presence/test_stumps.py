"""Stumps: scores are sums over rows."""

import numpy as np
from scipy.sparse import csr_array

from groupwise.presence import (
    Stumps,
)


def test_stump_scores_are_sums_over_rows():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.normal(size=20), rng.randint(3, size=20), np.ones(20)])
    for most in (None, 4):
        pool = Stumps(most).bind(X)
        H = pool.values(np.arange(len(pool.feature)))
        above = X[:, pool.feature] > pool.threshold
        np.testing.assert_array_equal(H, np.where(above, 1.0, -1.0))
        weight = csr_array(rng.normal(size=(3, 20)))
        found = np.full((3, H.shape[1]), np.nan)
        for numbers, score in pool.blocks(weight):
            found[:, numbers] = score
        np.testing.assert_allclose(found, weight @ H, atol=1e-12)
        total = pool.combine(np.array([0, 2]), np.array([0.5, -2.0])).score(X)
        np.testing.assert_allclose(total, H[:, [0, 2]] @ [0.5, -2.0])

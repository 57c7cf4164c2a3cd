"""Balls are thresholded RBF features."""

import numpy as np

from groupwise.presence import (
    Balls,
)


def test_a_ball_is_a_thresholded_rbf_feature():
    X = np.random.RandomState(0).normal(size=(12, 2))
    pool = Balls(3, max_radii=None).bind(X)
    H = pool.values(np.arange(len(pool.stumps.feature)))
    centre, radius = pool.centres[pool.stumps.feature], pool.stumps.threshold
    rbf = np.exp(-((X[:, None] - centre) ** 2).sum(axis=2))
    height = np.exp(-(np.maximum(radius, 0) ** 2))
    inside = rbf[:, 1:] > height[1:]
    np.testing.assert_array_equal(H[:, 1:] < 0, inside)
    ensemble = pool.combine(np.array([0, 5, 7]), np.array([1.0, 2.0, -0.5]))
    np.testing.assert_allclose(ensemble.score(X), H[:, [0, 5, 7]] @ [1.0, 2.0, -0.5])
    *_, last = ensemble.staged_score(X)
    np.testing.assert_allclose(last, ensemble.score(X))

"""Axis-parallel rectangles, step by step."""

import numpy as np
from scipy.stats import norm

from groupwise import Groups
from groupwise.presence import (
    APRClassifier,
)
from groupwise.presence.apr import _boxes_of_others, _discriminate, _expand


def test_rectangle_holds_a_row_of_every_positive_group_and_no_negative_one(easy):
    X, y, groups = easy
    model = APRClassifier().fit(X, y, groups=groups)
    score = model.decision_function(X)
    assert (Groups(groups).max(score)[1::2] > 0).all()
    assert (score[y == 0] <= 0).mean() > 0.98
    wide = APRClassifier(epsilon=1e-6).fit(X, y, groups=groups)
    assert (wide.lower_ <= model.lower_).all() and (wide.upper_ >= model.upper_).all()


def test_strong_exclusion_by_hand():
    """Feature 0 excludes all, but by little; 1 and 2 by much; the last row only by a little."""
    low, high = np.zeros(3), np.ones(3)
    negative = np.array([[1.1, 3.0, 0.5], [1.1, 3.0, 0.5], [1.1, 0.5, -2.0], [1.3, 0.5, 1.2]])
    assert _discriminate(negative, low, high, 1.0).tolist() == [0, 1, 2]
    assert _discriminate(negative, low, high, 0.0).tolist() == [0]
    inside = np.full((1, 3), 0.5)  # nothing excludes it: it does not keep the others waiting
    assert _discriminate(np.vstack([negative, inside]), low, high, 0.0).tolist() == [0]


def test_expanded_sides_leave_out_epsilon():
    rows = np.random.RandomState(0).normal(size=(30, 2))
    low, high = rows.min(axis=0), rows.max(axis=0)
    lower, upper = _expand(rows, low, high, tau=0.99, epsilon=0.02)
    width = (high - low) / 2 / norm.ppf(0.995)
    np.testing.assert_allclose(norm.cdf(lower, rows, width).mean(axis=0), 0.01, rtol=1e-6)
    np.testing.assert_allclose(norm.sf(upper, rows, width).mean(axis=0), 0.01, rtol=1e-6)


def test_boxes_of_others():
    X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 4.0], [9.0, 9.0]])
    chosen = np.array([0, 1, 2, -1])
    low, high = _boxes_of_others(X, chosen)
    for group in range(4):
        others = X[[row for at, row in enumerate(chosen) if row >= 0 and at != group]]
        assert np.array_equal(low[group], others.min(axis=0))
        assert np.array_equal(high[group], others.max(axis=0))

"""LPBoost by hand."""

import numpy as np
import pytest

from groupwise.presence import (
    Balls,
    LPBoostClassifier,
    Stumps,
)


def test_one_stump_by_hand():
    """Four rows on a line: one stump of weight 1 reaches every margin, no slack."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    clf = LPBoostClassifier(Stumps(), C=1.0).fit(X, y)
    assert clf.upper_bound_ == clf.lower_bound_ == 1.0 and clf.gap_ == 0.0
    assert clf.ensemble_.outputs[0].threshold.tolist() == [1.5]
    np.testing.assert_allclose(clf.decision_function([[1.4], [1.6]]), [-1.0, 1.0])
    # C = 0.2: a stump costs 1, four slacks 0.8; no hypothesis is the cheapest model
    none = LPBoostClassifier(Stumps(), C=0.2).fit(X, y)
    assert none.upper_bound_ == pytest.approx(0.8) and len(none.estimator_weights_) == 0


@pytest.mark.parametrize("pool", [Balls(), Stumps()])
def test_where_nothing_separates_every_score_is_zero(pool):
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    clf = LPBoostClassifier(pool, nu=0.5).fit(X, np.array([0, 1, 0, 1]))
    assert np.array_equal(clf.decision_function(X), np.zeros(4))
    assert len(clf.estimator_weights_) == 0

"""EM-DD: its gradient and its target."""

import numpy as np
from scipy.optimize import check_grad

from groupwise.presence import (
    EMDDClassifier,
)
from groupwise.presence.em_dd import _loss


def test_em_dd_gradient_and_target(easy):
    X, y, groups = easy
    rng = np.random.RandomState(0)
    positive = rng.uniform(size=12) < 0.5
    rows, theta = rng.normal(size=(12, 3)), rng.normal(size=6)
    error = check_grad(
        lambda t: _loss(t, rows, positive)[0], lambda t: _loss(t, rows, positive)[1], theta
    )
    assert error < 1e-4
    model = EMDDClassifier(8, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.point_, [3.0, 3.0], atol=0.8)
    one = EMDDClassifier(1, random_state=0).fit(X, y, groups=groups)
    assert model.neg_log_likelihood_ <= one.neg_log_likelihood_

"""The debiased labels of EasyLLP."""

import numpy as np

from groupwise.inputs import check_shares
from groupwise.proportions import (
    EasyLLPClassifier,
)
from groupwise.proportions.easy_llp import debiased_operator


def test_easy_llp_weights_by_hand():
    """Two groups of two with shares 1 and 0.5; prior 0.75: weights 2 (s - p) + p."""
    phi = np.array([[0.0], [1.0], [2.0], [4.0]])
    data = check_shares(EasyLLPClassifier(), phi, ["b", "b", "a", "b"], [0, 0, 1, 1])
    operator = debiased_operator(phi, data)
    expected_b = 1.25 * phi[:2].sum(axis=0) + 0.25 * phi[2:].sum(axis=0)
    np.testing.assert_allclose(operator[1], expected_b)
    np.testing.assert_allclose(operator.sum(axis=0), phi.sum(axis=0))

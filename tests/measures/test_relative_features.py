"""Features seen from inside the group."""

import numpy as np

from groupwise.measures import add_relative_features


def test_relative_features():
    X = np.array([[1.0, 5.0], [3.0, 5.0], [7.0, 2.0]], np.float32)
    both = add_relative_features(X, ["a", "a", "b"])
    assert both.dtype == np.float32
    np.testing.assert_allclose(both[:, 2:], [[-1, 0], [1, 0], [0, 0]])
    assert (add_relative_features(X, None)[:, 2:] == 0).all()
    shifted = add_relative_features(X + np.array([[10.0], [10.0], [0.0]]), ["a", "a", "b"])
    np.testing.assert_allclose(shifted[:, 2:], both[:, 2:], atol=1e-6)

"""Class means by least squares."""

import numpy as np

from groupwise.proportions import (
    MeanMapClassifier,
)


def test_mean_map_finds_class_means_that_are_the_same_everywhere():
    """Groups whose means are exact mixtures of two points: least squares finds the points."""
    X = np.array([[0.0], [0.0], [0.0], [4.0], [0.0], [4.0], [4.0], [4.0]])
    y = (X[:, 0] > 0).astype(int)
    groups = np.repeat([0, 1], 4)
    model = MeanMapClassifier(C=1e3, kernel="linear").fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.predict(X), y)

"""Class means by least squares."""

import numpy as np

from groupwise.inputs import check_shares
from groupwise.proportions import (
    MeanMapClassifier,
)
from groupwise.proportions.mean_map import weights_of_class_means


def test_weights_of_rows_give_the_class_means_of_least_squares():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(20, 2)), np.repeat(np.arange(6), [1, 2, 3, 4, 5, 5])
    data = check_shares(MeanMapClassifier(), X, np.arange(20) % 3, groups)
    scale = np.sqrt(data.sizes)[:, None]
    means = np.linalg.lstsq(scale * data.shares_group, scale * data.groups.mean(X), rcond=None)[0]
    expected = data.counts_group.sum(axis=0)[:, None] * means
    np.testing.assert_allclose(weights_of_class_means(data).T @ X, expected)


def test_mean_map_finds_class_means_that_are_the_same_everywhere():
    """Groups whose means are exact mixtures of two points: least squares finds the points."""
    X = np.array([[0.0], [0.0], [0.0], [4.0], [0.0], [4.0], [4.0], [4.0]])
    y = (X[:, 0] > 0).astype(int)
    groups = np.repeat([0, 1], 4)
    model = MeanMapClassifier(C=1e3, kernel="linear").fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.predict(X), y)

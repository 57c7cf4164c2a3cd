"""Soft labels of rows and the shares of groups they stand for."""

import numpy as np
import pytest

from groupwise import Groups
from groupwise.inputs import check_shares
from groupwise.proportions import (
    ManifoldAOCClassifier,
)
from groupwise.proportions.soft_labels import aggregate_targets


def test_group_shares_are_the_mean_soft_labels(blobs, iris):
    model = ManifoldAOCClassifier().fit(blobs.X, blobs.y, groups=blobs.groups)
    mean = Groups(blobs.groups).mean(model.soft_labels(blobs.X))
    shares = model.predict_groups_proba(blobs.X, groups=blobs.groups)
    np.testing.assert_allclose(shares[:, 1], np.clip((1 + mean) / 2, 0, 1))
    three = ManifoldAOCClassifier().fit(iris.X, iris.y, groups=iris.groups)
    assert three.soft_labels(iris.X).shape == (150, 3)


def test_soft_labels_where_nothing_was_learned():
    with pytest.warns(UserWarning, match="same shares"):
        model = ManifoldAOCClassifier().fit(np.eye(4), [0, 1, 0, 1], groups=[0, 0, 1, 1])
    with pytest.raises(AttributeError, match="no function was learned"):
        model.soft_labels(np.eye(4))


def test_targets_by_hand(blobs, iris):
    data = check_shares(ManifoldAOCClassifier(), blobs.X, blobs.y, blobs.groups)
    np.testing.assert_array_equal(
        aggregate_targets(data)[:, 0], data.counts_group[:, 1] - data.counts_group[:, 0]
    )
    data = check_shares(ManifoldAOCClassifier(), iris.X, iris.y, iris.groups)
    assert aggregate_targets(data).shape == (30, 3)

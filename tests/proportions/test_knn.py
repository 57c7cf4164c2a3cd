"""Neighbours that vote with shares."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from groupwise.exceptions import GroupDataError
from groupwise.proportions import (
    GraphAOCClassifier,
    KNNAOCClassifier,
)


def test_neighbours_of_groups_of_one_are_those_of_scikit_learn(iris):
    ours = KNNAOCClassifier(4).fit(iris.X, iris.y_row, groups=np.arange(150)).predict_proba(iris.X)
    theirs = KNeighborsClassifier(4).fit(iris.X, iris.y_row).predict_proba(iris.X)
    np.testing.assert_allclose(ours, theirs)


def test_too_many_neighbours_are_refused():
    X, y = np.arange(4.0)[:, None], ["a", "b", "a", "b"]
    with pytest.raises(GroupDataError, match="n_neighbors=5 is more than there are rows"):
        KNNAOCClassifier().fit(X, y, groups=np.arange(4))
    for model in (KNNAOCClassifier(0), GraphAOCClassifier(n_neighbors=0)):
        with pytest.raises(ValueError, match="n_neighbors must be"):
            model.fit(X, y, groups=np.arange(4))

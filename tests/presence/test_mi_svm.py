"""mi-SVM and MI-SVM: their parent, and where they end."""

import numpy as np
import pytest
from sklearn.svm import SVC

from groupwise import Groups
from groupwise.datasets import make_presence_bags
from groupwise.presence import (
    MISVMClassifier,
)


def test_groups_of_one_row_give_a_support_vector_machine():
    rng = np.random.RandomState(1)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[:, 0] += y
    for variant in ("rows", "witness"):
        ours = MISVMClassifier(variant, C=2.0).fit(X, y, groups=np.arange(60))
        gamma = 0.5 / ours.classifier_.kernel.sigma**2
        plain = SVC(C=2.0, gamma=gamma, class_weight="balanced").fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=5e-3)
        assert ours.n_iter_ <= 2


def test_mi_svm_ends_where_labels_repeat(easy):
    X, y, groups = easy
    model = MISVMClassifier().fit(X, y, groups=groups)
    score = model.decision_function(X)
    best = Groups(groups).max(score)
    assert (best[1::2] > 0).all() and 1 < model.n_iter_ < 30
    labels = (score > 0) & (y == 1)
    assert labels.sum() == 20 and labels[::4][1::2].all()  # the shifted rows and no others


def test_landmarks_serve_many_rows():
    d = make_presence_bags(60, random_state=0)
    exact = MISVMClassifier().fit(d.X, d.y, groups=d.groups)
    near = MISVMClassifier(n_components=100, random_state=0).fit(d.X, d.y, groups=d.groups)
    agree = exact.predict_groups(d.X, groups=d.groups) == near.predict_groups(d.X, groups=d.groups)
    assert agree.mean() > 0.9


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0}, {0: 0.5, 1: 2.0}])
def test_class_weights_are_those_of_scikit_learn(class_weight):
    rng = np.random.RandomState(1)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [40, 20])
    X[:, 0] += y
    ours = MISVMClassifier(class_weight=class_weight).fit(X, y, groups=np.arange(60))
    plain = SVC(gamma=0.5 / ours.classifier_.kernel.sigma**2, class_weight=class_weight)
    score = plain.fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), score, atol=5e-3)


def test_other_class_weights_are_refused(easy):
    X, y, groups = easy
    with pytest.raises(ValueError, match="class_weight must be"):
        MISVMClassifier(class_weight="fair").fit(X, y, groups=groups)

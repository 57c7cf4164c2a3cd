import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from groupwise.datasets.transfer import make_shifted_domains
from groupwise.transfer import (
    FeatureAugmentationClassifier,
)
from groupwise.transfer.augmentation import augment


def test_augmentation_by_hand():
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = [[1, 2, 1, 2, 0, 0], [3, 4, 0, 0, 3, 4]]
    np.testing.assert_array_equal(augment(X, np.array([0, 1]), 2), expected)
    thin = augment(sparse.csr_matrix(X), np.array([0, 1]), 2)
    assert sparse.issparse(thin)
    np.testing.assert_array_equal(thin.toarray(), expected)
    assert augment(X, np.array([0, 0]), 1) is X


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_augmentation_learns_both_domains(kind):
    data = make_shifted_domains(400, 200, angle=90, noise=0.0, random_state=0)
    test = make_shifted_domains(0, 1000, angle=90, noise=0.0, random_state=1)
    X = kind(data.X)
    clf = FeatureAugmentationClassifier(target_domain="target").fit(X, data.y, domains=data.domains)
    assert clf.score(kind(test.X), test.y) > 0.95
    old = FeatureAugmentationClassifier(
        LogisticRegression(), weighting="union", target_domain="source"
    ).fit(X, data.y, domains=data.domains)
    assert old.score(X, data.y, domains=data.domains) > 0.95

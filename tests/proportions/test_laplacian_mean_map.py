"""Class means that differ smoothly from group to group."""

import numpy as np

from groupwise.inputs import check_shares
from groupwise.kernels import NeighbourGraph
from groupwise.proportions import LaplacianMeanMapClassifier
from groupwise.proportions.laplacian_mean_map import weights_of_local_means
from groupwise.proportions.mean_map import weights_of_class_means


def test_laplacian_mean_map_solves_its_problem_and_tends_to_the_mean_map():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(30, 2)), np.repeat(np.arange(6), [3, 4, 5, 5, 6, 7])
    data = check_shares(LaplacianMeanMapClassifier(), X, rng.randint(3, size=30), groups)
    laplacian = NeighbourGraph(2, normalised=False).laplacian(data.groups.mean(X))
    # the squared errors and the penalty as one least-squares problem in all 18 class means
    miss = np.zeros((6, 18))
    for g in range(6):
        miss[g, 3 * g : 3 * g + 3] = np.sqrt(data.sizes[g]) * data.shares_group[g]
    size, direction = np.linalg.eigh(laplacian.toarray())
    root = np.sqrt(0.4 * np.maximum(size, 0.0))[:, None] * direction.T
    left = np.vstack([miss, np.kron(root, np.eye(3))])
    right = np.vstack([np.sqrt(data.sizes)[:, None] * data.groups.mean(X), np.zeros((18, 2))])
    means = np.linalg.lstsq(left, right, rcond=None)[0].reshape(6, 3, 2)
    expected = np.einsum("gc,gcp->cp", data.counts_group, means)
    found = weights_of_local_means(data, laplacian, 0.4).T @ X
    np.testing.assert_allclose(found, expected, atol=1e-6)
    stiff = weights_of_local_means(data, laplacian, 1e6).T @ X
    np.testing.assert_allclose(stiff, weights_of_class_means(data).T @ X, atol=2e-3)

"""The deformed kernel against its definition."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from groupwise import Groups
from groupwise.kernels import FeaturePath, Kernel, LandmarkFeatures, NeighbourGraph, deform


@pytest.mark.parametrize("rho", [0.3, 50.0])
def test_both_routes_are_the_definition(rho):
    rng = np.random.RandomState(1)
    X, groups = rng.normal(size=(20, 2)), Groups(rng.randint(5, size=20))
    A = (groups.codes == np.arange(groups.n_groups)[:, None]).astype(float)
    kernel, R = Kernel("rbf", 0.7), NeighbourGraph(4).laplacian(X)
    K = kernel(X, X)
    # the norm of the deformed kernel is f' (K^-1 + rho R) f
    expected = np.linalg.inv(np.linalg.inv(K) + rho * R.toarray())
    deformed = deform(K, R, rho, csr_array(A))
    np.testing.assert_allclose(deformed.gram_group, A @ expected @ A.T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(K @ deformed.spread, expected @ A.T, rtol=1e-6, atol=1e-9)
    _, phi = LandmarkFeatures.fit_transform(kernel, X)
    whitening = FeaturePath(phi.T @ (R @ phi)).at(rho)
    Z = whitening.apply(A @ phi)
    np.testing.assert_allclose(Z @ Z.T, deformed.gram_group, rtol=1e-6, atol=1e-8)
    weights = np.arange(float(Z.shape[1]))[:, None]
    np.testing.assert_allclose(A @ phi @ whitening.weights(weights), Z @ weights, atol=1e-6)


def test_no_graph_changes_nothing():
    sums = np.eye(3)
    whitening = FeaturePath(np.eye(3)).at(0.0)
    assert whitening.apply(sums) is sums
    assert whitening.weights(sums) is sums


@pytest.mark.parametrize("rho", [0.0, 2.0])
def test_a_graph_of_few_sums_is_the_same_in_their_own_space(rho):
    rng = np.random.RandomState(2)
    sums, R = rng.normal(size=(4, 9)), NeighbourGraph(2).laplacian(rng.normal(size=(4, 2)))
    basis, inside = np.linalg.qr(sums.T)
    whole = FeaturePath(sums.T @ (R @ sums)).at(rho)
    small = FeaturePath(inside @ (R @ inside.T), basis).at(rho)
    Z, Z_small = whole.apply(sums), small.apply(inside.T)
    assert Z_small.shape == (4, 4)
    np.testing.assert_allclose(Z_small @ Z_small.T, Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(small.weights(Z_small.T), whole.weights(Z.T), atol=1e-12)

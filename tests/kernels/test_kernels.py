"""Gram matrices in blocks, the neighbour graph, and kernels as features."""

import builtins

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

import groupwise.kernels.gram as gram_module
from groupwise import Groups
from groupwise.kernels import Kernel, LandmarkFeatures, NeighbourGraph, check_dense, fit_kernel
from groupwise.kernels.features import quadratic
from groupwise.kernels.gram import median_distance


def membership_dense(groups):
    return (groups.codes == np.arange(groups.n_groups)[:, None]).astype(float)


@pytest.fixture
def rows():
    rng = np.random.RandomState(5)
    return rng.normal(size=(23, 3)), Groups(rng.randint(4, size=23))


@pytest.mark.parametrize("name", ["rbf", "linear"])
@pytest.mark.parametrize("block", [200, 10**9])
def test_sums_over_groups_do_not_depend_on_the_block(name, block, rows, monkeypatch):
    X, groups = rows
    monkeypatch.setattr(gram_module, "BLOCK_BYTES", block)
    kernel = Kernel(name, sigma=1.3)
    A, K = membership_dense(groups), kernel(X, X)
    np.testing.assert_allclose(kernel.group_gram(X, groups), A @ K @ A.T, rtol=1e-12)
    np.testing.assert_allclose(kernel.group_columns(X, X, groups), K @ A.T, rtol=1e-12)
    weights = np.arange(46.0).reshape(23, 2)
    np.testing.assert_allclose(kernel.times(X, X, weights), K @ weights, rtol=1e-12)


def test_gaussian_is_that_of_scikit_learn_dense_and_sparse(rows):
    X, _ = rows
    expected = rbf_kernel(X, gamma=0.5 / 1.7**2)
    np.testing.assert_allclose(Kernel("rbf", 1.7)(X, X), expected)
    np.testing.assert_allclose(Kernel("rbf", 1.7)(csr_array(X), csr_array(X)), expected)
    np.testing.assert_allclose(Kernel("linear")(csr_array(X), csr_array(X)), X @ X.T)


def test_width_is_in_medians_of_the_distance():
    X = np.array([[0.0], [1.0], [3.0]])  # distances 1, 2, 3
    assert median_distance(X) == 2.0
    assert fit_kernel("rbf", 0.5, X).sigma == 1.0
    assert median_distance(np.ones((5, 2))) == 1.0


def test_median_does_not_depend_on_the_order_of_many_rows():
    X = np.random.RandomState(0).normal(size=(2500, 2))
    assert median_distance(X) == pytest.approx(median_distance(X[::-1]), rel=1e-12)


def test_refusals():
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="kernel must be one of"):
        fit_kernel("poly", 1.0, X)
    with pytest.raises(ValueError, match="width must be"):
        fit_kernel("rbf", 0.0, X)
    with pytest.raises(ValueError, match="12001 x 12001 rows, above the limit"):
        check_dense(12_001, "rows")
    for wrong in ({"n_neighbors": 0}, {"weights": "cosine"}, {"method": "guess"}):
        with pytest.raises(ValueError, match="must be"):
            NeighbourGraph(**wrong)


@pytest.mark.parametrize("weights", ["heat", "binary"])
@pytest.mark.parametrize("normalised", [True, False])
def test_laplacian_is_a_smoothness_penalty(weights, normalised, rows):
    X, _ = rows
    R = NeighbourGraph(4, weights=weights, normalised=normalised).laplacian(X).toarray()
    np.testing.assert_allclose(R, R.T)
    assert np.linalg.eigvalsh(R).min() > -1e-12
    W = -R + np.diag(np.diag(R))
    assert (W >= 0).all()
    assert ((W > 0).sum(axis=1) >= 4).all()
    if normalised:
        assert np.linalg.eigvalsh(R).max() <= 2.0 + 1e-12
    else:
        np.testing.assert_allclose(R.sum(axis=1), 0.0, atol=1e-12)


def test_heat_weights_by_hand():
    X = np.array([[0.0], [1.0], [4.0]])  # each one's nearest: 1, 1, 3 apart; mean 5/3
    R = NeighbourGraph(1, normalised=False).laplacian(X).toarray()
    h = 5.0 / 3.0
    assert R[0, 1] == pytest.approx(-np.exp(-0.5 / h**2))
    assert R[1, 2] == pytest.approx(-np.exp(-0.5 * 9 / h**2))
    assert R[0, 2] == 0.0


def test_graph_of_distances_is_the_graph_of_rows(rows):
    X, _ = rows
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    graph = NeighbourGraph(3)
    np.testing.assert_allclose(
        graph.laplacian_of_distances(distance).toarray(), graph.laplacian(X).toarray(), atol=1e-12
    )


def test_small_and_degenerate_graphs():
    graph = NeighbourGraph()
    assert graph.laplacian(np.zeros((1, 2))).nnz == 0
    assert graph.laplacian_of_distances(np.zeros((1, 1))).nnz == 0
    copies = graph.laplacian(np.ones((4, 2))).toarray()
    assert np.isfinite(copies).all()
    np.testing.assert_allclose(copies @ np.ones(4), 0.0, atol=1e-12)


def test_pynndescent_is_asked_for_by_name(monkeypatch, rows):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pynndescent":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="extra"):
        NeighbourGraph(3, method="pynndescent").laplacian(rows[0])


def test_pynndescent_neighbours_leave_the_row_itself_out(monkeypatch, rows):
    """The package's answer has the row itself first; a stand-in with exact answers shows it."""
    import sys
    import types

    from sklearn.neighbors import NearestNeighbors

    class NNDescent:
        def __init__(self, X, n_neighbors, random_state):
            distance, nearest = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(X)
            self.neighbor_graph = nearest, distance

    module = types.SimpleNamespace(NNDescent=NNDescent)
    monkeypatch.setitem(sys.modules, "pynndescent", module)
    X, _ = rows
    approximate = NeighbourGraph(3, method="pynndescent").laplacian(X).toarray()
    np.testing.assert_allclose(approximate, NeighbourGraph(3).laplacian(X).toarray(), atol=1e-6)


def test_neighbours_that_pynndescent_did_not_find(monkeypatch, rows):
    import sys
    import types

    X, _ = rows
    n = len(X)
    nearest = np.column_stack([np.arange(n), np.roll(np.arange(n), 1), np.full(n, -1)])
    distance = np.column_stack([np.zeros(n), np.ones(n), np.full(n, np.inf)])
    index = types.SimpleNamespace(neighbor_graph=(nearest, distance))
    module = types.SimpleNamespace(NNDescent=lambda *args, **options: index)
    monkeypatch.setitem(sys.modules, "pynndescent", module)
    found = NeighbourGraph(2, method="pynndescent").laplacian(X).toarray()
    np.testing.assert_allclose(found @ np.ones(n), 0.0, atol=1e-12)
    assert ((found != 0).sum(axis=1) == 3).all()  # a ring: the row and its two sides


def test_the_real_pynndescent(rows):
    pytest.importorskip("pynndescent", reason="the extra 'large' is not installed")
    X, _ = rows
    approximate = NeighbourGraph(3, method="pynndescent").laplacian(X).toarray()
    np.testing.assert_allclose(approximate, NeighbourGraph(3).laplacian(X).toarray(), atol=1e-4)


def test_features_on_all_rows_are_the_kernel(rows):
    X, groups = rows
    kernel = Kernel("rbf", 1.0)
    features, phi = LandmarkFeatures.fit_transform(kernel, X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X, X), atol=1e-9)
    np.testing.assert_allclose(features.transform(X), phi, atol=1e-6)
    np.testing.assert_allclose(features.group_sums(X, groups), groups.sum(phi), atol=1e-6)
    weights = np.arange(float(features.n_components))[:, None]
    np.testing.assert_allclose(features.times(X, weights), phi @ weights, atol=1e-5)


def test_landmarks_give_the_nystroem_approximation(rows):
    X, _ = rows
    kernel = Kernel("rbf", 2.0)
    features = LandmarkFeatures.sample(kernel, X, 7, np.random.RandomState(0))
    Z = features.landmarks
    phi = features.transform(X)
    expected = kernel(X, Z) @ np.linalg.pinv(kernel(Z, Z)) @ kernel(Z, X)
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-7)
    assert LandmarkFeatures.sample(kernel, X, 99, np.random.RandomState(0)).n_components <= 23
    with pytest.raises(ValueError, match="n_components"):
        LandmarkFeatures.sample(kernel, X, 0, np.random.RandomState(0))


def test_copies_and_constant_rows_are_landmarks_once():
    kernel = Kernel("rbf")
    assert LandmarkFeatures.fit(kernel, np.ones((6, 2))).n_components == 1
    linear = LandmarkFeatures.fit(Kernel("linear"), np.zeros((4, 2)))
    assert np.isfinite(linear.transform(np.ones((3, 2)))).all()


def test_smoothness_in_blocks_and_in_single_precision(rows, monkeypatch):
    import groupwise.kernels.features as features_module

    X, _ = rows
    R = NeighbourGraph(3).laplacian(X)
    features, phi = LandmarkFeatures.fit_transform(Kernel("rbf"), X)
    exact = phi.T @ (R @ phi)
    np.testing.assert_allclose(features.smoothness(X, R), exact, atol=1e-8)
    monkeypatch.setattr(features_module, "BLOCK_BYTES", 64)
    np.testing.assert_allclose(quadratic(phi, R), exact, atol=1e-10)
    np.testing.assert_allclose(features.smoothness(X, R), exact, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_of_a_kernel_matrix_gives_its_products(dtype, monkeypatch):
    rng = np.random.RandomState(0)
    X, vector = rng.normal(size=(50, 3)), rng.normal(size=50)
    monkeypatch.setattr(gram_module, "_WORK_BYTES", 8 * 50 * 7)  # seven rows at once
    half = gram_module.half_gram(Kernel("rbf", 1.5), X, dtype)
    assert half.dtype == dtype
    full = Kernel("rbf", 1.5)(X, X)
    np.testing.assert_allclose(np.tril(half), np.tril(full), rtol=20 * np.finfo(dtype).eps)
    far = gram_module.half_gram(Kernel("rbf", 1.5), X + 1e3, dtype)  # nothing is lost far from zero
    np.testing.assert_allclose(np.tril(far), np.tril(full), rtol=1e-5)
    thin = gram_module.half_gram(Kernel("rbf", 1.5), csr_array(X), dtype)
    np.testing.assert_allclose(np.tril(thin), np.tril(full), rtol=20 * np.finfo(dtype).eps)
    half[np.triu_indices(50, 1)] = np.nan  # never read
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(gram_module.half_times(half, vector), full @ vector, atol=tolerance)


@pytest.mark.parametrize("seed", [0, 1])
def test_sums_over_groups_of_half_a_matrix(seed, monkeypatch):
    rng = np.random.RandomState(seed)
    X, groups = rng.normal(size=(50, 3)), Groups(rng.randint(8, size=50))
    monkeypatch.setattr(gram_module, "_WORK_BYTES", 8 * 50 * 3)
    half = gram_module.half_gram(Kernel("rbf"), X)
    sums = gram_module.half_group_sums(half, groups)
    np.testing.assert_allclose(sums, Kernel("rbf").group_gram(X, groups), rtol=1e-12)

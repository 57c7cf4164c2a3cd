"""Kernels and distances between groups, by hand and as sums over pairs."""

import numpy as np

from groupwise import Groups
from groupwise.kernels import Kernel
from groupwise.kernels.sets import (
    hausdorff_distances,
    largest_similarity,
    mean_least_distances,
    set_kernel,
    set_norms,
)


def test_mean_least_distances_by_hand():
    X, Z = np.array([[0.0], [4.0], [1.0]]), np.array([[1.0], [6.0], [3.0], [0.0]])
    there, back = mean_least_distances(X, Groups([0, 0, 1]), Z, Groups(["b", "a", "b", "a"]))
    # a = {6, 0}, b = {1, 3}; 0 lies 0 from a and 1 from b, 4 lies 2 and 1, 1 lies 1 and 0
    np.testing.assert_allclose(there, [[1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(back, [[1.0, 1.0], [3.0, 1.0]])


def test_mean_least_distances_in_blocks(monkeypatch):
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    g, h = rng.randint(5, size=30), rng.randint(7, size=40)
    whole = mean_least_distances(X, Groups(g), Z, Groups(h))
    monkeypatch.setattr("groupwise.kernels.sets.BLOCK_BYTES", 8 * 30 * 9)
    for blocks, one in zip(mean_least_distances(X, Groups(g), Z, Groups(h)), whole, strict=True):
        np.testing.assert_allclose(blocks, one)


def test_set_kernels_are_sums_over_pairs():
    rng = np.random.RandomState(0)
    X, Z = rng.normal(size=(7, 2)), rng.normal(size=(5, 2))
    g, h = Groups([0, 1, 0, 2, 1, 1, 0]), Groups([1, 0, 1, 0, 0])
    for kernel in (Kernel("rbf", 0.8), Kernel("linear")):
        K, own = kernel(X, Z), kernel(X, X)
        expected = [
            [K[np.ix_(g.codes == a, h.codes == b)].mean() for b in range(2)] for a in range(3)
        ]
        np.testing.assert_allclose(set_kernel(kernel, X, g, Z, h), expected)
        norms = [np.sqrt(own[np.ix_(g.codes == a, g.codes == a)].mean()) for a in range(3)]
        np.testing.assert_allclose(set_norms(kernel, X, g), norms)
        largest = [K[g.codes == a].max(axis=0) for a in range(3)]
        np.testing.assert_allclose(largest_similarity(kernel, X, g, Z), largest)
    distance = np.sqrt(((X[:, None] - Z) ** 2).sum(axis=2))
    nearest = [
        [distance[np.ix_(g.codes == a, h.codes == b)].min() for b in range(2)] for a in range(3)
    ]
    np.testing.assert_allclose(hausdorff_distances(X, g, Z, h), nearest)

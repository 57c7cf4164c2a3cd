"""Soft labels from a graph alone."""

import numpy as np
import pytest

from groupwise import Groups
from groupwise.kernels import NeighbourGraph
from groupwise.proportions import (
    GraphAOCClassifier,
)
from groupwise.proportions.graph import solve_graph


def test_graph_solution_is_the_direct_one():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(30, 2)), Groups(rng.permutation(np.arange(30) % 6))
    R = NeighbourGraph(4).laplacian(X)
    b, known = rng.normal(size=(6, 2)), np.array([1.0, 1, 1, 0, 1, 1])
    A = (groups.codes == np.arange(6)[:, None]).astype(float)
    system = A.T @ np.diag(known) @ A + 0.3 * R.toarray() + 1e-5 * np.eye(30)
    expected = np.linalg.solve(system, A.T @ (known[:, None] * b))
    np.testing.assert_allclose(solve_graph(groups, R, b, known, 0.3), expected, atol=1e-4)


def test_graph_with_one_gamma_has_nothing_to_choose(blobs):
    model = GraphAOCClassifier((0.5,)).fit(blobs.X, blobs.y, groups=blobs.groups)
    assert model.graph_weight_ == 0.5
    with pytest.raises(ValueError, match="graph_weights must"):
        GraphAOCClassifier(()).fit(blobs.X, blobs.y, groups=blobs.groups)

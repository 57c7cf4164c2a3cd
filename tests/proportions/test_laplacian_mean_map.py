"""Class means that differ smoothly from group to group."""

import numpy as np

from groupwise.kernels import NeighbourGraph
from groupwise.proportions.laplacian_mean_map import local_class_means


def test_laplacian_mean_map_solves_its_problem_and_tends_to_the_mean_map():
    rng = np.random.RandomState(0)
    means, sizes = rng.normal(size=(6, 2)), rng.randint(1, 5, size=6).astype(float)
    shares = rng.dirichlet([1, 1, 1], size=6)
    found = local_class_means(means, shares, sizes, 0.4)
    R = NeighbourGraph(normalised=False).laplacian(means).toarray()

    def objective(mu):
        miss = means - np.einsum("gc,gcp->gp", shares, mu)
        smooth = np.einsum("gcp,gh,hcp->", mu, R, mu)
        return (sizes[:, None] * miss**2).sum() + 0.4 * smooth

    at = objective(found)
    for _ in range(20):
        assert objective(found + 1e-3 * rng.normal(size=found.shape)) > at - 1e-9
    same = local_class_means(means, shares, sizes, 1e6)
    scale = np.sqrt(sizes)[:, None]
    one = np.linalg.lstsq(scale * shares, scale * means, rcond=None)[0]
    np.testing.assert_allclose(same, np.tile(one, (6, 1, 1)), atol=1e-3)

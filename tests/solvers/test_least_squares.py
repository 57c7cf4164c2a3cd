"""Least squares with and without one of the sums."""

import numpy as np
import pytest

from groupwise.solvers.least_squares import GramSpectrum, solve_l2


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_columns", [4, 30])
def test_leaving_one_group_out_in_closed_form_is_leaving_it_out(bias, n_columns):
    rng = np.random.RandomState(4)
    Z, sizes = rng.normal(size=(12, n_columns)), rng.randint(1, 6, size=12).astype(float)
    b, gammas = rng.normal(size=(12, 2)), np.array([0.02, 1.0, 30.0])
    a = sizes if bias else None
    closed = GramSpectrum.of_factor(Z).left_out_residuals(b, gammas, a)
    for k, gamma in enumerate(gammas):
        for i in range(12):
            rest = np.delete(np.arange(12), i)
            fitted = solve_l2(Z[rest] @ Z[rest].T, b[rest], gamma, None if a is None else a[rest])
            predicted = Z[i] @ Z[rest].T @ fitted.beta + fitted.bias * sizes[i]
            np.testing.assert_allclose(closed[k, i], b[i] - predicted, atol=1e-8)


def test_the_spectrum_solves_like_the_solver():
    rng = np.random.RandomState(4)
    for shape in ((9, 3), (5, 8)):
        Z, sizes = rng.normal(size=shape), rng.randint(1, 6, size=shape[0]).astype(float)
        b = rng.normal(size=(shape[0], 2))
        spectrum = GramSpectrum.of_factor(Z)
        assert spectrum.mean_diagonal == pytest.approx(np.diag(Z @ Z.T).mean())
        for a in (None, sizes):
            beta, c = spectrum.solve(b, np.array([0.1, 2.0]), a)
            for k, gamma in enumerate((0.1, 2.0)):
                expected = solve_l2(Z @ Z.T, b, gamma, a)
                np.testing.assert_allclose(beta[k], expected.beta, atol=1e-9)
                np.testing.assert_allclose(c[k], expected.bias, atol=1e-9)

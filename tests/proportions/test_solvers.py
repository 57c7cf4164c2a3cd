"""The solvers with one unknown per group against direct solutions by general methods."""

from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

import groupwise.solvers.interior as interior
from groupwise import Groups
from groupwise.kernels import LandmarkFeatures, NeighbourGraph
from groupwise.proportions.manifold.problem import ManifoldSettings, fit_manifold, membership
from groupwise.solvers.interior import solve_l1
from groupwise.solvers.least_squares import GramSpectrum, solve_l2

LEVELS = ["row", "group"]


def problem(seed, *, outputs=1, equal=False):
    """A random problem with a kernel that is well enough conditioned to be inverted."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(24, 2))
    groups = Groups(np.arange(24) % 6 if equal else rng.randint(6, size=24))
    b = rng.normal(size=(groups.n_groups, outputs)) * 3
    return X, groups, b


def pieces(X, groups, settings):
    """K, A and the penalty M = R or A' R_b A, dense."""
    from groupwise.kernels import fit_kernel

    K = fit_kernel(settings.kernel, settings.width, X)(X, X)
    A = membership(groups).toarray()
    if settings.level == "row":
        return K, A, NeighbourGraph().laplacian(X).toarray()
    mean = A / groups.sizes[:, None]
    gram = mean @ K @ mean.T
    squared = np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram
    R_b = NeighbourGraph().laplacian_of_distances(np.sqrt(np.maximum(squared, 0))).toarray()
    return K, A, A.T @ R_b @ A


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_l2_is_the_direct_solution_of_the_penalised_least_squares(level, bias, seed):
    X, groups, b = problem(seed, outputs=2)
    settings = ManifoldSettings(level, "l2", width=0.15, gamma1=0.3, gamma2=0.8, fit_intercept=bias)
    _, values = fit_manifold(settings, X, groups, b)
    K, A, M = pieces(X, groups, settings)
    # unknowns: the values f of eq. (12) or (26) and the bias
    left = np.hstack([A, groups.sizes[:, None] * float(bias)])
    H = left.T @ left
    H[:24, :24] += 0.3 * np.linalg.inv(K) + 0.8 * M
    solution = np.linalg.lstsq(H, left.T @ b, rcond=None)[0]
    expected = solution[:24] + bias * solution[24]
    np.testing.assert_allclose(values, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_row_l2_without_bias_is_equation_16(seed):
    X, groups, b = problem(seed)
    settings = ManifoldSettings("row", "l2", width=0.3, gamma1=0.3, gamma2=0.8, fit_intercept=False)
    _, values = fit_manifold(settings, X, groups, b)
    K, A, R = pieces(X, groups, settings)
    alpha = np.linalg.pinv(K @ A.T @ A @ K + 0.3 * K + 0.8 * K @ R @ K) @ K @ A.T @ b
    np.testing.assert_allclose(values, K @ alpha, atol=1e-6)


def test_group_l2_without_bias_is_equation_26():
    X, groups, b = problem(1)
    settings = ManifoldSettings(
        "group", "l2", width=0.3, gamma1=0.3, gamma2=0.8, fit_intercept=False
    )
    _, values = fit_manifold(settings, X, groups, b)
    K, A, _ = pieces(X, groups, settings)
    K_b = A @ K @ A.T
    mean = K_b / np.outer(groups.sizes, groups.sizes)
    distance = np.sqrt(np.diag(mean)[:, None] + np.diag(mean)[None] - 2 * mean)
    R_b = NeighbourGraph().laplacian_of_distances(np.nan_to_num(distance)).toarray()
    beta = np.linalg.solve(K_b @ K_b + 0.3 * K_b + 0.8 * K_b @ R_b @ K_b, K_b @ b)
    np.testing.assert_allclose(A @ values, K_b @ beta, atol=1e-6)
    np.testing.assert_allclose(values, K @ A.T @ beta, atol=1e-6)


def highs_qp(P, c, rows, lower, upper):
    """min x'Px/2 + c'x with lower <= rows x <= upper, by HiGHS."""
    n = len(c)
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = n, len(rows)
    lp.col_cost_ = c
    lp.col_lower_, lp.col_upper_ = np.full(n, -highspy.kHighsInf), np.full(n, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(0, rows.size + 1, n, dtype=np.int32)
    lp.a_matrix_.index_ = np.tile(np.arange(n, dtype=np.int32), len(rows))
    lp.a_matrix_.value_ = rows.ravel()
    hessian = model.hessian_
    hessian.dim_ = n
    hessian.format_ = highspy.HessianFormat.kTriangular
    columns = [np.arange(j, n) for j in range(n)]
    hessian.start_ = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.int32)
    hessian.index_ = np.concatenate(columns).astype(np.int32)
    hessian.value_ = np.concatenate([P[j:, j] for j in range(n)])
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.array(solver.getSolution().col_value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_l1_is_the_quadratic_program_of_the_paper(level, bias, seed):
    """Eqs. (13)-(15) in the values of f, the bias and the slacks, by HiGHS."""
    X, groups, b = problem(seed)
    gamma1, gamma2, epsilon = 0.05, 0.1, 0.2
    settings = ManifoldSettings(
        level, "l1", width=0.15, gamma1=gamma1, gamma2=gamma2, fit_intercept=bias, epsilon=epsilon
    )
    _, values = fit_manifold(settings, X, groups, b)
    K, A, M = pieces(X, groups, settings)
    n, m = 24, groups.n_groups
    P = np.zeros((n + 1 + m, n + 1 + m))
    inverse = np.linalg.inv(K)
    P[:n, :n] = 2 * (gamma1 * 0.5 * (inverse + inverse.T) + gamma2 * M)
    c = np.concatenate([np.zeros(n + 1), np.ones(m)])
    fit = np.hstack([A, groups.sizes[:, None] * 1.0])
    inf = highspy.kHighsInf
    rows = np.vstack(
        [
            np.hstack([fit, -np.eye(m)]),
            np.hstack([fit, np.eye(m)]),
            np.hstack([np.zeros((m, n + 1)), np.eye(m)]),
            np.eye(1, n + 1 + m, n),
        ]
    )
    fixed = inf if bias else 0.0
    lower = np.concatenate([np.full(m, -inf), b[:, 0] - epsilon, np.zeros(m), [-fixed]])
    upper = np.concatenate([b[:, 0] + epsilon, np.full(m, inf), np.full(m, inf), [fixed]])
    x = highs_qp(P, c, rows, lower, upper)

    def objective(values_row, bias_value):
        f = values_row - bias_value
        loss = np.maximum(np.abs(A @ values_row - b[:, 0]) - epsilon, 0).sum()
        return loss + gamma1 * f @ inverse @ f + gamma2 * f @ M @ f

    model_bias = fit_manifold(settings, X, groups, b)[0].bias[0]
    ours = objective(values[:, 0], model_bias)
    theirs = objective(x[:n] + x[n], x[n])
    assert ours == pytest.approx(theirs, abs=1e-6)
    # the bias may not be unique, the function without it is
    np.testing.assert_allclose(values[:, 0] - model_bias, x[:n], atol=1e-6)


@pytest.mark.parametrize("gamma1", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("with_bias", [True, False])
def test_l1_proves_itself_optimal(gamma1, with_bias):
    rng = np.random.RandomState(3)
    F = rng.normal(size=(40, 12))
    G, b = F @ F.T, 4 * F[:, 0] + rng.normal(size=40)
    sizes = rng.randint(1, 9, size=40).astype(float) if with_bias else None
    solution = solve_l1(G, b, gamma1, sizes, 0.1)
    assert solution.certificate.is_optimal(1e-9) and solution.certificate.relative_gap >= -1e-12
    assert np.abs(solution.beta).max() <= 0.5 / gamma1 * (1 + 1e-12)
    if with_bias:
        assert abs(sizes @ solution.beta) <= 1e-8 * np.abs(solution.beta).sum()


def test_l1_of_groups_of_one_is_the_svr_of_scikit_learn():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(50, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=50)
    settings = ManifoldSettings("row", "l1", width=1.0, gamma1=0.05, epsilon=0.05)
    model, values = fit_manifold(settings, X, Groups.singletons(50), y[:, None])
    svr = SVR(C=10.0, epsilon=0.05, gamma=0.5 / model.kernel.sigma**2, tol=1e-9).fit(X, y)
    # libsvm keeps kernel values in single precision
    np.testing.assert_allclose(values[:, 0], svr.predict(X), atol=1e-5)


def test_l1_without_bias_is_the_mirrored_svr():
    """Data and its mirror image have no use for an intercept."""
    rng = np.random.RandomState(2)
    F = rng.normal(size=(15, 6))
    G, b = F @ F.T, F[:, 0] + 2.0
    ours = solve_l1(G, b, 0.1, None, 0.05)
    both = np.block([[G, -G], [-G, G]])
    svr = SVR(kernel="precomputed", C=2.5, epsilon=0.05, tol=1e-10).fit(both, np.r_[b, -b])
    np.testing.assert_allclose(G @ ours.beta, svr.predict(both)[:15], atol=1e-5)


def test_an_unfinished_l1_solution_is_not_passed_off_as_one(monkeypatch):
    monkeypatch.setattr(interior, "_MAX_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        solve_l1(np.eye(4), np.arange(4.0), 0.1, None, 0.1)


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


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_without_graph_both_levels_are_the_same(loss):
    X, groups, b = problem(0)
    row, group = (
        fit_manifold(ManifoldSettings(level, loss, gamma1=0.2), X, groups, b)[1] for level in LEVELS
    )
    np.testing.assert_array_equal(row, group)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("bias", [True, False])
def test_all_rows_as_landmarks_give_the_exact_solution(level, loss, bias):
    X, groups, b = problem(2)
    exact = ManifoldSettings(level, loss, width=0.4, gamma1=0.2, gamma2=0.5, fit_intercept=bias)
    on_landmarks = ManifoldSettings(
        level,
        loss,
        width=0.4,
        gamma1=0.2,
        gamma2=0.5,
        fit_intercept=bias,
        n_components=24,
        random_state=0,
    )
    (_, expected), (_, values) = (
        fit_manifold(settings, X, groups, b) for settings in (exact, on_landmarks)
    )
    np.testing.assert_allclose(values, expected, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_fewer_landmarks_than_groups_solve_in_the_features(bias):
    X, groups, b = problem(2)
    settings = ManifoldSettings(
        "row", "l2", gamma1=0.2, fit_intercept=bias, n_components=3, random_state=0
    )
    model, values = fit_manifold(settings, X, groups, b)
    features = LandmarkFeatures.fit(model.kernel, model.rows)
    sums = features.group_sums(X, groups)
    direct = solve_l2(sums @ sums.T, b, 0.2, groups.sizes.astype(float) if bias else None)
    expected = features.transform(X) @ sums.T @ direct.beta + direct.bias
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_corrected_support_vectors_and_the_interior_point_method_agree(equal, epsilon, monkeypatch):
    rng = np.random.default_rng(int(10 * epsilon))
    m = 40
    sizes = np.full(m, 7.0) if equal else rng.integers(5, 12, size=m).astype(float)
    rows = rng.normal(size=(m, 8)) * np.sqrt(sizes)[:, None]
    G, b = rows @ rows.T, np.round(sizes * rng.uniform(-1, 1, size=m))
    gamma1 = 0.05 * np.diag(G).mean()
    quick = solve_l1(G, b, gamma1, sizes, epsilon)
    refused = SimpleNamespace(gap=1.0)
    monkeypatch.setattr(interior, "_by_support_vectors", lambda *problem: refused)
    other = solve_l1(G, b, gamma1, sizes, epsilon)
    assert quick.certificate.is_optimal(1e-9) and other.certificate.is_optimal(1e-9)
    np.testing.assert_allclose(quick.objective, other.objective, rtol=1e-8)
    np.testing.assert_allclose(G @ quick.beta, G @ other.beta, atol=1e-5)


def test_l1_of_nothing_to_fit():
    solution = solve_l1(np.eye(4), np.zeros(4), 0.1, np.ones(4), 0.1)
    np.testing.assert_array_equal(solution.beta, 0.0)

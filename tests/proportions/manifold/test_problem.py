"""The four AOC-manifold algorithms against direct solutions by general methods."""

import highspy
import numpy as np
import pytest
from sklearn.svm import SVR

from groupwise import Groups
from groupwise.kernels import LandmarkFeatures, NeighbourGraph
from groupwise.proportions.manifold.problem import ManifoldSettings, fit_manifold, membership
from groupwise.solvers.least_squares import solve_l2

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


def test_l1_of_groups_of_one_is_the_svr_of_scikit_learn():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(50, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=50)
    settings = ManifoldSettings("row", "l1", width=1.0, gamma1=0.05, epsilon=0.05)
    model, values = fit_manifold(settings, X, Groups.singletons(50), y[:, None])
    svr = SVR(C=10.0, epsilon=0.05, gamma=0.5 / model.kernel.sigma**2, tol=1e-9).fit(X, y)
    # libsvm keeps kernel values in single precision
    np.testing.assert_allclose(values[:, 0], svr.predict(X), atol=1e-5)


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

"""Each partner method against its definition or its classical parent."""

import builtins
import sys

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.kernels import LandmarkFeatures, NeighbourGraph, fit_kernel
from groupwise.proportions import (
    EasyLLPClassifier,
    GraphAOCClassifier,
    KernelCountClassifier,
    KNNAOCClassifier,
    LaplacianMeanMapClassifier,
    ManifoldAOCClassifierCV,
    MeanMapClassifier,
    MLPAOCClassifier,
    SVMAOCClassifier,
)
from groupwise.proportions.easy_llp import debiased_operator
from groupwise.proportions.exact_svm import for_labels, solve_exact
from groupwise.proportions.graph import solve_graph
from groupwise.proportions.inputs import check_aggregates
from groupwise.proportions.laplacian_mean_map import local_class_means
from groupwise.proportions.mean_operator import fit_logistic


def test_neighbours_of_groups_of_one_are_those_of_scikit_learn(iris):
    ours = KNNAOCClassifier(4).fit(iris.X, iris.y_row).predict_proba(iris.X)
    theirs = KNeighborsClassifier(4).fit(iris.X, iris.y_row).predict_proba(iris.X)
    np.testing.assert_allclose(ours, theirs)


def test_too_many_neighbours_are_refused():
    X, y = np.arange(4.0)[:, None], ["a", "b", "a", "b"]
    with pytest.raises(GroupDataError, match="n_neighbors=5 is more than there are rows"):
        KNNAOCClassifier().fit(X, y)
    for model in (KNNAOCClassifier(0), GraphAOCClassifier(n_neighbors=0)):
        with pytest.raises(ValueError, match="n_neighbors must be"):
            model.fit(X, y)


@pytest.mark.parametrize(
    "model", [MeanMapClassifier, EasyLLPClassifier, LaplacianMeanMapClassifier]
)
def test_mean_operators_of_groups_of_one_are_logistic_regression(model, iris):
    options = {"graph_weight": 1e-7} if model is LaplacianMeanMapClassifier else {}
    ours = model(C=0.5, **options).fit(iris.X, iris.y_row)
    phi = ours.function_.features.transform(iris.X)
    theirs = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(phi, iris.y_row)
    np.testing.assert_allclose(ours.predict_proba(iris.X), theirs.predict_proba(phi), atol=2e-4)


def test_logistic_gradient_is_the_derivative():
    """At the optimum all derivatives of the objective vanish."""
    rng = np.random.RandomState(0)
    phi, operator = rng.normal(size=(20, 3)), rng.normal(size=(2, 3))
    count = np.array([8.0, 12.0])
    w, b = fit_logistic(phi, operator, count, 0.7)

    def value(packed):
        weights, bias = packed[:6].reshape(3, 2), packed[6:]
        score = phi @ weights + bias
        log_sum = np.log(np.exp(score).sum(axis=1)).sum()
        fit = log_sum - (weights * operator.T).sum() - bias @ count
        return fit + (weights**2).sum() / 1.4

    gradient = approx_fprime(np.r_[w.ravel(), b], value, 1e-6)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-4)


def test_mean_map_finds_class_means_that_are_the_same_everywhere():
    """Groups whose means are exact mixtures of two points: least squares finds the points."""
    X = np.array([[0.0], [0.0], [0.0], [4.0], [0.0], [4.0], [4.0], [4.0]])
    y = (X[:, 0] > 0).astype(int)
    groups = np.repeat([0, 1], 4)
    model = MeanMapClassifier(C=1e3, kernel="linear").fit(X, y, groups=groups)
    np.testing.assert_array_equal(model.predict(X), y)


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


def test_easy_llp_weights_by_hand():
    """Two groups of two with shares 1 and 0.5; prior 0.75: weights 2 (s - p) + p."""
    phi = np.array([[0.0], [1.0], [2.0], [4.0]])
    data = check_aggregates(EasyLLPClassifier(), phi, ["b", "b", "a", "b"], [0, 0, 1, 1])
    operator = debiased_operator(phi, data)
    expected_b = 1.25 * phi[:2].sum(axis=0) + 0.25 * phi[2:].sum(axis=0)
    np.testing.assert_allclose(operator[1], expected_b)
    np.testing.assert_allclose(operator.sum(axis=0), phi.sum(axis=0))


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


def test_count_likelihood_is_at_a_stationary_point_below_its_start(blobs):
    model = KernelCountClassifier(
        goal="transduction", widths=(1.0,), rhos=(0.0, 1.0), alphas=(0.1, 1.0), cv=3
    )
    model.fit(blobs.X, blobs.y, groups=blobs.groups)
    assert model.alpha_ in (0.1, 1.0)
    assert model.held_out_loss_.shape == (2,)
    least_squares = ManifoldAOCClassifierCV(
        goal="transduction", widths=(1.0,), rhos=(0.0, 1.0)
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    assert count_loss(model, blobs) <= count_loss(least_squares, blobs)
    assert model.neg_log_likelihood_ == pytest.approx(count_loss(model, blobs), rel=1e-6)


def count_loss(model, data):
    """Negative log-likelihood of the counts, by enumeration through convolution."""
    total = 0.0
    counts = data.y.to_numpy()
    for g in np.unique(data.groups):
        rows = np.flatnonzero(data.groups == g)
        distribution = np.ones(1)
        for p in model.transduction_proba_[rows, 1]:
            distribution = np.convolve(distribution, [1 - p, p])
        total -= np.log(distribution[counts[rows[0], 1]])
    return total


def test_count_likelihood_of_groups_of_one_is_kernel_logistic_regression(blobs):
    model = KernelCountClassifier(widths=(1.0,), rhos=(0.0,), alphas=(0.2,))
    model.fit(blobs.X, blobs.y_row)
    kernel = fit_kernel("rbf", 1.0, blobs.X)
    _, phi = LandmarkFeatures.fit_transform(kernel, blobs.X)
    unit = (phi**2).sum() / len(phi)
    parent = LogisticRegression(C=1 / (0.2 * unit), tol=1e-8, max_iter=5000)
    parent.fit(phi, blobs.y_row)
    np.testing.assert_allclose(model.predict_proba(blobs.X), parent.predict_proba(phi), atol=2e-3)


def test_parameters_of_the_count_likelihood_are_checked(blobs):
    for wrong, message in (
        ({"alphas": ()}, "alphas"),
        ({"cv": 1}, "cv"),
        ({"goal": "fame"}, "goal"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelCountClassifier(**wrong).fit(blobs.X, blobs.y, groups=blobs.groups)


def test_mean_operator_parameters_are_checked(blobs):
    for model, message in (
        (MeanMapClassifier(C=0), "C must"),
        (LaplacianMeanMapClassifier(graph_weight=0), "graph_weight must"),
        (SVMAOCClassifier(C=-1), "C must"),
        (SVMAOCClassifier("guess"), "method must"),
        (SVMAOCClassifier(n_restarts=-1), "n_restarts must"),
        (MLPAOCClassifier(loss="hinge"), "loss must"),
        (MLPAOCClassifier(epochs=0), "epochs must"),
        (MLPAOCClassifier((0,)), "hidden_layer_sizes must"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(blobs.X, blobs.y, groups=blobs.groups)


def tiny():
    rng = np.random.RandomState(1)
    y = np.tile([0, 1], 6)
    X = rng.normal(size=(12, 1)) + 3 * y[:, None]
    return X, y, Groups(np.repeat([0, 1, 2], 4)), np.array([[2, 2]] * 3)


def test_exact_svm_is_as_good_as_the_best_of_all_labellings():
    from itertools import combinations, product

    X, _, groups, counts = tiny()
    gram = fit_kernel("rbf", 1.0, X)(X, X)
    solution = solve_exact(gram, counts, groups, np.tile([1, 1, 0, 0], 3), C=1.0, time_limit=60)
    values = []
    for picks in product(combinations(range(4), 2), repeat=3):
        labels = np.zeros(12, int)
        labels[[4 * g + i for g, pick in enumerate(picks) for i in pick]] = 1
        values.append(for_labels(gram, labels, 1.0).objective)
    assert solution.objective == pytest.approx(min(values), rel=1e-6)
    assert solution.certificate.is_optimal(1e-5) and solution.status == "optimal"
    assert (groups.sum(solution.codes) == 2).all()


def test_exact_method_reports_its_certificate():
    X, y, _, _ = tiny()
    groups = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    model = SVMAOCClassifier("exact", n_restarts=0, random_state=0).fit(X, y, groups=groups)
    assert model.gap_ <= 1e-5
    assert model.bound_ > 0
    quick = SVMAOCClassifier("exact", time_limit=0.0).fit(X, y, groups=groups)
    assert quick.gap_ >= 0
    assert quick.objective_ >= model.bound_
    with pytest.raises(GroupDataError, match="two classes, y holds 3"):
        SVMAOCClassifier("exact").fit(X, np.arange(12) % 3, groups=groups)


def test_alternation_ends_where_neither_step_helps(blobs):
    from groupwise.proportions.alternating_svm import alternate

    groups = Groups(blobs.groups)
    counts = groups.one_per_group(blobs.y.to_numpy())
    gram = fit_kernel("rbf", 1.0, blobs.X)(blobs.X, blobs.X)
    score = np.random.RandomState(0).normal(size=(len(blobs.X), 2))
    first = alternate(gram, counts, groups, C=1.0, starts=[score])
    again = alternate(gram, counts, groups, C=1.0, starts=[np.eye(2)[first.codes]])
    assert again.n_iter == 1
    assert again.objective == pytest.approx(first.objective, rel=1e-6)
    several = alternate(gram, counts, groups, C=1.0, starts=[score, np.eye(2)[first.codes]])
    assert several.objective <= first.objective + 1e-9
    np.testing.assert_array_equal(groups.sum(first.codes), counts[:, 1])


torch_only = pytest.mark.skipif(
    "torch" not in sys.modules and not __import__("importlib.util").util.find_spec("torch"),
    reason="torch is not installed",
)


@torch_only
def test_network_loss_is_of_mean_probabilities_not_of_mean_logarithms():
    torch = pytest.importorskip("torch")
    from groupwise.proportions.torch_training import group_loss

    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    value = group_loss(
        torch.log(torch.tensor(proba)),
        torch.tensor([0, 0]),
        torch.tensor([[1.0, 1.0]], dtype=torch.float64),
        torch.tensor([2.0], dtype=torch.float64),
        "cross_entropy",
    )
    assert float(value) == pytest.approx(-np.log(0.55) - np.log(0.45))
    squared = group_loss(
        torch.log(torch.tensor(proba)),
        torch.tensor([0, 0]),
        torch.tensor([[1.0, 1.0]], dtype=torch.float64),
        torch.tensor([2.0], dtype=torch.float64),
        "squared",
    )
    assert float(squared) == pytest.approx(2 * 0.1**2 / 2)


@torch_only
def test_network_learns_and_its_loss_falls(blobs):
    model = MLPAOCClassifier((16, 8), epochs=60, device="cpu", random_state=0)
    model.fit(blobs.X, blobs.y, groups=blobs.groups)
    assert model.history_["loss"][-1] < 0.8 * model.history_["loss"][0]
    assert model.n_iter_ == 60
    assert (model.predict(blobs.X) == blobs.y_row).mean() > 0.9
    assert all(isinstance(part, np.ndarray) for layer in model.layers_ for part in layer)


def test_network_without_torch_says_which_extra(monkeypatch, blobs):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "groupwise.proportions.torch_training", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"groupwise\[torch\]"):
        MLPAOCClassifier().fit(blobs.X, blobs.y, groups=blobs.groups)

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from groupwise.boosting import HistTrees, LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    KLIEP,
    AuxiliaryRatio,
    KernelMeanMatching,
    LogisticRatio,
    TargetShare,
    WeightedTransferClassifier,
)
from groupwise.transfer.density_ratio import _median_gamma, _project, stack

NAMES = ["target_only", "union", "equal_mass", "aux", "logistic", "kliep", "kmm"]


def fitted(weighting, data, **more):
    return WeightedTransferClassifier(
        LogisticRegression(), weighting=weighting, target_domain="target"
    ).fit(data.X, data.y, domains=data.domains, **more)


def test_weights_by_hand():
    X, y = np.arange(5.0)[:, None], np.array([0, 1, 0, 1, 1])
    domains = ["s", "s", "s", "target", "target"]
    expected = {
        "union": np.ones(5) / 5,
        "equal_mass": [1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4],
        "aux": [1 / 11, 1 / 11, 1 / 11, 4 / 11, 4 / 11],
        TargetShare(0.2): [4 / 15, 4 / 15, 4 / 15, 1 / 10, 1 / 10],
        AuxiliaryRatio(1.0): np.ones(5) / 5,
    }
    for weighting, weight in expected.items():
        clf = WeightedTransferClassifier(
            LogisticRegression(), weighting=weighting, target_domain="target"
        ).fit(X, y, domains=domains)
        np.testing.assert_allclose(clf.row_weights_, weight)


def test_target_only_is_a_fit_to_the_target(shifted):
    rows = shifted.domains == "target"
    alone = LogisticRegression().fit(shifted.X[rows], shifted.y[rows])
    clf = fitted("target_only", shifted)
    np.testing.assert_array_equal(clf.predict(shifted.X), alone.predict(shifted.X))


def test_union_is_a_fit_to_all_rows(shifted):
    together = LogisticRegression().fit(shifted.X, shifted.y)
    clf = fitted("union", shifted)
    np.testing.assert_array_equal(clf.predict(shifted.X), together.predict(shifted.X))


@pytest.mark.parametrize("weighting", ["target_only", "union"])
def test_the_papers_machines_are_scikit_learns_with_the_plain_hinge(weighting, shifted):
    """SVM and SVMt of Dai et al. (2007), classes balanced, against libsvm."""
    hinge = LinearSVC(loss="hinge", intercept_scaling=10.0, tol=1e-5, max_iter=10**6)
    clf = WeightedTransferClassifier(
        hinge, weighting=weighting, target_domain="target", class_weight="balanced", random_state=0
    ).fit(shifted.X, shifted.y, domains=shifted.domains)
    used = (shifted.domains == "target") | (weighting == "union")
    X, y = shifted.X[used], shifted.y[used]
    svm = SVC(kernel="linear", class_weight="balanced", tol=1e-8).fit(X, y)
    found = clf.ensemble_.estimators[0]
    np.testing.assert_allclose(found.coef_, svm.coef_, atol=0.01)
    np.testing.assert_allclose(found.intercept_, svm.intercept_, atol=0.01)


@pytest.mark.parametrize("weighting", NAMES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_every_weighting_without_source_rows_is_the_plain_fit(weighting, kind, shifted):
    clf = WeightedTransferClassifier(LogisticRegression(), weighting=weighting)
    clf.fit(kind(shifted.X), shifted.y, domains=np.zeros(len(shifted.y)))
    plain = LogisticRegression().fit(shifted.X, shifted.y)
    np.testing.assert_array_equal(clf.predict(kind(shifted.X)), plain.predict(shifted.X))


@pytest.mark.parametrize("weighting", ["logistic", "kliep", "kmm"])
def test_unlabelled_target_only(weighting):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 1))
    y = (X[:, 0] > 0).astype(int)
    X_unlabeled = rng.normal(loc=1.5, size=(200, 1))
    clf = WeightedTransferClassifier(
        LogisticRegression(), weighting=weighting, target_domain="t"
    ).fit(X, y, domains=np.full(200, "s"), X_unlabeled=X_unlabeled)
    weight = clf.row_weights_ * 200
    assert weight @ X[:, 0] / 200 > 0.5  # the weighted source has moved towards the target
    with pytest.raises(GroupDataError, match="importance weighting needs rows of the target"):
        WeightedTransferClassifier(
            LogisticRegression(), weighting=weighting, target_domain="t"
        ).fit(X, y, domains=np.full(200, "s"))


def test_labels_of_the_target_are_needed_for_equal_mass():
    with pytest.raises(GroupDataError, match="no row of the target domain 't'"):
        WeightedTransferClassifier(target_domain="t").fit(
            np.zeros((2, 1)), [0, 1], domains=np.array(["s", "s"])
        )


@pytest.mark.parametrize("estimate", [LogisticRatio(C=100.0), KLIEP()])
def test_density_ratio_of_two_normal_distributions(estimate):
    rng = np.random.RandomState(0)
    source, target = rng.normal(size=(400, 1)), rng.normal(loc=0.8, scale=1.0, size=(400, 1))
    ratio = estimate.ratio(source, target)
    true = norm.pdf(source[:, 0], 0.8, 1.0) / norm.pdf(source[:, 0])
    assert (ratio >= 0).all()
    assert np.corrcoef(ratio, true)[0, 1] > 0.8


def test_kernel_mean_matching_moves_the_mean():
    rng = np.random.RandomState(0)
    source, target = rng.normal(size=(400, 1)), rng.normal(loc=0.8, size=(400, 1))
    ratio = KernelMeanMatching().ratio(source, target)
    assert ratio @ source[:, 0] / ratio.sum() == pytest.approx(target.mean(), abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_kernel_mean_matching_does_not_match_what_chance_brought(seed):
    """Nearer the true ratio than no weights, where the program's solution is further away."""
    rng = np.random.RandomState(seed)
    source, target = rng.normal(size=(300, 5)), rng.normal(size=(50, 5))
    target[:, 0] += 0.7
    true = np.exp(0.7 * source[:, 0] - 0.245)

    def error(ratio):
        return np.sqrt(np.mean((ratio / ratio.mean() - true / true.mean()) ** 2))

    flat = error(np.ones(300))
    assert error(KernelMeanMatching().ratio(source, target)) < 0.9 * flat
    assert error(KernelMeanMatching(tol=0.0).ratio(source, target)) > flat


def test_kernel_mean_matching_ends_at_the_first_step_that_is_near_enough():
    rng = np.random.RandomState(5)
    source, target = rng.normal(size=(40, 2)), rng.normal(loc=0.7, size=(10, 2))
    kernel, cross = (rbf_kernel(source, rows, gamma=0.5) for rows in (source, target))
    own = rbf_kernel(target, gamma=0.5)
    noise = (1.0 - (own.sum() - 10) / 90) / 10

    def distance(b):  # of the means, squared
        return b @ kernel @ b / 1600 - 2 * (cross.sum(axis=1) @ b) / 400 + own.mean()

    found = KernelMeanMatching(gamma=0.5).ratio(source, target)
    steps = [
        KernelMeanMatching(gamma=0.5, tol=0.0, max_iter=n).ratio(source, target) for n in range(30)
    ]
    near = [distance(b) <= noise for b in steps]
    assert not near[0]
    np.testing.assert_allclose(found, steps[near.index(True)], atol=1e-6)


@pytest.mark.parametrize("estimate", [LogisticRatio(), KLIEP(), KernelMeanMatching()])
def test_density_ratio_of_the_same_rows_is_flat(estimate):
    rows = np.random.RandomState(1).normal(size=(60, 2))
    ratio = estimate.ratio(rows, rows)
    np.testing.assert_allclose(ratio / ratio.mean(), 1.0, atol=0.35)


def test_logistic_ratio_is_the_odds():
    rng = np.random.RandomState(2)
    source, target = rng.normal(size=(50, 2)), rng.normal(loc=1.0, size=(25, 2))
    ratio = LogisticRatio(C=2.0).ratio(source, target)
    weight = np.repeat([75 / 100, 75 / 50], [50, 25])
    model = LogisticRegression(C=2.0, tol=1e-10).fit(
        np.vstack([source, target]), np.repeat([0, 1], [50, 25]), sample_weight=weight
    )
    odds = np.exp(model.decision_function(source))
    np.testing.assert_allclose(ratio / ratio.sum(), odds / odds.sum(), rtol=1e-3)


def test_kliep_maximises_its_objective():
    rng = np.random.RandomState(3)
    source, target = rng.normal(size=(40, 2)), rng.normal(loc=0.5, size=(12, 2))
    ratio = KLIEP(gamma=0.5, max_iter=20000).ratio(source, target)
    np.testing.assert_allclose(ratio.mean(), 1.0, rtol=1e-9)
    at_target, at_source = (rbf_kernel(rows, target, gamma=0.5) for rows in (target, source))
    mean = at_source.mean(axis=0)

    def objective(a):
        return -np.log(at_target @ a).mean()

    reference = minimize(
        objective,
        np.full(12, 1.0 / mean.sum()),
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda a: mean @ a - 1.0},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    np.testing.assert_allclose(ratio, at_source @ reference.x, atol=1e-2)


@pytest.mark.long
def test_kernel_mean_matching_solves_its_program():
    rng = np.random.RandomState(4)
    source, target = rng.normal(size=(15, 2)), rng.normal(loc=0.7, size=(10, 2))
    estimate = KernelMeanMatching(gamma=0.5, bound=3.0, slack=0.1, tol=0.0, max_iter=20000)
    beta = estimate.ratio(source, target)
    kernel = rbf_kernel(source, gamma=0.5)
    pull = rbf_kernel(source, target, gamma=0.5).sum(axis=1) * 1.5

    def objective(b):
        return 0.5 * b @ kernel @ b - pull @ b

    reference = minimize(
        objective,
        np.ones(15),
        jac=lambda b: kernel @ b - pull,
        bounds=[(0, 3.0)] * 15,
        constraints=[
            {"type": "ineq", "fun": lambda b: 15 * 1.1 - b.sum()},
            {"type": "ineq", "fun": lambda b: b.sum() - 15 * 0.9},
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert objective(beta) <= reference.fun + 1e-4
    assert beta.min() >= 0
    assert beta.max() <= 3.0
    assert 13.5 - 1e-6 <= beta.sum() <= 16.5 + 1e-6


def test_projection_by_hand():
    np.testing.assert_allclose(_project(np.array([2.0, 1.0]), 5.0, 0.0, 2.0), [1.5, 0.5])
    np.testing.assert_allclose(_project(np.array([0.0, 0.0]), 5.0, 1.0, 2.0), [0.5, 0.5])
    np.testing.assert_allclose(_project(np.array([-1.0, 1.0]), 5.0, 0.0, 2.0), [0.0, 1.0])


def test_median_gamma_of_one_row_and_of_equal_rows():
    assert _median_gamma(np.ones((1, 2))) == 1.0
    assert _median_gamma(np.ones((3, 2))) == 1.0
    assert _median_gamma(np.array([[0.0], [2.0]])) == 0.25


def test_stack_keeps_kinds():
    dense, thin = np.ones((2, 3)), sparse.csr_matrix(np.ones((1, 3)))
    assert stack(dense, None) is dense
    assert stack(dense, dense).shape == (4, 3)
    assert sparse.issparse(stack(dense, thin))


def test_class_missing_in_the_target():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 1, 1])
    domains = np.array(["s", "s", "s", "t", "t", "t"])
    with pytest.raises(GroupDataError, match="hold no class 0"):
        WeightedTransferClassifier(weighting="target_only", target_domain="t").fit(
            X, y, domains=domains
        )
    clf = WeightedTransferClassifier(LinearLearner(), target_domain="t").fit(X, y, domains=domains)
    assert set(clf.classes_) == {0, 1}


def test_balanced_classes(shifted):
    X, y = shifted.X[:60], np.r_[np.zeros(50, int), np.ones(10, int)]
    clf = WeightedTransferClassifier(
        LinearLearner(tol=1e-8), weighting="union", class_weight="balanced"
    ).fit(X, y)
    doubled = WeightedTransferClassifier(LinearLearner(tol=1e-8), weighting="union").fit(
        X, y, sample_weight=np.r_[np.full(50, 1.0), np.full(10, 5.0)]
    )
    np.testing.assert_array_equal(clf.predict(X), doubled.predict(X))


def test_weights_per_class(shifted):
    X, y = shifted.X[:60], np.where(np.arange(60) < 50, "a", "b")
    given = {"a": 1.0, "b": 5.0}
    clf = WeightedTransferClassifier(
        LinearLearner(tol=1e-8), weighting="union", class_weight=given
    ).fit(X, y)
    weighed = WeightedTransferClassifier(LinearLearner(tol=1e-8), weighting="union").fit(
        X, y, sample_weight=[given[label] for label in y]
    )
    np.testing.assert_allclose(clf.ensemble_.coef, weighed.ensemble_.coef, atol=1e-6)
    with pytest.raises(ValueError, match="class_weight of 'b' must be a number"):
        clf.set_params(class_weight={"b": 0.0}).fit(X, y)


def test_weights_of_one_class_only():
    with pytest.raises(GroupDataError, match="hold one class only"):
        WeightedTransferClassifier(weighting="union").fit(
            np.zeros((3, 1)), [0, 0, 1], sample_weight=[1.0, 1.0, 0.0]
        )


@pytest.mark.parametrize("weighting", ["equal", 3, None])
def test_unknown_weighting(weighting):
    with pytest.raises(ValueError, match="weighting must be one of"):
        WeightedTransferClassifier(weighting=weighting).fit(np.zeros((2, 1)), [0, 1])


def test_weightings_out_of_range():
    with pytest.raises(ValueError, match="share"):
        TargetShare(1.0)
    with pytest.raises(ValueError, match="ratio"):
        AuxiliaryRatio(0.0)


def test_score_counts_target_rows_only(shifted):
    clf = fitted("union", shifted)
    rows = shifted.domains == "target"
    expected = np.mean(clf.predict(shifted.X[rows]) == shifted.y[rows])
    assert clf.score(shifted.X, shifted.y, domains=shifted.domains) == pytest.approx(expected)
    weight = np.linspace(0, 1, len(rows))
    weighed = clf.score(shifted.X, shifted.y, domains=shifted.domains, sample_weight=weight)
    right = clf.predict(shifted.X[rows]) == shifted.y[rows]
    assert weighed == pytest.approx(np.average(right, weights=weight[rows]))


def test_density_ratio_objects_serve_as_weightings():
    data = make_shifted_domains(100, 20, random_state=0)
    one, two = fitted("kliep", data), fitted(KLIEP(), data)
    np.testing.assert_array_equal(one.row_weights_, two.row_weights_)


@pytest.mark.parametrize("weighting", ["logistic", "kliep", "kmm"])
def test_trees_take_rows_that_a_density_ratio_cannot(weighting, shifted):
    clf = WeightedTransferClassifier(
        HistTrees(2, n_jobs=1), weighting=weighting, target_domain="target"
    )
    for value, message in [
        (np.nan, "without missing values"),
        (1e160, r"column 0 of X .* holds 1e\+160; importance"),
    ]:
        X = shifted.X.copy()
        X[1, 0] = value
        with pytest.raises(GroupDataError, match=message):
            clf.fit(X, shifted.y, domains=shifted.domains)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_learner(n_classes):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(120, 3)), rng.randint(n_classes, size=120)
    domains = np.where(np.arange(120) < 60, "new", "old")
    learner = LogisticRegression()
    model = WeightedTransferClassifier(learner, weighting="target_only", target_domain="new")
    found = model.fit(X, y, domains=domains).predict_proba(X)
    expected = clone(learner).fit(X[:60], y[:60]).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))


class Namer(ClassifierMixin, BaseEstimator):
    """Positive where the first feature is."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_a_learner_that_only_names_classes_votes():
    data = make_shifted_domains(60, 20, random_state=0)
    model = WeightedTransferClassifier(Namer(), target_domain="target")
    proba = model.fit(data.X, data.y, domains=data.domains).predict_proba(data.X)
    np.testing.assert_allclose(np.unique(proba.max(axis=1)), 1 / (1 + np.exp(-1)))

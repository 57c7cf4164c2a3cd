import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from groupwise.boosting import LinearLearner
from groupwise.exceptions import GroupDataError
from groupwise.solvers.newton import fit_plane, plane_objective
from groupwise.transfer import (
    TrAdaBoostClassifier,
    TransductiveSVC,
    WeightedTransferClassifier,
)
from groupwise.transfer.transduction import Transduction, best_parting


def clouds(n_positive=60, n_negative=40, seed=0, gap=4.0):
    """Two clouds, one labelled row each, and the labels of all."""
    rng = np.random.RandomState(seed)
    y = np.repeat([1, 0], [n_positive, n_negative])
    X = rng.normal(size=(len(y), 2))
    X[:, 0] += gap * (y - 0.5)
    labeled = np.array([0, n_positive])
    return X[labeled], y[labeled], np.delete(X, labeled, 0), np.delete(y, labeled)


@pytest.mark.parametrize("method", ["switching", "annealing"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_two_labels_are_enough_for_two_clouds(method, kind):
    X, y, crowd, truth = clouds(gap=6.0)
    share = float(truth.mean())
    clf = TransductiveSVC(positive_fraction=share, method=method)
    clf.fit(kind(X), y, X_unlabeled=kind(crowd))
    np.testing.assert_array_equal(clf.transduction_, truth)
    np.testing.assert_array_equal(clf.predict(kind(crowd)), truth)
    assert clf.positive_fraction_ == pytest.approx(share)


def test_without_unlabelled_rows_it_is_a_linear_svm(shifted):
    clf = TransductiveSVC(C=1.0, tol=1e-9).fit(shifted.X, shifted.y)
    svc = LinearSVC(C=1.0, intercept_scaling=1e3, tol=1e-10, max_iter=100000)
    svc.fit(shifted.X, shifted.y)
    np.testing.assert_allclose(clf.coef_, svc.coef_, atol=1e-3)
    assert len(clf.transduction_) == 0


def test_small_problem_reaches_the_best_labelling():
    """Every labelling with the right number of positives, against the search."""
    from itertools import combinations

    rng = np.random.RandomState(3)
    X, sign = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([-1.0, 1.0])
    crowd = rng.normal(size=(8, 2)) + np.repeat([[-1.5, 0], [1.5, 0]], 4, axis=0)
    problem = Transduction(np.vstack([X, crowd]), 2, 1.0, 1e-8)
    cost = np.ones(2)
    best = np.inf
    for positive in combinations(range(8), 4):
        guess = np.full(8, -1.0)
        guess[list(positive)] = 1.0
        signs, costs = np.r_[sign, guess], np.ones(10)
        plane = fit_plane(problem.X, signs, costs, tol=1e-8).plane
        best = min(best, plane_objective(problem.X, signs, costs, plane))
    for soft in (False, True):
        found = problem.search(sign, cost, 0.5, soft=soft)
        assert found.objective == pytest.approx(best, rel=1e-4)


def test_switching_never_raises_the_objective():
    X, y, crowd, _ = clouds(gap=1.5, seed=2)
    problem = Transduction(np.vstack([X, crowd]), 2, 1.0, 1e-6)
    sign = np.where(y == 1, 1.0, -1.0)
    random = np.where(np.random.RandomState(0).permutation(len(crowd)) < 58, 1.0, -1.0)
    value, guess, plane = np.inf, random, None
    for _ in range(20):
        signs, costs = np.r_[sign, guess], np.ones(len(crowd) + 2)
        plane = fit_plane(problem.X, signs, costs, start=plane, tol=1e-6).plane
        new = plane_objective(problem.X, signs, costs, plane)
        assert new <= value + 1e-6
        value = new
        order = np.argsort(-plane.score(crowd), kind="stable")
        guess = np.full(len(crowd), -1.0)
        guess[order[:58]] = 1.0


@pytest.mark.parametrize("seed", range(3))
def test_positive_fraction_is_estimated(seed):
    X, y, crowd, truth = clouds(140, 60, seed=seed, gap=7.0)
    assumed = TransductiveSVC().fit(X, y, X_unlabeled=crowd)
    estimated = TransductiveSVC(positive_fraction="estimate").fit(X, y, X_unlabeled=crowd)
    assert assumed.positive_fraction_ == 0.5
    assert estimated.positive_fraction_ == pytest.approx(truth.mean(), abs=0.02)


def test_best_parting_by_hand():
    assert best_parting(np.array([0.0, 0.1, 0.2, 5.0])) == 0.25
    assert best_parting(np.array([1.0])) == 0.5


def test_weights_of_labelled_rows_count(shifted):
    weight = np.random.RandomState(0).randint(1, 4, 60).astype(float)
    X, y = shifted.X[:60], shifted.y[:60]
    weighed = TransductiveSVC(tol=1e-8).fit(X, y, sample_weight=weight)
    cost = weight * (60 / weight.sum()) * 0.1
    plane = fit_plane(X, np.where(y == 1, 1.0, -1.0), cost, tol=1e-8).plane
    np.testing.assert_allclose(weighed.coef_[0], plane.coef, atol=1e-6)


def test_labels_by_name_and_one_unlabelled_row():
    clf = TransductiveSVC().fit([[0.0], [1.0]], ["no", "yes"], X_unlabeled=[[0.9]])
    assert clf.transduction_.tolist() == ["yes"]


@pytest.mark.parametrize("hypotheses", ["hard", "soft"])
@pytest.mark.filterwarnings("ignore::groupwise.transfer.PerfectTargetWarning")
def test_tradaboost_with_a_transductive_learner(hypotheses, tmp_path):
    X, y, crowd, truth = clouds(gap=5.0)
    rng = np.random.RandomState(1)
    y_source = rng.randint(2, size=60)
    source = rng.normal(size=(60, 2)) + np.column_stack([2 * y_source - 1, 2 * y_source - 1])
    clf = TrAdaBoostClassifier(
        TransductiveSVC(),
        n_estimators=5,
        target_domain="t",
        initial="equal_mass",
        hypotheses=hypotheses,
    ).fit(
        np.vstack([source, X]),
        np.r_[y_source, y],
        domains=np.repeat(["s", "t"], [60, 2]),
        X_unlabeled=crowd,
    )
    assert np.mean(clf.predict(crowd) == truth) > 0.9
    plain = TrAdaBoostClassifier(TransductiveSVC(), n_estimators=2, target_domain="t").fit(
        np.vstack([source, X]), np.r_[y_source, y], domains=np.repeat(["s", "t"], [60, 2])
    )
    assert plain.predict(crowd).shape == truth.shape


def test_weighted_transfer_with_a_transductive_learner():
    X, y, crowd, truth = clouds(gap=6.0)
    clf = WeightedTransferClassifier(
        TransductiveSVC(positive_fraction=float(truth.mean())), weighting="union"
    ).fit(X, y, X_unlabeled=crowd)
    np.testing.assert_array_equal(clf.predict(crowd), truth)


def test_three_classes_are_refused():
    with pytest.raises(ValueError, match="Only binary classification"):
        TransductiveSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(GroupDataError, match="two classes apart, not 3"):
        TrAdaBoostClassifier(TransductiveSVC()).fit(
            [[0.0], [1.0], [2.0]], [0, 1, 2], domains=[0, 0, 0], X_unlabeled=[[0.5]]
        )


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0.0},
        {"unlabeled_cost": -1.0},
        {"method": "magic"},
        {"positive_fraction": 1.0},
        {"positive_fraction": "guess"},
    ],
    ids=str,
)
def test_parameters_out_of_range(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        TransductiveSVC(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_cost_of_unlabelled_rows():
    X, y, crowd, _ = clouds(gap=2.0)
    light = TransductiveSVC(unlabeled_cost=1e-9).fit(X, y, X_unlabeled=crowd)
    alone = TransductiveSVC().fit(X, y)
    np.testing.assert_allclose(light.coef_, alone.coef_, atol=1e-3)
    assert LinearLearner().C == 1.0

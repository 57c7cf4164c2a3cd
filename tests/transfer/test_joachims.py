"""Label switching to the letter of Joachims (1999)."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from groupwise.transfer import TrAdaBoostClassifier, TransductiveSVC
from groupwise.transfer.joachims import PairSwitching, gram_matrix, hinge_plane, switchable_pair

SIDES = np.array([-1.0, 1.0])


def crowd(n_rows, gap, seed):
    """Two overlapping clouds in the plane, the first half negative."""
    rng = np.random.RandomState(seed)
    truth = np.repeat(SIDES, n_rows // 2)
    return rng.normal(size=(n_rows, 2)) + gap / 2 * truth[:, None] * [1.0, 0.0], truth


def problem_of(n_rows, gap, seed, *, cost_unlabeled=1.0, tol=1e-6):
    X, truth = crowd(n_rows, gap, seed)
    rows = np.vstack([[[-gap / 2, 0.0], [gap / 2, 0.0]], X])
    return PairSwitching(rows, 2, cost_unlabeled, tol), truth


def test_value_by_hand():
    """Rows at -1 and 1, unlabelled ones at -.5 and .5, C = 1, C* = 1.5; by symmetry b = 0.

    Between 1 and 2 the objective is w^2 / 2 + 2 C* (1 - w / 2), which w = C* minimises.
    """
    clf = TransductiveSVC(C=1.0, unlabeled_cost=1.5, method="joachims", tol=1e-9)
    clf.fit([[-1.0], [1.0]], ["a", "b"], X_unlabeled=[[0.5], [-0.5]])
    assert clf.transduction_.tolist() == ["b", "a"]
    np.testing.assert_allclose(clf.coef_, [[1.5]], atol=1e-6)
    np.testing.assert_allclose(clf.intercept_, [0.0], atol=1e-6)
    assert clf.objective_ == pytest.approx(1.5**2 / 2 + 2 * 1.5 * 0.25)


def test_costs_double_from_the_odds_of_the_classes(monkeypatch):
    """One of four positive, C* = 1e-4: C*- from 1e-5, C*+ from a third of that, both up to C*."""
    levels, switch = [], PairSwitching.switch

    def watched(self, sign, cost, guess, negative, positive):
        levels.append((negative, positive))
        return switch(self, sign, cost, guess, negative, positive)

    monkeypatch.setattr(PairSwitching, "switch", watched)
    clf = TransductiveSVC(unlabeled_cost=1e-4, positive_fraction=0.25, method="joachims")
    clf.fit([[-1.0], [1.0]], [0, 1], X_unlabeled=[[-3.0], [-2.0], [0.1], [2.0]])
    doubled = 2.0 ** np.arange(6)
    expected = np.minimum(np.column_stack([1e-5 * doubled, 1e-5 / 3 * doubled]), 1e-4)
    np.testing.assert_allclose(levels, expected)
    assert clf.transduction_.tolist() == [0, 0, 0, 1]


def test_which_pair_is_switched():
    guess = np.array([1.0, -1.0, -1.0])
    assert switchable_pair(np.array([1.5, 0.4, 0.7]), guess) == (0, 2)
    assert switchable_pair(np.array([1.5, 0.4, 0.5]), guess) is None  # 2, not more
    assert switchable_pair(np.array([2.5, 0.0, 0.0]), guess) is None  # both must be positive
    assert switchable_pair(np.array([3.0, 3.0]), np.ones(2)) is None


@pytest.mark.parametrize("seed", range(3))
def test_every_switch_lowers_the_objective(seed):
    problem, truth = problem_of(30, 2.0, seed)
    guess = truth * np.where(np.arange(30) % 15 < 5, -1.0, 1.0)  # ten of thirty are wrong
    found = list(problem.switch(SIDES, np.ones(2), guess, 0.3, 0.4))
    values = np.array([step.objective for step in found])
    assert len(found) > 3 and (np.diff(values) < 0).all()
    for before, after in pairwise(found):
        assert np.count_nonzero(before.sign != after.sign) == 2
        assert before.sign.sum() == after.sign.sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_switchable_pair_is_left(seed):
    problem, _ = problem_of(30, 1.0, seed)
    found = problem.search(SIDES, np.ones(2), 0.5)
    slack = np.maximum(1.0 - found.sign * found.plane.score(problem.X[2:]), 0.0)
    for m, n in product(np.flatnonzero(found.sign > 0), np.flatnonzero(found.sign < 0)):
        assert min(slack[m], slack[n]) <= 0 or slack[m] + slack[n] <= 2 + 1e-5


def test_small_problem_reaches_the_best_labelling():
    problem, _ = problem_of(8, 3.0, 3)
    best = np.inf
    for high in combinations(range(8), 4):
        guess = np.full(8, -1.0)
        guess[list(high)] = 1.0
        best = min(best, next(problem.switch(SIDES, np.ones(2), guess, 1.0, 1.0)).objective)
    assert problem.search(SIDES, np.ones(2), 0.5).objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_without_unlabelled_rows_it_is_the_plain_machine(kind):
    X, truth = crowd(60, 1.5, 0)
    weight = np.random.RandomState(1).randint(1, 4, 60)
    clf = TransductiveSVC(C=0.5, method="joachims", tol=1e-8)
    clf.fit(kind(X), truth, sample_weight=weight)
    scaled = weight * (60 / weight.sum())
    svc = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, truth, sample_weight=scaled)
    np.testing.assert_allclose(clf.coef_, svc.coef_, atol=1e-5)
    np.testing.assert_allclose(clf.intercept_, svc.intercept_, atol=1e-5)


def test_many_rows_are_solved_by_liblinear():
    """Without inner products; the penalty of the intercept hardly shows where that is small."""
    X, truth = crowd(80, 1.5, 0)
    cost = np.full(80, 0.5)
    exact = hinge_plane(X, truth, cost, 1e-8, gram_matrix(X))
    quick = hinge_plane(X, truth, cost, 1e-8, None)
    np.testing.assert_allclose(quick.coef, exact.coef, atol=1e-3)
    assert quick.intercept == pytest.approx(exact.intercept, abs=0.02)
    assert gram_matrix(np.zeros((2001, 1))) is None


def test_sparse_rows_and_boosting():
    X, truth = crowd(40, 5.0, 1)
    rows = np.vstack([[[-2.0, 0.0], [2.0, 0.0]], X])
    dense, thin = (
        TransductiveSVC(method="joachims").fit(kind(rows[:2]), [0, 1], X_unlabeled=kind(X))
        for kind in (np.asarray, sparse.csr_matrix)
    )
    np.testing.assert_array_equal(dense.transduction_, thin.transduction_)
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-6)
    clf = TrAdaBoostClassifier(
        TransductiveSVC(method="joachims"), n_estimators=2, target_domain="t", initial="equal_mass"
    )
    y = np.r_[0, 1, (truth > 0).astype(int)]
    clf.fit(rows, y, domains=np.repeat(["t", "s"], [2, 40]), X_unlabeled=X)
    assert np.mean(clf.predict(X) == y[2:]) > 0.9


def test_the_fraction_is_not_estimated():
    with pytest.raises(ValueError, match="no part of method='joachims'"):
        TransductiveSVC(method="joachims", positive_fraction="estimate").fit([[0.0], [1.0]], [0, 1])

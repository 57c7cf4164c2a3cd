"""SVMperf: oracles against enumeration, the program against another solver, the certificate."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from groupwise import Groups
from groupwise.datasets.users import make_users
from groupwise.measures import FBeta, SVMPerfClassifier
from groupwise.measures.separation import (
    AccuracyOracle,
    GroupF1Oracle,
    PrecisionOracle,
    ROCOracle,
)
from groupwise.solvers.cutting_planes import SimplexQP, minimise


def rows(seed, n=9):
    rng = np.random.default_rng(seed)
    positive = rng.uniform(size=n) < 0.4
    positive[:2] = True, False
    return positive, rng.normal(size=n), rng.integers(3, size=n)


def labellings(n):
    return np.array(list(product([False, True], repeat=n)))


def shares(positive, said, scale_row):
    return np.where(positive & ~said, 1.0, np.where(said & ~positive, -1.0, 0.0)) / scale_row


@pytest.mark.parametrize("seed", range(25))
def test_group_f1_against_all_labellings(seed):
    """Groups without positives and groups without negatives among them."""
    positive, score, ids = rows(seed)
    groups = Groups(ids)
    n_high = np.bincount(groups.codes[positive], minlength=len(groups))
    scale = (len(groups) * np.maximum(n_high, 1))[groups.codes]
    best = max(
        1 - FBeta()(positive, said, groups).mean() - shares(positive, said, scale) @ score
        for said in labellings(len(score))
    )
    found = GroupF1Oracle(positive, groups).worst(score)
    assert found.value(score) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_f1_is_one_group_and_ties_do_no_harm(seed):
    positive, score, _ = rows(seed)
    score = np.round(score)
    one = Groups(np.zeros(len(score)))
    best = max(
        1 - FBeta()(positive, said, one)[0] - shares(positive, said, positive.sum()) @ score
        for said in labellings(len(score))
    )
    assert GroupF1Oracle(positive, one).worst(score).value(score) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [1, 4, 9])
def test_precision_at_k_against_all_labellings(seed, k):
    positive, score, _ = rows(seed)
    best = max(
        1 - (said & positive).sum() / k - shares(positive, said, positive.sum()) @ score
        for said in labellings(len(score))
        if said.sum() == k
    )
    assert PrecisionOracle(positive, k).worst(score).value(score) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_and_roc_area_are_mean_hinge_losses(seed):
    positive, score, _ = rows(seed, n=30)
    sign = np.where(positive, 1, -1)
    hinge = np.maximum(0, 1 - sign * score).mean()
    assert AccuracyOracle(positive).worst(score).value(score) == pytest.approx(hinge)
    pairs = np.maximum(0, 1 - (score[positive][:, None] - score[~positive])).mean()
    assert ROCOracle(positive).worst(score).value(score) == pytest.approx(pairs)


@pytest.mark.parametrize(
    "make",
    [
        AccuracyOracle,
        ROCOracle,
        lambda p: PrecisionOracle(p, 5),
        lambda p: GroupF1Oracle(p, Groups(np.arange(len(p)) % 4)),
    ],
)
def test_shares_are_the_negative_gradient(make):
    positive, score, _ = rows(3, n=40)
    oracle = make(positive)
    found, step = oracle.worst(score), 1e-6
    for row in range(40):
        moved = score.copy()
        moved[row] += step
        slope = (oracle.worst(moved).value(moved) - found.value(score)) / step
        assert slope == pytest.approx(-found.share_row[row], abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_simplex_program_against_scipy(seed):
    rng = np.random.default_rng(seed)
    vectors, loss = rng.normal(size=(12, 5)), rng.uniform(size=12)  # more vectors than dimensions
    vectors[7] = vectors[3]
    qp = SimplexQP(2.0)
    for i in range(12):
        qp.add(vectors[:i] @ vectors[i], vectors[i] @ vectors[i], loss[i])
        value = qp.solve(1e-12)
    assert (qp.alpha >= 0).all() and qp.alpha.sum() == pytest.approx(2.0)
    other = minimize(
        lambda a: 0.5 * np.sum((a @ vectors) ** 2) - loss @ a,
        np.full(12, 0.1),
        jac=lambda a: vectors @ (a @ vectors) - loss,
        bounds=[(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda a: 2.0 - a.sum()},
        options={"ftol": 1e-14, "maxiter": 200},
    )
    assert value == pytest.approx(-other.fun, abs=1e-8)


def test_accuracy_is_the_ordinary_support_vector_machine():
    u = make_users(10, n_rows=40, positive=0.4, random_state=0)
    ours = SVMPerfClassifier("accuracy", C=0.5, tol=1e-6).fit(u.X, u.y)
    other = LinearSVC(loss="hinge", C=0.5, tol=1e-8, max_iter=2_000_000, random_state=0)
    other.fit(u.X, u.y)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=5e-3)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=5e-3)


@pytest.mark.parametrize("measure", ["accuracy", "f1", "group_f1", "precision_at_k", "rocarea"])
def test_certificate(measure):
    """The gap is what it says: no plane of a long search is better by more."""
    u = make_users(15, n_rows=40, positive=0.2, random_state=1)
    clf = SVMPerfClassifier(measure, tol=1e-3).fit(u.X, u.y, groups=u.groups)
    assert 0 <= clf.gap_ <= 1e-3
    fine = SVMPerfClassifier(measure, tol=1e-6).fit(u.X, u.y, groups=u.groups)
    assert fine.objective_ <= clf.objective_
    assert clf.objective_ - fine.objective_ <= clf.gap_ * clf.objective_ + 1e-9
    sparse = SVMPerfClassifier(measure, tol=1e-6).fit(csr_array(u.X), u.y, groups=u.groups)
    assert sparse.objective_ == pytest.approx(fine.objective_, rel=1e-5)
    assert 0 <= clf.score(u.X, u.y, groups=u.groups) <= 1


def test_one_group_is_f1_and_training_for_f1_pays():
    u = make_users(20, n_rows=80, signal=2.0, random_state=2)
    same = np.zeros(len(u.y))
    together = SVMPerfClassifier("f1").fit(u.X, u.y)
    grouped = SVMPerfClassifier("group_f1").fit(u.X, u.y, groups=same)
    np.testing.assert_allclose(together.coef_, grouped.coef_)
    plain = SVMPerfClassifier("accuracy").fit(u.X, u.y)

    def f1(clf):
        return FBeta()(u.y, clf.decision_function(u.X), same)[0]

    assert f1(together) > f1(plain)


def test_a_run_cut_short_warns_and_says_how_far_it_got():
    u = make_users(15, random_state=1)
    with pytest.warns(ConvergenceWarning, match="duality gap is"):
        clf = SVMPerfClassifier(max_cuts=3).fit(u.X, u.y)
    assert clf.gap_ > 1e-3 and clf.n_iter_ == 3
    positive = u.y == 1
    found = minimise(u.X, AccuracyOracle(positive), 1.0, tol=0.5, max_cuts=500)
    assert found.gap <= 0.5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"measure": "ndcg"}, "measure must be"),
        ({"C": 0}, "C must be"),
        ({"measure": "precision_at_k", "k": 10**6}, "k must be between"),
    ],
)
def test_bad_parameters(changed, message):
    u = make_users(4, random_state=0)
    with pytest.raises(ValueError, match=message):
        SVMPerfClassifier(**changed).fit(u.X, u.y)
    with pytest.raises(ValueError, match="Only binary"):
        SVMPerfClassifier().fit(u.X, np.arange(len(u.y)) % 3)


def test_small_noisy_groups_give_the_zero_plane_and_a_warning():
    u = make_users(40, random_state=0)
    with pytest.warns(ConvergenceWarning, match="zero plane, which calls every row negative"):
        clf = SVMPerfClassifier("group_f1").fit(u.X, u.y, groups=u.groups)
    assert not clf.coef_.any() and clf.gap_ <= 1e-3

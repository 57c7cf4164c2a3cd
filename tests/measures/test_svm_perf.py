"""SVMperf: its parent, its certificate, its warnings."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from groupwise.datasets.users import make_users
from groupwise.measures import SVMPerfClassifier
from groupwise.measures.separation import (
    AccuracyOracle,
)
from groupwise.metrics import FBeta
from groupwise.solvers.cutting_planes import minimise


@pytest.mark.parametrize("cost", [1.0, 5.0])
def test_accuracy_is_the_ordinary_support_vector_machine(cost):
    """liblinear's plain hinge: the same objective to 1e-6 of it, the same plane."""
    u = make_users(10, n_rows=40, positive=0.4, random_state=0)
    ours = SVMPerfClassifier("accuracy", C=0.5, cost=cost, tol=1e-7).fit(u.X, u.y)
    other = LinearSVC(
        loss="hinge",
        C=0.5,
        class_weight={1: cost},
        tol=1e-8,
        max_iter=2_000_000,
        random_state=0,
    ).fit(u.X, u.y)

    def objective(clf):
        plane = np.append(clf.coef_[0], clf.intercept_)
        slack = np.maximum(0.0, 1.0 - np.where(u.y == 1, 1, -1) * clf.decision_function(u.X))
        return 0.5 * plane @ plane + 0.5 * np.where(u.y == 1, cost, 1.0) @ slack

    assert objective(ours) == pytest.approx(objective(other), rel=1e-6)
    assert objective(ours) == pytest.approx(ours.objective_, rel=1e-12)
    assert ours.gap_ <= 1e-7
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=1e-3)


def test_a_cost_of_two_is_every_positive_row_twice():
    u = make_users(10, n_rows=40, positive=0.3, random_state=3)
    rows = np.concatenate([np.arange(len(u.y)), np.flatnonzero(u.y == 1)])
    twice = SVMPerfClassifier("accuracy", tol=1e-7).fit(u.X[rows], u.y[rows])
    weighted = SVMPerfClassifier("accuracy", cost=2.0, tol=1e-7).fit(u.X, u.y)
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, atol=1e-3)


@pytest.mark.parametrize("measure", ["accuracy", "f1", "group_f1", "precision_at_k", "roc_area"])
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
    assert found.certificate.gap <= 0.5 * found.objective


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"measure": "ndcg"}, "measure must be"),
        ({"C": 0}, "C must be"),
        ({"cost": -1.0}, "cost must be"),
        ({"cost": 2.0}, "cost is for measure='accuracy'"),
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

"""DPBoost: by hand, its parent, its bounds, its limits."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from groupwise.exceptions import GroupDataError
from groupwise.presence import (
    Balls,
    DPBoostClassifier,
    FixedPool,
    LPBoostClassifier,
    Stumps,
)
from groupwise.rules import Presence


def test_witness_by_hand():
    """The positive group needs one row beyond 2; its other row lies among negatives."""
    X = np.array([[0.0], [5.0], [1.0], [2.0], [0.5]])
    y = np.array([1, 1, 0, 0, 0])
    groups = np.array(["p", "p", "n1", "n2", "n2"])
    clf = DPBoostClassifier(Stumps(), C=1.0, exact=True).fit(X, y, groups=groups)
    assert clf.witnesses_.tolist() == [2, -1, 1]  # n1 is its only row; n2, p
    assert clf.upper_bound_ == pytest.approx(1.0) == clf.lower_bound_
    assert clf.predict(X).tolist() == [0, 1, 0, 0, 0]
    assert clf.predict_groups(X, groups=groups).tolist() == [0, 0, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_of_one_row_give_lpboost(n_classes):
    rng = np.random.RandomState(0)
    y = np.arange(45) % n_classes
    X = rng.normal(size=(45, 2)) + y[:, None]
    one = LPBoostClassifier(C=0.1).fit(X, y)
    other = DPBoostClassifier(C=0.1, background=None).fit(X, y, groups=np.arange(45))
    assert other.lower_bound_ == pytest.approx(one.lower_bound_, abs=1e-7)
    assert other.upper_bound_ == pytest.approx(one.upper_bound_, abs=1e-7)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)
    assert one.duality_gap_ <= 1e-6 and other.duality_gap_ <= 1e-6
    assert (one.estimator_weights_ > 0).all()
    assert one.upper_bound_ == pytest.approx(
        one.estimator_weights_.sum() + 0.1 * _slack(one.decision_function(X), y)
    )


def _slack(score, y):
    if score.ndim == 1:
        return np.maximum(1 - np.where(y == 1, score, -score), 0).sum()
    own = score[np.arange(len(y)), y]
    rest = np.where(np.eye(score.shape[1], dtype=bool)[y], -np.inf, score).max(axis=1)
    return np.maximum(1 - (own - rest), 0).sum()


@pytest.mark.parametrize("relaxation", ["cuts", "lifted", "embedding"])
def test_bounds_are_those_of_the_model(bags, relaxation):
    clf = DPBoostClassifier(Stumps(), C=0.3, relaxation=relaxation, n_restarts=2, random_state=0)
    clf.fit(bags.X, bags.y, groups=bags.groups)
    score = clf.decision_function(bags.X)
    best = np.array([score[bags.groups == g].max() for g in range(30)])
    positive = bags.y[np.unique(bags.groups, return_index=True)[1]] == 1
    slack = np.maximum(1 - np.where(positive, best, -best), 0).sum()
    assert clf.upper_bound_ == pytest.approx(clf.estimator_weights_.sum() + 0.3 * slack)
    assert 0 < clf.lower_bound_ <= clf.upper_bound_ + 1e-9
    assert clf.gap_ == pytest.approx(1 - clf.lower_bound_ / clf.upper_bound_, abs=1e-9)
    witness = clf.witnesses_[positive]
    assert (bags.groups[witness] == np.flatnonzero(positive)).all()
    np.testing.assert_allclose(score[witness], best[positive])
    assert (clf.witnesses_[~positive] == np.flatnonzero(bags.y == 0)).all()  # one row each


def test_exact_is_no_worse_and_closes_the_gap(bags):
    rough = DPBoostClassifier(C=0.5).fit(bags.X, bags.y, groups=bags.groups)
    exact = DPBoostClassifier(C=0.5, exact=True).fit(bags.X, bags.y, groups=bags.groups)
    assert exact.upper_bound_ <= rough.upper_bound_ + 1e-9
    assert exact.gap_ <= 1e-6 and exact.n_nodes_ >= 1
    stopped = DPBoostClassifier(C=0.5, exact=True, time_limit=0.0)
    stopped.fit(bags.X, bags.y, groups=bags.groups)
    assert stopped.lower_bound_ <= exact.upper_bound_ + 1e-9 <= stopped.upper_bound_ + 2e-9


def test_a_positive_group_without_a_separable_row_pays_its_slack():
    """Copies of negative rows: no witness can help, and the bounds say what it costs."""
    X = np.array([[0.0], [1.0], [0.0], [1.0], [3.0]])
    y, groups = np.array([1, 1, 0, 0, 1]), np.array([0, 0, 1, 1, 2])
    clf = DPBoostClassifier(Stumps(), C=1.0, exact=True).fit(X, y, groups=groups)
    assert clf.gap_ <= 1e-6
    assert clf.predict_groups(X, groups=groups).tolist()[2] == 1
    # x > 0.5 costs 1 and gives up the negative row at 1: slack 2 at half the cost of its group
    assert clf.upper_bound_ == pytest.approx(2.0)
    # at the cost of its own it is 3, as is giving up group 0
    clf = DPBoostClassifier(Stumps(), C=1.0, background_cost="row", exact=True)
    assert clf.fit(X, y, groups=groups).upper_bound_ == pytest.approx(3.0)


@pytest.mark.long
@pytest.mark.parametrize("cost", [{"C": 0.3}, {"nu": 0.1}])
@pytest.mark.parametrize("solution", ["witnesses", "relaxation"])
def test_rows_at_their_own_cost_are_single_negative_groups(easy, cost, solution):
    """The paper's negative groups have one row each."""
    X, y, groups = (part[:80] for part in easy)
    settings = {**cost, "solution": solution, "background_cost": "row"}
    one = DPBoostClassifier(Stumps(4), **settings).fit(X, y, groups=groups)
    alone = np.where(y == 1, groups, 1000 + np.arange(len(y)))
    other = DPBoostClassifier(Stumps(4), **settings).fit(X, y, groups=alone)
    assert one.lower_bound_ == pytest.approx(other.lower_bound_, abs=1e-7)
    assert one.upper_bound_ == pytest.approx(other.upper_bound_, abs=1e-7)
    shared = DPBoostClassifier(Stumps(4), **{**settings, "background_cost": "group"})
    assert shared.fit(X, y, groups=groups).lower_bound_ < one.lower_bound_ - 1e-3


@pytest.mark.parametrize("background_cost", ["group", "row"])
@pytest.mark.parametrize("seed", range(3))
def test_the_classifier_of_the_relaxation_is_optimal_in_the_papers_program(seed, background_cost):
    """Its weights, held fixed in the lifted program with all columns and all reductions."""
    rng = np.random.RandomState(seed)
    groups = np.repeat(np.arange(8), 3)
    y = groups % 2
    X = rng.normal(size=(24, 2)).round(1)
    X[::3] += 1.5 * y[::3, None]
    clf = DPBoostClassifier(
        Stumps(3), C=0.6, relaxation="lifted", solution="relaxation", tol=1e-9,
        background_cost=background_cost,
    ).fit(X, y, groups=groups)  # fmt: skip
    pool = Stumps(3).bind(X)
    H = pool.values(np.arange(len(pool.feature)))
    H = np.hstack([H, -H])
    negative = 0.6 if background_cost == "row" else 0.2
    found = clf.decision_function(X)
    assert _lifted(H, y, groups, 0.6, negative) == pytest.approx(clf.lower_bound_, abs=1e-6)
    total = float(clf.estimator_weights_.sum())
    fixed = _lifted(H, y, groups, 0.6, negative, score=found, total=total)
    assert fixed == pytest.approx(clf.lower_bound_, abs=1e-6)
    best = np.array([found[groups == g].max() for g in range(1, 8, 2)])
    slack = 0.6 * np.maximum(1 - best, 0).sum()
    slack += negative * np.maximum(1 + found[y == 0], 0).sum()
    assert clf.upper_bound_ == pytest.approx(total + slack)
    assert clf.upper_bound_ >= DPBoostClassifier(
        Stumps(3), C=0.6, exact=True, background_cost=background_cost
    ).fit(X, y, groups=groups).upper_bound_ - 1e-6  # fmt: skip


def _lifted(H, y, groups, C, negative, *, score=None, total=None):
    """Optimum of equations 7 and 8: weights and slacks copied for every row of a positive group."""
    n = H.shape[1]
    singles, positive = np.flatnonzero(y == 0), np.unique(groups[y == 1])
    rows = [np.flatnonzero(groups == g) for g in positive]
    n_copies = sum(map(len, rows))
    size = n + len(singles) + 1  # of a copy: weights, slacks of single rows, own slack; then eta
    start = n + len(singles)
    n_variables = start + n_copies * (size + 1)
    cost = np.zeros(n_variables)
    cost[:n], cost[n:start] = 1.0, negative
    at_least, equal = [], []  # lists of (line, right side)
    copy = 0
    for members in rows:
        mine = []
        for row in members:
            base = start + copy * (size + 1)
            mine.append(base)
            own, eta, copy = base + size - 1, base + size, copy + 1
            cost[own] = C
            line = np.zeros(n_variables)
            line[base : base + n], line[own], line[eta] = H[row], 1.0, -1.0
            at_least.append((line, 0.0))
            for j, single in enumerate(singles):
                line = np.zeros(n_variables)
                line[base : base + n], line[base + n + j], line[eta] = -H[single], 1.0, -1.0
                at_least.append((line, 0.0))
        line = np.zeros(n_variables)
        line[np.array(mine) + size] = 1.0
        equal.append((line, 1.0))
        for k in range(n + len(singles)):
            line = np.zeros(n_variables)
            line[k] = 1.0
            line[np.array(mine) + k] = -1.0
            equal.append((line, 0.0))
    if score is not None:
        equal += [(np.pad(h, (0, n_variables - n)), s) for h, s in zip(H, score, strict=True)]
        equal.append((np.pad(np.ones(n), (0, n_variables - n)), total))
    A, a = (np.array(part) for part in zip(*at_least, strict=True))
    B, b = (np.array(part) for part in zip(*equal, strict=True))
    return linprog(cost, A_ub=-A, b_ub=-a, A_eq=B, b_eq=b).fun


def test_constant_features_and_copies():
    X = np.ones((8, 2))
    y, groups = np.repeat([0, 1], 4), np.repeat([0, 1, 2, 3], 2)
    clf = DPBoostClassifier(nu=0.5).fit(X, y, groups=groups)
    assert clf.gap_ <= 1e-6 and np.isfinite(clf.predict_proba(X)).all()
    doubled = np.repeat(np.arange(6.0), 2)[:, None]
    clf = DPBoostClassifier(C=1.0, exact=True).fit(
        doubled, np.repeat([0, 1], 6), groups=np.repeat(np.arange(6), 2)
    )
    assert clf.upper_bound_ == pytest.approx(1.0) and clf.gap_ <= 1e-6


@pytest.mark.long
def test_many_tiny_groups():
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(2000), 2)
    y = groups % 2
    X = rng.normal(size=(4000, 3))
    X[::2, 0] += 3.0 * y[::2]
    clf = DPBoostClassifier(nu=0.3, cut_rounds=1, max_effort=1e6).fit(X, y, groups=groups)
    assert clf.lower_bound_ <= clf.upper_bound_
    assert clf.score(X, y, groups=groups) > 0.8


def test_both_labels_may_be_ambiguous():
    X = np.array([[0.0], [9.0], [0.5], [9.5], [1.0], [8.0]])
    y, groups = np.array([0, 0, 1, 1, 1, 1]), np.repeat([0, 1, 2], 2)
    clf = DPBoostClassifier(Stumps(), C=2.0, background=None, exact=True).fit(X, y, groups=groups)
    assert clf.upper_bound_ == pytest.approx(1.0)  # row 0 is negative, rows 3 and 5 positive
    assert (clf.witnesses_ >= 0).all()
    assert clf.predict(X)[clf.witnesses_].tolist() == [0, 1, 1]


def test_three_classes_with_a_background():
    rng = np.random.RandomState(1)
    groups = np.repeat(np.arange(30), 3)
    label = np.array(["a", "b", "none"])[np.arange(30) % 3]
    X = rng.normal(scale=0.3, size=(90, 2))
    X[::3] += np.array([[3.0, 0.0], [0.0, 3.0], [0.0, 0.0]])[np.arange(30) % 3]
    clf = DPBoostClassifier(nu=0.01, background="none").fit(X, label[groups], groups=groups)
    assert clf.classes_.tolist() == ["a", "b", "none"]
    found = clf.predict_groups(X, groups=groups)
    # nothing keeps another row of an "a" group from looking like "b", but a background group
    # has background rows only, and a witness is what its group is
    assert (found == label).mean() > 0.9 and ((found == "none") == (label == "none")).all()
    promised = label != "none"
    np.testing.assert_array_equal(clf.predict(X[clf.witnesses_[promised]]), label[promised])
    assert clf.rule_ == Presence(2) and len(clf.ensemble_.outputs) == 3
    with pytest.raises(GroupDataError, match="'nothing'"):
        clf.set_params(background="nothing").fit(X, label[groups], groups=groups)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nu": 0.0}, "nu must be"),
        ({"C": -1.0}, "C must be"),
        ({"relaxation": "hope"}, "relaxation must be one of"),
        ({"relaxation": "lifted", "exact": True}, "searches with"),
        ({"solution": "hope"}, "solution must be one of"),
        ({"solution": "relaxation", "exact": True}, "searches for witnesses"),
        ({"background_cost": "free"}, "background_cost must be one of"),
        ({"n_restarts": -1}, "n_restarts must be"),
        ({"max_queries": 0}, "max_queries must be"),
        ({"estimator": Stumps(0)}, "max_thresholds must be"),
        ({"estimator": Balls(0)}, "n_centres must be"),
        ({"estimator": FixedPool([])}, "at least one classifier"),
    ],
)
def test_bad_parameters(bags, settings, message):
    with pytest.raises(ValueError, match=message):
        DPBoostClassifier(**settings).fit(bags.X, bags.y, groups=bags.groups)


def test_sparse_rows_are_the_same_rows(bags):
    for estimator in (DPBoostClassifier(C=0.2), LPBoostClassifier(Balls(20))):
        dense = estimator.fit(bags.X, bags.y, groups=bags.groups).decision_function(bags.X)
        sparse = estimator.fit(csr_array(bags.X), bags.y, groups=bags.groups)
        np.testing.assert_allclose(sparse.decision_function(csr_array(bags.X)), dense, atol=1e-6)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y, groups = np.arange(12.0)[:, None], np.repeat(["a", "b"], 6), np.repeat(np.arange(6), 2)
    model = DPBoostClassifier(random_state=0).fit(X, y, groups=groups)
    model.set_params(estimator="none")
    with pytest.raises(ValueError, match="estimator must be"):
        model.fit(X[:8], np.repeat(["x", "y"], 4), groups=groups[:8])
    assert model.classes_.tolist() == ["a", "b"] and model.n_groups_ == 6
    assert set(model.predict_groups(X, groups)) <= {"a", "b"}

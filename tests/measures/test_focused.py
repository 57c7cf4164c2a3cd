"""AdaBoost steered by groups: its parent, its weights, early stopping."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees
from groupwise.boosting import HardLearner
from groupwise.datasets.users import make_users
from groupwise.measures import FocusedAdaBoostClassifier
from groupwise.metrics import FBeta

TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_focus_cost_and_balance_it_is_adaboost(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize(
        X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=400), [1.0, 2.0][: n_classes - 1]
    )
    clf = FocusedAdaBoostClassifier(
        TREE, measure="accuracy", focus=0, balance_groups=False, n_estimators=12, random_state=0
    ).fit(X, y, groups=rng.integers(9, size=400))
    parent = AdaBoostClassifier(TREE, n_estimators=12, random_state=0).fit(X, y)
    assert np.mean(clf.predict(X) == parent.predict(X)) > 0.99
    ratio = clf.estimator_weights_ / parent.estimator_weights_[: len(clf.estimator_weights_)]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


class Recorder(HardLearner):
    """Trees that remember the weights they were given."""

    def __init__(self):
        self.weights = []

    def bind(self, X):
        self.bound = HistTrees(1, n_jobs=1).bind(X)
        return self

    def start(self, n_classes, rng, *, resample):
        self.run = self.bound.start(n_classes, rng, resample=resample)
        return self

    def fit(self, target, weight):
        self.weights.append(weight)
        self.votes = self.run.fit(target, weight)
        return self.votes

    def combine(self, weights):
        return self.run.combine(weights)


def test_weights_of_the_second_round_by_hand():
    u = make_users(6, n_rows=20, positive=0.3, random_state=3)
    learner = Recorder()
    clf = FocusedAdaBoostClassifier(learner, n_estimators=2, focus=3.0, cost=2.0)
    clf.fit(u.X, u.y, groups=u.groups)
    sizes = np.bincount(u.groups)
    first = np.where(u.y == 1, 2.0, 1.0) / sizes[u.groups]
    np.testing.assert_allclose(learner.weights[0], first / first.sum())
    votes = next(iter(clf.staged_decision_function(u.X))) > 0
    E = FBeta()(u.y, votes, u.groups)
    alpha = clf.estimator_weights_[0]
    second = first * np.exp(-3.0 * E[u.groups]) * np.exp(-alpha * np.where(votes == u.y, 1, -1))
    np.testing.assert_allclose(learner.weights[1], second / second.sum(), rtol=1e-6)


def test_held_out_groups_choose_the_rounds():
    u = make_users(30, n_rows=60, random_state=1)
    clf = FocusedAdaBoostClassifier(
        HistTrees(3, n_jobs=1),
        n_estimators=40,
        early_stopping=True,
        validation_fraction=0.3,
        random_state=0,
    ).fit(u.X, u.y, groups=u.groups)
    assert len(clf.history_["validation_measure"]) == len(clf.history_["measure"])
    assert len(clf.estimator_weights_) == np.argmax(clf.history_["validation_measure"]) + 1
    stages = list(clf.staged_score(u.X, u.y, groups=u.groups))
    assert len(stages) == len(clf.estimator_weights_) == clf.n_iter_
    assert stages[-1] == pytest.approx(clf.score(u.X, u.y, groups=u.groups))


def test_perfect_and_hopeless_hypotheses_end_the_run():
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    perfect = FocusedAdaBoostClassifier(n_estimators=9).fit(X, y, groups=np.arange(8))
    assert len(perfect.estimator_weights_) == 1
    hopeless = FocusedAdaBoostClassifier(
        n_estimators=9, early_stopping=True, validation_fraction=0.5, random_state=0
    )
    hopeless.fit(np.zeros((8, 1)), np.tile([0, 1], 4), groups=np.repeat([0, 1], 4))
    assert len(hopeless.estimator_weights_) == hopeless.n_iter_ == 0
    assert hopeless.history_["validation_measure"].shape == (0,)
    np.testing.assert_allclose(hopeless.predict_proba(X), 0.5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"focus": -1}, "focus"),
        ({"cost": 0}, "cost"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"early_stopping": None}, "early_stopping"),
    ],
)
def test_bad_parameters(changed, message):
    with pytest.raises(ValueError, match=message):
        FocusedAdaBoostClassifier(**changed).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("estimator", [HistTrees(2, n_jobs=1), TREE])
def test_soft_votes_obey_the_bound_of_boosting(estimator):
    """Mean of exp(-y f) is at most the product of 2 sqrt(eps (1 - eps)), every round."""
    u = make_users(20, n_rows=30, positive=0.3, random_state=1)
    clf = FocusedAdaBoostClassifier(
        estimator, hypotheses="soft", focus=0, balance_groups=False, n_estimators=15
    ).fit(u.X, u.y, groups=u.groups)
    error = 1.0 / (1.0 + np.exp(2.0 * clf.estimator_weights_))  # of alpha = log((1 - e) / e) / 2
    bound = np.cumprod(2.0 * np.sqrt(error * (1.0 - error)))
    sign = np.where(u.y == 1, 1.0, -1.0)
    loss = [np.exp(-sign * score).mean() for score in clf.staged_decision_function(u.X)]
    assert (np.array(loss) <= bound + 1e-4).all()
    assert bound[-1] < 0.95
    soft = next(iter(clf.staged_decision_function(u.X)))
    assert len(np.unique(np.abs(soft).round(6))) > 1  # leaves differ in how sure they are


def test_soft_votes_of_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    clf = FocusedAdaBoostClassifier(hypotheses="soft", measure="accuracy", n_estimators=10)
    y, groups = X.argmax(axis=1), rng.integers(9, size=300)
    assert clf.fit(X, y, groups=groups).score(X, y, groups) > 0.8


def test_unknown_kind_of_hypotheses():
    with pytest.raises(ValueError, match="one of 'hard', 'soft', got 'confident'"):
        FocusedAdaBoostClassifier(hypotheses="confident").fit([[0.0], [1.0]], [0, 1])

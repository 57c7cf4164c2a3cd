"""AdaBoost.Group: Figure 1 by hand and by a plain loop, Theorem 1, conventions."""

from math import exp, log, sqrt

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees
from groupwise.boosting import HardLearner, VoteEnsemble
from groupwise.datasets.users import make_users
from groupwise.measures import GroupAdaBoostClassifier
from groupwise.metrics import FBeta, ROCArea


class Preset(HardLearner):
    """A weak learner that answers with given votes, and remembers the weights it was given."""

    def __init__(self, votes):
        self.votes, self.weights = votes, []

    def bind(self, X):
        return self

    def start(self, n_classes, rng, *, resample):
        return self

    def fit(self, target, weight):
        self.weights.append(weight)
        return np.array(self.votes[len(self.weights) - 1])

    def combine(self, weights):
        return VoteEnsemble([], [], 2)


def test_groups_of_one_row_by_hand():
    """Accuracy: alpha = 1/2 ln((1 + phi)/(1 - phi)), D falls by e where f is right."""
    y, X = np.array([0, 0, 1, 1, 0]), np.arange(5.0)[:, None]
    learner = Preset([[0, 0, 1, 1, 1], [0, 0, 0, 0, 0]])
    clf = GroupAdaBoostClassifier(learner, measure="accuracy", n_estimators=2)
    clf.fit(X, y, groups=np.arange(5))
    first, second = learner.weights
    np.testing.assert_allclose(first, [0.2] * 5)
    wrong = 1 / (1 + 4 * exp(-1))
    np.testing.assert_allclose(second, [(1 - wrong) / 4] * 4 + [wrong])
    phi = 2 * (1 - wrong) / 4 + wrong
    np.testing.assert_allclose(clf.history_["hypothesis_measure"], [0.8, phi])
    alphas = [0.5 * log(1.8 / 0.2), 0.5 * log((1 + phi) / (1 - phi))]
    np.testing.assert_allclose(clf.estimator_weights_, alphas)
    # f_1 is right on four rows; f_2 = alpha_1 h_1 + alpha_2 h_2 keeps the sign of h_1
    assert alphas[0] > alphas[1]
    np.testing.assert_allclose(clf.history_["measure"], [0.8, 0.8])
    # zeta_1 = E(f_1) - 0 - alpha_1 E(h_1) is smallest where h_1 is right; zeta_2 where h_2 is
    zeta = [1 - alphas[0], -alphas[1]]
    first_bound = exp(-zeta[0]) * sqrt(1 - 0.8**2)
    np.testing.assert_allclose(clf.history_["bound"][0], 1 - first_bound)
    np.testing.assert_allclose(
        clf.history_["bound"][1], 1 - first_bound * exp(-zeta[1]) * sqrt(1 - phi**2)
    )
    assert clf.n_distinct_ == 2


def test_a_group_counts_once_and_its_rows_share_the_weight():
    learner = Preset([[1, 0, 0, 1]])
    clf = GroupAdaBoostClassifier(learner, measure="f1", n_estimators=1)
    clf.fit(np.zeros((4, 1)), [1, 1, 0, 1], groups=["a", "a", "a", "b"])
    np.testing.assert_allclose(learner.weights[0], [1 / 6, 1 / 6, 1 / 6, 1 / 2])
    f_a = 2 / 3  # one of two positives found, nothing wrong
    np.testing.assert_allclose(clf.history_["hypothesis_measure"], [(f_a + 1) / 2])
    D = np.exp([-f_a, -1.0])
    np.testing.assert_allclose(clf.group_weights_, D / D.sum())


def figure1(X, y, groups, n_rounds):
    """The algorithm in plain loops over groups, on scikit-learn's trees and F1."""
    names = np.unique(groups)
    parts = [np.flatnonzero(groups == name) for name in names]
    sign = 2 * y - 1
    D, f, alphas = np.full(len(names), 1 / len(names)), np.zeros(len(y)), []

    def E(score):
        return np.array([f1_score(y[p], score[p] > 0, zero_division=1.0) for p in parts])

    for _ in range(n_rounds):
        weight = np.empty(len(y))
        for d, part in zip(D, parts, strict=True):
            weight[part] = d / len(part)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        h = 2 * tree.fit(X, y, sample_weight=weight * len(y)).predict(X) - 1
        phi = D @ E(h)
        alphas.append(0.5 * log((1 + phi) / (1 - phi)))
        f = f + alphas[-1] * h
        D = np.exp(-E(f))
        D /= D.sum()
    assert set(np.unique(sign)) == {-1, 1}
    return np.array(alphas), f, D


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_a_plain_loop(seed):
    u = make_users(6, n_rows=30, positive=0.3, random_state=seed)
    alphas, f, D = figure1(u.X, u.y, u.groups, 5)
    clf = GroupAdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), measure="f1", n_estimators=5, random_state=0
    ).fit(u.X, u.y, groups=u.groups)
    np.testing.assert_allclose(clf.estimator_weights_, alphas, rtol=1e-9)
    np.testing.assert_allclose(clf.group_weights_, D, rtol=1e-9)
    np.testing.assert_allclose(clf.decision_function(u.X), f, atol=1e-9)


@pytest.mark.parametrize(
    "measure", ["accuracy", "f1", "balanced_accuracy", "matthews", "average_precision", "ndcg"]
)
@pytest.mark.parametrize("seed", range(2))
def test_theorem_1_holds_in_every_round(measure, seed):
    u = make_users(15, n_rows=30, positive=0.2, random_state=seed)
    for estimator in (
        HistTrees(2, n_jobs=1),
        DecisionTreeClassifier(max_depth=2, max_features=2),
    ):
        clf = GroupAdaBoostClassifier(
            estimator, measure=measure, n_estimators=15, random_state=seed
        ).fit(u.X, u.y, groups=u.groups)
        assert (clf.history_["measure"] >= clf.history_["bound"] - 1e-12).all()
        assert clf.history_["measure"][-1] == pytest.approx(clf.score(u.X, u.y, groups=u.groups))


def test_the_exact_algorithm_hardly_reweights():
    """D n stays within a factor of e, and deterministic trees repeat: what the docstring says."""
    u = make_users(40, random_state=0)
    clf = GroupAdaBoostClassifier(HistTrees(2, n_jobs=1), measure="accuracy", n_estimators=30)
    clf.fit(u.X, u.y, groups=u.groups)
    assert clf.group_weights_.max() / clf.group_weights_.min() <= np.e
    assert clf.n_distinct_ <= 5


def test_a_perfect_hypothesis_ends_the_run():
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    clf = GroupAdaBoostClassifier(n_estimators=20).fit(X, y, groups=np.arange(8) % 2)
    assert len(clf.estimator_weights_) == 1 and np.isfinite(clf.estimator_weights_).all()
    assert clf.history_["measure"][0] == 1 and clf.history_["bound"][0] <= 1
    assert clf.score(X, y, groups=np.arange(8) % 2) == 1


def test_stages_end_in_the_model():
    u = make_users(10, random_state=0)
    clf = GroupAdaBoostClassifier(measure="f1", n_estimators=6).fit(u.X, u.y, groups=u.groups)
    stages = list(clf.staged_decision_function(u.X))
    np.testing.assert_allclose(stages[-1], clf.decision_function(u.X), atol=1e-12)
    scores = list(clf.staged_score(u.X, u.y, groups=u.groups))
    np.testing.assert_allclose(scores, clf.history_["measure"])
    proba = clf.predict_proba(u.X)
    np.testing.assert_array_equal(clf.predict(u.X), (stages[-1] > 0).astype(int))
    assert (proba >= 0).all() and (proba <= 1).all()


def test_more_classes():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 300)
    X = rng.normal(size=(300, 3)) + 2.0 * np.eye(3)[np.searchsorted(["a", "b", "c"], y)]
    groups = rng.integers(20, size=300)
    clf = GroupAdaBoostClassifier(measure="f1", n_estimators=10, random_state=0)
    clf.fit(X, y, groups=groups)
    assert clf.decision_function(X).shape == (300, 3)
    assert clf.score(X, y, groups=groups) == pytest.approx(clf.history_["measure"][-1])
    assert clf.history_["measure"][-1] > 0.6
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    assert (clf.history_["measure"] >= clf.history_["bound"]).all()
    with pytest.raises(ValueError, match="is for two classes, y holds 3"):
        GroupAdaBoostClassifier(measure="roc_area").fit(X, y, groups=groups)


def test_groups_left_out_have_no_weight():
    X = np.array([[0.0], [1.0], [0.0], [1.0], [0.5], [0.2]])
    y, groups = np.array([0, 1, 1, 0, 0, 0]), np.array([0, 0, 1, 1, 2, 2])
    measure = FBeta(without_positives="skip")
    clf = GroupAdaBoostClassifier(measure=measure, n_estimators=3).fit(X, y, groups=groups)
    assert clf.group_weights_[2] == 0 and clf.group_weights_.sum() == pytest.approx(1)
    assert (clf.history_["measure"] >= clf.history_["bound"]).all()
    with pytest.raises(ValueError, match="leaves out every group"):
        GroupAdaBoostClassifier(measure=ROCArea(without_positives="skip")).fit(
            X, y, groups=np.arange(6)
        )


def test_nobody_votes_if_every_hypothesis_is_worthless():
    never = lambda y, score, groups: np.zeros(len(groups))  # noqa: E731
    X, y, alone = np.arange(6.0)[:, None], np.array([0, 1, 2, 0, 1, 2]), np.arange(6)
    clf = GroupAdaBoostClassifier(measure=never, n_estimators=2).fit(X, y, groups=alone)
    np.testing.assert_allclose(clf.estimator_weights_, 0)
    np.testing.assert_allclose(clf.predict_proba(X), 1 / 3)
    two = GroupAdaBoostClassifier(measure=never, n_estimators=2).fit(X, y > 0, groups=alone)
    np.testing.assert_allclose(two.predict_proba(X), 0.5)


def test_bad_parameters():
    with pytest.raises(ValueError, match="n_estimators"):
        GroupAdaBoostClassifier(n_estimators=0).fit([[0.0], [1.0]], [0, 1], groups=[0, 1])
    with pytest.raises(ValueError, match="measure must be"):
        GroupAdaBoostClassifier(measure="f3").fit([[0.0], [1.0]], [0, 1], groups=[0, 1])
    with pytest.raises(NotFittedError):
        GroupAdaBoostClassifier().decision_function([[0.0]])

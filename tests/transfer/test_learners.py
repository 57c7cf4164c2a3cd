import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees
from groupwise.boosting.confidence import ConfidenceLearner, row_loss
from groupwise.transfer import TrAdaBoostClassifier
from groupwise.transfer.learners import Tail, get_transfer_learner, last_rounds


def start(learner, X, n_classes=2, *, resample=False):
    return learner.bind(X).start(n_classes, np.random.RandomState(0), resample=resample)


def test_losses_by_hand():
    target = np.array([0, 1, 1])
    np.testing.assert_array_equal(row_loss(np.array([0, 0, 1]), target), [0.0, 1.0, 0.0])
    proba = np.array([[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]])
    np.testing.assert_allclose(row_loss(proba, target), [0.3, 0.6, 0.1])


def test_confident_trees_give_the_leaves_shares():
    rng = np.random.RandomState(0)
    X = np.round(rng.normal(size=(200, 3)), 1)
    target, weight = rng.randint(2, size=200), rng.uniform(0.5, 1.5, size=200)
    trees = HistTrees(2, n_jobs=1, min_leaf_weight=1e-4)
    run = start(get_transfer_learner(trees, 2, confident=True), X)
    first = run.fit(target, weight)
    second = run.fit(target, np.where(target == 1, 2.0, 1.0) * weight)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, target, sample_weight=weight)
    np.testing.assert_allclose(first, tree.predict_proba(X), atol=1e-4)
    ensemble = run.combine([0.5, -2.0])
    expected = 0.5 * (2 * first[:, 1] - 1) - 2.0 * (2 * second[:, 1] - 1)
    np.testing.assert_allclose(ensemble.score(X), expected, atol=1e-5)
    np.testing.assert_allclose(list(ensemble.staged_score(X))[-1], expected, atol=1e-5)


def test_confident_trees_without_a_split_say_the_share():
    X, target = np.zeros((4, 1)), np.array([0, 1, 1, 1])
    run = start(get_transfer_learner(HistTrees(n_jobs=1), 2, confident=True), X)
    np.testing.assert_allclose(run.fit(target, np.ones(4)), np.tile([0.25, 0.75], (4, 1)))
    ensemble = run.combine([2.0])
    np.testing.assert_allclose(ensemble.score(X), 1.0)
    np.testing.assert_allclose(last_rounds(run.combine([2.0, 2.0]), 1).score(X), 0.0)


def test_confident_trees_that_get_stuck_on_the_way():
    X, target = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    trees = HistTrees(1, n_jobs=1, min_leaf_weight=0.9)
    run = start(get_transfer_learner(trees, 2, confident=True), X)
    run.fit(target, np.ones(4))
    run.fit(target, np.array([1.0, 1.0, 1e-9, 1e-9]))  # one side too light for a leaf
    ensemble = run.combine([1.0, 1.0])
    assert ensemble.score(X).shape == (4,)
    kept = last_rounds(ensemble, 1)
    np.testing.assert_allclose(
        kept.score(X), ensemble.score(X) - next(iter(ensemble.staged_score(X))), atol=1e-6
    )


def test_classes_a_hypothesis_has_not_seen_have_probability_zero():
    X, target = np.arange(6.0)[:, None], np.array([0, 0, 0, 2, 2, 2])
    run = start(ConfidenceLearner(LogisticRegression()), X, 3)
    proba = run.fit(target, np.ones(6))
    assert proba.shape == (6, 3)
    np.testing.assert_array_equal(proba[:, 1], 0.0)


def test_softmax_of_many_decision_functions():
    X, target = np.arange(9.0)[:, None], np.repeat([0, 1, 2], 3)
    run = start(ConfidenceLearner(LinearSVC()), X, 3)
    proba = run.fit(target, np.ones(9))
    scores = run.combine([1.0]).estimators[0].decision_function(X)
    np.testing.assert_allclose(proba, softmax(scores, axis=1))


def test_resampled_confidences():
    X, target = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    run = start(ConfidenceLearner(LogisticRegression()), X, resample=True)
    assert run.fit(target, np.ones(6)).shape == (6, 2)


def test_learners_without_confidence_are_refused(scripted):
    class Plain:
        def bind(self, X):
            return self

    with pytest.raises(ValueError, match="has no confidence-rated hypotheses"):
        get_transfer_learner(Plain(), 2, confident=True)


def test_tail_of_a_foreign_ensemble(scripted):
    run = start(scripted([np.array([0, 1]), np.array([1, 1])]), np.zeros((2, 1)))
    for _ in range(2):
        run.fit(np.array([0, 1]), np.ones(2))
    tail = last_rounds(run.combine([3.0, 5.0]), 1)
    assert isinstance(tail, Tail)
    np.testing.assert_array_equal(tail.score(np.zeros((2, 1))), [5.0, 5.0])


def test_safe_choice_between_three_classes():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(180, 3))
    y = X.argmax(axis=1)
    domains = np.where(np.arange(180) % 4 == 0, "t", "s")
    clf = TrAdaBoostClassifier(
        DecisionTreeClassifier(max_depth=4), n_estimators=3, target="t", safe=True, random_state=0
    ).fit(X, y, domains=domains)
    errors = clf.selection_.errors
    assert errors[clf.selection_.chosen] == min(errors.values())
    assert clf.score(X, y) > 0.6

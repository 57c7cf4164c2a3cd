import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees
from groupwise.boosting import ClassifierLearner, HardLearner, LinearLearner, by_position
from groupwise.boosting.rounds import row_loss
from groupwise.presence import Balls, FixedPool, Stumps
from groupwise.transfer import (
    BalancedTransferClassifier,
    SafeTrAdaBoostClassifier,
    TrAdaBoostClassifier,
    WeightedTransferClassifier,
)
from groupwise.transfer.learners import get_transfer_learner


def start(learner, X, n_classes=2, *, resample=False):
    return learner.bind(X).start(n_classes, np.random.RandomState(0), resample=resample)


def test_losses_by_hand():
    target = np.array([0, 1, 1])
    np.testing.assert_array_equal(row_loss(np.array([0, 0, 1]), target), [0.0, 1.0, 0.0])
    proba = np.array([[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]])
    np.testing.assert_allclose(row_loss(proba, target), [0.3, 0.6, 0.1])


def test_soft_trees_give_the_leaves_shares():
    rng = np.random.RandomState(0)
    X = np.round(rng.normal(size=(200, 3)), 1)
    target, weight = rng.randint(2, size=200), rng.uniform(0.5, 1.5, size=200)
    trees = HistTrees(2, n_jobs=1, min_leaf_weight=1e-4)
    run = start(get_transfer_learner(trees, 2, hypotheses="soft"), X)
    first = run.fit(target, weight)
    second = run.fit(target, np.where(target == 1, 2.0, 1.0) * weight)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, target, sample_weight=weight)
    np.testing.assert_allclose(first, tree.predict_proba(X), atol=1e-4)
    ensemble = run.combine([0.5, -2.0])
    expected = 0.5 * (2 * first[:, 1] - 1) - 2.0 * (2 * second[:, 1] - 1)
    np.testing.assert_allclose(ensemble.score(X), expected, atol=1e-5)
    np.testing.assert_allclose(list(ensemble.staged_score(X))[-1], expected, atol=1e-5)


def test_soft_trees_without_a_split_say_the_share():
    X, target = np.zeros((4, 1)), np.array([0, 1, 1, 1])
    run = start(get_transfer_learner(HistTrees(n_jobs=1), 2, hypotheses="soft"), X)
    np.testing.assert_allclose(run.fit(target, np.ones(4)), np.tile([0.25, 0.75], (4, 1)))
    ensemble = run.combine([2.0])
    np.testing.assert_allclose(ensemble.score(X), 1.0)
    np.testing.assert_allclose(run.combine([2.0, 2.0]).tail(1).score(X), 0.0)


def test_soft_trees_that_get_stuck_on_the_way():
    X, target = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    trees = HistTrees(1, n_jobs=1, min_leaf_weight=0.9)
    run = start(get_transfer_learner(trees, 2, hypotheses="soft"), X)
    run.fit(target, np.ones(4))
    run.fit(target, np.array([1.0, 1.0, 1e-9, 1e-9]))  # one side too light for a leaf
    ensemble = run.combine([1.0, 1.0])
    assert ensemble.score(X).shape == (4,)
    kept = ensemble.tail(1)
    np.testing.assert_allclose(
        kept.score(X), ensemble.score(X) - next(iter(ensemble.staged_score(X))), atol=1e-6
    )


def test_classes_a_hypothesis_has_not_seen_have_probability_zero():
    X, target = np.arange(6.0)[:, None], np.array([0, 0, 0, 2, 2, 2])
    run = start(ClassifierLearner(LogisticRegression()).soft(), X, 3)
    proba = run.fit(target, np.ones(6))
    assert proba.shape == (6, 3)
    np.testing.assert_array_equal(proba[:, 1], 0.0)


def test_softmax_of_many_decision_functions():
    X, target = np.arange(9.0)[:, None], np.repeat([0, 1, 2], 3)
    run = start(ClassifierLearner(LinearSVC()).soft(), X, 3)
    proba = run.fit(target, np.ones(9))
    scores = run.combine([1.0]).estimators[0].decision_function(X)
    np.testing.assert_allclose(proba, softmax(scores, axis=1))


def test_resampled_soft_hypotheses():
    X, target = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    run = start(ClassifierLearner(LogisticRegression()).soft(), X, resample=True)
    assert run.fit(target, np.ones(6)).shape == (6, 2)


def test_learners_without_soft_hypotheses_are_refused():
    class Plain(HardLearner):
        def bind(self, X):
            return self

    with pytest.raises(ValueError, match="Plain has no soft hypotheses"):
        get_transfer_learner(Plain(), 2, hypotheses="soft")


@pytest.mark.parametrize(
    "learner",
    [
        HistTrees(2, n_jobs=1),
        ClassifierLearner(DecisionTreeClassifier(max_depth=2)),
        LinearLearner(),
        Stumps(8),
        Balls(8),
        FixedPool([DecisionTreeClassifier(max_depth=2)]),
    ],
    ids=repr,
)
def test_a_tail_is_the_difference_of_stages(learner):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 3))
    target = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    if isinstance(learner, FixedPool):
        learner = FixedPool([tree.fit(X, target) for tree in learner.classifiers])
    learners = [learner] if isinstance(learner, HardLearner) else [learner, learner.soft()]
    for kind in learners:
        run = start(kind, X)
        for weight in (np.ones(60), np.where(target == 1, 3.0, 1.0), np.where(X[:, 2] > 0, 5.0, 1)):
            run.fit(target, weight)
        ensemble = run.combine([1.0, 0.5, 2.0])
        stages = [0.0, *ensemble.staged_score(X)]
        for first in range(3):
            tail = ensemble.tail(first)
            np.testing.assert_allclose(tail.score(X), stages[3] - stages[first], atol=1e-9)
            np.testing.assert_allclose(
                list(tail.staged_score(X)),
                [stage - stages[first] for stage in stages[first + 1 :]],
                atol=1e-9,
            )


def test_safe_choice_between_three_classes():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(180, 3))
    y = X.argmax(axis=1)
    domains = np.where(np.arange(180) % 4 == 0, "t", "s")
    clf = SafeTrAdaBoostClassifier(
        TrAdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=3),
        target_domain="t",
        random_state=0,
    ).fit(X, y, domains=domains)
    errors = clf.selection_.errors
    assert errors[clf.selection_.chosen] == min(errors.values())
    assert clf.score(X, y) > 0.6


@pytest.mark.parametrize(
    "make",
    [
        lambda tree, **given: TrAdaBoostClassifier(tree, n_estimators=1, **given),
        lambda tree, **given: WeightedTransferClassifier(tree, weighting="union", **given),
        lambda tree, **given: BalancedTransferClassifier(tree, shares=(0.5,), cv=2, **given),
        lambda tree, **given: SafeTrAdaBoostClassifier(
            TrAdaBoostClassifier(tree, n_estimators=1), cv=2, **given
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::groupwise.transfer.NegativeTransferWarning")
def test_trees_split_on_the_categories_of_a_table(make):
    """One split tells {red, blue} from {green}; by codes it would take two."""
    colour = np.array(["blue", "green", "red"])[np.arange(60) % 3]
    table = pd.DataFrame({"x": np.zeros(60), "colour": pd.Categorical(colour)})
    y = (colour == "green").astype(int)
    domains = np.where(np.arange(60) // 3 % 2, "t", "s")
    clf = make(HistTrees(1, n_jobs=1), target_domain="t", random_state=0)
    clf.fit(table, y, domains=domains)
    np.testing.assert_array_equal(clf.predict(table), y)


def test_columns_by_name_and_by_category():
    trees = HistTrees(categorical_features=["b"])
    assert by_position(trees, ["a", "b", "c"], (2,)).categorical_features == [1, 2]
    assert by_position(trees, ["a", "b", "c"]).categorical_features == [1]
    assert by_position(None, ["a"]) is None
    assert trees.categorical_features == ["b"]

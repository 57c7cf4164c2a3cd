import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting import LinearLearner, boost
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    MultiSourceTrAdaBoostClassifier,
    TaskTrAdaBoostClassifier,
)
from groupwise.transfer.task import _Kept, _PhaseTwo


def pick(loss, weight, n_rounds, n_classes):
    pool, rounds = _Kept(loss, n_classes), _PhaseTwo(weight, n_classes)
    boost(pool, np.empty(0), rounds, min(n_rounds, len(loss)))
    n_kept = len(rounds.alphas)
    return pool.picked[:n_kept], rounds.alphas, rounds.history("error").tolist()


def test_picking_by_hand():
    # hypothesis 0 errs on row 0; 1 on row 1; 2 is wrong everywhere but on row 2 (so right reversed)
    loss = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 1.0]])
    picked, votes, errors = pick(loss, np.ones(4), 3, 2)
    # errors 1/4 each; then weights 3 1 1 1: 1/6 for 1 and (1 - 5/6) for 2
    assert picked == [0, 1, 2]
    np.testing.assert_allclose(errors, [1 / 4, 1 / 6, 1 / 10])
    np.testing.assert_allclose(votes, [np.log(3), np.log(5), -np.log(9)])


def test_picking_ends_at_a_perfect_hypothesis_and_at_guessing():
    picked, _, errors = pick(np.array([[0, 0.0], [1, 0.0]]), np.ones(2), 5, 2)
    assert (picked, errors) == ([0], [0.0])
    assert pick(np.array([[1, 0.0]]), np.ones(2), 5, 2)[0] == []
    assert pick(np.array([[1.0, 1.0, 0.0]]), np.ones(3), 5, 3)[0] == []


@pytest.mark.parametrize("learner", [None, LinearLearner(), DecisionTreeClassifier(max_depth=2)])
def test_task_chooses_among_the_sources_hypotheses(learner, two_sources):
    X, y, domains = two_sources
    clf = TaskTrAdaBoostClassifier(learner, n_estimators=6, target_domain="target", random_state=0)
    clf.fit(X, y, domains=domains)
    assert clf.n_hypotheses_ <= 12
    assert set(clf.sources_) <= {"source", "far"}
    # the harmful source's hypotheses serve reversed
    assert (clf.estimator_weights_[clf.sources_ == "far"][:1] < 0).all()
    test = make_shifted_domains(0, 1000, angle=10, noise=0.0, random_state=9)
    assert clf.score(test.X, test.y) > 0.8
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_task_score_is_the_weighted_vote_of_what_was_picked(shifted):
    clf = TaskTrAdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), n_estimators=5, target_domain="target", random_state=0
    ).fit(shifted.X, shifted.y, domains=shifted.domains)
    (ensemble,) = clf.ensemble_.ensembles
    assert sorted(w for w in ensemble.weights if w) == sorted(clf.estimator_weights_)


def test_task_without_sources_is_adaboost(shifted):
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    ours = TaskTrAdaBoostClassifier(stump, n_estimators=6)
    ours.fit(shifted.X, shifted.y, domains=np.zeros(len(shifted.y)))
    theirs = AdaBoostClassifier(stump, n_estimators=6, learning_rate=1.0)
    theirs.fit(shifted.X, shifted.y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(shifted.X), theirs.predict(shifted.X))


def test_task_with_nothing_to_choose(two_sources):
    X, y, domains = two_sources
    with pytest.raises(GroupDataError, match="has a vote above min_vote=50"):
        TaskTrAdaBoostClassifier(n_estimators=2, min_vote=50, target_domain="target").fit(
            X, y, domains=domains
        )


def test_task_where_no_hypothesis_beats_guessing(scripted):
    learner = scripted([np.array([1, 0, 0, 1])])  # right on the source, a coin on the target
    with pytest.raises(GroupDataError, match="better than guessing"):
        TaskTrAdaBoostClassifier(learner, n_estimators=1, target_domain="t").fit(
            np.zeros((4, 1)), [1, 0, 1, 1], domains=list("sstt")
        )


def test_three_classes():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(240, 3))
    y = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    domains = np.array(["s1", "s2", "t"])[np.arange(240) % 3]
    for kind in (MultiSourceTrAdaBoostClassifier, TaskTrAdaBoostClassifier):
        clf = kind(n_estimators=8, target_domain="t", random_state=0).fit(X, y, domains=domains)
        assert clf.score(X, y, domains=domains) > 0.7

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees
from groupwise.boosting import LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    MultiSourceTrAdaBoostClassifier,
    TrAdaBoostClassifier,
)


def test_multisource_round_by_hand(scripted):
    # rows: source a, source b, four of the target; candidate 0 errs on two target rows, 1 on one
    y = np.array([1, 0, 1, 1, 0, 0])
    X = np.zeros((6, 1))
    domains = ["a", "b", "t", "t", "t", "t"]
    worse, better = np.array([1, 0, 0, 0, 0, 0]), np.array([0, 0, 0, 1, 0, 0])
    learner = scripted([worse, better])
    clf = MultiSourceTrAdaBoostClassifier(learner, n_estimators=1, target_domain="t")
    clf.fit(X, y, domains=domains)
    assert clf.sources_.tolist() == ["b"]
    np.testing.assert_allclose(learner.seen[0], np.array([1, 0, 1, 1, 1, 1]) / 6, rtol=1e-12)
    np.testing.assert_allclose(learner.seen[1], np.array([0, 1, 1, 1, 1, 1]) / 6, rtol=1e-12)
    np.testing.assert_allclose(clf.estimator_errors_, [1 / 4], rtol=1e-12)
    # alpha_S = ln(1 + sqrt(2 ln 2 / 1)) / 2 and |h - y| = 2 on source a; 2 alpha_t = ln 3
    alpha_s = 0.5 * np.log(1 + np.sqrt(2 * np.log(2)))
    weight = np.array([np.exp(-2 * alpha_s), 1, 3, 1, 1, 1])
    np.testing.assert_allclose(clf.row_weights_, weight / weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(X), np.log(3) * (2 * better - 1), rtol=1e-12)


@pytest.mark.parametrize("learner", [None, LinearLearner()], ids=repr)
@pytest.mark.filterwarnings("ignore::groupwise.transfer.PerfectTargetWarning")
def test_multisource_with_one_source_is_tradaboost(learner, shifted):
    one = MultiSourceTrAdaBoostClassifier(
        learner, n_estimators=8, target_domain="target", random_state=0
    )
    two = TrAdaBoostClassifier(
        learner, n_estimators=8, target_domain="target", vote="all", random_state=0
    )
    for clf in (one, two):
        clf.fit(shifted.X, shifted.y, domains=shifted.domains)
    np.testing.assert_allclose(one.decision_function(shifted.X), two.decision_function(shifted.X))
    stages = list(one.staged_decision_function(shifted.X))
    np.testing.assert_allclose(stages, list(two.staged_decision_function(shifted.X)))


@pytest.mark.parametrize("learner", [HistTrees(2, n_jobs=1), DecisionTreeClassifier(max_depth=2)])
def test_multisource_passes_over_a_harmful_source(learner, two_sources):
    X, y, domains = two_sources
    clf = MultiSourceTrAdaBoostClassifier(
        learner, n_estimators=8, target_domain="target", random_state=0
    ).fit(X, y, domains=domains)
    assert clf.sources_[0] == "source"
    assert len(list(clf.staged_predict(X))) == len(clf.sources_)
    test = make_shifted_domains(0, 1000, angle=10, noise=0.0, random_state=9)
    both = TrAdaBoostClassifier(
        learner, n_estimators=8, target_domain="target", random_state=0
    ).fit(X, y, domains=domains)
    assert clf.score(test.X, test.y) > both.score(test.X, test.y)


def test_multisource_without_sources_is_adaboost(shifted):
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    ours = MultiSourceTrAdaBoostClassifier(stump, n_estimators=6)
    ours.fit(shifted.X, shifted.y, domains=np.zeros(len(shifted.y)))
    theirs = AdaBoostClassifier(stump, n_estimators=6, learning_rate=1.0)
    theirs.fit(shifted.X, shifted.y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert len(ours.sources_) == 0


def test_multisource_no_better_than_guessing(scripted):
    learner = scripted([np.zeros(6, int)] * 4)
    with pytest.raises(GroupDataError, match="no source's first hypothesis"):
        MultiSourceTrAdaBoostClassifier(learner, target_domain="t").fit(
            np.zeros((6, 1)), [0, 1, 1, 1, 2, 2], domains=list("abtttt")
        )


def test_the_first_of_equal_sources_is_chosen(scripted):
    y, X = np.array([1, 0, 1, 1, 0, 0]), np.arange(6.0)[:, None]
    one, two = np.array([0, 0, 0, 1, 0, 0]), np.array([0, 0, 1, 0, 0, 0])  # one error each
    weight = [1, 1, np.nextafter(0.3, 1), 0.3, 0.3, 0.3]
    for outputs in ([one, two], [two, one]):
        clf = MultiSourceTrAdaBoostClassifier(scripted(outputs), n_estimators=1, target_domain="t")
        clf.fit(X, y, domains=list("abtttt"), sample_weight=weight)
        assert clf.sources_.tolist() == ["a"]

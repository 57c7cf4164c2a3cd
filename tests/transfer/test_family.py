"""MultiSource, Task, R2 and two-stage R2; augmentation and balanced weighting."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from groupwise import HistTrees
from groupwise.boosting import LinearLearner, boost
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    BalancedTransferClassifier,
    FeatureAugmentationClassifier,
    MultiSourceTrAdaBoostClassifier,
    TaskTrAdaBoostClassifier,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TwoStageTrAdaBoostRegressor,
)
from groupwise.transfer.augmentation import augment
from groupwise.transfer.regression import adjusted_errors, weighted_median
from groupwise.transfer.task import _Kept, _PhaseTwo
from groupwise.transfer.two_stage import _shift_weight


@pytest.fixture
def two_sources():
    """A source like the target, and one with all labels wrong."""
    near = make_shifted_domains(150, 30, angle=10, random_state=0)
    far = make_shifted_domains(150, 0, angle=10, random_state=1)
    X = np.vstack([near.X, far.X])
    y = np.r_[near.y, 1 - far.y]
    return X, y, np.r_[near.domains, np.full(150, "far")]


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


def test_multisource_no_better_than_chance(scripted):
    learner = scripted([np.zeros(6, int)] * 4)
    with pytest.raises(GroupDataError, match="no source's first hypothesis"):
        MultiSourceTrAdaBoostClassifier(learner, target_domain="t").fit(
            np.zeros((6, 1)), [0, 1, 1, 1, 2, 2], domains=list("abtttt")
        )


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


def test_picking_ends_at_a_perfect_hypothesis_and_at_chance():
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


def test_task_where_no_hypothesis_beats_chance(scripted):
    learner = scripted([np.array([1, 0, 0, 1])])  # right on the source, a coin on the target
    with pytest.raises(GroupDataError, match="better than chance"):
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


def test_r2_round_by_hand():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    said = [[0, 0, 2, 2.5], [0.5, 1, 2, 3]]
    shown = []

    class Scripted(RegressorMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            shown.append(sample_weight / sample_weight.sum())
            self.values_ = np.array(said[len(shown) - 1])
            return self

        def predict(self, X):
            return self.values_

    model = TrAdaBoostRegressor(Scripted(), n_estimators=2, target_domain="t").fit(
        np.zeros((4, 1)), y, domains=["s", "s", "t", "t"]
    )
    # round 1: errors 0 1 0 .5, D = 1; on the target (0 + .5)/2 = 1/4, beta_t = 1/3
    beta = 1 / (1 + np.sqrt(np.log(2)))
    weight = np.array([1, beta, 1, np.sqrt(3)])
    np.testing.assert_allclose(model.estimator_errors_, [1 / 4, 0.0], atol=1e-12)
    np.testing.assert_allclose(shown[1], weight / weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(model.estimator_weights_[0], np.log(3), rtol=1e-12)
    # both rounds vote, the second with ln(1e10): the median is its value
    np.testing.assert_allclose(model.predict(np.zeros((4, 1))), said[1])


def test_adjusted_errors_by_hand():
    residual = np.array([0.0, -1.0, 2.0])
    np.testing.assert_allclose(adjusted_errors(residual), [0, 0.5, 1])
    np.testing.assert_allclose(adjusted_errors(residual, "square"), [0, 0.25, 1])
    np.testing.assert_allclose(
        adjusted_errors(residual, "exponential"), 1 - np.exp([0, -0.5, -1.0])
    )
    np.testing.assert_array_equal(adjusted_errors(np.zeros(2)), 0.0)


def test_weighted_median_by_hand():
    values = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(weighted_median(values, np.ones(3)), [2.0, 2.0])
    np.testing.assert_array_equal(weighted_median(values, np.array([5.0, 1, 1])), [3.0, 1.0])


def regression_task(seed=0, shift=1.0, n_source=150, n_target=25):
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n_source + n_target + 400, 2))
    domains = np.repeat(["old", "new", "test"], [n_source, n_target, 400])
    y = np.sin(5 * X[:, 0]) + X[:, 1] + shift * (domains == "old") * (X[:, 0] > 0.5)
    y += 0.05 * rng.normal(size=len(y))
    train, test = domains != "test", domains == "test"
    return X[train], y[train], domains[train], X[test], y[test]


def test_r2_without_source_is_adaboost_r2_with_weights():
    X, y, *_ = regression_task()
    model = TrAdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=4)
    model.fit(X, y, domains=np.zeros(len(y)))
    weight = np.full(len(y), 1 / len(y))
    for error, vote, fitted in zip(
        model.estimator_errors_, model.estimator_weights_, model.estimators_, strict=True
    ):
        e = adjusted_errors(y - fitted.predict(X))
        np.testing.assert_allclose(error, weight @ e, rtol=1e-9)
        beta = error / (1 - error)
        np.testing.assert_allclose(vote, -np.log(beta))
        weight *= beta ** (1 - e)  # Drucker's form
        weight /= weight.sum()
    np.testing.assert_allclose(model.row_weights_, weight, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_regressors_gain_from_a_source_that_is_half_right(seed):
    X, y, domains, X_test, y_test = regression_task(seed)
    union = TrAdaBoostRegressor(n_estimators=15, random_state=0)
    union.fit(X, y, domains=np.zeros(len(y)))
    two_stage = TwoStageTrAdaBoostRegressor(
        n_estimators=5, n_steps=4, cv=3, target_domain="new", random_state=0
    ).fit(X, y, domains=domains)
    r2 = TrAdaBoostRegressor(n_estimators=15, target_domain="new", random_state=0)
    r2.fit(X, y, domains=domains)
    assert r2.history_["domain_mass"][-1, 1] < r2.history_["domain_mass"][0, 1]  # old loses weight
    baseline = union.score(X_test, y_test)
    assert two_stage.score(X_test, y_test) > baseline
    assert r2.score(X_test, y_test) > baseline


def test_r2_ends_at_an_error_of_one_half():
    X = np.zeros((4, 1))
    y = np.array([0.0, 0.0, 1.0, 0.5])
    one = np.zeros(4)
    model = TrAdaBoostRegressor(LinearRegression(), n_estimators=5).fit(X, y, domains=one)
    assert len(model.estimators_) == 1 or (model.estimator_errors_[1:] < 0.5).all()
    turns = [0.0, 1.0, 0.0, 1.0]
    flat = TrAdaBoostRegressor(n_estimators=5).fit(X, turns, domains=one)
    assert len(flat.estimators_) == 1  # e = 1 everywhere: the first is kept alone
    two = TwoStageTrAdaBoostRegressor(n_estimators=5).fit(X, turns, domains=one)
    assert len(two.estimators_) == 1


def test_perfect_fit_ends_the_run():
    X = np.arange(6.0)[:, None]
    for model in (
        TrAdaBoostRegressor(DecisionTreeRegressor(), n_estimators=5),
        TwoStageTrAdaBoostRegressor(DecisionTreeRegressor(), n_estimators=5),
    ):
        assert len(model.fit(X, X[:, 0], domains=np.zeros(6)).estimators_) == 1


def test_shifted_weights_reach_the_share():
    weight = np.full(10, 0.1)
    is_target = np.arange(10) < 3
    error = np.linspace(0.1, 1, 10)
    for share in (0.3, 0.5, 0.9):
        moved = _shift_weight(weight, error, is_target, share)
        assert moved[is_target].sum() == pytest.approx(share, abs=1e-9)
        assert moved.sum() == pytest.approx(1.0)
        ratio = np.log(moved[~is_target] / moved[is_target][0]) / error[~is_target]
        np.testing.assert_allclose(ratio, ratio[0], atol=1e-9)  # beta^e for one beta
    assert _shift_weight(weight, error, is_target, 1.0)[~is_target].sum() == 0.0


def test_two_stage_shares_and_steps():
    X, y, domains, *_ = regression_task()
    model = TwoStageTrAdaBoostRegressor(
        n_estimators=2, n_steps=4, cv=3, target_domain="new", random_state=0
    ).fit(X, y, domains=domains)
    np.testing.assert_allclose(
        model.cv_results_["target_share"], 1 / 7 + np.arange(4) / 3 * (6 / 7), atol=1e-6
    )
    assert model.best_index_ == np.argmin(model.cv_results_["mean_squared_error"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TrAdaBoostRegressor(n_estimators=0), "n_estimators"),
        (TrAdaBoostRegressor(loss="cubic"), "loss"),
        (TrAdaBoostRegressor(vote="one"), "vote"),
        (TwoStageTrAdaBoostRegressor(n_steps=1), "n_steps"),
        (TwoStageTrAdaBoostRegressor(cv=1), "cv"),
        (TrAdaBoostRegressor(KNeighborsRegressor()), "takes no sample_weight"),
    ],
)
def test_regressor_parameters_out_of_range(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(6.0)[:, None], np.arange(6.0), domains=np.zeros(6))


def test_two_stage_needs_two_target_rows():
    with pytest.raises(GroupDataError, match="two rows of the target"):
        TwoStageTrAdaBoostRegressor(target_domain="t").fit(
            np.arange(4.0)[:, None], np.arange(4.0), domains=list("ssst")
        )


def test_augmentation_by_hand():
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = [[1, 2, 1, 2, 0, 0], [3, 4, 0, 0, 3, 4]]
    np.testing.assert_array_equal(augment(X, np.array([0, 1]), 2), expected)
    thin = augment(sparse.csr_matrix(X), np.array([0, 1]), 2)
    assert sparse.issparse(thin)
    np.testing.assert_array_equal(thin.toarray(), expected)
    assert augment(X, np.array([0, 0]), 1) is X


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_augmentation_learns_both_domains(kind):
    data = make_shifted_domains(400, 200, angle=90, noise=0.0, random_state=0)
    test = make_shifted_domains(0, 1000, angle=90, noise=0.0, random_state=1)
    X = kind(data.X)
    clf = FeatureAugmentationClassifier(target_domain="target").fit(X, data.y, domains=data.domains)
    assert clf.score(kind(test.X), test.y) > 0.95
    old = FeatureAugmentationClassifier(
        LogisticRegression(), weighting="union", target_domain="source"
    ).fit(X, data.y, domains=data.domains)
    assert old.score(X, data.y, domains=data.domains) > 0.95


def test_balanced_weighting_gives_up_a_harmful_source():
    data = make_shifted_domains(300, 60, angle=180, noise=0.0, random_state=0)
    clf = BalancedTransferClassifier(LinearLearner(), target_domain="target", random_state=0).fit(
        data.X, data.y, domains=data.domains
    )
    assert clf.selection_.chosen in ("target_only", "share 0.9")
    alike = make_shifted_domains(300, 20, angle=0, noise=0.2, random_state=0)
    clf.fit(alike.X, alike.y, domains=alike.domains)
    assert clf.selection_.chosen != "target_only"
    assert not clf.selection_.negative_transfer

import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees
from groupwise.boosting import LinearLearner
from groupwise.boosting.rounds import row_loss
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.io import load_model, save_model
from groupwise.transfer import (
    PerfectTargetWarning,
    TrAdaBoostClassifier,
    WorseThanGuessingWarning,
)
from groupwise.transfer.learners import get_transfer_learner
from groupwise.transfer.rounds import first_voter

# Two source rows, then four of the target; right answers are 1 everywhere but in the last column.
DOMAINS = ["s", "s", "t", "t", "t", "t"]
Y = np.array([1, 1, 1, 1, 1, 0])
X = np.arange(12.0).reshape(6, 2)


def wrong_on(*rows):
    codes = Y.copy()
    codes[list(rows)] = 1 - codes[list(rows)]
    return codes


def three_rounds(scripted, **parameters):
    learner = scripted([wrong_on(0, 2), wrong_on(1, 3), wrong_on(0, 2)])
    clf = TrAdaBoostClassifier(learner, n_estimators=3, target_domain="t", **parameters)
    return clf.fit(X, Y, domains=DOMAINS), learner


def test_three_rounds_by_hand(scripted):
    clf, learner = three_rounds(scripted)
    beta = 1.0 / (1.0 + np.sqrt(2.0 * np.log(2.0) / 3.0))
    # errors 1/4; then target weights 3 1 1 1: 1/6; then 3 5 1 1: 3/10
    np.testing.assert_allclose(clf.source_beta_, beta, rtol=1e-12)
    np.testing.assert_allclose(clf.estimator_errors_, [1 / 4, 1 / 6, 3 / 10], rtol=1e-12)
    np.testing.assert_allclose(
        clf.estimator_weights_, [np.log(3), np.log(5), np.log(7 / 3)], rtol=1e-12
    )
    shown = [[1, 1, 1, 1, 1, 1], [beta, 1, 3, 1, 1, 1], [beta, beta, 3, 5, 1, 1]]
    for weight, expected in zip(learner.seen, shown, strict=True):
        np.testing.assert_allclose(weight, np.array(expected) / np.sum(expected), rtol=1e-12)
    final = np.array([beta**2, beta, 7, 5, 1, 1])
    np.testing.assert_allclose(clf.row_weights_, final / final.sum(), rtol=1e-12)
    mass = [(2, 4), (beta + 1, 6), (2 * beta, 10), (beta**2 + beta, 14)]
    np.testing.assert_allclose(
        clf.history_["domain_mass"],
        np.array(mass) / np.sum(mass, axis=1, keepdims=True),
        rtol=1e-12,
    )
    assert clf.domain_names_.tolist() == ["s", "t"]
    # rounds 2 and 3 vote: ceil(3/2) = 2
    two, three = np.log(5), np.log(7 / 3)
    expected = [two - three, -two + three, two - three, -two + three, two + three, -two - three]
    np.testing.assert_allclose(clf.decision_function(X), expected, rtol=1e-12)
    np.testing.assert_allclose(
        clf.target_error_bound_, 4 * np.sqrt(1 / 6 * 5 / 6 * 3 / 10 * 7 / 10), rtol=1e-12
    )
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expit(expected), rtol=1e-12)
    effective = (2 * beta) ** 2 / (2 * beta**2)
    np.testing.assert_allclose(clf.history_["effective_source_rows"][2], effective, rtol=1e-12)


def test_three_rounds_vote_of_all_and_stages(scripted):
    clf, _ = three_rounds(scripted, vote="all")
    one, two, three = np.log(3), np.log(5), np.log(7 / 3)
    np.testing.assert_allclose(clf.decision_function(X)[2], -one + two - three, rtol=1e-12)
    half, _ = three_rounds(scripted)
    stages = [stage[2] for stage in half.staged_decision_function(X)]
    # lengths 1, 2, 3: rounds 1; 1 and 2 (ceil(2/2) = 1); 2 and 3
    np.testing.assert_allclose(stages, [-one, -one + two, two - three], rtol=1e-12)
    assert [p[4] for p in half.staged_predict(X)] == [1, 1, 1]


def test_soft_rounds_by_hand(scripted):
    h = np.array([0.4, 0.9, 0.3, 0.8, 0.6, 0.5])  # probability of class 1
    learner = scripted([np.column_stack([1 - h, h])] * 2)
    clf = TrAdaBoostClassifier(learner, n_estimators=2, target_domain="t", hypotheses="soft")
    clf.fit(X, Y, domains=DOMAINS)
    loss = np.array([0.6, 0.1, 0.7, 0.2, 0.4, 0.5])
    error = loss[2:].mean()
    beta, beta_t = 1 / (1 + np.sqrt(np.log(2))), error / (1 - error)
    weight = np.r_[beta ** loss[:2], beta_t ** -loss[2:]]
    np.testing.assert_allclose(clf.estimator_errors_[0], error, rtol=1e-12)
    np.testing.assert_allclose(learner.seen[1], weight / weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(
        clf.estimator_errors_[1], weight[2:] @ loss[2:] / weight[2:].sum(), rtol=1e-12
    )
    votes = clf.estimator_weights_.sum()  # both vote, ceil(2/2) = 1
    np.testing.assert_allclose(clf.decision_function(X), votes * (2 * h - 1), rtol=1e-12)


def test_kept_source_mass_by_hand(scripted):
    clf, learner = three_rounds(scripted, initial="equal_mass", source_mass="kept")
    np.testing.assert_allclose(clf.history_["domain_mass"], 0.5, rtol=1e-12)
    beta = clf.source_beta_
    expected = np.r_[np.array([beta, 1]) / (2 * (beta + 1)), np.array([3, 1, 1, 1]) / 12]
    np.testing.assert_allclose(learner.seen[1], expected, rtol=1e-12)


def test_dynamic_source_mass_is_two_times_one_minus_error(scripted):
    clf, learner = three_rounds(scripted, source_mass="dynamic")
    beta, growth = clf.source_beta_, 2 * (1 - 1 / 4)
    expected = np.array([beta * growth, growth, 3, 1, 1, 1])
    np.testing.assert_allclose(learner.seen[1], expected / expected.sum(), rtol=1e-12)


def test_dynamic_source_mass_stays_at_an_error_of_zero(scripted):
    learner = scripted([wrong_on(0), wrong_on(0)])
    with pytest.warns(PerfectTargetWarning):
        TrAdaBoostClassifier(learner, n_estimators=2, target_domain="t", source_mass="dynamic").fit(
            X, Y, domains=DOMAINS
        )
    np.testing.assert_allclose(learner.seen[1][1], learner.seen[1][2], rtol=1e-12)


def test_balanced_classes_reach_the_learner_only(scripted):
    clf, learner = three_rounds(scripted, class_weight="balanced")
    plain, _ = three_rounds(scripted)
    for weight in learner.seen:
        np.testing.assert_allclose(weight[Y == 1].sum(), weight[Y == 0].sum(), rtol=1e-12)
    np.testing.assert_array_equal(clf.row_weights_, plain.row_weights_)


def test_initial_share(scripted):
    clf, _ = three_rounds(scripted, initial=0.8)
    np.testing.assert_allclose(clf.history_["domain_mass"][0], [0.2, 0.8], rtol=1e-12)


def test_error_of_zero_counts_as_the_least_and_moves_source_rows_only(scripted):
    learner = scripted([wrong_on(0), wrong_on(0), wrong_on(0, 2)])
    clf = TrAdaBoostClassifier(learner, n_estimators=3, target_domain="t").fit(
        X, Y, domains=DOMAINS
    )
    np.testing.assert_allclose(
        clf.estimator_weights_[:2], np.log1p(-1e-10) - np.log(1e-10), rtol=1e-12
    )
    beta = clf.source_beta_
    expected = np.array([beta**2, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(learner.seen[2], expected / expected.sum(), rtol=1e-12)


def test_run_ends_when_no_weight_moves(scripted):
    learner = scripted([wrong_on(2), Y, Y])
    clf = TrAdaBoostClassifier(learner, n_estimators=3, target_domain="t").fit(
        X, Y, domains=DOMAINS
    )
    assert clf.n_iter_ == 2


def test_error_above_one_half_reverses_the_hypothesis(scripted):
    flipped = scripted([1 - wrong_on(0, 2), wrong_on(1, 3), wrong_on(0, 2)])
    clf = TrAdaBoostClassifier(flipped, n_estimators=3, target_domain="t", vote="all")
    clf.fit(X, Y, domains=DOMAINS)
    plain, learner = three_rounds(scripted, vote="all")
    np.testing.assert_allclose(flipped.seen, learner.seen, rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(X), plain.decision_function(X), rtol=1e-12)
    assert clf.estimator_weights_[0] == -plain.estimator_weights_[0]


def test_error_of_one_half_has_no_vote(scripted):
    learner = scripted([wrong_on(0, 2, 3), wrong_on(1, 3)])
    clf = TrAdaBoostClassifier(learner, n_estimators=2, target_domain="t").fit(
        X, Y, domains=DOMAINS
    )
    assert clf.estimator_weights_[0] == 0.0
    beta = clf.source_beta_
    np.testing.assert_allclose(learner.seen[1], np.r_[beta, np.ones(5)] / (5 + beta), rtol=1e-12)


def test_rounds_after_the_last_vote_are_dropped(scripted):
    again = wrong_on(0, 2)  # errs like a coin once its target rows have gained weight
    learner = scripted([again, again, again])
    clf = TrAdaBoostClassifier(learner, n_estimators=3, target_domain="t").fit(
        X, Y, domains=DOMAINS
    )
    beta = clf.source_beta_
    shown = np.array([beta**2, 1, 3, 1, 1, 1])  # the source row it gets wrong goes on losing weight
    np.testing.assert_allclose(learner.seen[2], shown / shown.sum(), rtol=1e-12)
    assert clf.n_iter_ == 1
    np.testing.assert_allclose(clf.estimator_weights_, [np.log(3)], rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(X), np.log(3) * (2 * again - 1), rtol=1e-12)


def test_a_run_without_any_vote_is_one_round(scripted):
    learner = scripted([wrong_on(0, 2, 3)] * 3)
    clf = TrAdaBoostClassifier(learner, n_estimators=3, target_domain="t").fit(
        X, Y, domains=DOMAINS
    )
    assert clf.n_iter_ == 1
    assert clf.estimator_weights_.tolist() == [0.0]
    np.testing.assert_array_equal(clf.predict(X), 1)  # a tie goes to the second class


@pytest.mark.parametrize("wrong", [(2, 3), (3, 4)])
def test_rounding_does_not_reverse_a_hypothesis(wrong, scripted):
    """Weights of which none is exact: a sum just above 1/2 is 1/2 too."""
    weight = np.array([1, 1, *np.random.RandomState(0).uniform(size=4)])
    weight[list(wrong)] *= (weight[2:].sum() - weight[list(wrong)].sum()) / weight[
        list(wrong)
    ].sum()
    for nudge in (1 - 1e-14, 1.0, 1 + 1e-14):
        given = weight.copy()
        given[list(wrong)] *= nudge
        learner = scripted([wrong_on(0, *wrong), wrong_on(1, 3)])
        clf = TrAdaBoostClassifier(learner, n_estimators=2, target_domain="t").fit(
            X, Y, domains=DOMAINS, sample_weight=given
        )
        assert clf.estimator_weights_[0] == 0.0
        assert learner.seen[1][0] < learner.seen[1][1]  # row 0, the wrong one, has lost weight


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeClassifier(max_depth=1),
        DecisionTreeClassifier(max_depth=2),
        HistTrees(1, n_jobs=1),
        HistTrees(2, n_jobs=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_decides_nothing_where_a_tree_comes_again(learner, seed):
    """A flood of source rows: the next tree is the last one, with an error of exactly 1/2."""
    data = make_shifted_domains(1000, 30, angle=60, random_state=seed)
    scores = []
    for order in range(4):
        rows = np.random.RandomState(order).permutation(len(data.y))
        clf = TrAdaBoostClassifier(
            learner, n_estimators=15, target_domain="target", random_state=0
        ).fit(data.X[rows], data.y[rows], domains=data.domains[rows])
        scores.append(clf.decision_function(data.X))
    np.testing.assert_allclose(scores[1:], [scores[0]] * 3, rtol=1e-9)


def test_a_vote_worse_than_guessing_says_so():
    data = make_shifted_domains(400, 40, angle=90, random_state=0)
    given = {"n_estimators": 30, "initial": "equal_mass", "target_domain": "target"}
    with pytest.warns(WorseThanGuessingWarning, match=r"last half.*vote='all'.*fading\(\)") as seen:
        clf = TrAdaBoostClassifier(LogisticRegression(), **given)
        clf.fit(data.X, data.y, domains=data.domains)
    error = 1.0 - clf.score(data.X, data.y, domains=data.domains)
    assert error > 0.5
    assert f"{error:.2f} of the target's own" in str(seen[0].message)
    better = clf.set_params(vote="all").fit(data.X, data.y, domains=data.domains)  # no warning
    assert 1.0 - better.score(data.X, data.y, domains=data.domains) < 0.5


def test_three_classes_by_hand(scripted):
    y = np.array([0, 1, 0, 1, 2, 2])
    learner = scripted([np.array([1, 1, 0, 1, 2, 0]), y])
    clf = TrAdaBoostClassifier(learner, n_estimators=2, target_domain="t").fit(
        X, y, domains=DOMAINS
    )
    np.testing.assert_allclose(clf.estimator_weights_[0], np.log(3) + np.log(2), rtol=1e-12)
    beta = clf.source_beta_
    expected = np.array([beta, 1, 1, 1, 1, 6])
    np.testing.assert_allclose(learner.seen[1], expected / expected.sum(), rtol=1e-12)
    assert np.isnan(clf.target_error_bound_)
    np.testing.assert_array_equal(clf.predict(X), y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_three_classes_no_better_than_guessing(scripted):
    learner = scripted([np.zeros(6, int)])
    with pytest.raises(GroupDataError, match="no better than guessing"):
        TrAdaBoostClassifier(learner, n_estimators=2, target_domain="t").fit(
            X, np.array([0, 1, 1, 1, 2, 2]), domains=DOMAINS
        )


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_source_rows_it_is_adaboost(seed, n_classes):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(150, 4))
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=150), [0.0, 0.8][: n_classes - 1])
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    ours = TrAdaBoostClassifier(stump, n_estimators=12).fit(X, y, domains=np.zeros(150))
    theirs = AdaBoostClassifier(stump, n_estimators=12, learning_rate=1.0).fit(X, y)
    n_rounds = min(ours.n_iter_, len(theirs.estimators_))
    np.testing.assert_allclose(
        ours.estimator_errors_[:n_rounds], theirs.estimator_errors_[:n_rounds], rtol=1e-9
    )
    np.testing.assert_allclose(
        ours.estimator_weights_[:n_rounds], theirs.estimator_weights_[:n_rounds], rtol=1e-9
    )
    if ours.n_iter_ == len(theirs.estimators_):
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_one_domain_given_by_name_is_the_same_as_none(shifted):
    with pytest.warns(GroupsLostWarning, match=r"no domains.*domains=\[0\] \* len"):
        one = TrAdaBoostClassifier(n_estimators=5).fit(shifted.X, shifted.y)
    named = TrAdaBoostClassifier(n_estimators=5).fit(
        shifted.X, shifted.y, domains=np.full(len(shifted.y), "only")
    )
    np.testing.assert_array_equal(one.predict_proba(shifted.X), named.predict_proba(shifted.X))


LEARNERS = [None, HistTrees(1), GaussianNB(), LinearLearner(), LinearLearner("logistic", C=0.1)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("hypotheses", ["hard", "soft"])
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.filterwarnings("ignore::groupwise.transfer.PerfectTargetWarning")
@pytest.mark.filterwarnings("ignore::groupwise.transfer.WorseThanGuessingWarning")
def test_theorem_3_bound_and_theorem_1_regret(learner, hypotheses, seed):
    data = make_shifted_domains(120, 30, angle=30 * seed, random_state=seed)
    recorded = Recorded(learner)
    clf = TrAdaBoostClassifier(
        recorded, n_estimators=10, target_domain="target", hypotheses=hypotheses, random_state=0
    ).fit(data.X, data.y, domains=data.domains)
    target = data.domains == "target"
    # Theorem 3, on the error weighted as the rows are when the vote begins
    first = first_voter(clf.n_iter_)
    weight = recorded.seen[first][target]
    wrong = clf.predict(data.X)[target] != data.y[target]
    assert weight @ wrong / weight.sum() <= clf.target_error_bound_ + 1e-12
    # Theorem 1: mean loss on source rows, weighted by the algorithm, against the best row's.
    # Reversed hypotheses count with their reversed loss.
    reversed_ = (clf.estimator_weights_ < 0)[:, None]
    loss = np.array(recorded.loss)[: clf.n_iter_, ~target]
    loss = np.where(reversed_, 1.0 - loss, loss)
    shown = np.array(recorded.seen)[: clf.n_iter_, ~target]
    mean = (shown / shown.sum(axis=1, keepdims=True) * loss).sum(axis=1)
    n, N = int((~target).sum()), clf.n_estimators
    if clf.n_iter_ == N:
        regret = np.sqrt(2 * np.log(n) / N) + np.log(n) / N
        assert mean.mean() <= loss.mean(axis=0).min() + regret + 1e-12


class Recorded:
    """A weak learner that keeps the weights it is shown and the losses of its hypotheses."""

    accepts_nan = False

    def __init__(self, estimator):
        self.estimator, self.hypotheses = estimator, "hard"

    def soft(self):
        self.hypotheses = "soft"
        return self

    def bind(self, X):
        self.bound = get_transfer_learner(self.estimator, 2, hypotheses=self.hypotheses).bind(X)
        return self

    def start(self, n_classes, rng, *, resample):
        self.run = self.bound.start(n_classes, rng, resample=resample)
        self.seen, self.loss = [], []
        return self

    def fit(self, target, weight):
        output = self.run.fit(target, weight)
        self.seen.append(weight.copy())
        self.loss.append(row_loss(output, target))
        return output

    def combine(self, weights):
        return self.run.combine(weights)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("hypotheses", ["hard", "soft"])
@pytest.mark.filterwarnings("ignore::groupwise.transfer.PerfectTargetWarning")
def test_last_half_is_the_end_of_the_stages(learner, hypotheses, shifted):
    clf = TrAdaBoostClassifier(
        learner, n_estimators=7, target_domain="target", hypotheses=hypotheses, random_state=0
    ).fit(shifted.X, shifted.y, domains=shifted.domains)
    stages = list(clf.staged_decision_function(shifted.X))
    assert len(stages) == clf.n_iter_
    np.testing.assert_allclose(clf.decision_function(shifted.X), stages[-1], atol=1e-9)


@pytest.mark.parametrize("hypotheses", ["hard", "soft"])
@pytest.mark.parametrize("learner", [None, LinearLearner(), LogisticRegression()], ids=repr)
@pytest.mark.filterwarnings("ignore::groupwise.transfer.PerfectTargetWarning")
def test_model_files(learner, hypotheses, shifted, tmp_path):
    clf = TrAdaBoostClassifier(
        learner, n_estimators=6, target_domain="target", hypotheses=hypotheses, random_state=0
    ).fit(shifted.X, shifted.y, domains=shifted.domains)
    expected = clf.predict_proba(shifted.X)
    for again in (
        pickle.loads(pickle.dumps(clf)),
        load_model(save_model(clf, tmp_path / "model.skops")),
    ):
        np.testing.assert_array_equal(again.predict_proba(shifted.X), expected)
        np.testing.assert_array_equal(
            list(again.staged_predict(shifted.X))[-1], clf.predict(shifted.X)
        )


def test_row_order_and_domain_names_do_not_matter(shifted):
    rng = np.random.RandomState(0)
    order = rng.permutation(len(shifted.y))
    names = np.where(shifted.domains == "target", 7, 3)
    one = TrAdaBoostClassifier.fading(LinearLearner(), n_estimators=5, target_domain="target")
    two = TrAdaBoostClassifier.fading(LinearLearner(), n_estimators=5, target_domain=7)
    one.fit(shifted.X, shifted.y, domains=shifted.domains)
    two.fit(shifted.X[order], shifted.y[order], domains=names[order])
    np.testing.assert_allclose(
        one.decision_function(shifted.X), two.decision_function(shifted.X), rtol=1e-3, atol=1e-3
    )


def test_label_flip_flips_the_model(shifted):
    one, two = (
        TrAdaBoostClassifier.fading(
            LinearLearner(tol=1e-8), n_estimators=5, target_domain="target"
        ).fit(shifted.X, y, domains=shifted.domains)
        for y in (shifted.y, 1 - shifted.y)
    )
    np.testing.assert_allclose(
        one.decision_function(shifted.X), -two.decision_function(shifted.X), atol=1e-6
    )


def test_all_source_rows_wrong(shifted):
    data = make_shifted_domains(300, 60, angle=180.0, noise=0.0, random_state=0)
    test = make_shifted_domains(0, 2000, angle=180.0, noise=0.0, random_state=1)
    clf = TrAdaBoostClassifier(
        LinearLearner("logistic"),
        n_estimators=60,
        target_domain="target",
        initial="equal_mass",
        hypotheses="soft",
    ).fit(data.X, data.y, domains=data.domains)
    assert clf.history_["domain_mass"][-1, 0] < 1e-3  # the source has lost its say
    assert clf.score(test.X, test.y) > 0.9


def test_identical_domains_share_their_fate():
    rows = make_shifted_domains(60, 60, angle=0.0, random_state=0)
    X = np.vstack([rows.X[:60], rows.X[:60]])
    y = np.r_[rows.y[:60], rows.y[:60]]
    domains = np.repeat(["a", "b"], 60)
    clf = TrAdaBoostClassifier(n_estimators=10, target_domain="b").fit(X, y, domains=domains)
    assert np.mean(clf.predict(X) == y) > 0.9


def test_domains_of_one_row():
    X = np.array([[0.0], [1.0], [0.1], [0.9]])
    y = np.array([0, 1, 0, 1])
    for domains in (["s", "t", "t", "t"], ["s", "s", "s", "t"]):
        clf = TrAdaBoostClassifier(
            DecisionTreeClassifier(max_depth=1), n_estimators=4, target_domain="t"
        ).fit(X, y, domains=domains)
        np.testing.assert_array_equal(clf.predict(X), y)


def test_class_missing_in_the_target_can_still_be_predicted():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(90, 2)) + 4 * np.eye(3, 2)[np.repeat([0, 1, 2], 30)]
    y = np.repeat(["a", "b", "c"], 30)
    domains = np.where(np.arange(90) % 3 == 0, "t", "s")
    keep = ~((domains == "t") & (y == "c"))
    clf = TrAdaBoostClassifier(n_estimators=5, target_domain="t").fit(
        X[keep], y[keep], domains=domains[keep]
    )
    assert "c" in clf.predict(X)


@pytest.mark.parametrize(
    ("domains", "target", "message"),
    [
        (["s", "s", "t", "t", "t", "t"], None, "target_domain must name one of the domains"),
        (["s", "s", "t", "t", "t", "t"], "u", "no row of the target domain 'u'"),
        (["s", "t"], "t", "domains must hold one id per row: got 2 ids for 6 rows"),
    ],
)
def test_domains_that_do_not_fit(domains, target, message):
    with pytest.raises(GroupDataError, match=message):
        TrAdaBoostClassifier(target_domain=target).fit(X, Y, domains=domains)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": 0},
        {"initial": "equal"},
        {"initial": 1.0},
        {"hypotheses": "confident"},
        {"vote": "first"},
        {"class_weight": True},
        {"early_stopping": 0.2},
        {"source_mass": "fixed"},
        {"validation_fraction": 0.0},
        {"validation_fraction": 1.5},
    ],
    ids=str,
)
def test_parameters_out_of_range(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        TrAdaBoostClassifier(**parameters).fit(X, Y)


def test_unlabeled_rows_need_a_learner_that_uses_them(shifted):
    with pytest.raises(ValueError, match="has no use for X_unlabeled"):
        TrAdaBoostClassifier(target_domain="target").fit(
            shifted.X, shifted.y, domains=shifted.domains, X_unlabeled=shifted.X
        )


def test_target_rows_without_weight():
    with pytest.raises(GroupDataError, match="every row of the target domain"):
        TrAdaBoostClassifier(target_domain="t").fit(
            X, Y, domains=DOMAINS, sample_weight=[1, 1, 0, 0, 0, 0]
        )


def test_weight_zero_is_no_row_and_weights_scale_freely(shifted):
    rng = np.random.RandomState(0)
    weight = rng.randint(0, 3, len(shifted.y)).astype(float)
    kept = weight > 0
    one, two = (
        TrAdaBoostClassifier(n_estimators=5, target_domain="target", random_state=0).fit(
            shifted.X[rows], shifted.y[rows], domains=shifted.domains[rows], sample_weight=w[rows]
        )
        for rows, w in ((slice(None), weight), (kept, 5.0 * weight))
    )
    np.testing.assert_array_equal(one.predict(shifted.X), two.predict(shifted.X))


def test_early_stopping_keeps_the_best_number_of_rounds(shifted):
    clf = TrAdaBoostClassifier(
        n_estimators=20,
        target_domain="target",
        early_stopping=True,
        validation_fraction=0.5,
        random_state=0,
    ).fit(shifted.X, shifted.y, domains=shifted.domains)
    assert 1 <= clf.n_iter_ <= 20
    assert len(clf.estimator_errors_) == clf.n_iter_ == len(list(clf.staged_predict(shifted.X)))
    held = clf.row_weights_ == 0.0
    assert held.sum() == 20
    assert (shifted.domains[held] == "target").all()
    errors = [np.mean(p[held] != shifted.y[held]) for p in clf.staged_predict(shifted.X)]
    assert errors[-1] == min(errors)


def test_held_out_rows_do_not_go_by_the_order_of_rows(shifted):
    order = np.random.RandomState(0).permutation(len(shifted.y))
    one, two = (
        TrAdaBoostClassifier(
            n_estimators=8, target_domain="target", early_stopping=True, random_state=0
        ).fit(shifted.X[rows], shifted.y[rows], domains=shifted.domains[rows])
        for rows in (slice(None), order)
    )
    np.testing.assert_array_equal(one.row_weights_[order] == 0.0, two.row_weights_ == 0.0)
    np.testing.assert_allclose(
        one.decision_function(shifted.X), two.decision_function(shifted.X), rtol=1e-9
    )


def test_staged_scores_count_target_rows(shifted):
    clf = TrAdaBoostClassifier(n_estimators=4, target_domain="target", random_state=0)
    clf.fit(shifted.X, shifted.y, domains=shifted.domains)
    scores = list(clf.staged_score(shifted.X, shifted.y, shifted.domains))
    rows = shifted.domains == "target"
    by_hand = [np.mean(y[rows] == shifted.y[rows]) for y in clf.staged_predict(shifted.X)]
    np.testing.assert_allclose(scores, by_hand)
    assert scores[-1] == clf.score(shifted.X, shifted.y, shifted.domains)


def test_early_stopping_with_soft_hypotheses_of_three_classes():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 3))
    y = X.argmax(axis=1)
    clf = TrAdaBoostClassifier(
        n_estimators=8,
        target_domain=1,
        early_stopping=True,
        validation_fraction=0.3,
        hypotheses="soft",
        random_state=0,
    ).fit(X, y, domains=np.arange(120) % 2)
    assert clf.score(X, y, domains=np.arange(120) % 2) > 0.5


def test_estimators_that_cannot_serve():
    soft = {"hypotheses": "soft", "target_domain": "t"}
    with pytest.raises(ValueError, match="neither predict_proba nor decision_function"):
        from sklearn.neighbors import NearestCentroid

        class Silent(NearestCentroid):
            predict_proba = decision_function = property(lambda self: self.nothing)

        TrAdaBoostClassifier(Silent(), **soft).fit(X, Y, domains=DOMAINS)
    with pytest.raises(ValueError, match="must be a scikit-learn classifier"):
        TrAdaBoostClassifier("tree", **soft).fit(X, Y, domains=DOMAINS)
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(ValueError, match="takes no sample_weight"):
        TrAdaBoostClassifier(KNeighborsClassifier(1), **soft).fit(X, Y, domains=DOMAINS)


def test_decision_functions_become_probabilities():
    data = make_shifted_domains(100, 30, random_state=0)
    clf = TrAdaBoostClassifier(
        LinearSVC(), n_estimators=1, target_domain="target", hypotheses="soft"
    ).fit(data.X, data.y, domains=data.domains)
    hypothesis = clf.ensemble_.voters.estimators[0]
    np.testing.assert_allclose(
        clf.decision_function(data.X) / clf.estimator_weights_[0],
        2 * expit(hypothesis.decision_function(data.X)) - 1,
    )

"""The decision for the largest expected F: against enumeration, its limit cases, the classifier."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from groupwise import Groups
from groupwise.datasets.users import make_users
from groupwise.measures import (
    BoostedRowsClassifier,
    ExpectedMeasureClassifier,
    add_relative_features,
)
from groupwise.measures.decision import best_f_cuts, with_own_shares
from groupwise.metrics import FBeta

FAST = BoostedRowsClassifier(n_estimators=30, n_jobs=1)


def enumerate_f(p, beta):
    """Expected F of every labelling, over all truths: 4^m terms."""
    m = len(p)
    all_labels = np.array(list(product([0, 1], repeat=m)))
    chance = np.prod(np.where(all_labels == 1, p, 1 - p), axis=1)
    best, best_value = None, -1.0
    for said in all_labels:
        above = (1 + beta**2) * all_labels @ said
        below = beta**2 * all_labels.sum(axis=1) + said.sum()
        value = chance @ np.where(below > 0, above / np.maximum(below, 1e-9), 1.0)
        if value > best_value + 1e-12:
            best, best_value = said, value
    return best, best_value


@pytest.mark.parametrize("beta", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_best_labelling_of_all(seed, beta):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, size=12)
    groups = Groups(np.repeat(np.arange(12), sizes))
    p = rng.beta(0.6, 1.2, size=len(groups.codes))
    cuts = best_f_cuts(p, groups, beta=beta)
    for g in range(12):
        rows = groups.codes == g
        said, value = enumerate_f(p[rows], beta)
        assert cuts.value[g] == pytest.approx(value, abs=1e-10)
        log_odds = np.log(p[rows] / (1 - p[rows]))
        np.testing.assert_array_equal(log_odds > cuts.cut[g], said == 1)
        assert cuts.n_pred[g] == said.sum()


def test_many_positives_against_sampling():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=6000)
    cuts = best_f_cuts(p, Groups(np.zeros(6000)))
    truth = rng.uniform(size=(200, 6000)) < p
    said = p > 1 / (1 + np.exp(-cuts.cut[0]))
    both = (truth & said).sum(axis=1)
    f = 2 * both / (truth.sum(axis=1) + said.sum())
    assert cuts.value[0] == pytest.approx(f.mean(), abs=4 * f.std() / np.sqrt(200))
    # for many rows the cut is half the F that it reaches
    assert 1 / (1 + np.exp(-cuts.cut[0])) == pytest.approx(cuts.value[0] / 2, abs=0.01)


def test_a_group_of_one_row_is_decided_by_its_likelier_class():
    p = np.array([0.2, 0.4999, 0.5, 0.5001, 0.9])
    cuts = best_f_cuts(p, Groups.singletons(5))
    assert cuts.n_pred.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_allclose(cuts.value, np.maximum(p, 1 - p))


def test_equal_chances_are_decided_alike_and_order_does_not_matter():
    p = np.array([0.3, 0.3, 0.3, 0.01, 0.3])
    cuts = best_f_cuts(p, Groups(np.zeros(5)))
    assert cuts.n_pred[0] in (0, 4)
    rng = np.random.default_rng(1)
    p, ids = rng.uniform(size=60), rng.integers(6, size=60)
    order = rng.permutation(60)
    one, other = best_f_cuts(p, Groups(ids)), best_f_cuts(p[order], Groups(ids[order]))
    np.testing.assert_allclose(one.cut, other.cut)


def test_groups_that_must_have_a_positive_get_one():
    p, groups = np.array([0.01, 0.02, 0.001]), Groups([0, 0, 1])
    assert best_f_cuts(p, groups).n_pred.tolist() == [0, 0]
    assert best_f_cuts(p, groups, may_be_empty=False).n_pred.min() == 1
    assert best_f_cuts(np.array([0.0, 1.0]), groups=Groups([0, 0])).n_pred.tolist() == [1]


def test_the_classifier_decides_by_the_cuts():
    u = make_users(40, n_rows=50, random_state=0)
    clf = ExpectedMeasureClassifier(FAST, strength=np.inf, random_state=0).fit(
        u.X, u.y, groups=u.groups
    )
    assert not clf.may_be_empty_  # every user has a positive row
    p = clf.predict_proba(u.X)[:, 1]
    cuts = best_f_cuts(p, Groups(u.groups), may_be_empty=False)
    predicted = clf.predict(u.X, groups=u.groups)
    np.testing.assert_array_equal(np.bincount(u.groups, predicted), cuts.n_pred)
    value = FBeta()(u.y, predicted, u.groups).mean()
    assert clf.score(u.X, u.y, groups=u.groups) == pytest.approx(value)
    np.testing.assert_array_equal(clf.predict(u.X), (p > 0.5).astype(int))


def test_it_raises_the_group_mean_f1_of_new_users():
    """With the true chances at hand the gain over every single threshold is certain."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 40)
    log_odds = rng.normal(-2, 1.5, size=400)[groups] + rng.normal(size=len(groups))
    p = 1 / (1 + np.exp(-log_odds))
    y = (rng.uniform(size=len(p)) < p).astype(int)
    cuts = best_f_cuts(p, Groups(groups))
    ours = FBeta()(y, log_odds - cuts.cut[groups], groups)
    for threshold in np.linspace(0.05, 0.6, 12):
        difference = ours - FBeta()(y, p - threshold, groups)
        assert difference.mean() > 2 * difference.std() / np.sqrt(400)


def test_own_shares_are_a_fixed_point_and_find_the_truth():
    """Two groups with shares of 5 % and 50 %, chances made for 20 %."""
    rng = np.random.default_rng(0)
    groups = Groups(np.repeat([0, 1], 20_000))
    y = rng.uniform(size=40_000) < np.array([0.05, 0.5])[groups.codes]
    evidence = rng.normal(size=40_000) + 2.0 * y
    log_odds = 2.0 * evidence - 2.0 + np.log(0.2 / 0.8)  # Gaussians two apart, share 20 %
    moved = with_own_shares(log_odds, groups, share=0.2, strength=0.0)
    np.testing.assert_allclose(groups.mean(1 / (1 + np.exp(-moved))), [0.05, 0.5], atol=0.015)
    assert len(np.unique(np.round(moved - log_odds, 9))) == 2
    prior = with_own_shares(log_odds, groups, share=0.2, strength=2000.0)
    own = groups.mean(1 / (1 + np.exp(-prior)))
    offset = (prior - log_odds)[groups.first_rows]
    pulled = (2000 * 0.2 + 20_000 * own) / 22_000
    np.testing.assert_allclose(offset, np.log(pulled / (1 - pulled) / 0.25), atol=1e-4)
    unchanged = with_own_shares(log_odds, groups, share=0.2, strength=np.inf)
    np.testing.assert_array_equal(unchanged, log_odds)


def test_strength_is_chosen_on_held_out_groups():
    u = make_users(60, n_rows=60, random_state=0)
    X = add_relative_features(u.X, u.groups)
    clf = ExpectedMeasureClassifier(FAST, random_state=0).fit(X, u.y, groups=u.groups)
    best = max(clf.held_out_measure_, key=clf.held_out_measure_.get)
    assert clf.strength_ == best < np.inf  # users do differ in their share of positives
    fixed = ExpectedMeasureClassifier(FAST, strength=7, random_state=0)
    assert fixed.fit(X, u.y, groups=u.groups).strength_ == 7
    assert ExpectedMeasureClassifier(FAST).fit(X, u.y).strength_ == np.inf
    with pytest.raises(ValueError, match="strength must be"):
        ExpectedMeasureClassifier(FAST, strength=-1).fit(X, u.y)


def test_measures_and_estimators():
    u = make_users(20, n_rows=40, random_state=1)
    given = {"X": u.X, "y": u.y, "groups": u.groups}
    accuracy = ExpectedMeasureClassifier(GaussianNB(), measure="accuracy", strength=np.inf)
    accuracy.fit(**given)
    np.testing.assert_array_equal(
        accuracy.predict(u.X, groups=u.groups), accuracy.estimator_.predict(u.X)
    )
    skip = ExpectedMeasureClassifier(
        LogisticRegression(), measure=FBeta(without_positives="skip", beta=2.0)
    ).fit(u.X, u.y)
    assert not skip.may_be_empty_
    plain = ExpectedMeasureClassifier(LogisticRegression()).fit(u.X, u.y)
    assert plain.may_be_empty_
    with pytest.raises(ValueError, match="ThresholdTunedClassifier"):
        ExpectedMeasureClassifier(measure="matthews").fit(**given)
    with pytest.raises(ValueError, match="has no predict_proba"):
        ExpectedMeasureClassifier(LinearSVC()).fit(**given)
    with pytest.raises(ValueError, match="Only binary"):
        ExpectedMeasureClassifier(FAST).fit(u.X, np.arange(len(u.y)) % 3)


def test_prediction_reads_fitted_state_only():
    u = make_users(20, n_rows=40, random_state=1)
    clf = ExpectedMeasureClassifier(GaussianNB(), random_state=0).fit(u.X, u.y, groups=u.groups)
    before = clf.decision_function(u.X, groups=u.groups)
    clf.set_params(measure=FBeta(beta=3.0), strength=1.0)
    np.testing.assert_array_equal(clf.decision_function(u.X, groups=u.groups), before)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": "hinge"}, "loss must be"),
        ({"n_estimators": 0}, "n_estimators must be"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be"),
        ({"max_features": 1.5}, "max_features must be"),
        ({"balance_groups": "yes"}, "balance_groups must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_parameters_of_boosted_rows_are_checked(changed, message):
    with pytest.raises(ValueError, match=message):
        BoostedRowsClassifier(**changed).fit([[0.0], [1.0]], [0, 1])


def test_lambdarank_orders_groups():
    u = make_users(40, n_rows=50, positive=0.2, random_state=2)
    shuffled = np.random.default_rng(0).permutation(len(u.y))
    X, y, groups = u.X[shuffled], u.y[shuffled], u.groups[shuffled]
    clf = BoostedRowsClassifier(
        "lambdarank", measure="ndcg", n_estimators=30, n_jobs=1, balance_groups=True
    ).fit(X, y, groups=groups)
    assert clf.score(X, y, groups=groups) > 0.8
    with pytest.raises(ValueError, match="two classes here, y holds 3"):
        BoostedRowsClassifier("lambdarank").fit(X, np.arange(len(y)) % 3)


def test_balanced_groups_count_once():
    """A group a hundred times over, weighed by 1/m, counts as one that is there once."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    groups = np.repeat([0, 1], 100)
    big = np.concatenate([np.arange(100), np.tile(np.arange(100, 200), 5)])
    options = {"n_estimators": 5, "n_jobs": 1, "balance_groups": True, "min_samples_leaf": 1}
    clf = BoostedRowsClassifier(max_leaf_nodes=4, random_state=0, **options)
    one = clf.fit(X, y, groups=groups).predict_proba(X)
    many = clf.fit(X[big], y[big], groups=groups[big]).predict_proba(X)
    assert np.abs(one - many).mean() < 0.02


def test_relative_features():
    X = np.array([[1.0, 5.0], [3.0, 5.0], [7.0, 2.0]], np.float32)
    both = add_relative_features(X, ["a", "a", "b"])
    assert both.dtype == np.float32
    np.testing.assert_allclose(both[:, 2:], [[-1, 0], [1, 0], [0, 0]])
    assert (add_relative_features(X, None)[:, 2:] == 0).all()
    shifted = add_relative_features(X + np.array([[10.0], [10.0], [0.0]]), ["a", "a", "b"])
    np.testing.assert_allclose(shifted[:, 2:], both[:, 2:], atol=1e-6)

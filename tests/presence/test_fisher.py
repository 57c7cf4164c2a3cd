"""Fisher vectors against numerical derivatives."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

from groupwise import Groups
from groupwise.presence import FisherVectorClassifier, fisher
from groupwise.presence.fisher import fisher_vectors
from groupwise.presence.platt import platt_scaling


def test_fisher_vectors_are_scaled_derivatives_of_the_density():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(60, 2)), Groups(np.repeat([0, 1, 2], 20))
    mixture = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    found = fisher_vectors(X, groups, mixture)

    def mean_log_density(weights, means, sds):
        part = norm.logpdf(X[:, None], means, sds).sum(axis=2) + np.log(weights)
        return groups.mean(np.logaddexp.reduce(part, axis=1))

    weights, means, sds = mixture.weights_, mixture.means_, np.sqrt(mixture.covariances_)
    step, at = 1e-6, 2
    for k in range(2):
        for d in range(2):
            move = np.zeros((2, 2))
            move[k, d] = step
            by_mean = mean_log_density(weights, means + move, sds)
            by_mean -= mean_log_density(weights, means - move, sds)
            by_sd = mean_log_density(weights, means, sds + move)
            by_sd -= mean_log_density(weights, means, sds - move)
            scale = sds[k, d] / np.sqrt(weights[k]) / (2 * step)
            np.testing.assert_allclose(found[:, at + d], by_mean * scale, atol=1e-6)
            np.testing.assert_allclose(found[:, at + 2 + d], by_sd * scale / np.sqrt(2), atol=1e-6)
        at += 4
    # weights that sum to one: the derivative along the softmax of log-weights
    up = weights * np.exp([step, 0.0])
    down = weights * np.exp([-step, 0.0])
    change = mean_log_density(up / up.sum(), means, sds) - mean_log_density(
        down / down.sum(), means, sds
    )
    scaled = change / (2 * step) / np.sqrt(weights[0])
    np.testing.assert_allclose(found[:, 0], scaled, atol=1e-6)


def test_fisher_vectors_of_constant_and_few_rows():
    X = np.ones((6, 3))
    y = groups = np.array([0, 0, 1, 1, 2, 2])
    clf = FisherVectorClassifier(4).fit(X, (y == 1).astype(int), groups=groups)
    assert [density.mixture.n_components for density, _ in clf.ensemble_] == [1]
    assert np.isfinite(clf.predict_groups_proba(X, groups=groups)).all()


def own_words(seed, n_groups=80, size=6, n_features=600, *, every=2, more=4.0):
    """Counts: words of its own in every group, and some that a row of positive groups has more."""
    rng = np.random.RandomState(seed)
    groups = np.repeat(np.arange(n_groups), size)
    y_group = (np.arange(n_groups) % every == every - 1).astype(int)
    X = np.zeros((len(groups), n_features))
    for group in range(n_groups):
        own = rng.choice(np.arange(10, n_features), 15, replace=False)
        X[np.ix_(groups == group, own)] = rng.poisson(1.0, size=(size, 15))
    X[:, :10] = rng.poisson(1.0, size=(len(groups), 10))
    X[::size, :5] += rng.poisson(more, size=(n_groups, 5)) * y_group[:, None]
    return X, y_group, groups


@pytest.mark.parametrize("seed", [0])
def test_new_groups_are_described_as_training_groups_are(seed, monkeypatch):
    """Vectors of groups that the density knows lie elsewhere than those of new groups."""
    X, y_group, groups = own_words(seed)
    train = groups < 40

    def held_out_scores():
        clf = FisherVectorClassifier(random_state=0)
        clf.fit(X[train], y_group[groups][train], groups=groups[train])
        return clf, clf.predict_groups_proba(X[~train], groups[~train])[:, 1]

    _, score = held_out_scores()
    assert roc_auc_score(y_group[40:], score) > 0.97
    assert 0.35 <= (score > 0.5).mean() <= 0.65
    monkeypatch.setattr(fisher, "_FEWEST", 1000)  # no halves: the paper's
    clf, _ = held_out_scores()
    density, _ = clf.ensemble_[0]
    known = density.transform(X[train], Groups(groups[train])).mean(axis=0)
    new = density.transform(X[~train], Groups(groups[~train])).mean(axis=0)
    assert np.linalg.norm(new - known) > 0.3  # of vectors of length one


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_few_positive_groups_are_found_among_new_ones(seed):
    """A quarter is positive: held-out scores decide how many new groups are called so."""
    X, y_group, groups = own_words(seed, n_groups=120, n_features=400, every=4, more=3.0)
    train = groups < 60
    clf = FisherVectorClassifier(random_state=0)
    clf.fit(X[train], y_group[groups][train], groups=groups[train])
    proba = clf.predict_groups_proba(X[~train], groups[~train])[:, 1]
    assert roc_auc_score(y_group[60:], proba) > 0.9
    assert 0.18 <= (proba > 0.5).mean() <= 0.3
    assert ((proba > 0.5) == y_group[60:]).mean() > 0.93
    slope, intercept = clf.scaling_
    unscaled = (np.log(proba / (1 - proba)) - intercept) / slope
    assert (unscaled > 0).mean() < 0.13  # what the classifiers by themselves would say


def test_members_are_fitted_to_halves_that_share_no_group(monkeypatch):
    X, y_group, groups = own_words(0, n_groups=30, n_features=40)
    seen, scaled = [], []
    fit_member = FisherVectorClassifier._fit_member

    def remember_halves(self, bags, one, other, rng):
        seen.append((set(one.tolist()), set(other.tolist())))
        return fit_member(self, bags, one, other, rng)

    def remember_scores(score, y):
        scaled.append((score, y))
        return platt_scaling(score, y)

    monkeypatch.setattr(FisherVectorClassifier, "_fit_member", remember_halves)
    monkeypatch.setattr(fisher, "platt_scaling", remember_scores)
    clf = FisherVectorClassifier(random_state=0).fit(X, y_group[groups], groups=groups)
    assert [len(one | other) for one, other in seen] == 10 * [30] + 20 * [24]
    assert not any(one & other for one, other in seen)
    held_out = [set(range(30)) - one - other for one, other in seen[10::4]]
    assert set.union(*held_out) == set(range(30))  # five folds of six, each held out once
    assert [density.directions.shape for density, _ in clf.ensemble_] == 10 * [(40, 15)]
    means = [density.mean for density, _ in clf.ensemble_]
    for one, other in zip(means[::2], means[1::2], strict=True):  # halves of 15 groups of 6 rows
        np.testing.assert_allclose((one + other) / 2, X.mean(axis=0))
    single = [
        machine.decision_function(density.transform(X, Groups(groups)))
        for density, machine in clf.ensemble_
    ]
    ((score, y),) = scaled
    assert sorted(y) == sorted(y_group)
    assert clf.scaling_ == platt_scaling(score, y)
    slope, intercept = clf.scaling_
    proba = clf.predict_groups_proba(X, groups)[:, 1]
    log_odds = slope * np.mean(single, axis=0) + intercept
    np.testing.assert_allclose(np.log(proba / (1 - proba)), log_odds)


def test_a_class_of_few_groups_is_not_halved():
    X, _, groups = own_words(0, n_groups=12, n_features=40)
    rare = (np.arange(12) < 4).astype(int)
    clf = FisherVectorClassifier(random_state=0).fit(X, rare[groups], groups=groups)
    assert len(clf.ensemble_) == 1
    assert clf.scaling_ == (1.0, 0.0)

"""Fisher vectors against numerical derivatives."""

import numpy as np
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from groupwise import Groups
from groupwise.presence import (
    FisherVectorClassifier,
)
from groupwise.presence.fisher import fisher_vectors


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
    assert clf.mixture_.n_components == 1
    assert np.isfinite(clf.predict_groups_proba(X, groups=groups)).all()

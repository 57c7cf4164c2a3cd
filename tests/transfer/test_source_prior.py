import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from groupwise.boosting import LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import Prior, SourcePriorClassifier
from groupwise.transfer.source_prior import average_planes


def some_rows(n_rows, n_features, n_models=2, seed=0):
    rng = np.random.RandomState(seed)
    X, score = rng.normal(size=(n_rows, n_features)), 2.0 * rng.normal(size=(n_rows, n_models))
    sign = np.where(X[:, 0] + score.sum(axis=1) + rng.normal(size=n_rows) > 0, 1.0, -1.0)
    return score, X, sign, rng.uniform(0.5, 2.0, size=n_rows)


def test_intercept_of_one_row_by_hand():
    # the least of b^2 / 18 + ln(1 + e^-b) is where b = 9 / (1 + e^b)
    prior = Prior(0.0, 0.0, 0.0, 3.0)
    plane, weights = average_planes(
        np.empty((1, 0)), np.array([[5.0]]), np.ones(1), np.ones(1), [prior]
    )
    assert plane.intercept == pytest.approx(9.0 * expit(-plane.intercept), rel=1e-6)
    assert plane.coef.tolist() == [0.0]
    assert weights.tolist() == [1.0]


@pytest.mark.parametrize("n_features", [3, 60])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_without_the_source_it_is_scikit_learns(n_features, kind):
    score, X, sign, weight = some_rows(30, n_features)
    prior = Prior(0.0, 0.0, 0.25, 2.0)
    plane, _ = average_planes(score, kind(X), sign, weight, [prior])
    scaled = np.hstack([0.5 * X, np.full((30, 1), 2.0)])
    theirs = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs.fit(scaled, sign, sample_weight=weight)
    np.testing.assert_allclose(plane.coef[2:], 0.5 * theirs.coef_[0, :-1], atol=1e-5)
    assert plane.intercept == pytest.approx(2.0 * theirs.coef_[0, -1], abs=1e-5)
    np.testing.assert_array_equal(plane.coef[:2], 0.0)


@pytest.mark.parametrize("n_features", [4, 50])
def test_posterior_is_largest_at_the_plane(n_features):
    score, X, sign, weight = some_rows(25, n_features, seed=1)
    prior = Prior(0.5, 0.7, 0.3, 1.5)
    plane, _ = average_planes(score, X, sign, weight, [prior])

    def cost(values):
        factors, coef, intercept = values[:2], values[2:-1], values[-1]
        margin = sign * (score @ factors + X @ coef + intercept)
        penalty = np.sum((factors - 0.5) ** 2) / 0.49 + coef @ coef / 0.3 + intercept**2 / 2.25
        return 0.5 * penalty + weight @ np.logaddexp(0.0, -margin)

    found = np.append(plane.coef, plane.intercept)
    assert np.abs(approx_fprime(found, cost, 1e-6)).max() < 1e-3


def test_an_infinite_pull_leaves_the_source():
    score, X, sign, weight = some_rows(40, 3)
    plane, _ = average_planes(score, X, sign, weight, [Prior(0.5, 1e-8, 0.0, 1e-8)])
    np.testing.assert_allclose(plane.coef, [0.5, 0.5, 0.0, 0.0, 0.0], atol=1e-9)
    assert abs(plane.intercept) < 1e-9


def test_weights_of_priors_are_those_of_the_integrals():
    score, X, sign, _ = some_rows(60, 1, n_models=1, seed=2)
    spreads = (0.1, 0.5, 2.0)

    def integral(spread):
        def density(factor):
            margin = sign * factor * score[:, 0]
            return norm.pdf(factor, 1.0, spread) * np.exp(-np.logaddexp(0.0, -margin).sum() + 30.0)

        return quad(density, 1.0 - 8 * spread, 1.0 + 8 * spread, points=[0.5, 1.0])[0]

    exact = np.array([integral(spread) for spread in spreads])
    priors = [Prior(1.0, spread, 0.0, 1e-6) for spread in spreads]
    _, weights = average_planes(score, X, sign, np.ones(60), priors)
    np.testing.assert_allclose(weights, exact / exact.sum(), atol=0.02)


def test_a_row_of_weight_two_is_two_rows():
    score, X, sign, _ = some_rows(20, 3)
    priors = [Prior(0.5, 1.0, 0.1, 1.0), Prior(0.0, 0.0, 1.0, 1.0)]
    weight = np.where(np.arange(20) < 5, 2.0, 1.0)
    order = np.r_[np.arange(20), np.arange(5)]
    one, by_weight = average_planes(score, X, sign, weight, priors)
    two, by_rows = average_planes(score[order], X[order], sign[order], np.ones(25), priors)
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-6)
    np.testing.assert_allclose(by_weight, by_rows, atol=1e-6)


def test_without_rows_of_a_source_the_target_is_all():
    data = make_shifted_domains(0, 60, random_state=0)
    clf = SourcePriorClassifier(target_domain="target").fit(data.X, data.y, domains=data.domains)
    assert clf.source_models_ == []
    assert len(clf.priors_) == 10
    assert clf.coef_.shape == (1, 5)
    np.testing.assert_allclose(
        clf.decision_function(data.X), data.X @ clf.coef_[0] + clf.intercept_[0]
    )


@pytest.mark.parametrize("angle", [0, 180])
def test_the_same_source_is_kept_and_a_reversed_one_turned_around(angle):
    data = make_shifted_domains(500, 30, n_features=20, angle=angle, random_state=3)
    new = make_shifted_domains(0, 1000, n_features=20, angle=angle, random_state=4)
    clf = SourcePriorClassifier([LinearLearner("logistic")], target_domain="target")
    clf.fit(data.X, data.y, domains=data.domains)
    assert np.sign(clf.coef_[0, 0]) == (1 if angle == 0 else -1)
    alone = LogisticRegression().fit(data.X[data.domains == "target"], data.y[-30:])
    assert clf.score(new.X, new.y) > alone.score(new.X, new.y) + 0.05


def test_three_classes_of_which_the_source_has_two():
    rng = np.random.RandomState(0)
    y = np.r_[np.repeat([0, 1], 60), np.repeat([0, 1, 2], 15)]
    X = rng.normal(size=(len(y), 2)) + 4.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    domains = np.repeat(["old", "new"], [120, 45])
    clf = SourcePriorClassifier(target_domain="new").fit(X, y, domains=domains)
    assert clf.coef_.shape == (3, 4)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    assert clf.score(X, y, domains=domains) > 0.9


def test_what_cannot_be_learned_is_an_error():
    data = make_shifted_domains(60, 20, random_state=0)
    clf = SourcePriorClassifier(target_domain="target")
    is_target = data.domains == "target"
    with pytest.raises(GroupDataError, match="target domain hold no class 1"):
        clf.fit(data.X, np.where(is_target, 0, data.y), domains=data.domains)
    with pytest.raises(GroupDataError, match="source hold one class only"):
        clf.fit(data.X, np.where(is_target, data.y, 0), domains=data.domains)
    with pytest.raises(ValueError, match="estimators must hold at least one"):
        SourcePriorClassifier([], target_domain="target").fit(data.X, data.y, domains=data.domains)

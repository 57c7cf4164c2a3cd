import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import SourceScoresClassifier


def linear(**params):
    return SourceScoresClassifier(
        LogisticRegression(tol=1e-8, max_iter=1000),
        estimators=[LogisticRegression(tol=1e-8, max_iter=1000)],
        target_domain="target",
        **params,
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_it_is_stacking_by_hand(kind):
    d = make_shifted_domains(200, 60, angle=30, random_state=1)
    target = d.domains == "target"
    first = LogisticRegression(tol=1e-8, max_iter=1000).fit(d.X[~target], d.y[~target])

    def with_scores(X):
        return np.hstack([X, logit(np.clip(first.predict_proba(X), 0.005, 0.995))])

    second = LogisticRegression(tol=1e-8, max_iter=1000)
    second.fit(with_scores(d.X[target]), d.y[target])
    clf = linear().fit(kind(d.X), d.y, domains=d.domains)
    np.testing.assert_allclose(
        clf.predict_proba(kind(d.X)), second.predict_proba(with_scores(d.X)), atol=1e-4
    )


def test_without_rows_of_a_source_it_is_the_estimator():
    d = make_shifted_domains(0, 60, random_state=0)
    clf = linear().fit(d.X, d.y, domains=d.domains)
    assert clf.source_models_ == []
    alone = LogisticRegression(tol=1e-8, max_iter=1000).fit(d.X, d.y)
    np.testing.assert_allclose(clf.predict_proba(d.X), alone.predict_proba(d.X), atol=1e-5)


@pytest.mark.parametrize("angle", [0, 180])
def test_a_source_helps_as_it_is_and_turned_around(angle):
    d = make_shifted_domains(500, 40, n_features=20, angle=angle, random_state=3)
    new = make_shifted_domains(0, 1000, n_features=20, angle=angle, random_state=4)
    clf = SourceScoresClassifier(target_domain="target", random_state=0)
    clf.fit(d.X, d.y, domains=d.domains)
    target = d.domains == "target"
    alone = ExtraTreesClassifier(min_samples_leaf=2, random_state=0).fit(d.X[target], d.y[target])
    assert clf.score(new.X, new.y) > alone.score(new.X, new.y) + 0.05


def test_order_of_rows_and_names_of_domains_and_classes_change_nothing():
    d = make_shifted_domains(150, 40, random_state=5)
    first = SourceScoresClassifier(target_domain="target", random_state=0)
    proba = first.fit(d.X, d.y, domains=d.domains).predict_proba(d.X)
    order = np.random.RandomState(0).permutation(len(d.y))
    names, places = np.array(["no", "yes"]), np.where(d.domains == "target", 7, 3)
    again = SourceScoresClassifier(target_domain=7, random_state=0)
    again.fit(d.X[order], names[d.y][order], domains=places[order])
    np.testing.assert_allclose(again.predict_proba(d.X), proba, atol=1e-9)


def test_three_classes_of_which_the_source_has_two():
    rng = np.random.RandomState(0)
    y = np.r_[np.repeat([0, 1], 60), np.repeat([0, 1, 2], 15)]
    X = rng.normal(size=(len(y), 2)) + 4.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    domains = np.repeat(["old", "new"], [120, 45])
    clf = SourceScoresClassifier(target_domain="new", random_state=0).fit(X, y, domains=domains)
    assert clf.target_model_.n_features_in_ == 2 + 3 * 3
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    assert clf.score(X, y, domains=domains) > 0.9


def test_what_cannot_be_learned_is_an_error():
    d = make_shifted_domains(60, 20, random_state=0)
    is_target = d.domains == "target"
    with pytest.raises(GroupDataError, match="target domain hold no class 1"):
        linear().fit(d.X, np.where(is_target, 0, d.y), domains=d.domains)
    with pytest.raises(GroupDataError, match="source hold one class only"):
        linear().fit(d.X, np.where(is_target, d.y, 0), domains=d.domains)
    clf = SourceScoresClassifier(estimators=[], target_domain="target")
    with pytest.raises(ValueError, match="estimators must hold at least one"):
        clf.fit(d.X, d.y, domains=d.domains)

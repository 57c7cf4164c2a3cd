"""The naive approach: what it is fitted to, and what any classifier is taken to say."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from groupwise import NaiveGroupClassifier
from groupwise.datasets import make_triangle_sessions
from groupwise.exceptions import GroupDataError


def fit(data, estimator=None, **options):
    return NaiveGroupClassifier(estimator, **options).fit(data.X, data.y, groups=data.groups)


def test_default_is_gradient_boosting(sessions):
    clf = fit(sessions, random_state=0)
    assert type(clf.estimator_).__name__ == "HistGradientBoostingClassifier"
    assert clf.estimator_.random_state is not None


def test_many_rows_do_not_stop_it_early():
    """Rows that would be held out are of the groups that it learns from."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(10_100, 2)), np.arange(10_100) // 10 % 2
    clf = NaiveGroupClassifier(random_state=0).fit(X, y, groups=np.arange(10_100) // 10)
    assert clf.estimator_.n_iter_ == 100


def test_it_is_the_classifier_on_the_repeated_labels(sessions):
    clf = fit(sessions, LogisticRegression())
    plain = LogisticRegression().fit(sessions.X, sessions.y)
    np.testing.assert_array_equal(clf.predict_proba(sessions.X), plain.predict_proba(sessions.X))
    np.testing.assert_array_equal(
        clf.decision_function(sessions.X), plain.decision_function(sessions.X)
    )
    rows = NaiveGroupClassifier(LogisticRegression()).fit(sessions.X, sessions.y)  # says nothing
    np.testing.assert_array_equal(rows.predict_proba(sessions.X), clf.predict_proba(sessions.X))


def test_few_rows_have_one_thread(sessions, counts_threads):
    """On a busy machine each of 100 trees waits for the second."""
    fit(sessions, counts_threads()).predict(sessions.X)
    assert counts_threads.seen == [1, 1]
    many = np.resize(sessions.X, (20_000, 4)), np.resize(sessions.y, 20_000)
    NaiveGroupClassifier(counts_threads()).fit(*many)
    assert counts_threads.seen[2:] == [2]


def test_labels_count_as_probabilities_where_there_are_none(sessions):
    clf = fit(sessions, LinearSVC())
    score = clf.decision_function(sessions.X)
    np.testing.assert_array_equal(score, clf.estimator_.decision_function(sessions.X))
    np.testing.assert_array_equal(clf.predict_proba(sessions.X)[:, 1], score > 0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_count_as_scores_where_there_are_none(sessions, n_classes):
    data = sessions if n_classes == 2 else make_triangle_sessions(30, random_state=0)
    clf = fit(data, GaussianNB())
    proba, score = clf.predict_proba(data.X), clf.decision_function(data.X)
    np.testing.assert_array_equal(score, proba[:, 1] - 0.5 if n_classes == 2 else proba)


@pytest.mark.parametrize(("rule", "mean"), [("mean", lambda p: p), ("score", np.log)])
def test_the_rule_decides_for_groups(sessions, rule, mean):
    clf = fit(sessions, LogisticRegression(), rule=rule)
    found = clf.predictions(sessions.X, sessions.groups)
    of_group = found.groups.mean(mean(clf.predict_proba(sessions.X)))
    expected = of_group[:, 1] if rule == "mean" else expit(of_group[:, 1] - of_group[:, 0])
    np.testing.assert_allclose(found.proba_group[:, 1], expected)


def test_a_column_without_a_value_is_named(sessions, monkeypatch):
    def fit(self, X, y):  # as that of scikit-learn 1.9
        np.lib.stride_tricks.sliding_window_view(X[~np.isnan(X[:, 1]), 1], 2)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", fit)
    X = sessions.X.copy()
    X[:, 1] = np.nan
    with pytest.raises(GroupDataError, match=r"column 1 of X .* holds no value at all, and HistG"):
        NaiveGroupClassifier().fit(X, sessions.y, groups=sessions.groups)


def test_rows_may_hold_what_the_classifier_takes(sessions):
    X = np.where(np.arange(sessions.X.size).reshape(sessions.X.shape) % 7, sessions.X, np.nan)
    clf = NaiveGroupClassifier(random_state=0).fit(X, sessions.y, groups=sessions.groups)
    assert np.isfinite(clf.predict_proba(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        NaiveGroupClassifier(LogisticRegression()).fit(X, sessions.y, groups=sessions.groups)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        clf.fit(csr_array(sessions.X), sessions.y, groups=sessions.groups)

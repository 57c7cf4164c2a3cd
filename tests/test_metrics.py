import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.model_selection import cross_validate as plain_cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from groupwise import Groups, NaiveGroupClassifier, SBoostClassifier
from groupwise.exceptions import GroupDataError
from groupwise.metrics import (
    bootstrap_interval,
    by_group,
    group_accuracy,
    group_balanced_accuracy,
    group_f1,
    group_log_loss,
    make_group_scorer,
)
from groupwise.model_selection import WholeGroupKFold, cross_validate
from groupwise.rules import MajorityVote

Y = np.array(["a", "a", "b", "b", "b", "b"])
GROUPS = np.array([1, 1, 0, 0, 2, 2])  # groups 0, 1, 2 are b, a, b


def test_values_by_hand():
    found = ["b", "a", "a"]
    assert group_accuracy(Y, found, GROUPS) == pytest.approx(2 / 3)
    assert group_balanced_accuracy(Y, found, GROUPS) == pytest.approx((1 + 1 / 2) / 2)
    assert group_f1(Y, found, GROUPS) == pytest.approx((2 / 3 + 2 / 3) / 2)
    proba = [[0.5, 0.5], [0.8, 0.2], [0.0, 1.0]]
    loss = group_log_loss(Y, proba, GROUPS, classes=["a", "b"])
    assert loss == pytest.approx(-(np.log(0.5) + np.log(0.8)) / 3)
    wrong = group_log_loss(Y, [[1, 0], [1, 0], [0, 1]], GROUPS, classes=["a", "b"])
    assert np.isfinite(wrong)


def test_one_prediction_per_group():
    with pytest.raises(ValueError, match=r"one prediction per group \(3\), got 6"):
        group_accuracy(Y, Y, GROUPS)
    with pytest.raises(GroupDataError, match="group 0 holds 'a' and 'b'"):
        group_accuracy(["a", "b"], ["a"], [0, 0])


def test_by_group_against_scikit_learn():
    rng = np.random.default_rng(0)
    y, found, groups = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.integers(0, 5, 60)
    for measure, reference in (
        ("f1", lambda a, b: f1_score(a, b, average="macro", zero_division=0)),
        ("balanced_accuracy", balanced_accuracy_score),
        ("accuracy", lambda a, b: np.mean(a == b)),
    ):
        table = by_group(y, found, groups, measure=measure)
        for name, score in table.table["score"].items():
            part = groups == name
            assert score == pytest.approx(reference(y[part], found[part]))
        assert table.overall == pytest.approx(reference(y, found))
        assert table.mean == pytest.approx(table.table["score"].mean())
        assert table.worst == table.table["score"].min()
        assert table.interval[0] < table.mean < table.interval[1]
        assert table.table["size"].sum() == 60


def test_by_group_log_loss_callable_and_text():
    table = by_group(Y, [1.0, 0.5, 1, 1, 0.1, 0.1], GROUPS, measure="log_loss")
    assert table.worst == pytest.approx(-np.log(0.1))
    assert table.table.index[0] == 2
    own = by_group(Y, Y, GROUPS, measure=lambda y, p, groups: groups.sizes.astype(float))
    assert own.mean == 2 and own.overall == 6
    assert "3 groups: mean 2.000" in str(own) and "worst 2.000" in str(own)


def test_bootstrap_interval_has_the_width_of_the_normal_one():
    scores = np.random.default_rng(1).normal(size=400)
    low, high = bootstrap_interval(scores, n_draws=4000)
    expected = 2 * 1.96 * scores.std() / 20
    assert high - low == pytest.approx(expected, rel=0.08)
    assert bootstrap_interval(scores) == bootstrap_interval(scores)


accuracy = make_group_scorer(group_accuracy)
neg_log_loss = make_group_scorer(group_log_loss, response="predict_proba", greater_is_better=False)


def test_scorer_is_the_metric(sessions):
    clf = SBoostClassifier(n_estimators=3).fit(sessions.X, sessions.y, groups=sessions.groups)
    given = (sessions.X, sessions.y)
    assert accuracy(clf, *given, groups=sessions.groups) == clf.score(
        *given, groups=sessions.groups
    )
    proba = clf.predict_groups_proba(sessions.X, groups=sessions.groups)
    expected = group_log_loss(sessions.y, proba, sessions.groups, classes=clf.classes_)
    assert neg_log_loss(clf, *given, groups=sessions.groups) == -expected
    unknown = np.where(sessions.groups == 1, 5, sessions.y)
    with pytest.raises(GroupDataError, match="y holds 5 in group 1"):
        accuracy(clf, sessions.X, unknown, groups=sessions.groups)


def test_scorer_for_plain_classifiers(sessions):
    X, y, groups, _ = sessions
    proba = LogisticRegression().fit(X, y)
    expected = MajorityVote().combine(proba.predict_proba(X), Groups(groups)).argmax(axis=1)
    assert accuracy(proba, X, y, groups=groups) == group_accuracy(y, expected, groups)
    labels = LinearSVC().fit(X, y)
    naive = NaiveGroupClassifier(LinearSVC()).fit(X, y, groups=groups)
    assert accuracy(labels, X, y, groups=groups) == naive.score(X, y, groups=groups)


def test_scorer_reads_the_group_column(sessions):
    import pandas as pd

    X = pd.DataFrame(sessions.X, columns=list("abcd")).assign(s=sessions.groups)
    clf = SBoostClassifier(n_estimators=2, group_column="s").fit(X, sessions.y)
    assert accuracy(clf, X, sessions.y) == clf.score(X, sessions.y)


@pytest.mark.parametrize("scorer", [accuracy, neg_log_loss], ids=repr)
def test_scorer_in_search_and_cross_validation_with_a_scaling_pipeline(sessions, scorer):
    X, y, groups, _ = sessions
    pipe = Pipeline([("scale", StandardScaler()), ("boost", SBoostClassifier(n_estimators=3))])
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            pipe,
            {"boost__gamma": [0.0, 4.0]},
            scoring=scorer,
            cv=WholeGroupKFold(3, random_state=0),
        )
        search.fit(X, y, groups=groups)
        direct = plain_cross_validate(
            pipe.set_params(boost__gamma=4.0),
            X,
            y,
            params={"groups": groups},
            cv=WholeGroupKFold(3, random_state=0),
            scoring=scorer,
        )
    by_search = [search.cv_results_[f"split{k}_test_score"][1] for k in range(3)]
    np.testing.assert_allclose(direct["test_score"], by_search)
    ours = cross_validate(
        pipe, X, y, groups=groups, cv=WholeGroupKFold(3, random_state=0), scoring=scorer
    )
    np.testing.assert_allclose(ours["test_score"], by_search)
    by_hand = []
    for train, test in WholeGroupKFold(3, random_state=0).split(X, y, groups):
        scale = StandardScaler().fit(X[train])
        boost = SBoostClassifier(n_estimators=3)
        boost.fit(scale.transform(X[train]), y[train], groups=groups[train])
        by_hand.append(scorer(boost, scale.transform(X[test]), y[test], groups=groups[test]))
    np.testing.assert_allclose(by_hand, by_search)
    fitted = search.best_estimator_
    assert scorer(search, X, y, groups=groups) == scorer(fitted, X, y, groups=groups)


def test_pipeline_of_one_step(sessions):
    X, y, groups, _ = sessions
    alone = make_pipeline(SBoostClassifier(n_estimators=2))
    alone[-1].fit(X, y, groups=groups)
    assert accuracy(alone, X, y, groups=groups) == alone[-1].score(X, y, groups=groups)


def test_scorers_print_and_refuse():
    assert repr(accuracy) == "make_group_scorer(group_accuracy)"
    assert accuracy.get_metadata_routing().score.requests == {"groups": True}
    with pytest.raises(ValueError, match="response must be"):
        make_group_scorer(group_accuracy, response="decision_function")

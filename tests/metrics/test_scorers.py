"""One factory of scorers: the metric's value, the right metadata, groups handed on."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.model_selection import cross_validate as plain_cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from groupwise import Groups, NaiveGroupClassifier, SBoostClassifier
from groupwise.datasets.aggregates import make_aggregates
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.measures import ExpectedMeasureClassifier, FocusedAdaBoostClassifier
from groupwise.metrics import (
    CallableMeasure,
    FBeta,
    GroupQuantile,
    Scorer,
    ask,
    group_accuracy,
    group_f1,
    group_log_loss,
    make_scorer,
    share_error,
)
from groupwise.model_selection import WholeGroupKFold, cross_validate
from groupwise.proportions import MeanMapClassifier
from groupwise.rules import MajorityVote
from groupwise.transfer import TrAdaBoostClassifier

accuracy = make_scorer(group_accuracy)
neg_log_loss = make_scorer(group_log_loss, response="predict_proba", greater_is_better=False)


# --- level="group", a metric of the groups' labels or probabilities


def test_metric_of_groups(sessions):
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


def test_plain_classifiers_decide_groups_by_the_rule(sessions):
    X, y, groups = sessions.X, sessions.y, sessions.groups
    proba = LogisticRegression().fit(X, y)
    expected = MajorityVote().combine(proba.predict_proba(X), Groups(groups)).argmax(axis=1)
    assert accuracy(proba, X, y, groups=groups) == group_accuracy(y, expected, groups)
    labels = LinearSVC().fit(X, y)
    naive = NaiveGroupClassifier(LinearSVC()).fit(X, y, groups=groups)
    assert accuracy(labels, X, y, groups=groups) == naive.score(X, y, groups=groups)
    by_mean = make_scorer(group_accuracy, rule="any")(proba, X, y, groups=groups)
    positive = Groups(groups).max(proba.predict_proba(X)[:, 1]) > 0.5
    assert by_mean == group_accuracy(y, positive.astype(int), groups)


def test_group_column(sessions):
    X = pd.DataFrame(sessions.X, columns=list("abcd")).assign(s=sessions.groups)
    clf = SBoostClassifier(n_estimators=2, group_column="s").fit(X, sessions.y)
    assert accuracy(clf, X, sessions.y) == clf.score(X, sessions.y)


@pytest.mark.parametrize("scorer", [accuracy, neg_log_loss], ids=repr)
def test_search_and_cross_validation_with_a_scaling_pipeline(sessions, scorer):
    X, y, groups = sessions.X, sessions.y, sessions.groups
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
    X, y, groups = sessions.X, sessions.y, sessions.groups
    alone = make_pipeline(SBoostClassifier(n_estimators=2))
    alone[-1].fit(X, y, groups=groups)
    assert accuracy(alone, X, y, groups=groups) == alone[-1].score(X, y, groups=groups)


def test_shares_are_scored_too():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    d = make_aggregates(rng.normal(size=(60, 2)) + y[:, None], y, size=6, random_state=0)
    clf = MeanMapClassifier().fit(d.X, d.y, groups=d.groups)
    scorer = make_scorer(share_error, response="predict_proba", greater_is_better=False)
    value = scorer(clf, d.X, d.y, groups=d.groups)
    assert value == pytest.approx(clf.score(d.X, d.y, groups=d.groups) - 1)
    assert value == pytest.approx(scorer(clf, d.X, d.y_row, groups=d.groups))
    plain = LogisticRegression().fit(d.X, d.y_row)
    by_mean = make_scorer(
        share_error, response="predict_proba", greater_is_better=False, rule="mean"
    )
    shares = Groups(d.groups).mean(plain.predict_proba(d.X))
    expected = -share_error(d.y, shares, d.groups, classes=[0, 1])
    assert by_mean(plain, d.X, d.y, groups=d.groups) == pytest.approx(expected)


# --- level="group", a measure of each group's rows


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()])
def test_measure_of_each_group(users, estimator):
    X, y, groups = users.X, np.array(["no", "yes"])[users.y], users.groups
    model = estimator.fit(X, y)
    predicted = (model.predict(X) == "yes").astype(int)
    value_group = FBeta()(users.y, predicted, groups)
    for aggregate, expected in (
        ("mean", value_group.mean()),
        ("worst", value_group.min()),
        (GroupQuantile(0.3), np.quantile(value_group, 0.3)),
    ):
        scorer = make_scorer("f1", aggregate=aggregate)
        assert scorer(model, X, y, groups=groups) == pytest.approx(expected)
    assert make_scorer(FBeta())(model, X, y, groups=groups) == pytest.approx(value_group.mean())


def test_measure_of_more_classes(users):
    X, groups = users.X, users.groups
    y = np.arange(len(X)) % 3
    model = GaussianNB().fit(X, y)
    value = make_scorer("accuracy")(model, X, y, groups=groups)
    assert value == pytest.approx(
        np.mean([np.mean(model.predict(X)[groups == g] == y[groups == g]) for g in range(20)])
    )


def test_a_measure_of_ones_own(users):
    def positives(y, score, groups):
        return groups.mean(y)

    model = GaussianNB().fit(users.X, users.y)
    value = make_scorer(CallableMeasure(positives))(model, users.X, users.y, groups=users.groups)
    assert value == pytest.approx(Groups(users.groups).mean(users.y).mean())


def test_a_search_over_costs(users):
    grid = {"cost": [0.01, 3.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FocusedAdaBoostClassifier(n_estimators=5),
            grid,
            scoring=make_scorer("f1"),
            cv=WholeGroupKFold(2, stratify=False, random_state=0),
        ).fit(users.X, users.y, groups=users.groups)
    assert search.best_params_ == {"cost": 3.0}


# --- groups reach a model whose answers depend on them


def test_groups_reach_a_decision_that_takes_them(users):
    X, y, groups = users.X, users.y, users.groups
    clf = ExpectedMeasureClassifier(GaussianNB(), random_state=0).fit(X, y, groups=groups)
    value = make_scorer("f1")(clf, X, y, groups=groups)
    assert value == pytest.approx(clf.score(X, y, groups=groups))


def test_a_model_is_asked_for_predictions_only(users, above_group_mean):
    X, y, groups = users.X, users.y, users.groups
    clf = above_group_mean.fit(X, y)
    score = X[:, 0] - Groups(groups).mean(X[:, 0])[groups]
    for model in (clf, make_pipeline(FunctionTransformer(), clf)):
        f1 = make_scorer("f1")(model, X, y, groups=groups)
        assert f1 == pytest.approx(FBeta()(y, score, groups).mean())
        rows = make_scorer(f1_score, level="row")(model, X, y, groups=groups)
        assert rows == pytest.approx(f1_score(y, score > 0))
        auc = make_scorer(roc_auc_score, level="row", response="decision_function")
        assert auc(model, X, y, groups=groups) == pytest.approx(roc_auc_score(y, score))
    y_group = Groups(groups).max(y)
    said = (Groups(groups).mean(1 / (1 + np.exp(-score))) > 0.5).astype(int)
    expected = group_accuracy(y_group[groups], said, groups)
    assert accuracy(clf, X, y_group[groups], groups=groups) == expected
    assert ask(clf, X, groups).score_row == pytest.approx(score)


# --- level="row"


def test_all_rows_together(users):
    X, y, groups = users.X, users.y, users.groups
    model = GaussianNB().fit(X, y)
    assert make_scorer("f1", level="row")(model, X, y, groups=groups) == pytest.approx(
        f1_score(y, model.predict(X))
    )
    loss = make_scorer(log_loss, level="row", response="predict_proba", greater_is_better=False)
    assert loss(model, X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)))
    assert loss.get_metadata_routing().score.requests == {"groups": True}


# --- level="target"


def target(metric, **options):
    return make_scorer(metric, level="target", target_domain="target", **options)


@pytest.fixture(scope="module")
def shifted():
    return make_shifted_domains(300, 40, random_state=3)


def test_every_search_fold_is_scored_on_target_rows(shifted):
    seen = []

    def metric(y, predicted):
        seen.append(len(y))
        return accuracy_score(y, predicted)

    with sklearn.config_context(enable_metadata_routing=True):
        cross_val_score(
            TrAdaBoostClassifier(n_estimators=2, target_domain="target"),
            shifted.X,
            shifted.y,
            cv=KFold(4, shuffle=True, random_state=0),
            scoring=target(metric),
            params={"domains": shifted.domains},
        )
    assert sum(seen) == 40


@pytest.mark.parametrize("response", ["predict", "predict_proba", "decision_function"])
def test_target_responses(response, shifted):
    clf = TrAdaBoostClassifier(n_estimators=3, target_domain="target").fit(
        shifted.X, shifted.y, domains=shifted.domains
    )
    metric = accuracy_score if response == "predict" else roc_auc_score
    rows = shifted.domains == "target"
    given = getattr(clf, response)(shifted.X[rows])
    given = given[:, 1] if given.ndim == 2 else given
    scorer = target(metric, response=response)
    assert scorer(clf, shifted.X, shifted.y, domains=shifted.domains) == pytest.approx(
        metric(shifted.y[rows], given)
    )


def test_target_without_domains_is_all_rows(shifted):
    clf = LogisticRegression().fit(shifted.X, shifted.y)
    loss = target(log_loss, response="predict_proba", greater_is_better=False)
    assert loss(clf, shifted.X, shifted.y) == pytest.approx(
        -log_loss(shifted.y, clf.predict_proba(shifted.X))
    )
    assert loss.get_metadata_routing().score.requests == {"domains": True}


def test_target_serves_regressors(shifted):
    model = LinearRegression().fit(shifted.X, shifted.X[:, 0])
    scorer = target(lambda y, p: float(np.abs(y - p).max()))
    assert scorer(model, shifted.X, shifted.X[:, 0], domains=shifted.domains) < 1e-9


# --- the objects


@pytest.mark.parametrize(
    ("scorer", "text"),
    [
        (accuracy, "make_scorer(group_accuracy)"),
        (make_scorer(), "make_scorer('f1')"),
        (make_scorer("ndcg", aggregate="worst"), "make_scorer('ndcg', aggregate='worst')"),
        (make_scorer("f1", level="row"), "make_scorer('f1', level='row')"),
        (make_scorer(group_f1, rule="any"), "make_scorer(group_f1, rule='any')"),
        (
            target(log_loss, response="predict_proba"),
            "make_scorer(log_loss, level='target', response='predict_proba', "
            "target_domain='target')",
        ),
    ],
)
def test_scorers_print_and_travel(scorer, text):
    assert isinstance(scorer, Scorer)
    assert repr(scorer) == text
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    requested = "domains" if "target" in text else "groups"
    assert scorer.get_metadata_routing().score.requests == {requested: True}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_scorer(group_accuracy, response="decision_function"), "response must be"),
        (lambda: make_scorer(log_loss, level="row", response="transform"), "response must be"),
        (lambda: make_scorer("f1", aggregate="best"), "aggregate must be"),
        (lambda: make_scorer("f2"), "measure must be"),
        (lambda: make_scorer("f1", level="rows"), "level must be"),
        (lambda: make_scorer(group_accuracy, rule="best"), "rule must be"),
        (lambda: make_scorer("f1", response="predict_proba"), "computed from scores"),
        (lambda: make_scorer("f1", level="target"), "takes a function"),
        (lambda: make_scorer(group_accuracy, greater_is_better="no"), "True or False"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()

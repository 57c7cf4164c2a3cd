"""A scorer for scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from groupwise.datasets.users import make_users
from groupwise.measures import (
    ExpectedMeasureClassifier,
    FBeta,
    FocusedAdaBoostClassifier,
    make_measure_scorer,
)
from groupwise.model_selection import WholeGroupKFold


@pytest.fixture(scope="module")
def users():
    return make_users(20, n_rows=40, positive=0.3, random_state=0)


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()])
def test_value_is_the_mean_measure(users, estimator):
    X, y, groups, _ = users
    model = estimator.fit(X, np.array(["no", "yes"])[y])
    said = (model.predict(X) == "yes").astype(int)
    scorer = make_measure_scorer("f1")
    value = scorer(model, X, np.array(["no", "yes"])[y], groups=groups)
    assert value == pytest.approx(FBeta()(y, said, groups).mean())
    worst = make_measure_scorer("f1", aggregate="worst")(
        model, X, np.array(["no", "yes"])[y], groups=groups
    )
    assert worst == pytest.approx(FBeta()(y, said, groups).min())


def test_more_classes(users):
    X, groups = users.X, users.groups
    y = np.arange(len(X)) % 3
    model = GaussianNB().fit(X, y)
    value = make_measure_scorer("accuracy")(model, X, y, groups=groups)
    assert value == pytest.approx(
        np.mean([np.mean(model.predict(X)[groups == g] == y[groups == g]) for g in range(20)])
    )


def test_groups_reach_a_decision_that_takes_them(users):
    X, y, groups, _ = users
    clf = ExpectedMeasureClassifier(GaussianNB(), random_state=0).fit(X, y, groups=groups)
    value = make_measure_scorer("f1")(clf, X, y, groups=groups)
    assert value == pytest.approx(clf.score(X, y, groups=groups))


def test_a_search_over_costs(users):
    X, y, groups, _ = users
    grid = {"cost": [0.01, 3.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FocusedAdaBoostClassifier(n_estimators=5),
            grid,
            scoring=make_measure_scorer("f1"),
            cv=WholeGroupKFold(2, stratify=False, random_state=0),
        ).fit(X, y, groups=groups)
    assert search.best_params_ == {"cost": 3.0}


def test_it_can_be_printed():
    assert repr(make_measure_scorer("ndcg")) == "make_measure_scorer('ndcg', aggregate='mean')"


def test_bad_aggregate():
    with pytest.raises(ValueError, match="aggregate must be"):
        make_measure_scorer("f1", aggregate="best")

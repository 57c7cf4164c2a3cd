import numpy as np
import pandas as pd
import pytest

from groupwise import (
    Groups,
    GroupStatisticsClassifier,
    HistTrees,
    NaiveGroupClassifier,
    SBoostClassifier,
)
from groupwise import select_gamma as choose
from groupwise.model_selection import WholeGroupKFold

BOOST = SBoostClassifier(HistTrees(1, n_jobs=1), n_estimators=6)


def test_table_is_the_error_on_held_out_sessions(sessions):
    X, y, groups, _ = sessions
    cv = WholeGroupKFold(3, random_state=0)
    found = choose(BOOST, X, y, groups=groups, gammas=(4.0, 0.0), cv=cv, tune_rounds=False)
    by_hand = []
    for gamma in (0.0, 4.0):
        scores = []
        for train, test in cv.split(X, y, groups):
            model = SBoostClassifier(HistTrees(1, n_jobs=1), n_estimators=6, gamma=gamma)
            model.fit(X[train], y[train], groups=groups[train])
            scores.append(1 - model.score(X[test], y[test], groups=groups[test]))
        by_hand.append(np.mean(scores))
    np.testing.assert_allclose(found.table["error"], by_hand)
    assert found.table["gamma"].tolist() == [0.0, 4.0]
    assert (found.table["n_estimators"] == 6).all()
    assert found.gamma == (0.0, 4.0)[int(np.argmin(by_hand))]
    assert found.estimator.gamma == found.gamma


def test_rounds_are_tuned_too(sessions):
    X, y, groups, _ = sessions
    found = choose(BOOST, X, y, groups=groups, gammas=(1.0,), random_state=0)
    assert 1 <= found.n_estimators <= 6
    fixed = choose(BOOST, X, y, groups=groups, gammas=(1.0,), tune_rounds=False, random_state=0)
    assert found.table["error"][0] <= fixed.table["error"][0]
    assert found.estimator.n_estimators == found.n_estimators
    assert found.table["standard_error"][0] > 0


def test_the_papers_split(sessions):
    X, y, groups, _ = sessions
    found = choose(BOOST, X, y, groups=groups, cv="paper", random_state=3)
    again = choose(BOOST, X, y, groups=groups, cv="paper", random_state=3)
    pd.testing.assert_frame_equal(found.table, again.table)
    assert len(found.table) == 6
    assert found.table["standard_error"].isna().all()


def test_ids_in_a_column_and_a_learner_that_learns_nothing(sessions):
    X = pd.DataFrame(np.zeros((len(sessions.X), 1)), columns=["a"]).assign(s=sessions.groups)
    boost = SBoostClassifier(HistTrees(1), n_estimators=2, group_column="s")
    found = choose(boost, X, sessions.y, gammas=(0.0,), cv="paper", random_state=0)
    assert found.table["error"][0] == pytest.approx(0.5, abs=0.1)


def test_statistics_by_hand():
    X = np.array([[1.0], [3.0], [5.0], [5.0]])
    lines = GroupStatisticsClassifier()._summarise(X, Groups([0, 0, 1, 1]))
    assert lines.tolist() == [[2, 1, 1, 3], [5, 0, 5, 5]]


def test_statistics_defaults_and_errors(sessions):
    clf = GroupStatisticsClassifier(random_state=0)
    clf.fit(sessions.X, sessions.y, groups=sessions.groups)
    assert clf.estimator_.n_estimators == 300
    assert clf.score(sessions.X, sessions.y, groups=sessions.groups) == 1
    with pytest.raises(ValueError, match="statistics must be some of"):
        GroupStatisticsClassifier(statistics=("median",)).fit(sessions.X, sessions.y)


def test_naive_default_is_gradient_boosting(sessions):
    clf = NaiveGroupClassifier(random_state=0).fit(sessions.X, sessions.y, groups=sessions.groups)
    assert type(clf.estimator_).__name__ == "HistGradientBoostingClassifier"
    assert clf.estimator_.random_state is not None

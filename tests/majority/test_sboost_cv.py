import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from groupwise import HistTrees, SBoostClassifier, SBoostClassifierCV
from groupwise.metrics import group_accuracy, make_scorer
from groupwise.model_selection import WholeGroupKFold, paper_split

STUMPS = HistTrees(1, n_jobs=1)


def search(data, **options):
    options = {"n_estimators": 6, "random_state": 0, **options}
    return SBoostClassifierCV(STUMPS, **options).fit(data.X, data.y, groups=data.groups)


def test_results_are_the_scores_on_held_out_sessions(sessions):
    X, y, groups = sessions.X, sessions.y, sessions.groups
    cv = WholeGroupKFold(3, random_state=0)
    found = search(sessions, gammas=(4.0, 0.0), cv=cv, tune_rounds=False)
    scores = []
    for gamma in (0.0, 4.0):
        model = SBoostClassifier(STUMPS, n_estimators=6, gamma=gamma)
        scores.append(
            [
                model.fit(X[train], y[train], groups=groups[train]).score(
                    X[test], y[test], groups=groups[test]
                )
                for train, test in cv.split(X, y, groups)
            ]
        )
    results = found.cv_results_
    np.testing.assert_allclose(results["mean_test_score"], np.mean(scores, axis=1))
    np.testing.assert_allclose(results["std_test_score"], np.std(scores, axis=1))
    assert results["gamma"].tolist() == [0.0, 4.0]
    assert (results["n_estimators"] == 6).all()
    assert found.gamma_ == (0.0, 4.0)[int(np.argmax(np.mean(scores, axis=1)))]


def test_the_best_model_is_fitted_to_all_rows(sessions):
    found = search(sessions, gammas=(1.0, 4.0), cv=3)
    best = found.best_estimator_
    chosen = int(np.flatnonzero(found.cv_results_["gamma"] == found.gamma_)[0])
    n_estimators = found.cv_results_["n_estimators"][chosen]
    alone = SBoostClassifier(STUMPS, gamma=found.gamma_, n_estimators=n_estimators)
    alone.fit(sessions.X, sessions.y, groups=sessions.groups)
    assert (best.gamma, best.n_estimators) == (found.gamma_, n_estimators)
    assert found.n_iter_ == alone.n_iter_
    np.testing.assert_array_equal(found.predict_proba(sessions.X), alone.predict_proba(sessions.X))
    np.testing.assert_array_equal(
        found.decision_function(sessions.X), alone.decision_function(sessions.X)
    )
    np.testing.assert_array_equal(
        found.predict_groups(sessions.X, groups=sessions.groups),
        alone.predict_groups(sessions.X, groups=sessions.groups),
    )


def test_rounds_are_tuned_too(sessions):
    found = search(sessions, gammas=(1.0,))
    fixed = search(sessions, gammas=(1.0,), tune_rounds=False)
    assert 1 <= found.best_estimator_.n_estimators <= 6
    assert fixed.best_estimator_.n_estimators == 6
    assert found.cv_results_["mean_test_score"][0] >= fixed.cv_results_["mean_test_score"][0]
    assert found.cv_results_["std_test_score"][0] > 0


def test_the_default_is_five_times_five_folds(sessions):
    found = search(sessions, gammas=(1.0,))
    same = search(sessions, gammas=(1.0,), cv=WholeGroupKFold(5, n_repeats=5, random_state=0))
    for name, values in found.cv_results_.items():
        np.testing.assert_array_equal(values, same.cv_results_[name])


def test_the_papers_split(sessions):
    found, again = (search(sessions, cv=paper_split(3)) for _ in range(2))
    for name, values in found.cv_results_.items():
        np.testing.assert_array_equal(values, again.cv_results_[name])
    assert len(found.cv_results_["gamma"]) == 6
    assert (found.cv_results_["std_test_score"] == 0).all()


def test_ids_in_a_column_and_a_learner_that_learns_nothing(sessions):
    X = pd.DataFrame(np.zeros((len(sessions.X), 1)), columns=["a"]).assign(s=sessions.groups)
    found = SBoostClassifierCV(
        HistTrees(1), n_estimators=2, group_column="s", gammas=(0.0,), cv=paper_split(0)
    ).fit(X, sessions.y)
    assert found.cv_results_["mean_test_score"][0] == pytest.approx(0.5, abs=0.1)
    assert found.n_iter_ == 0


def test_columns_by_name(sessions):
    kind = np.arange(len(sessions.y)) % 3
    X = pd.DataFrame({"x": sessions.X[:, 0], "kind": kind.astype(float)})
    by = [["kind"], [1]]
    scores = [
        SBoostClassifierCV(
            HistTrees(2, categorical_features=columns),
            n_estimators=2,
            gammas=(1.0,),
            cv=2,
            random_state=0,
        )
        .fit(X, sessions.y, groups=sessions.groups)
        .decision_function(X)
        for columns in by
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("learner", [None, HistTrees(2, n_jobs=1)], ids=repr)
def test_categories_of_a_table(sessions, learner):
    code = (2 * sessions.y + np.arange(len(sessions.y)) % 2) * 3 % 4
    table = pd.DataFrame({"x": sessions.X[:, 0], "kind": pd.Categorical(code)})
    given = {"y": sessions.y, "groups": sessions.groups}
    found = SBoostClassifierCV(learner, n_estimators=2, gammas=(1.0,), cv=2, tune_rounds=False)
    alone = SBoostClassifier(learner, n_estimators=2, gamma=1.0)
    np.testing.assert_array_equal(
        found.fit(table, **given).decision_function(table),
        alone.fit(table, **given).decision_function(table),
    )


def test_a_scorer_asks_the_model_itself(sessions):
    """Not its ``best_estimator_``, which knows neither names nor the column of ids."""
    X = pd.DataFrame(sessions.X, columns=list("abcd")).assign(s=sessions.groups)
    found = SBoostClassifierCV(
        STUMPS, n_estimators=2, gammas=(1.0,), cv=2, group_column="s", random_state=0
    ).fit(X, sessions.y)
    assert make_scorer(group_accuracy)(found, X, sessions.y) == found.score(X, sessions.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": ()}, "gammas must hold at least one number"),
        ({"gammas": (1.0, -1.0)}, r"gammas must be a number in \[0, inf\)"),
        ({"cv": 1}, "cv must be a whole number"),
        ({"cv": KFold(2, shuffle=True, random_state=0)}, "cv divides group"),
        ({"tune_rounds": "yes"}, "tune_rounds must be True or False"),
    ],
)
def test_bad_parameters(sessions, options, message):
    with pytest.raises(ValueError, match=message):
        search(sessions, **options)

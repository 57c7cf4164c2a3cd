"""Groups decided for the largest expected measure: rows alone, groups, strengths."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from groupwise import Groups
from groupwise.datasets.users import make_users
from groupwise.exceptions import GroupDataError
from groupwise.measures import (
    BoostedRowsClassifier,
    ExpectedMeasureClassifier,
    ThresholdTunedClassifier,
    add_relative_features,
)
from groupwise.measures.decision import best_f_cuts
from groupwise.metrics import FBeta, make_scorer

FAST = BoostedRowsClassifier(n_estimators=30, n_jobs=1)


def test_the_classifier_decides_by_the_cuts():
    u = make_users(40, n_rows=50, random_state=0)
    clf = ExpectedMeasureClassifier(FAST, strength=np.inf, random_state=0).fit(
        u.X, u.y, groups=u.groups
    )
    assert not clf.may_be_empty_  # every user has a positive row
    p = clf.predict_proba(u.X, u.groups)[:, 1]
    cuts = best_f_cuts(p, Groups(u.groups), may_be_empty=False)
    predicted = clf.predict(u.X, groups=u.groups)
    np.testing.assert_array_equal(np.bincount(u.groups, predicted), cuts.n_pred)
    value = FBeta()(u.y, predicted, u.groups).mean()
    assert clf.score(u.X, u.y, groups=u.groups) == pytest.approx(value)


def test_strength_is_chosen_on_held_out_groups():
    u = make_users(60, n_rows=60, random_state=0)
    X = add_relative_features(u.X, u.groups)
    clf = ExpectedMeasureClassifier(FAST, random_state=0).fit(X, u.y, groups=u.groups)
    best = max(clf.held_out_measure_, key=clf.held_out_measure_.get)
    assert clf.strength_ == best < np.inf  # users do differ in their share of positives
    fixed = ExpectedMeasureClassifier(FAST, strength=7, random_state=0)
    assert fixed.fit(X, u.y, groups=u.groups).strength_ == 7
    alone = ExpectedMeasureClassifier(FAST).fit(X, u.y, groups=np.arange(len(X)))
    assert alone.strength_ == np.inf and alone.held_out_measure_ is None
    with pytest.raises(ValueError, match="strength must be"):
        ExpectedMeasureClassifier(FAST, strength=-1).fit(X, u.y, groups=u.groups)


def test_measures_and_estimators():
    u = make_users(20, n_rows=40, random_state=1)
    given = {"X": u.X, "y": u.y, "groups": u.groups}
    accuracy = ExpectedMeasureClassifier(GaussianNB(), measure="accuracy", strength=np.inf)
    accuracy.fit(**given)
    np.testing.assert_array_equal(
        accuracy.predict(u.X, groups=u.groups), accuracy.estimator_.predict(u.X)
    )
    pairs = np.arange(len(u.y)) // 2  # some without a positive row
    skip = ExpectedMeasureClassifier(
        LogisticRegression(), measure=FBeta(without_positives="skip", beta=2.0)
    ).fit(u.X, u.y, groups=pairs)
    assert not skip.may_be_empty_
    plain = ExpectedMeasureClassifier(LogisticRegression()).fit(u.X, u.y, groups=pairs)
    assert plain.may_be_empty_
    with pytest.raises(ValueError, match="ThresholdTunedClassifier"):
        ExpectedMeasureClassifier(measure="matthews").fit(**given)
    with pytest.raises(ValueError, match="has no predict_proba"):
        ExpectedMeasureClassifier(LinearSVC()).fit(**given)
    with pytest.raises(ValueError, match="Only binary"):
        ExpectedMeasureClassifier(FAST).fit(u.X, np.arange(len(u.y)) % 3, groups=u.groups)


def test_prediction_reads_fitted_state_only():
    u = make_users(20, n_rows=40, random_state=1)
    clf = ExpectedMeasureClassifier(GaussianNB(), random_state=0).fit(u.X, u.y, groups=u.groups)
    before = clf.decision_function(u.X, groups=u.groups)
    clf.set_params(measure=FBeta(beta=3.0), strength=1.0)
    np.testing.assert_array_equal(clf.decision_function(u.X, groups=u.groups), before)


def test_predictions_and_score_see_the_groups():
    """What is written, judged and drawn of a model is what its score counts."""
    u = make_users(40, n_rows=40, random_state=3)
    clf = ExpectedMeasureClassifier(FAST, random_state=0).fit(u.X, u.y, groups=u.groups)
    found = clf.predictions(u.X, u.groups)
    of_labels = FBeta()(u.y, found.code_row, u.groups).mean()
    score = clf.score(u.X, u.y, u.groups)
    assert of_labels == pytest.approx(score)
    assert make_scorer("f1")(clf, u.X, u.y, groups=u.groups) == pytest.approx(score)
    np.testing.assert_array_equal(found.y_row, clf.predict(u.X, u.groups))
    alone = np.arange(len(u.X))
    assert (clf.predict(u.X, alone) != found.y_row).any()
    assert clf.score(u.X, u.y, alone) != score
    # rows' labels vote for their group, not their probabilities
    votes = found.groups.mean(found.code_row)
    untied = votes != 0.5
    np.testing.assert_array_equal(found.code_group[untied], votes[untied] > 0.5)


@pytest.mark.parametrize(
    "ask", ["predict", "predict_proba", "decision_function", "predictions", "predict_groups"]
)
def test_a_model_of_groups_is_not_asked_without(ask):
    u = make_users(10, n_rows=30, random_state=0)
    clf = ExpectedMeasureClassifier(GaussianNB(), random_state=0).fit(u.X, u.y, groups=u.groups)
    with pytest.raises(GroupDataError, match="in view of its group: pass groups"):
        getattr(clf, ask)(u.X)
    with pytest.raises(GroupDataError, match="in view of its group"):
        clf.score(u.X, u.y)


@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@pytest.mark.parametrize("measure", ["f1", "accuracy", FBeta(without_positives="skip", beta=2.0)])
@pytest.mark.parametrize("strength", ["tuned", 5.0])
def test_a_model_of_rows_answers_rows_alone(measure, strength):
    u = make_users(10, n_rows=30, random_state=0)
    clf = ExpectedMeasureClassifier(GaussianNB(), measure=measure, strength=strength)
    clf.fit(u.X, u.y)
    p = clf.estimator_.predict_proba(u.X)[:, 1]
    np.testing.assert_array_equal(clf.predict(u.X), clf.estimator_.predict(u.X))
    kept = (p > 1e-9) & (p < 1 - 1e-9)  # elsewhere the log-odds are clipped
    np.testing.assert_allclose(clf.decision_function(u.X)[kept], np.log(p / (1 - p))[kept])


def test_a_row_in_a_group_of_its_own_is_its_likelier_class():
    """Beside groups of many rows; every group may be without positives."""
    u = make_users(10, n_rows=30, random_state=0)
    groups = np.where(np.arange(len(u.y)) < 20, 1000 + np.arange(len(u.y)), u.groups)
    clf = ExpectedMeasureClassifier(GaussianNB(), strength=5.0).fit(u.X, u.y, groups=groups)
    assert clf.may_be_empty_
    score, proba = clf.decision_function(u.X, groups), clf.predict_proba(u.X, groups)
    np.testing.assert_array_equal(score[:20] > 0, proba[:20, 1] > 0.5)
    assert len(np.unique(score[:20])) == 20


def test_a_classifier_of_groups_inside():
    """It is asked with the groups, in training as in prediction."""
    u = make_users(12, n_rows=30, random_state=0)
    inner = ExpectedMeasureClassifier(GaussianNB(), strength=np.inf)
    clf = ThresholdTunedClassifier(inner, cv=3, random_state=0).fit(u.X, u.y, groups=u.groups)
    np.testing.assert_allclose(
        clf.decision_function(u.X, u.groups),
        clf.estimator_.decision_function(u.X, u.groups) - clf.threshold_,
    )

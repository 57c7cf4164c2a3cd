"""Thresholds for groups: the best of all, and found on groups that were held out."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from groupwise import Groups
from groupwise.datasets.users import make_users
from groupwise.measures import ExpectedMeasureClassifier, ThresholdTunedClassifier
from groupwise.measures.threshold import best_threshold
from groupwise.metrics import FBeta, get_measure
from groupwise.model_selection import WholeGroupKFold, WholeGroupShuffleSplit


@pytest.mark.parametrize("name", ["f1", "accuracy", "balanced_accuracy", "matthews"])
def test_no_other_threshold_is_better(name):
    rng = np.random.default_rng(0)
    groups = Groups(rng.integers(15, size=150))
    y = rng.integers(2, size=150)
    score = rng.normal(size=150) + y
    measure = get_measure(name)
    found, value = best_threshold(y, score, groups, measure, n_candidates=2000)
    every = [measure.of(y, score - cut, groups).mean() for cut in [*score, score.min() - 1]]
    assert value >= max(every) - 1e-12
    assert value == pytest.approx(measure.of(y, score - found, groups).mean())


def test_all_scores_equal():
    y, groups = np.array([1, 1, 0]), Groups([0, 0, 0])
    found, value = best_threshold(y, np.zeros(3), groups, FBeta())
    assert found == -1.0 and value == pytest.approx(0.8)  # all rows positive


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()])
def test_chosen_on_groups_that_were_held_out(estimator):
    u = make_users(40, n_rows=60, random_state=0)
    clf = ThresholdTunedClassifier(estimator, cv=4, random_state=1).fit(u.X, u.y, groups=u.groups)
    fresh = make_users(150, n_rows=60, random_state=1)
    tuned = clf.score(fresh.X, fresh.y, groups=fresh.groups)
    plain = FBeta()(fresh.y, clf.estimator_.predict(fresh.X), fresh.groups).mean()
    assert tuned > plain
    assert 0 < clf.held_out_measure_ < 1
    np.testing.assert_array_equal(clf.predict(u.X), (clf.decision_function(u.X) > 0).astype(int))


def test_two_classes_only():
    u = make_users(10, random_state=0)
    with pytest.raises(ValueError, match="Only binary"):
        ThresholdTunedClassifier(GaussianNB()).fit(u.X, np.arange(len(u.y)) % 3, groups=u.groups)


@pytest.mark.parametrize(
    "clf",
    [ThresholdTunedClassifier(GaussianNB(), cv=3), ExpectedMeasureClassifier(GaussianNB(), cv=3)],
    ids=lambda clf: type(clf).__name__,
)
def test_cv_is_a_number_or_a_splitter(clf):
    u = make_users(12, n_rows=30, random_state=0)
    given = {"X": u.X, "y": u.y, "groups": u.groups}
    rng = np.random.RandomState(3)  # the folds come first
    by_number = clone(clf).set_params(random_state=3).fit(**given)
    splitter = WholeGroupKFold(3, stratify=False, random_state=rng)
    by_splitter = clone(clf).set_params(cv=splitter, random_state=0).fit(**given)
    assert by_splitter.held_out_measure_ == by_number.held_out_measure_
    for cv, message in (
        (1, "cv must be a whole number"),
        ("three", "a number of folds or a splitter"),
        (WholeGroupShuffleSplit(2, stratify=False), "must test every row once"),
        (KFold(2), "cv divides group"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(clf).set_params(cv=cv).fit(**given)

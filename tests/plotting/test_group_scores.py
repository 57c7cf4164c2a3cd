import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.naive_bayes import GaussianNB

from groupwise.datasets.users import make_users
from groupwise.measures import ExpectedMeasureClassifier, FocusedAdaBoostClassifier
from groupwise.metrics import FBeta, make_scorer
from groupwise.plotting.group_scores import GroupScoresDisplay


def test_steps_are_the_groups_scores_and_the_worst_is_named():
    u = make_users(15, n_rows=30, positive=0.3, random_state=0)
    clf = FocusedAdaBoostClassifier(n_estimators=4).fit(u.X, u.y, groups=u.groups)
    display = GroupScoresDisplay.from_estimator(clf, u.X, u.y, groups=u.groups)
    value = FBeta()(u.y, clf.decision_function(u.X), u.groups)
    np.testing.assert_allclose(display.ax_.lines[0].get_xdata(), np.sort(value))
    assert display.ax_.texts[0].get_text() == f"worst: {np.argmin(value)}"
    assert f"mean {value.mean():.3f}" in display.ax_.lines[0].get_label()


def test_several_methods_on_given_axes_and_groups_left_out():
    ax = Figure().subplots()
    values = {"one": pd.Series([0.2, np.nan, 0.1], index=list("abc")), "two": [0.5, 0.6]}
    display = GroupScoresDisplay.from_values(values, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert ax.lines[0].get_xdata() == pytest.approx([0.1, 0.2])
    assert [text.get_text() for text in ax.texts] == ["worst: c", "worst: 0"]


def test_the_estimator_is_told_the_groups(above_group_mean):
    u = make_users(15, n_rows=30, positive=0.3, random_state=0)
    clf = above_group_mean.fit(u.X, u.y)
    display = GroupScoresDisplay.from_estimator(clf, u.X, u.y, groups=u.groups)
    value = make_scorer("f1")(clf, u.X, u.y, groups=u.groups)
    assert display.values["AboveGroupMean"].mean() == pytest.approx(value)
    alone = FBeta()(u.y, np.zeros(len(u.y)), u.groups)  # what it answers without groups
    assert value > 0.3 > alone.mean()


def test_what_is_drawn_is_the_score():
    u = make_users(20, n_rows=40, positive=0.3, random_state=1)
    clf = ExpectedMeasureClassifier(GaussianNB(), random_state=0).fit(u.X, u.y, groups=u.groups)
    display = GroupScoresDisplay.from_estimator(clf, u.X, u.y, groups=u.groups)
    (drawn,) = display.values.values()
    assert drawn.mean() == pytest.approx(clf.score(u.X, u.y, groups=u.groups))

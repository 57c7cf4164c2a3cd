import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from groupwise.datasets.users import make_users
from groupwise.measures import FocusedAdaBoostClassifier
from groupwise.metrics import FBeta
from groupwise.plotting.measures import GroupScoresDisplay


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

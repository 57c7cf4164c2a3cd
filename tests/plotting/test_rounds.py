import numpy as np
import pytest
from matplotlib.figure import Figure

from groupwise import SBoostClassifier
from groupwise.plotting import RoundsDisplay


def test_lines_are_the_errors(sessions):
    clf = SBoostClassifier(n_estimators=4).fit(sessions.X, sessions.y, groups=sessions.groups)
    display = RoundsDisplay.from_estimator(clf, sessions.X, sessions.y, groups=sessions.groups)
    (line,) = display.ax_.lines
    scores = clf.staged_score(sessions.X, sessions.y, groups=sessions.groups)
    np.testing.assert_allclose(line.get_ydata(), [1 - s for s in scores])
    assert line.get_label() == "SBoostClassifier"


def test_mean_and_band_on_given_axes():
    ax = Figure().subplots()
    display = RoundsDisplay.from_predictions(
        {"one": [[0.2, 0.1], [0.4, 0.1]], "two": [0.3, 0.2]}, ax=ax
    )
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert ax.lines[0].get_ydata() == pytest.approx([0.3, 0.1])
    assert len(ax.collections) == 1  # a band only where there are several runs
    assert ax.get_ylim()[0] == 0

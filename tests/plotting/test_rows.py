import numpy as np
import pytest
from matplotlib.figure import Figure

from groupwise import SBoostClassifier
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.plotting import (
    GroupScoresDisplay,
    MarginsDisplay,
    ReliabilityDisplay,
    SourceRowsDisplay,
    TimelineDisplay,
)
from groupwise.transfer import TrAdaBoostClassifier


@pytest.fixture
def clf(sessions):
    return SBoostClassifier(n_estimators=4).fit(sessions.X, sessions.y, groups=sessions.groups)


def test_timeline_bars_are_the_rows_weights(sessions, clf):
    group = sessions.groups[0]
    rows = np.flatnonzero(sessions.groups == group)
    display = TimelineDisplay.from_estimator(clf, sessions.X, groups=sessions.groups, group=group)
    proba = clf.predict_proba(sessions.X[rows])
    label = np.searchsorted(clf.classes_, clf.predict_groups(sessions.X[rows], groups=[0] * 5))[0]
    expected = proba[:, label] / proba[:, label].sum()
    bars = sorted(display.ax_.patches, key=lambda bar: bar.get_x())
    np.testing.assert_allclose([bar.get_height() for bar in bars], expected)
    colours = {bar.get_facecolor() for bar in bars}
    assert len(colours) == len(np.unique(proba.argmax(axis=1)))
    with pytest.raises(ValueError, match="there is no group 'nobody'"):
        TimelineDisplay.from_estimator(clf, sessions.X, groups=sessions.groups, group="nobody")


def test_timeline_and_reliability_of_a_model_that_decides_by_groups(above_group_mean):
    X, groups = np.array([[1.0], [3.0], [8.0], [9.0]]), np.array(["a", "a", "b", "b"])
    y = np.array(["lo", "hi", "lo", "hi"])
    clf = above_group_mean.fit(X, y)
    clf.classes_ = np.array(["lo", "hi"])
    display = TimelineDisplay.from_estimator(clf, X, groups=groups, group="b")
    assert display.predicted.tolist() == ["lo", "hi"]
    assert ReliabilityDisplay.from_estimator(clf, X, y, groups=groups).right.sum() == 4
    assert ReliabilityDisplay.from_estimator(clf, X, y).right.sum() == 2


def test_timeline_without_weights_on_given_axes():
    ax = Figure().subplots()
    display = TimelineDisplay.from_predictions(["a", "b", "a"], name="s7", ax=ax)
    assert display.ax_ is ax and ax.get_title() == "group s7"
    assert [bar.get_height() for bar in ax.patches] == [1, 1, 1] and len(ax.get_yticks()) == 0
    with pytest.raises(ValueError, match="one weight per row"):
        TimelineDisplay(["a"], [0.5, 0.5])


def test_reliability_by_hand():
    proba = np.array([[0.95, 0.05], [0.91, 0.09], [0.2, 0.8], [0.3, 0.7]])
    display = ReliabilityDisplay.from_predictions(["a", "b", "b", "b"], proba, classes=["a", "b"])
    points = display.ax_.lines[0].get_xydata()
    np.testing.assert_allclose(points, [[0.7, 1.0], [0.8, 1.0], [0.93, 0.5]])
    assert display.error_ == pytest.approx((0.3 + 0.2 + 2 * 0.43) / 4)
    with pytest.raises(ValueError, match="one entry per bin"):
        ReliabilityDisplay([1, 2], [1.0], [1])
    with pytest.raises(ValueError, match="no rows"):
        ReliabilityDisplay([0], [0.0], [0])


def test_reliability_from_a_model(sessions, clf):
    ax = Figure().subplots()
    display = ReliabilityDisplay.from_estimator(clf, sessions.X, sessions.y, ax=ax, n_bins=5)
    assert display.n.sum() == len(sessions.y) and display.figure_ is ax.figure


def test_margins_are_scores_towards_the_label(sessions, clf):
    which = [sessions.groups[0], sessions.groups[-1]]
    display = MarginsDisplay.from_estimator(
        clf, sessions.X, sessions.y, groups=sessions.groups, which=which
    )
    last = list(clf.staged_decision_function(sessions.X))[-1]
    sign = np.where(sessions.y == clf.classes_[1], 1, -1)
    rows = np.flatnonzero(sessions.groups == which[0])
    ends = [line.get_ydata()[-1] for line in display.ax_.lines[: len(rows)]]
    np.testing.assert_allclose(ends, (last * sign)[rows])
    ax = Figure().subplots()
    MarginsDisplay.from_predictions({"g": [[1.0, 2.0, 3.0]]}, step=10, ax=ax)
    assert ax.lines[0].get_xdata().tolist() == [1, 11, 21]
    row = np.arange(len(sessions.y))
    three = SBoostClassifier(n_estimators=2).fit(sessions.X, row % 3, groups=row)
    with pytest.raises(ValueError, match="two classes, there are 3"):
        MarginsDisplay.from_estimator(three, sessions.X, sessions.y, groups=None, which=[0])


def test_weights_of_source_rows():
    d = make_shifted_domains(random_state=0)
    clf = TrAdaBoostClassifier(n_estimators=5, target_domain="target").fit(
        d.X, d.y, domains=d.domains
    )
    display = SourceRowsDisplay.from_estimator(clf, domains=d.domains)
    for line, (name, weight) in zip(display.ax_.lines, display.weights.items(), strict=True):
        inside = clf.row_weights_[np.asarray(d.domains) == name] / clf.row_weights_.mean()
        np.testing.assert_allclose(line.get_ydata(), np.sort(inside)[::-1])
        assert line.get_label() == f"{name} ({len(weight)} rows)"
    ax = Figure().subplots()
    assert SourceRowsDisplay.from_predictions({"a": [1.0, 3.0]}, ax=ax).ax_ is ax
    with pytest.raises(ValueError, match="domain 'b' has no rows"):
        SourceRowsDisplay.from_predictions({"b": []})


def test_several_worst_groups_are_named_in_the_legend():
    display = GroupScoresDisplay.from_values({"m": [0.3, 0.1, 0.2]}, n_named=2)
    assert display.ax_.lines[0].get_label() == "m (mean 0.200; worst: 1, 2)"
    assert not display.ax_.texts

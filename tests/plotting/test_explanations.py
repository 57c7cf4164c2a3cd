"""Pictures of promises and reasons."""

import numpy as np
import pytest

from groupwise.plotting import (
    ContributionsDisplay,
    CoverageDisplay,
    ImportanceDisplay,
    RemovalDisplay,
)


def test_coverage_is_drawn_over_the_band_of_chance():
    display = CoverageDisplay([0.5, 0.9], [0.6, 0.88], n_groups=100).plot()
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), [0.6, 0.88])
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(band.max(), 0.9 + 1.96 * 0.03)
    with pytest.raises(ValueError, match="one entry per level"):
        CoverageDisplay([0.5], [0.6, 0.7], n_groups=3)


def test_small_contributions_are_one_bar():
    display = ContributionsDisplay([0.1, -0.5, 0.3, 0.05], list("abcd"), n_shown=2).plot()
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, [-0.5, 0.3, 0.15])
    again = ContributionsDisplay([1.0], ["a"]).plot(ax=display.ax_)
    assert again.ax_ is display.ax_
    with pytest.raises(ValueError, match="one number for each"):
        ContributionsDisplay([1.0, 2.0], ["a"])


def test_importance_has_its_intervals():
    display = ImportanceDisplay(["a", "b"], [0.1, 0.3], [0.0, 0.2], [0.2, 0.5]).plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "b"]
    ends = display.ax_.collections[0].get_segments()[1][:, 0]
    np.testing.assert_allclose(ends, [0.2, 0.5])
    with pytest.raises(ValueError, match="one number per name"):
        ImportanceDisplay(["a"], [0.1, 0.3], [0.0, 0.2], [0.2, 0.5])


def test_curves_have_their_areas():
    curves = {"shares": [[0.8, 0.2], [1.0, 0.0]], "at random": [[0.8, 0.6], [1.0, 0.8]]}
    display = RemovalDisplay([0.0, 0.5], curves).plot()
    assert display.area_ == pytest.approx({"shares": 0.5, "at random": 0.8})
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), [0.9, 0.1])
    with pytest.raises(ValueError, match="2 steps per group"):
        RemovalDisplay([0.0, 0.5], {"short": [[1.0]]})

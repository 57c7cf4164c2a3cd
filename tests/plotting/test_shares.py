"""Predicted against known shares."""

import numpy as np
import pytest

from groupwise.plotting.shares import SharesDisplay


def test_display_of_shares():
    y = np.array(["a", "b", "b", "b"])
    shares = np.array([[0.4, 0.6], [0.1, 0.9]])
    display = SharesDisplay.from_predictions(y, shares, groups=[0, 0, 1, 1], classes=["a", "b"])
    dots = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(dots, [[0.5, 0.6], [1.0, 0.9]])
    assert display.figure_ is display.ax_.figure
    on_same = SharesDisplay(shares, shares, ["a", "b"]).plot(ax=display.ax_)
    assert on_same.ax_ is display.ax_
    with pytest.raises(ValueError, match="one shape"):
        SharesDisplay(shares, shares[:1], ["a", "b"])

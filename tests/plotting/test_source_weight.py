import numpy as np
import pytest

from groupwise.datasets.transfer import make_shifted_domains
from groupwise.plotting.source_weight import SourceWeightDisplay
from groupwise.transfer import TrAdaBoostClassifier


@pytest.fixture
def shifted():
    return make_shifted_domains(300, 40, random_state=3)


@pytest.fixture
def fitted(shifted):
    clf = TrAdaBoostClassifier(n_estimators=6, target_domain="target", random_state=0)
    return clf.fit(shifted.X, shifted.y, domains=shifted.domains)


def test_lines_hold_shares_and_errors(fitted, shifted, tmp_path):
    display = SourceWeightDisplay.from_estimator(
        fitted, shifted.X, shifted.y, domains=shifted.domains
    )
    for line, share in zip(display.axes_[0].lines, fitted.history_["domain_mass"].T, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), share)
    rows = shifted.domains == "target"
    last = np.mean(fitted.predict(shifted.X)[rows] != shifted.y[rows])
    assert display.axes_[1].lines[0].get_ydata()[-1] == pytest.approx(last)
    display.figure_.savefig(tmp_path / "weights.png")


def test_shares_alone_and_given_axes(fitted):
    alone = SourceWeightDisplay.from_estimator(fitted)
    assert len(alone.axes_) == 1
    again = SourceWeightDisplay.from_estimator(fitted, axes=alone.axes_[0])
    assert len(again.axes_[0].lines) == 4


def test_shapes_that_do_not_fit(fitted):
    with pytest.raises(ValueError, match="one column per name"):
        SourceWeightDisplay(np.zeros((3, 2)), ["one"])
    with pytest.raises(ValueError, match="expected 2 axes, got 1"):
        SourceWeightDisplay(np.zeros((3, 1)), ["one"], [0.1, 0.2]).plot(
            axes=SourceWeightDisplay.from_estimator(fitted).axes_[0]
        )

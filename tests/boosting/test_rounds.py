import numpy as np
import pytest

from groupwise.boosting import Rounds, boost, step_size
from groupwise.boosting.rounds import LEAST_ERROR


class Countdown(Rounds):
    """Keeps hypotheses until a number is negative (refused) or zero (the last one kept)."""

    values = ("left",)

    def __init__(self):
        super().__init__()
        self.weight_row = np.array([1.0])

    def update(self, output):
        left = int(output[0])
        if left < 0:
            return True
        self.weight_row = self.weight_row * 2.0
        self.record(0.5 * left, left=left)
        return left == 0


class Scripted:
    def __init__(self, outputs):
        self.outputs, self.shown = list(outputs), []

    def fit(self, target, weight):
        self.shown.append((target, weight[0]))
        return np.array([self.outputs[len(self.shown) - 1]])


@pytest.mark.parametrize(
    ("outputs", "kept", "n_fits"),
    [
        ([3, 2, 1, 0, 5], [3, 2, 1, 0], 4),  # ends with a hypothesis that is kept
        ([3, -1, 5], [3], 2),  # ends at one that is not
        ([9, 8, 7, 6, 5, 4], [9, 8, 7, 6, 5], 5),  # n_rounds
        ([-1], [], 1),
    ],
)
def test_the_loop(outputs, kept, n_fits):
    run, rounds, target = Scripted(outputs), Countdown(), np.array([1])
    boost(run, target, rounds, 5)
    assert rounds.alphas == [0.5 * left for left in kept]
    assert rounds.history("left").tolist() == kept
    assert [weight for _, weight in run.shown] == [2.0**k for k in range(n_fits)]
    assert all(shown is target for shown, _ in run.shown)


def test_step_sizes_by_hand():
    assert step_size(0.2) == pytest.approx(0.5 * np.log(4))
    assert step_size(0.2, gamma=3.0) == pytest.approx(0.5 * np.log(4) / 4)
    assert step_size(0.5) == 0.0
    assert step_size(2 / 3, 3) == pytest.approx(0.0)  # as good as a die with three faces
    assert step_size(0.0) == step_size(LEAST_ERROR)
    assert step_size(1.0) == pytest.approx(-step_size(0.0))

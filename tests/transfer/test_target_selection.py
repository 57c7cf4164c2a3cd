import numpy as np

from groupwise.transfer.target_selection import _HeldOutErrors, _selection


def test_candidates_with_the_same_errors_and_losses_go_by_their_order():
    wrong, margin = np.array([True, False, False]), np.array([-1.0, 1.0, 1.0])
    other = np.array([-1.0, 1.0, np.nextafter(1.0, 2.0)])  # better, but only by rounding
    held_out = {name: _HeldOutErrors(wrong, m) for name, m in (("a", margin), ("b", other))}
    assert _selection(held_out, ["a", "b"]).chosen == "a"
    assert _selection(held_out, ["b", "a"]).chosen == "b"

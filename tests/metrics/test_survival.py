"""Concordance of survival times."""

import numpy as np

from groupwise.metrics import concordance


def test_agrees_with_lifelines():
    number = np.arange(24)
    time = (1.0 + (7 * number) % 11) * np.where(number % 4 == 0, -1.0, 1.0)
    risk = np.sin(1.7 * number) + 0.5 * np.cos(0.9 * number)
    assert np.isclose(concordance(time, risk), 0.46113989637305697)  # lifelines 0.30.3


def test_equal_risks_are_chance_and_the_reverse_is_one_less():
    time = np.array([1.0, -2.0, 3.0, 3.0, 5.0])
    risk = np.array([0.3, 0.1, 0.7, 0.2, 0.0])
    assert concordance(time, np.zeros(5)) == 0.5
    assert np.isclose(concordance(time, risk) + concordance(time, -risk), 1.0)
    assert concordance([-1.0, -2.0], [0.0, 1.0]) == 0.5  # nothing to compare

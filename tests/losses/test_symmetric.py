"""Expectations of rows by symmetric polynomials, against sums over all sets of rows."""

from itertools import combinations

import numpy as np
import pytest

from groupwise.losses.symmetric import correlate_halves, expect_rows


def over_all_sets(odds, likelihood):
    """Of one group: every set of positives has the product of its odds as weight."""
    total, of_row = 0.0, np.zeros(len(odds))
    for count, likely in enumerate(likelihood):
        for positive in combinations(range(len(odds)), count):
            weight = likely * np.prod(odds[list(positive)])
            total += weight
            of_row[list(positive)] += weight
    return of_row / total


def by_halves(odds, likelihood):
    found = odds.copy()
    expect_rows(
        found, max(1, len(likelihood) - 1), lambda halves: correlate_halves(likelihood, halves)
    )
    return found


@pytest.mark.parametrize("size", [2, 4, 6, 8, 10, 12, 14])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 5, 14])
def test_expectations_are_those_over_all_sets(size, most):
    rng = np.random.default_rng(size + 100 * most)
    most = min(size, most)
    odds = np.exp(2.0 * rng.normal(size=(size, 3)))
    odds[-1, 1] = 0.0  # a row that the group does not have
    likelihood = rng.random((most + 1, 3))
    expected = np.transpose(
        [over_all_sets(o, w) for o, w in zip(odds.T, likelihood.T, strict=True)]
    )
    np.testing.assert_allclose(by_halves(odds, likelihood), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("size", [22, 60, 126, 128])
def test_the_order_of_rows_does_not_matter(size):
    """However they fall into halves; and with a known count the expectations add up to it."""
    rng = np.random.default_rng(size)
    odds, count = np.exp(rng.normal(size=(size, 4))), np.array([1, 2, 9, size // 2])
    likelihood = np.zeros((size // 2 + 1, 4))
    likelihood[count, np.arange(4)] = 1.0
    order = rng.permutation(size)
    found = by_halves(odds, likelihood)
    np.testing.assert_allclose(by_halves(odds[order], likelihood), found[order], rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), count, rtol=1e-12)


def test_odds_that_are_alike_share_the_count():
    likelihood = np.zeros((4, 1))
    likelihood[3] = 1.0
    assert np.allclose(by_halves(np.full((10, 1), 7.0), likelihood), 0.3, rtol=1e-14)

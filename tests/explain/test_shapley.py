"""Closed forms against the definition, over all subsets of up to twelve rows."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from groupwise.explain import shapley_maximum, shapley_mean, shapley_noisy_or, shapley_vote
from groupwise.groups import Groups

BASE = 0.5


def maximum(values, n):
    return max(values, default=0.0)


def noisy_or(values, n):
    return 1.0 - np.prod(1.0 - np.array(values))


def mean(values, n):
    return (sum(values) + (n - len(values)) * BASE) / n


def brute_force(value, game):
    """The mean over all orders of what a row adds, by subsets."""
    n = len(value)
    share = np.zeros(n)
    for row in range(n):
        others = [k for k in range(n) if k != row]
        for size in range(n):
            weight = 1.0 / (n * comb(n - 1, size))
            for subset in combinations(others, size):
                chosen = [value[k] for k in subset]
                share[row] += weight * (game([*chosen, value[row]], n) - game(chosen, n))
    return share


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_closed_forms_agree_with_all_subsets(n):
    value = np.random.RandomState(n).uniform(size=n).round(1)  # with ties
    groups = Groups(np.zeros(n))
    assert np.allclose(shapley_maximum(value, groups), brute_force(value, maximum), atol=1e-12)
    assert np.allclose(shapley_noisy_or(value, groups), brute_force(value, noisy_or), atol=1e-12)
    assert np.allclose(shapley_mean(value, groups, BASE), brute_force(value, mean), atol=1e-12)


def all_subsets(value, game):
    """The same for games of a set of rows, vectorised over all 2^n of them."""
    n = len(value)
    inside = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    worth = game(inside)
    size = inside.sum(axis=1)
    weight = 1.0 / (n * np.array([comb(n - 1, k) for k in range(n)]))
    share = np.empty(n)
    for row in range(n):
        without = np.flatnonzero(inside[:, row] == 0)
        share[row] = weight[size[without]] @ (worth[without | (1 << row)] - worth[without])
    return share


def test_twelve_rows():
    proba = np.random.RandomState(0).uniform(size=12)
    groups = Groups(np.zeros(12))
    found = all_subsets(proba, lambda inside: (inside * proba).max(axis=1))
    assert np.allclose(shapley_maximum(proba, groups), found, atol=1e-12)
    found = all_subsets(proba, lambda inside: 1 - np.prod(1 - inside * proba, axis=1))
    assert np.allclose(shapley_noisy_or(proba, groups), found, atol=1e-12)
    vote = (proba > 0.5).astype(float)

    def votes(inside):  # rows left out know nothing
        known = inside * (vote + proba / 12) / 13
        return known.sum(axis=1) + (1 - inside).sum(axis=1) * BASE / 12

    found = all_subsets(proba, votes)
    assert np.allclose(shapley_vote(vote, proba, groups, BASE), found, atol=1e-12)


@pytest.mark.parametrize("share", [shapley_maximum, shapley_noisy_or, shapley_mean])
def test_groups_do_not_mix_and_order_does_not_matter(share):
    rng = np.random.RandomState(0)
    value, ids = rng.uniform(size=60), rng.choice(["a", "b", "c"], size=60)
    groups = Groups(ids)
    found = share(value, groups)
    for name in "abc":
        alone = share(value[ids == name], Groups(ids[ids == name]))
        assert np.allclose(found[ids == name], alone)
    order = rng.permutation(60)
    assert np.allclose(share(value[order], Groups(ids[order])), found[order])


@pytest.mark.parametrize("n", [128, 2000])
def test_noisy_or_of_large_groups_adds_up(n):
    proba = np.random.RandomState(0).uniform(size=n) ** 3
    proba[0] = 1.0
    share = shapley_noisy_or(proba, Groups(np.zeros(n)))
    assert np.isclose(share.sum(), 1.0)
    assert share.argmax() == 0 and (share >= 0).all()
    assert np.allclose(shapley_noisy_or(np.zeros(n), Groups(np.zeros(n))), 0.0)

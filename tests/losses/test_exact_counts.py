"""The exact likelihood of counts of several classes."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from groupwise import Groups
from groupwise.losses import CountLikelihoodLoss, ExactCountLoss, exact_counts


def drawn(sizes, n_classes, seed):
    rng = np.random.default_rng(seed)
    groups = Groups(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    share = groups.mean(np.eye(n_classes)[rng.integers(n_classes, size=groups.n_rows)])
    return groups, share, rng.normal(size=(groups.n_rows, n_classes))


def enumerated(groups, share, score):
    """Loss and expectations from all labellings of every group."""
    p = softmax(score, axis=1)
    total, expected = 0.0, np.zeros(score.shape)
    for g in range(groups.n_groups):
        rows = np.flatnonzero(groups.codes == g)
        count = np.rint(share[g] * len(rows)).astype(int)
        likely = 0.0
        for labels in product(range(score.shape[1]), repeat=len(rows)):
            if (np.bincount(labels, minlength=score.shape[1]) == count).all():
                chance = p[rows, labels].prod()
                likely += chance
                expected[rows, labels] += chance
        expected[rows] /= likely
        total -= np.log(likely)
    return total, expected


@pytest.mark.parametrize("n_classes", [3, 4])
def test_all_labellings_by_hand(n_classes):
    groups, share, score = drawn([1, 2, 3, 5, 6], n_classes, seed=n_classes)
    bound = ExactCountLoss().bind(share, groups, n_classes=n_classes)
    value, expected = enumerated(groups, share, score)
    np.testing.assert_allclose(bound.value(score), value)
    np.testing.assert_allclose(bound.gradient(score), softmax(score, axis=1) - expected, atol=1e-12)


def test_two_classes_and_a_third_that_is_nowhere_agree():
    groups, share, score = drawn([3, 7, 12, 20], 2, seed=0)
    two = CountLikelihoodLoss().bind(share, groups)
    three = ExactCountLoss().bind(np.column_stack([share, np.zeros(4)]), groups, n_classes=3)
    log_odds = score[:, 1] - score[:, 0]
    far = np.column_stack([np.zeros(42), log_odds, np.full(42, -50.0)])
    np.testing.assert_allclose(three.value(far), two.value(log_odds))
    np.testing.assert_allclose(three.gradient(far)[:, 1], two.gradient(log_odds), atol=1e-9)


def test_one_row_is_cross_entropy():
    rng = np.random.default_rng(1)
    y, score = rng.integers(4, size=30), rng.normal(size=(30, 4))
    bound = ExactCountLoss().bind(np.eye(4)[y], Groups(np.arange(30)), n_classes=4)
    np.testing.assert_allclose(bound.value(score), -log_softmax(score, axis=1)[range(30), y].sum())
    np.testing.assert_allclose(bound.gradient(score), softmax(score, axis=1) - np.eye(4)[y])


def test_large_tables_are_approximated(monkeypatch):
    groups, share, score = drawn([6, 90], 3, seed=2)
    exact = ExactCountLoss().bind(share, groups, n_classes=3)
    near = CountLikelihoodLoss().bind(share, groups, n_classes=3)
    large = groups.codes == 1
    np.testing.assert_allclose(exact.gradient(score)[large], near.gradient(score)[large], atol=1e-8)
    assert np.abs(exact.gradient(score) - near.gradient(score))[~large].max() > 1e-4
    monkeypatch.setattr(exact_counts, "LARGEST_TABLE", 0)
    none = ExactCountLoss().bind(share, groups, n_classes=3)
    np.testing.assert_allclose(none.value(score), near.value(score))


@pytest.mark.parametrize("scale", [30.0, 1e3, 1e6])
def test_finite_for_any_score(scale):
    groups, share, score = drawn([4, 9, 15], 3, seed=5)
    bound = ExactCountLoss().bind(share, groups, n_classes=3)
    assert np.isfinite(bound.value(scale * score))
    assert np.isfinite(bound.gradient(scale * score)).all()


def test_names_of_classes_do_not_matter():
    groups, share, score = drawn([4, 9, 15], 4, seed=6)
    turn = [2, 0, 3, 1]
    first = ExactCountLoss().bind(share, groups, n_classes=4)
    second = ExactCountLoss().bind(share[:, turn], groups, n_classes=4)
    np.testing.assert_allclose(first.value(score), second.value(score[:, turn]))
    np.testing.assert_allclose(first.gradient(score)[:, turn], second.gradient(score[:, turn]))

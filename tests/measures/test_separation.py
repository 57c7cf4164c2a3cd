"""The most violated labelling, against all labellings and numerical derivatives."""

from itertools import product

import numpy as np
import pytest

from groupwise import Groups
from groupwise.measures.separation import (
    AccuracyOracle,
    GroupF1Oracle,
    PrecisionOracle,
    ROCOracle,
)
from groupwise.metrics import FBeta


def rows(seed, n=9):
    rng = np.random.default_rng(seed)
    positive = rng.uniform(size=n) < 0.4
    positive[:2] = True, False
    return positive, rng.normal(size=n), rng.integers(3, size=n)


def labellings(n):
    return np.array(list(product([False, True], repeat=n)))


def shares(positive, said, scale_row):
    return np.where(positive & ~said, 1.0, np.where(said & ~positive, -1.0, 0.0)) / scale_row


@pytest.mark.parametrize("seed", range(25))
def test_group_f1_against_all_labellings(seed):
    """Groups without positives and groups without negatives among them."""
    positive, score, ids = rows(seed)
    groups = Groups(ids)
    n_high = np.bincount(groups.codes[positive], minlength=len(groups))
    scale = (len(groups) * np.maximum(n_high, 1))[groups.codes]
    best = max(
        1 - FBeta()(positive, said, groups).mean() - shares(positive, said, scale) @ score
        for said in labellings(len(score))
    )
    found = GroupF1Oracle(positive, groups).worst(score)
    assert found.value(score) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_f1_is_one_group_and_ties_do_no_harm(seed):
    positive, score, _ = rows(seed)
    score = np.round(score)
    one = Groups(np.zeros(len(score)))
    best = max(
        1 - FBeta()(positive, said, one)[0] - shares(positive, said, positive.sum()) @ score
        for said in labellings(len(score))
    )
    assert GroupF1Oracle(positive, one).worst(score).value(score) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [1, 4, 9])
def test_precision_at_k_against_all_labellings(seed, k):
    positive, score, _ = rows(seed)
    best = max(
        1 - (said & positive).sum() / k - shares(positive, said, positive.sum()) @ score
        for said in labellings(len(score))
        if said.sum() == k
    )
    assert PrecisionOracle(positive, k).worst(score).value(score) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_and_roc_area_are_mean_hinge_losses(seed):
    positive, score, _ = rows(seed, n=30)
    sign = np.where(positive, 1, -1)
    hinge = np.maximum(0, 1 - sign * score).mean()
    assert AccuracyOracle(positive).worst(score).value(score) == pytest.approx(hinge)
    pairs = np.maximum(0, 1 - (score[positive][:, None] - score[~positive])).mean()
    assert ROCOracle(positive).worst(score).value(score) == pytest.approx(pairs)


@pytest.mark.parametrize(
    "make",
    [
        AccuracyOracle,
        ROCOracle,
        lambda p: PrecisionOracle(p, 5),
        lambda p: GroupF1Oracle(p, Groups(np.arange(len(p)) % 4)),
    ],
)
def test_shares_are_the_negative_gradient(make):
    positive, score, _ = rows(3, n=40)
    oracle = make(positive)
    found, step = oracle.worst(score), 1e-6
    for row in range(40):
        moved = score.copy()
        moved[row] += step
        slope = (oracle.worst(moved).value(moved) - found.value(score)) / step
        assert slope == pytest.approx(-found.share_row[row], abs=1e-5)

"""The decision for the largest expected F: against enumeration, and its limit cases."""

from itertools import product

import numpy as np
import pytest

from groupwise import Groups
from groupwise.measures.decision import best_f_cuts, with_own_shares
from groupwise.metrics import FBeta


def enumerate_f(p, beta):
    """Expected F of every labelling, over all truths: 4^m terms."""
    m = len(p)
    all_labels = np.array(list(product([0, 1], repeat=m)))
    probability = np.prod(np.where(all_labels == 1, p, 1 - p), axis=1)
    best, best_value = None, -1.0
    for said in all_labels:
        above = (1 + beta**2) * all_labels @ said
        below = beta**2 * all_labels.sum(axis=1) + said.sum()
        value = probability @ np.where(below > 0, above / np.maximum(below, 1e-9), 1.0)
        if value > best_value + 1e-12:
            best, best_value = said, value
    return best, best_value


@pytest.mark.parametrize("beta", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_best_labelling_of_all(seed, beta):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, size=12)
    groups = Groups(np.repeat(np.arange(12), sizes))
    p = rng.beta(0.6, 1.2, size=len(groups.codes))
    cuts = best_f_cuts(p, groups, beta=beta)
    for g in range(12):
        rows = groups.codes == g
        said, value = enumerate_f(p[rows], beta)
        assert cuts.value[g] == pytest.approx(value, abs=1e-10)
        log_odds = np.log(p[rows] / (1 - p[rows]))
        np.testing.assert_array_equal(log_odds > cuts.cut[g], said == 1)
        assert cuts.n_pred[g] == said.sum()


def test_many_positives_against_sampling():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=6000)
    cuts = best_f_cuts(p, Groups(np.zeros(6000)))
    truth = rng.uniform(size=(200, 6000)) < p
    said = p > 1 / (1 + np.exp(-cuts.cut[0]))
    both = (truth & said).sum(axis=1)
    f = 2 * both / (truth.sum(axis=1) + said.sum())
    assert cuts.value[0] == pytest.approx(f.mean(), abs=4 * f.std() / np.sqrt(200))
    # for many rows the cut is half the F that it reaches
    assert 1 / (1 + np.exp(-cuts.cut[0])) == pytest.approx(cuts.value[0] / 2, abs=0.01)


def test_a_group_of_one_row_is_decided_by_its_likelier_class():
    p = np.array([0.2, 0.4999, 0.5, 0.5001, 0.9])
    cuts = best_f_cuts(p, Groups.singletons(5))
    assert cuts.n_pred.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_allclose(cuts.value, np.maximum(p, 1 - p))


def test_equal_probabilities_are_decided_alike_and_order_does_not_matter():
    p = np.array([0.3, 0.3, 0.3, 0.01, 0.3])
    cuts = best_f_cuts(p, Groups(np.zeros(5)))
    assert cuts.n_pred[0] in (0, 4)
    rng = np.random.default_rng(1)
    p, ids = rng.uniform(size=60), rng.integers(6, size=60)
    order = rng.permutation(60)
    one, other = best_f_cuts(p, Groups(ids)), best_f_cuts(p[order], Groups(ids[order]))
    np.testing.assert_allclose(one.cut, other.cut)


def test_groups_that_must_have_a_positive_get_one():
    p, groups = np.array([0.01, 0.02, 0.001]), Groups([0, 0, 1])
    assert best_f_cuts(p, groups).n_pred.tolist() == [0, 0]
    assert best_f_cuts(p, groups, may_be_empty=False).n_pred.min() == 1
    assert best_f_cuts(np.array([0.0, 1.0]), groups=Groups([0, 0])).n_pred.tolist() == [1]


def test_it_raises_the_group_mean_f1_of_new_users():
    """With the true probabilities at hand the gain over every single threshold is certain."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 40)
    log_odds = rng.normal(-2, 1.5, size=400)[groups] + rng.normal(size=len(groups))
    p = 1 / (1 + np.exp(-log_odds))
    y = (rng.uniform(size=len(p)) < p).astype(int)
    cuts = best_f_cuts(p, Groups(groups))
    ours = FBeta()(y, log_odds - cuts.cut[groups], groups)
    for threshold in np.linspace(0.05, 0.6, 12):
        difference = ours - FBeta()(y, p - threshold, groups)
        assert difference.mean() > 2 * difference.std() / np.sqrt(400)


def test_own_shares_are_a_fixed_point_and_find_the_truth():
    """Two groups with shares of 5 % and 50 %, probabilities made for 20 %."""
    rng = np.random.default_rng(0)
    groups = Groups(np.repeat([0, 1], 20_000))
    y = rng.uniform(size=40_000) < np.array([0.05, 0.5])[groups.codes]
    evidence = rng.normal(size=40_000) + 2.0 * y
    log_odds = 2.0 * evidence - 2.0 + np.log(0.2 / 0.8)  # Gaussians two apart, share 20 %
    moved = with_own_shares(log_odds, groups, share=0.2, strength=0.0)
    np.testing.assert_allclose(groups.mean(1 / (1 + np.exp(-moved))), [0.05, 0.5], atol=0.015)
    assert len(np.unique(np.round(moved - log_odds, 9))) == 2
    prior = with_own_shares(log_odds, groups, share=0.2, strength=2000.0)
    own = groups.mean(1 / (1 + np.exp(-prior)))
    offset = (prior - log_odds)[groups.first_rows]
    pulled = (2000 * 0.2 + 20_000 * own) / 22_000
    np.testing.assert_allclose(offset, np.log(pulled / (1 - pulled) / 0.25), atol=1e-4)
    unchanged = with_own_shares(log_odds, groups, share=0.2, strength=np.inf)
    np.testing.assert_array_equal(unchanged, log_odds)

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from groupwise.exceptions import GroupDataError
from groupwise.metrics import constant_shares, share_error


def test_shares_counts_and_labels_say_the_same():
    groups = ["g", "g", "g", "g", "h"]
    predicted = [[0.5, 0.5], [0.8, 0.2]]
    expected = (0.25 + 0.2) / 2
    labels = ["a", "a", "a", "b", "a"]
    shares = pd.DataFrame({"b": [0.25] * 4 + [0.0], "a": [0.75] * 4 + [1.0]})
    for y in (labels, shares, shares.mul([4, 4, 4, 4, 1], axis=0)):
        assert share_error(y, predicted, groups, classes=["a", "b"]) == pytest.approx(expected)


def test_it_is_the_error_rate_for_groups_of_one():
    y, predicted = np.array([0, 1, 1, 2]), np.eye(3)[[0, 1, 2, 2]]
    assert share_error(y, predicted, np.arange(4), classes=[0, 1, 2]) == 0.25
    with pytest.raises(GroupDataError, match="4 groups and 3 classes"):
        share_error(y, predicted[:2], np.arange(4), classes=[0, 1, 2])


@pytest.mark.parametrize("seed", range(8))
def test_no_other_constant_has_less_error(seed):
    """Against the linear program: least sum of distances, shares that add up to 1."""
    rng = np.random.default_rng(seed)
    n_groups, n_classes = rng.integers(1, 12), rng.integers(2, 5)
    shares = rng.dirichlet(np.full(n_classes, 0.5), n_groups).round(rng.integers(1, 6))
    shares /= shares.sum(axis=1, keepdims=True)
    found = constant_shares(shares)
    assert found.sum() == pytest.approx(1.0) and (found >= 0).all()
    sides = np.tile(np.eye(n_classes), (n_groups, 1)), np.eye(shares.size)
    best = linprog(
        np.r_[np.zeros(n_classes), np.full(shares.size, 0.5 / n_groups)],
        A_ub=np.block([[sides[0], -sides[1]], [-sides[0], -sides[1]]]),
        b_ub=np.r_[shares.ravel(), -shares.ravel()],
        A_eq=[np.r_[np.ones(n_classes), np.zeros(shares.size)]],
        b_eq=[1.0],
    )
    assert 0.5 * np.abs(found - shares).sum(axis=1).mean() == pytest.approx(best.fun, abs=1e-9)

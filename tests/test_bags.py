import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupwise import flatten_bags, unflatten_bags
from groupwise.exceptions import GroupDataError


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_bags_there_and_back(sizes):
    bags = [np.full((size, 2), k) + np.arange(size)[:, None] for k, size in enumerate(sizes)]
    labels = np.array([f"c{k}" for k in range(len(bags))])
    X, y, groups = flatten_bags(bags, labels)
    again, labels_again, names = unflatten_bags(X, y, groups)
    assert all(np.array_equal(a, b) for a, b in zip(bags, again, strict=True))
    np.testing.assert_array_equal(labels, labels_again)
    np.testing.assert_array_equal(names, np.arange(len(bags)))


def test_bad_bags():
    with pytest.raises(GroupDataError, match="no bags"):
        flatten_bags([], [])
    with pytest.raises(GroupDataError, match=r"one entry per bag \(1\)"):
        flatten_bags([np.ones((1, 2))], [0, 1])
    with pytest.raises(GroupDataError, match=r"bag 1 .* got shape \(2, 3\)"):
        flatten_bags([np.ones((1, 2)), np.ones((2, 3))], [0, 1])
    with pytest.raises(GroupDataError, match=r"bag 1 .* at least one row"):
        flatten_bags([np.ones((1, 2)), np.ones((0, 2))], [0, 1])
    with pytest.raises(GroupDataError, match=r"one id per row \(3\), got 2"):
        unflatten_bags(np.ones((3, 1)), [0, 0, 0], [0, 0])

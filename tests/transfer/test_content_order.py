import numpy as np
import pytest
from scipy import sparse

from groupwise.transfer.content_order import content_order


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_rows_come_in_the_same_order_however_they_were_given(kind):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(50, 4)).round(1), rng.randint(2, size=50)
    X[rng.uniform(size=X.shape) < 0.4] = 0.0
    first = content_order(kind(X), y)
    assert sorted(first) == list(range(50))
    for seed in range(3):
        given = np.random.RandomState(seed).permutation(50)
        order = given[content_order(kind(X[given]), y[given])]
        np.testing.assert_array_equal(X[order], X[first])
        np.testing.assert_array_equal(y[order], y[first])


def test_dense_and_sparse_rows_and_both_widths_of_floats_are_ordered_alike():
    X = np.random.RandomState(1).randint(-2, 3, size=(30, 3)).astype(float)
    X[0, 0] = -0.0
    expected = X[content_order(X)]
    np.testing.assert_array_equal(X[content_order(sparse.csr_matrix(X))], expected)
    np.testing.assert_array_equal(X[content_order(X.astype(np.float32))], expected)


def test_columns_tell_rows_with_the_same_features_apart():
    X = np.ones((4, 2))
    y, weight = np.array([1, 0, 1, 0]), np.array([2.0, 3.0, 1.0, 1.0])
    assert content_order(X, y, weight).tolist() == [3, 1, 2, 0]


def test_missing_values_have_a_place():
    X = np.array([[np.nan, 1.0], [0.0, 1.0], [np.nan, 1.0]])
    order = content_order(X, np.array([1, 0, 0]))
    assert order.tolist() in ([1, 2, 0], [2, 0, 1])

"""The network's own arithmetic, against plain formulas in double precision."""

import numpy as np
import pytest
from scipy.special import softmax

from groupwise.incontext.network import load_network


@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_attention_is_a_softmax_of_any_scores(scale):
    network = load_network()
    rng = np.random.RandomState(3)
    q, k, v = (rng.normal(size=(n, 256)).astype(np.float32) for n in (300, 70, 70))
    q *= np.float32(scale)  # the larger one overflows without a shift
    found = network._attend(q.copy(), network._keys(k), network._heads(v))
    for head in range(4):
        here = slice(64 * head, 64 * head + 64)
        score = q[:, here].astype(float) @ k[:, here].T.astype(float) / 8
        expected = softmax(score, axis=1) @ v[:, here]
        np.testing.assert_allclose(found[:, here], expected, atol=1e-5 * scale)


def test_keys_are_heads_stored_transposed():
    network = load_network()
    x = np.random.RandomState(0).normal(size=(9, 256)).astype(np.float32)
    np.testing.assert_array_equal(network._keys(x), network._heads(x))
    assert network._keys(x)[0].T.flags.c_contiguous

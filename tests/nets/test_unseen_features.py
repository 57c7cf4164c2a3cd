"""Features that no training row has, beside others that few rows have."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit

from groupwise.nets import GroupNetClassifier
from groupwise.nets.passes import standardise
from groupwise.nets.rows import moments


def words(n_rows=10):
    """A dense feature, a word of one row, a word of none."""
    X = np.zeros((n_rows, 3))
    X[:, 0] = np.arange(n_rows)
    X[0, 1] = 2.0
    return X


def test_a_word_of_no_row_is_taken_for_one_of_one_row_by_hand():
    known = moments(words()).as_if_seen_once(0.9)
    # a 2 among ten: mean 0.2, variance 0.4 - 0.04
    assert_allclose(known.deviation[1:], [0.6, 0.6])
    assert_allclose(known.mean[1:], [0.2, 0.6 / np.sqrt(10)])


def test_it_is_close_to_what_a_further_row_with_the_word_would_do():
    X = words(1000)
    further = np.array([[500.0, 0.0, 2.0]])
    guess, seen = moments(X).as_if_seen_once(0.9), moments(X, more=further)
    for rows in (X, further):
        ours, theirs = (
            standardise(rows, known.mean, known.deviation)[:, 2] for known in (guess, seen)
        )
        assert_allclose(ours, theirs, rtol=0.01)


def test_constant_features_of_tables_without_rare_ones_are_left_alone():
    X = np.column_stack([np.arange(10.0), np.zeros(10), np.full(10, 3.0)])
    known = moments(X)
    assert known.as_if_seen_once(0.9) is known
    beside = moments(np.column_stack([words(), np.full(10, 3.0)]))
    assert_array_equal(beside.as_if_seen_once(0.9).deviation[[0, 3]], beside.deviation[[0, 3]])


def test_a_new_word_weighs_as_much_as_any_rare_one_and_finitely():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 30)) < 0.03) * rng.random((200, 30))
    X[:, 29] = 0.0
    groups = np.arange(200) // 10
    model = GroupNetClassifier(
        "presence", pooling="mean_max", epochs=5, device="cpu", random_state=0
    )
    model.fit(X, (groups % 2), groups=groups)
    new = np.zeros((4, 30))
    new[:, 29] = [0.0, 0.3, 0.6, 1e30]
    score = logit(model.predict_groups_proba(new, np.arange(4))[:, 1])
    assert np.isfinite(score).all()
    assert abs(score[1] - score[0]) > 0
    assert_allclose(score[2], score[3], atol=0.2 * abs(score[3] - score[0]))

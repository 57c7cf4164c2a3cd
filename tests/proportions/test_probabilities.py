"""Probabilities and their logarithms, by hand and where they underflow."""

import numpy as np
import pytest

from groupwise.proportions.probabilities import RowProba


def test_scores_of_one_column_are_log_odds_and_of_more_a_softmax():
    log_odds = np.log([[3.0], [0.25]])
    one = RowProba.of_scores(log_odds)
    np.testing.assert_allclose(one.proba, [[0.25, 0.75], [0.8, 0.2]])
    np.testing.assert_allclose(one.scores(), log_odds[:, 0])
    two = RowProba.of_scores(np.column_stack([np.full(2, 7.0), 7.0 + log_odds[:, 0]]))
    np.testing.assert_allclose(two.proba, one.proba)
    np.testing.assert_allclose(two.scores(), one.scores())
    three = RowProba.of_scores(np.log([[1.0, 2.0, 5.0]]) - 4.0)
    np.testing.assert_allclose(three.scores(), np.log([[0.125, 0.25, 0.625]]))


@pytest.mark.parametrize("score", [[[-5e4]], [[5e4, 0.0]], [[5e4, 0.0, -5e4]]])
def test_scores_do_not_saturate_with_their_probabilities(score):
    score = np.array(score)
    found = RowProba.of_scores(score)
    assert np.isfinite(found.scores()).all() and found.proba.min() == 0.0
    if score.shape[1] < 3:
        np.testing.assert_allclose(found.scores(), [-5e4])
    else:
        np.testing.assert_allclose(found.scores(), score - 5e4)


def test_zero_probabilities_have_finite_scores():
    found = RowProba.of_proba(np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]))
    score = found.scores()
    assert np.isfinite(score).all() and score[0] > 700.0 and score[1] == 0.0
    assert score[2] == -score[0]


def test_absent_classes_get_zeros_and_the_lowest_score():
    present = np.array([True, False, True])
    found = RowProba.of_scores(np.log([[3.0], [0.25]])).with_absent(present)
    np.testing.assert_allclose(found.proba, [[0.25, 0, 0.75], [0.8, 0, 0.2]])
    assert (found.scores().argmin(axis=1) == 1).all()
    assert np.isfinite(found.scores()).all()

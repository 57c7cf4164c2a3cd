import numpy as np
import pytest
from scipy.special import expit, softmax

from groupwise.boosting import ClassifierLearner, OneVsRest
from groupwise.boosting.votes import cast, decide, link, vote_coding, vote_proba
from groupwise.rules import two_columns


def test_two_columns():
    assert two_columns(np.array([0.25, 1.0])).tolist() == [[0.75, 0.25], [0.0, 1.0]]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_sure_probability_votes_like_the_class(n_classes):
    codes = np.arange(n_classes)
    np.testing.assert_allclose(cast(np.eye(n_classes), n_classes), cast(codes, n_classes))
    np.testing.assert_allclose(cast(codes, n_classes), vote_coding(n_classes))
    flat = np.full((1, n_classes), 1.0 / n_classes)
    np.testing.assert_allclose(cast(flat, n_classes), 0.0, atol=1e-15)


def test_links():
    score = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(link(score)[:, 1], expit(score))
    np.testing.assert_array_equal(link(score[:, None]), link(score))
    three = np.array([[1.0, 0.0, -1.0]])
    np.testing.assert_allclose(link(three), softmax(three, axis=1))
    np.testing.assert_allclose(vote_proba(score, 0.5)[:, 1], expit(score))
    np.testing.assert_allclose(vote_proba(three, 2.0), softmax(2.0 * three, axis=1))
    assert decide(score).tolist() == [0, 1, 1]
    assert decide(three).tolist() == [0]


def test_one_vs_rest_side_by_side():
    from sklearn.tree import DecisionTreeClassifier

    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    ensembles = []
    for code, weights in enumerate(([1.0, 0.5], [2.0], [1.0, 1.0, 1.0])):
        run = ClassifierLearner(DecisionTreeClassifier(max_depth=1 + code)).bind(X)
        run = run.start(2, np.random.RandomState(0), resample=False)
        for _ in weights:
            run.fit((y == code).astype(int), np.ones(12))
        ensembles.append(run.combine(weights))
    side = OneVsRest(ensembles)
    stages = list(side.staged_score(X))
    assert len(stages) == 3  # the shorter runs keep their last score
    np.testing.assert_array_equal(stages[0][:, 1], stages[2][:, 1])
    np.testing.assert_array_equal(stages[-1], side.score(X))
    np.testing.assert_allclose(side.tail(1).score(X), side.score(X) - stages[0])

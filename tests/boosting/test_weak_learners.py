import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting import ClassifierLearner, HistTrees, get_weak_learner
from groupwise.boosting.protocol import resample_counts
from groupwise.boosting.votes import vote_coding

RNG = np.random.RandomState


def rows(seed=0, n=200, d=4, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if levels:
        X = np.round(X * levels) / levels
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 0.7).astype(np.intp)
    return X, y, rng.uniform(0.1, 2, size=n)


def start(learner, X, *, resample=False, n_classes=2, seed=0):
    return learner.bind(X).start(n_classes, RNG(seed), resample=resample)


@pytest.mark.parametrize("seed", range(3))
def test_histogram_tree_is_the_weighted_tree_of_scikit_learn(seed):
    """On few distinct values: the same partition, so the same votes."""
    X, y, w = rows(seed, levels=4)
    histogram = start(HistTrees(2, min_leaf_weight=0, n_jobs=1), X).fit(y, w)
    tree = DecisionTreeClassifier(max_depth=2, random_state=seed).fit(X, y, sample_weight=w)
    error = np.average(histogram != y, weights=w)
    assert np.isclose(error, np.average(tree.predict(X) != y, weights=w), atol=1e-6)
    assert np.mean(histogram == tree.predict(X)) > 0.99


@pytest.mark.parametrize(
    "learner", [HistTrees(3, n_jobs=1), ClassifierLearner(DecisionTreeClassifier(max_depth=3))]
)
@pytest.mark.parametrize("resample", [False, True])
def test_ensemble_is_the_weighted_sum_of_the_votes(learner, resample):
    X, y, w = rows()
    run = start(learner, X, resample=resample)
    alphas, score = [], np.zeros(len(y))
    for alpha in (0.5, 1.25, 0.125, 2.0):
        votes = run.fit(y, w)
        w = np.where(votes == y, w, 2 * w)
        score += alpha * (2 * votes - 1)
        alphas.append(alpha)
    run.fit(y, w)  # a hypothesis that is not used
    ensemble = run.combine(alphas)
    np.testing.assert_allclose(ensemble.score(X), score, atol=1e-12)
    stages = list(ensemble.staged_score(X))
    assert len(stages) == 4
    np.testing.assert_allclose(stages[-1], score, atol=1e-12)
    np.testing.assert_allclose(stages[0], 0.5 * np.sign(stages[0]), atol=1e-12)
    again = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(again.score(X), ensemble.score(X))


def test_no_split_possible_is_a_vote_for_the_heavier_class():
    X, y = np.zeros((6, 2)), np.array([0, 0, 1, 1, 1, 1])
    run = start(HistTrees(), X)
    assert run.fit(y, np.ones(6)).tolist() == [1] * 6
    assert run.fit(y, np.array([3, 3, 1, 1, 1, 1.0])).tolist() == [0] * 6
    ensemble = run.combine([0.5, 0.25])
    np.testing.assert_allclose(ensemble.score(X), 0.25)
    np.testing.assert_allclose(list(ensemble.staged_score(X)), [[0.5] * 6, [0.25] * 6])


def test_a_run_may_find_splits_after_a_round_without():
    X, y, w = rows()
    run = start(HistTrees(2, min_leaf_weight=90), X)
    stuck = run.fit(y, np.where(np.arange(len(y)) < 3, 1e6, 1e-6))
    assert len(np.unique(stuck)) == 1
    votes = run.fit(y, w)
    assert len(np.unique(votes)) == 2
    np.testing.assert_allclose(
        run.combine([1.0, 0.5]).score(X), 2 * stuck - 1 + 0.5 * (2 * votes - 1)
    )


def test_no_rounds_at_all():
    X, _, _ = rows()
    for learner in (HistTrees(), ClassifierLearner(LogisticRegression())):
        ensemble = start(learner, X).combine([])
        np.testing.assert_array_equal(ensemble.score(X), np.zeros(len(X)))
        assert list(ensemble.staged_score(X)) == []


def test_missing_values_sparse_rows_and_categories():
    X, y, w = rows()
    holes = X.copy()
    holes[:, 0] = np.where(y == 1, np.nan, holes[:, 0])
    assert (start(HistTrees(1), holes).fit(y, w) == y).all()
    run = start(HistTrees(2), csr_array(X))
    votes = run.fit(y, w)
    np.testing.assert_array_equal(run.combine([1.0]).score(csr_array(X)) > 0, votes == 1)
    kind = np.arange(len(y)) % 4
    odd = (kind % 2).astype(np.intp)
    as_category = HistTrees(1, categorical_features=[0]), HistTrees(1)
    errors = [np.mean(start(h, kind[:, None] * 1.0).fit(odd, w) != odd) for h in as_category]
    assert errors[0] == 0 and errors[1] > 0.2


def test_monotone_constraints_hold():
    X, y, w = rows(3)
    run = start(HistTrees(3, monotonic_cst=[1, 0, 0, 0]), X)
    for _ in range(5):
        w = np.where(run.fit(y, w) == y, w, 2 * w)
    ensemble = run.combine([1.0] * 5)
    grid = np.linspace(-3, 3, 50)
    for row in X[:20]:
        line = np.tile(row, (50, 1))
        line[:, 0] = grid
        assert (np.diff(ensemble.score(line)) >= 0).all()


def test_max_leaves_and_min_leaf_weight_reach_the_engine():
    X, y, w = rows()
    few = start(HistTrees(6, max_leaf_nodes=3), X)
    few.fit(y, w)
    assert few.combine([1.0]).booster.dump_model()["tree_info"][0]["num_leaves"] == 3


def test_three_classes():
    X, y, w = rows()
    three = y + (X[:, 2] > 0)
    with pytest.raises(ValueError, match="two classes, not 3"):
        start(HistTrees(), X, n_classes=3)
    run = start(ClassifierLearner(DecisionTreeClassifier(max_depth=2)), X, n_classes=3)
    votes = run.fit(three, w)
    score = run.combine([2.0]).score(X)
    np.testing.assert_array_equal(score.argmax(axis=1), votes)
    np.testing.assert_allclose(np.sort(score, axis=1), [[-1, -1, 2]] * len(X))


def test_codes_sum_to_zero():
    assert vote_coding(2).tolist() == [-1, 1]
    np.testing.assert_allclose(vote_coding(4).sum(axis=1), 0, atol=1e-15)


def test_resampling_draws_each_row_as_often_as_its_weight_says():
    weight = np.array([0.5, 0.25, 0.2, 0.05])
    counts = np.array([resample_counts(weight, RNG(seed)) for seed in range(2000)])
    assert (counts.sum(axis=1) == 4).all()
    assert (np.abs(counts - 4 * weight) < 1).all()
    np.testing.assert_allclose(counts.mean(axis=0), 4 * weight, atol=0.05)


def test_looking_up_a_weak_learner():
    assert isinstance(get_weak_learner(None), HistTrees)
    trees = HistTrees(1)
    assert get_weak_learner(trees) is trees
    assert isinstance(get_weak_learner(LogisticRegression()), ClassifierLearner)
    with pytest.raises(ValueError, match="classifier or a weak learner"):
        get_weak_learner("tree")


def test_a_classifier_without_sample_weight_needs_resampling():
    X, y, w = rows()
    learner = ClassifierLearner(KNeighborsClassifier(3))
    with pytest.raises(ValueError, match="takes no sample_weight; use resample=True"):
        start(learner, X)
    assert start(learner, X, resample=True).fit(y, w).shape == y.shape

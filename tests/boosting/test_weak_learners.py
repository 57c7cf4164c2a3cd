import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from groupwise import SBoostClassifier
from groupwise.boosting import (
    BoostedTrees,
    ClassifierLearner,
    HistTrees,
    LinearLearner,
    accepts_nan,
    by_position,
    get_weak_learner,
)
from groupwise.boosting.hist_trees import SoftTrees
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


def test_max_leaf_nodes_reaches_the_engine():
    X, y, w = rows()
    few = start(HistTrees(6, max_leaf_nodes=3), X)
    few.fit(y, w)
    assert few.combine([1.0]).booster.dump_model()["tree_info"][0]["num_leaves"] == 3


def test_l2_regularization_shrinks_the_shares_of_the_leaves():
    """A leaf of weight W and share p says W (2p - 1) / (W + l2)."""
    X, y, w = np.repeat([0.0, 1.0], 4)[:, None], np.array([0, 0, 0, 1, 1, 1, 1, 0]), np.ones(8)
    for l2 in (0.0, 4.0):
        proba = start(HistTrees(1, l2_regularization=l2, n_jobs=1).soft(), X).fit(y, w)
        value = 4 * np.array([-0.5, 0.5]) / (4 + l2)
        np.testing.assert_allclose(proba[[0, 4], 1], 0.5 * (value + 1), atol=1e-6)


@pytest.mark.parametrize("drawn", [{"subsample": 0.5}, {"max_features": 0.25}], ids=str)
def test_drawn_rows_and_features_go_by_the_seed(drawn):
    X, y, w = rows()
    scores = []
    for seed in (0, 0, 2):
        run = start(HistTrees(3, **drawn), X, seed=seed)
        for _ in range(4):
            run.fit(y, w)
        scores.append(list(run.combine([1.0] * 4).staged_score(X)))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_nothing_drawn_leaves_the_seed_alone():
    X, _, _ = rows()
    rng = RNG(0)
    HistTrees().bind(X).start(2, rng, resample=False)
    assert rng.randint(100) == RNG(0).randint(100)


def test_columns_by_name():
    trees = HistTrees(categorical_features=["b", 2], monotonic_cst={"a": 1, "c": -1})
    placed = trees.by_position(3, ["a", "b", "c"])
    assert placed.categorical_features == [1, 2]
    assert placed.monotonic_cst == [1, 0, -1]
    assert trees.categorical_features == ["b", 2]  # the recipe is not changed
    with pytest.raises(ValueError, match=r"categorical_features names 'b', columns are \['x'\]"):
        trees.by_position(1, ["x"])
    with pytest.raises(ValueError, match="categorical_features holds column 7, X has 4 columns"):
        HistTrees(categorical_features=[7]).bind(rows()[0])
    with pytest.raises(ValueError, match=r"monotonic_cst must hold one entry per feature \(4\)"):
        HistTrees(monotonic_cst=[1]).bind(rows()[0])


def test_names_reach_the_trees_of_a_method():
    kind = np.arange(120) % 4
    X = pd.DataFrame({"x": np.zeros(120), "kind": kind.astype(float)})
    by_name, by_position, by_size = (
        SBoostClassifier(HistTrees(1, categorical_features=columns), n_estimators=2)
        .fit(X, kind % 2, groups=np.arange(120))
        .decision_function(X)
        for columns in (["kind"], [1], None)
    )
    np.testing.assert_array_equal(by_name, by_position)
    assert ((by_name > 0) == (kind % 2 == 1)).all()
    assert not ((by_size > 0) == (kind % 2 == 1)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_depth": 0},
        {"max_leaf_nodes": 1},
        {"min_leaf_weight": -1.0},
        {"l2_regularization": -1.0},
        {"subsample": 0.0},
        {"max_features": 1.5},
        {"max_bins": 1},
        {"n_jobs": 0.5},
    ],
    ids=str,
)
def test_parameters_that_no_tree_can_have(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must be"):
        HistTrees(**wrong).bind(rows()[0])


def test_trees_are_a_recipe():
    trees = HistTrees(2, n_jobs=1)
    assert clone(trees) == trees
    assert not hasattr(trees, "fit")
    model = SBoostClassifier(trees).set_params(estimator__max_depth=5)
    assert model.estimator.max_depth == 5


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


@pytest.mark.long
def test_resampling_draws_each_row_as_often_as_its_weight_says():
    weight = np.array([0.5, 0.25, 0.2, 0.05])
    counts = np.array([resample_counts(weight, RNG(seed)) for seed in range(2000)])
    assert (counts.sum(axis=1) == 4).all()
    assert (np.abs(counts - 4 * weight) < 1).all()
    np.testing.assert_allclose(counts.mean(axis=0), 4 * weight, atol=0.05)


def test_looking_up_a_weak_learner():
    assert isinstance(get_weak_learner(None), HistTrees)
    assert isinstance(get_weak_learner(None, 3), ClassifierLearner)
    assert isinstance(get_weak_learner(None, hypotheses="soft"), SoftTrees)
    assert accepts_nan(None) and accepts_nan(HistTrees()) and accepts_nan(HistTrees().soft())
    assert not accepts_nan(LinearLearner()) and not accepts_nan(LogisticRegression())
    trees = HistTrees(1)
    assert get_weak_learner(trees) is trees
    assert isinstance(get_weak_learner(LogisticRegression()), ClassifierLearner)
    with pytest.raises(ValueError, match="classifier or a weak learner"):
        get_weak_learner("tree")


def test_columns_by_name_and_categories_by_position():
    trees = HistTrees(2, categorical_features=["b"])
    found = get_weak_learner(trees, feature_names=["a", "b", "c"], categories=(2,))
    assert found.categorical_features == [1, 2]
    assert trees.categorical_features == ["b"]
    assert get_weak_learner(None, categories=(0,)).categorical_features == [0]
    assert isinstance(get_weak_learner(None, 3, categories=(0,)), ClassifierLearner)
    assert by_position(None, ["a"]) is None
    assert by_position(None, ["a"], (0,)).categorical_features == [0]


def test_a_classifier_without_sample_weight_needs_resampling():
    X, y, w = rows()
    learner = ClassifierLearner(KNeighborsClassifier(3))
    with pytest.raises(ValueError, match="takes no sample_weight; use resample=True"):
        start(learner, X)
    assert start(learner, X, resample=True).fit(y, w).shape == y.shape


# LightGBM 4.6 names columns that have no name, and then misses the names
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_boosted_trees_are_lightgbms_on_weighted_rows(n_classes, sparse):
    X, y, w = rows(n=300)
    y = y + (X[:, 2] > 1) if n_classes == 3 else y
    given = csr_array(X) if sparse else X
    run = start(BoostedTrees(n_estimators=20, n_jobs=1).soft(), given, n_classes=n_classes)
    said = run.fit(y, w)
    same = lgb.LGBMClassifier(
        n_estimators=20, n_jobs=1, deterministic=True, force_col_wise=True, verbosity=-1
    )
    same.fit(X, y, sample_weight=w * (len(w) / w.sum()))
    np.testing.assert_allclose(said, same.predict_proba(X), atol=1e-12)
    hard = start(BoostedTrees(n_estimators=20, n_jobs=1), given, n_classes=n_classes)
    np.testing.assert_array_equal(hard.fit(y, w), said.argmax(axis=1))
    twice = [run.combine([2.0]).score(given), 2.0 * run.combine([1.0]).score(given)]
    np.testing.assert_allclose(*twice)


def test_boosted_trees_without_a_split_say_the_shares():
    y, w = np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 1.0, 4.0])
    run = start(BoostedTrees().soft(), np.zeros((4, 2)), n_classes=3)
    np.testing.assert_allclose(run.fit(y, w), np.tile([0.125, 0.375, 0.5], (4, 1)))
    alone = start(BoostedTrees().soft(), rows(n=60)[0], n_classes=2)
    np.testing.assert_array_equal(alone.fit(np.ones(60, int), np.ones(60)), np.eye(2)[[1] * 60])


def test_boosted_trees_draw_rows_by_weight_where_asked():
    X, y, _ = rows(n=200)
    heavy = np.where(y == 1, 1e6, 1.0)  # hardly a row of the first class is drawn
    run = start(BoostedTrees(n_estimators=5, n_jobs=1), X, resample=True)
    assert run.fit(y, heavy).mean() > 0.99


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_estimators", 0), ("learning_rate", 0.0), ("max_leaf_nodes", 1), ("min_samples_leaf", 0)],
)
def test_boosted_trees_say_what_is_wrong(name, value):
    with pytest.raises(ValueError, match=name):
        BoostedTrees(**{name: value}).bind(np.zeros((2, 1)))

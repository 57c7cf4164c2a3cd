"""Parameters, model files, and what a fitted model keeps."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from groupwise import Groups, HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.io import load_model, save_model
from groupwise.losses import (
    GroupMeanLoss,
    MajorityLoss,
    NoisyOrLoss,
    get_loss,
)

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"engine": "catboost"}, "engine must be"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"loss": MajorityLoss(-1.0)}, "gamma"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"early_stopping": "no"}, "early_stopping"),
        ({"trees": HistTrees(0)}, "max_depth"),
        ({"rule": "coin"}, "rule must be"),
    ],
)
def test_bad_parameters(options, message, grid_data):
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match=message):
        GroupBoostClassifier(**options).fit(X, y, groups=groups)


def test_bad_regression_target():
    with pytest.raises(ValueError, match="target must be"):
        GroupBoostRegressor("median").fit(np.zeros((2, 1)), [0.0, 1.0])


def test_validation_needs_labels(make, grid_data):
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match="X_val needs y_val"):
        make().fit(X, y, groups=groups, X_val=X)
    with pytest.raises(GroupDataError, match="not among the classes"):
        make().fit(X, y, groups=groups, X_val=X, y_val=y + 1, groups_val=groups)


@pytest.mark.parametrize("loss", ["majority", NoisyOrLoss(), "proportions"])
def test_model_files(engine, loss, tmp_path, make, grid_data):
    X, y, groups = grid_data()
    model = make(engine, loss).fit(X, y, groups=groups)
    expected = model.predict_groups_proba(X, groups=groups)
    model.predict(X)  # wakes the booster, which must not get into the file
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    assert np.array_equal(loaded.predict_groups_proba(X, groups=groups), expected)
    assert loaded.get_params()["loss"] == loss
    assert pickle.loads(pickle.dumps(model)).ensemble_.parts[0]._booster is None


def test_engine_params_reach_the_engine(make, grid_data):
    X, y, groups = grid_data()
    model = make(engine_params={"max_depth": 1, "num_leaves": 2}).fit(X, y, groups=groups)
    trees = model.ensemble_.parts[0].booster.trees_to_dataframe()
    assert trees["node_depth"].max() == 2
    assert "num_class: 1" in model.ensemble_.parts[0].text


def test_probabilities_are_the_link_of_the_scores(make, grid_data):
    X, y, groups = grid_data()
    model = make().fit(X, y, groups=groups)
    assert np.allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    assert get_loss("majority").proba(np.zeros(1)).tolist() == [[0.5, 0.5]]


def test_a_fitted_model_does_not_hear_of_new_parameters(make, grid_data):
    X, y, groups = grid_data()
    loss = MajorityLoss(gamma=2.0)
    model = make(loss=loss, rule="mean").fit(X, y, groups=groups)
    before = model.predict_proba(X), model.predict_groups_proba(X, groups=groups)
    loss.set_params(gamma=50.0)
    model.set_params(
        loss="presence", rule="any", trees__max_depth=9, n_estimators=1, engine="xgboost"
    )
    assert np.array_equal(model.predict_proba(X), before[0])
    assert np.array_equal(model.predict_groups_proba(X, groups=groups), before[1])
    assert model.loss_ == MajorityLoss(gamma=2.0)
    assert model.score(X, y, groups=groups) == np.mean(
        before[1].argmax(axis=1) == Groups(groups).one_per_group(y)
    )


def test_a_fitted_regressor_does_not_hear_of_new_parameters(grid_data):
    X, y, groups = grid_data()
    model = GroupBoostRegressor("total", n_estimators=3, trees=THIN).fit(X, 1.0 * y, groups=groups)
    before = model.predict_groups(X, groups=groups)
    model.set_params(target="mean", loss=GroupMeanLoss(0.1))
    assert np.array_equal(model.predict_groups(X, groups=groups), before)
    assert model.loss_ == GroupMeanLoss()


@pytest.fixture
def routing():
    """Groups reach the estimators inside a search."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_searches_reach_the_loss_and_the_trees(make, grid_data):
    X, y, groups = grid_data()
    grid, cv = {"loss__gamma": [0.0, 4.0], "trees__max_depth": [1, 2]}, GroupKFold(2)
    search = GridSearchCV(make(loss=MajorityLoss(), n_estimators=3), grid, cv=cv)
    search.fit(X, y, groups=groups)
    assert len(search.cv_results_["params"]) == 4
    chosen = search.best_estimator_
    assert chosen.loss_.gamma == chosen.loss.gamma == search.best_params_["loss__gamma"]
    by_hand = make(loss=MajorityLoss(4.0), n_estimators=3, trees={"max_depth": 2})
    again = GridSearchCV(by_hand, {"n_estimators": [3]}, cv=cv).fit(X, y, groups=groups)
    scores = search.cv_results_["mean_test_score"]
    assert scores[-1] == again.cv_results_["mean_test_score"][0]


def test_names_of_losses_stand_for_their_defaults(make, grid_data):
    X, y, groups = grid_data()
    named, made = (
        make(loss=loss).fit(X, y, groups=groups) for loss in ("majority", MajorityLoss(4.0))
    )
    assert named.loss_ == made.loss_
    assert np.array_equal(named.decision_function(X), made.decision_function(X))


def test_trees_of_none_are_the_default_ones(grid_data):
    X, y, groups = grid_data()
    scores = [
        GroupBoostClassifier(n_estimators=5, trees=trees)
        .fit(X, y, groups=groups)
        .decision_function(X)
        for trees in (None, HistTrees(), HistTrees(l2_regularization=1.0))
    ]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


@pytest.mark.parametrize("trees", ["deep", GroupBoostClassifier()])
def test_trees_must_be_trees(trees, grid_data):
    X, y, groups = grid_data()
    with pytest.raises(TypeError, match="trees must be a HistTrees"):
        GroupBoostClassifier(trees=trees).fit(X, y, groups=groups)


def test_clones_share_nothing_that_is_set():
    model = GroupBoostClassifier(MajorityLoss(2.0), trees=HistTrees(2))
    copy = clone(model).set_params(loss__gamma=9.0, trees__max_depth=5)
    assert (model.loss.gamma, model.trees.max_depth) == (2.0, 2)
    assert (copy.loss.gamma, copy.trees.max_depth) == (9.0, 5)


def test_bad_regression_loss():
    with pytest.raises(ValueError, match="loss must be one of"):
        GroupBoostRegressor(loss="majority").fit(np.zeros((2, 1)), [0.0, 1.0])


def test_class_weight_is_sample_weight_by_label(make, grid_data):
    """Nine groups of ten have the first class; "balanced" gives both the same total over groups."""
    X, _, groups = grid_data()
    label = (groups % 10 == 0).astype(int)
    by_hand = np.where(label == 1, 60 / (2 * 6), 60 / (2 * 54))
    weighted = make().fit(X, label, groups=groups, sample_weight=by_hand)
    for class_weight in ("balanced", {0: 60 / (2 * 54), 1: 60 / (2 * 6)}):
        model = make(class_weight=class_weight).fit(X, label, groups=groups)
        assert (model.decision_function(X) == weighted.decision_function(X)).all()
    twice = make(class_weight={1: 5.0}).fit(X, label, groups=groups, sample_weight=by_hand)
    times = by_hand * np.where(label == 1, 5.0, 1.0)
    same = make().fit(X, label, groups=groups, sample_weight=times)
    assert (twice.decision_function(X) == same.decision_function(X)).all()
    plain = make().fit(X, label, groups=groups)
    assert plain.decision_function(X).mean() < weighted.decision_function(X).mean()


def test_class_weight_needs_labels(make, grid_data):
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match="class_weight weighs groups by their label"):
        make(loss="proportions", class_weight="balanced").fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="class_weight must be"):
        make(class_weight="even").fit(X, y, groups=groups)

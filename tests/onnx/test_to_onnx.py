"""An exported graph in onnxruntime says what the model says, of rows and of groups."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from groupwise import (
    GroupBoostClassifier,
    GroupBoostRegressor,
    HistTrees,
    SBoostClassifier,
    SBoostClassifierCV,
)
from groupwise.gbdt import GroupBoostMultilabelClassifier
from groupwise.losses import (
    CoxLoss,
    MajorityLoss,
    OrdinalLoss,
    SeveralGroupings,
    SmoothMaxLoss,
)
from groupwise.onnx import to_onnx
from groupwise.rules import MeanProbability, Presence

pytest.importorskip("onnx", reason="the extra onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ENGINES = ["lightgbm", "xgboost"]


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param == "xgboost":
        pytest.importorskip("xgboost", reason="the extra xgboost is not installed")
    return request.param


@pytest.fixture(scope="module")
def data():
    """Gaps, values that float32 cannot hold, ids in any order."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 60, 400)
    X = rng.normal(size=(400, 4))
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.normal(size=400)  # a column without gaps: to LightGBM a gap is a zero
    level = np.nan_to_num(X[:, 0]) + X[:, 3]
    return X, level, groups


def by_group(values, groups):
    """The mean of each row's group."""
    return (np.bincount(groups, values) / np.maximum(np.bincount(groups), 1))[groups]


def labels(level, groups, n_classes=2):
    mean = by_group(level, groups)
    return np.searchsorted(np.quantile(mean, np.arange(1, n_classes) / n_classes), mean)


def run(model, X, groups):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(to_onnx(model).SerializeToString(), options)
    codes = np.unique(groups, return_inverse=True)[1]
    found = session.run(None, {"X": np.asarray(X, dtype=float), "group": codes})
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))


def assert_same(model, X, groups, rows=None):
    """``rows``: the codes in place of a table with categories."""
    said, found = model.predictions(X, groups), run(model, X if rows is None else rows, groups)
    if hasattr(said, "proba_row"):
        for name in ("score_row", "proba_row", "proba_group"):
            assert found[name].shape == getattr(said, name).shape
            assert np.abs(found[name] - getattr(said, name)).max() < 1e-6
        assert (found["label_row"] == said.y_row).all()
        assert (found["label_group"] == said.y_group).all()
    else:
        assert np.allclose(found["y_row"], said.y_row, rtol=1e-6, atol=1e-6)
        assert np.allclose(found["y_group"], said.y_group, rtol=1e-6, atol=1e-6)


def unseen(X, seed=1):
    """Other rows, with gaps in every column, and some values at the edge of a bin."""
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random(X.shape) < 0.5, X, rng.permutation(X))
    rows[rng.random(X.shape) < 0.1] = np.nan
    return rows


LOSSES = [
    ("majority", None, 2),
    ("majority", "majority", 3),
    ("majority_softmax", "mean", 3),
    ("majority", Presence(0), 3),
    ("majority", "presence", 3),
    ("presence", None, 2),
    ("presence", "any", 2),
    (SmoothMaxLoss(sharpness=3.0), None, 2),
    ("proportions", None, 2),
    ("proportions_squared", None, 3),
    ("proportions_exact", None, 3),
    ("ordinal", None, 3),
    (OrdinalLoss(sharpness=2.0), None, 4),
]


@pytest.mark.parametrize(("loss", "rule", "n_classes"), LOSSES)
def test_classifiers(engine, loss, rule, n_classes, data):
    X, level, groups = data
    y = labels(level, groups, n_classes)
    model = GroupBoostClassifier(
        loss, rule=rule, engine=engine, n_estimators=8, trees=HistTrees(n_jobs=1)
    ).fit(X, y, groups=groups)
    assert_same(model, unseen(X), groups)


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        ("squared_error", "mean"),
        ("squared_error", "total"),
        ("poisson", "total"),
        ("negative_binomial", "total"),
        ("absolute_error", "mean"),
        ("cox", "mean"),
        (CoxLoss(sharpness=2.0), "mean"),
        (SeveralGroupings({"a": "squared_error"}), "mean"),
    ],
)
def test_regressors(loss, target, data):
    X, level, groups = data
    y = np.exp(by_group(level, groups))
    ids, known = groups, y
    if isinstance(loss, SeveralGroupings):
        ids, known = pd.DataFrame({"a": groups}), pd.DataFrame({"a": y})
    if loss in ("poisson", "negative_binomial"):
        known = np.round(10 * y)
    model = GroupBoostRegressor(target, loss=loss, n_estimators=8).fit(X, known, groups=ids)
    assert_same(model, unseen(X), groups)


def test_reported_counts(data):
    X, level, groups = data
    count = np.bincount(groups, level > 0)[groups]
    model = GroupBoostClassifier("reported_counts", n_estimators=8).fit(X, count, groups=groups)
    assert_same(model, unseen(X), groups)


@pytest.mark.parametrize(("n_classes", "rule"), [(2, "majority"), (3, "score"), (2, "mean")])
def test_sboost(n_classes, rule, data):
    X, level, groups = data
    y = np.array(list("abc"))[labels(level, groups, n_classes)]
    model = SBoostClassifier(n_estimators=6, rule=rule).fit(X, y, groups=groups)
    assert_same(model, unseen(X), groups)


def test_sboost_that_chose_its_gamma(data):
    X, level, groups = data
    model = SBoostClassifierCV(n_estimators=4, gammas=(0, 2), cv=2, random_state=0)
    assert_same(model.fit(X, labels(level, groups), groups=groups), X, groups)


def test_no_split_is_a_constant():
    X, y = np.zeros((6, 2)), np.array([0, 0, 0, 0, 1, 1])
    groups = np.array([0, 0, 1, 1, 2, 2])
    assert_same(SBoostClassifier(n_estimators=3).fit(X, y, groups=groups), X, groups)
    assert_same(GroupBoostClassifier(n_estimators=3).fit(X, y, groups=groups), X, groups)


def test_thresholds_hold_double_precision():
    """Two values that are one number in float32: LightGBM tells them apart, and so does the graph.

    By hand: the tree cuts between them, so the two groups get scores of opposite sign.
    """
    x = np.repeat([1.0, 1.0 + 1e-9], 20)
    assert np.float32(x[0]) == np.float32(x[-1])
    model = GroupBoostClassifier(n_estimators=1).fit(x[:, None], (x > 1).astype(int), groups=x)
    found = run(model, x[:, None], x)
    assert (np.sign(found["score_row"]) == np.where(x > 1, 1, -1)).all()
    assert_same(model, x[:, None], x)


@pytest.mark.parametrize("n_categories", [5, 40])
def test_category_columns_are_codes(engine, n_categories, data):
    X, level, groups = data
    rng = np.random.default_rng(2)
    codes = rng.integers(0, n_categories, len(X))
    names = np.array([f"c{k:02d}" for k in range(n_categories)])
    y = (by_group(level + 3 * (codes % 2), groups) > 1.5).astype(int)
    table = pd.DataFrame({"kind": pd.Categorical(names[codes], names), "x": X[:, 3]})
    trees = HistTrees(n_jobs=1, max_leaf_nodes=12)
    own = {"min_data_per_group": 1, "cat_smooth": 1.0} if engine == "lightgbm" else {}
    model = GroupBoostClassifier(engine=engine, n_estimators=6, trees=trees, engine_params=own)
    model.fit(table, y, groups=groups)
    asked = table.assign(kind=np.where(rng.random(len(X)) < 0.1, "new", table["kind"]))
    assert b"membership_values" in to_onnx(model).SerializeToString()
    known = json.loads(to_onnx(model).metadata_props[1].value)["kind"]
    place = pd.Index(known).get_indexer(asked["kind"]).astype(float)
    rows = np.column_stack([np.where(place < 0, np.nan, place), X[:, 3]])
    assert_same(model, asked, groups, rows=rows)


def test_large_scores_and_small_probabilities(engine):
    """Scores beyond 20: the rule of mean scores takes logarithms of what is nearly zero."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(40), 5)
    y = groups % 2
    X = rng.normal(size=(200, 3)) + 0.3 * y[:, None]
    model = GroupBoostClassifier(
        MajorityLoss(gamma=0.0), engine=engine, n_estimators=60, learning_rate=4.0
    ).fit(X, y, groups=groups)
    assert np.abs(model.decision_function(X)).max() > 20
    assert_same(model, X, groups)


def test_a_continued_model_has_all_its_trees(data):
    X, level, groups = data
    y = labels(level, groups)
    first = GroupBoostClassifier(n_estimators=3).fit(X, y, groups=groups)
    model = GroupBoostClassifier(n_estimators=3).fit(X, y, groups=groups, init_model=first)
    assert_same(model, unseen(X), groups)


def test_groups_are_in_the_order_of_their_codes(data):
    X, level, groups = data
    model = GroupBoostClassifier(n_estimators=3).fit(X, labels(level, groups), groups=groups)
    mixed = np.random.default_rng(3).permutation(len(X))
    here, there = run(model, X, groups), run(model, X[mixed], groups[mixed])
    assert np.allclose(here["proba_group"], there["proba_group"], atol=1e-12)
    assert (here["proba_row"][mixed] == there["proba_row"]).all()


class _OwnLoss(MajorityLoss):
    def proba(self, score_row):
        return super().proba(2 * score_row)


class _OwnRule(MeanProbability):
    pass


def test_what_cannot_be_exported_is_refused_in_words(data):
    X, level, groups = data
    y = labels(level, groups)

    def boosted(*args, **options):
        return GroupBoostClassifier(*args, n_estimators=2, **options).fit(X, y, groups=groups)

    table = np.column_stack([y, 1 - y])
    X_full = np.nan_to_num(X)
    for model, words in [
        (boosted(_OwnLoss()), "_OwnLoss"),
        (boosted(rule=_OwnRule()), "_OwnRule"),
        (boosted(engine_params={"linear_tree": True}), "linear_tree"),
        (boosted(engine_params={"zero_as_missing": True}), "zero_as_missing"),
        (
            SBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2).fit(
                X_full, y, groups=groups
            ),
            "HistTrees",
        ),
        (
            GroupBoostMultilabelClassifier(n_estimators=2).fit(X, table, groups=groups),
            "GroupBoostMultilabelClassifier",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            to_onnx(model)

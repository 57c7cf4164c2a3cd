"""What a model of a table does with columns, gaps, and classes that a fold does not hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_info

from groupwise.groups import Groups
from groupwise.io import load_model, save_model
from groupwise.jobs import METHODS, Job, make_supervision
from groupwise.preparation import fit_preparation
from groupwise.tables import LoadedTable


def make_job(n_groups=30, size=6, categories=8):
    """Groups whose label is the parity of a category's number, which no order of codes shows."""
    rng = np.random.RandomState(0)
    label = np.repeat(np.arange(n_groups) % 2, size)
    number = 2 * rng.randint(categories // 2, size=label.size) + label
    frame = pd.DataFrame({"shade": [f"shade {k}" for k in number], "noise": rng.rand(label.size)})
    frame.loc[rng.rand(label.size) < 0.1, "noise"] = np.nan
    frame["group"] = np.repeat([f"g{k:02d}" for k in range(n_groups)], size)
    frame["kind"] = np.where(label, "odd", "even")
    supervision = make_supervision("majority", group="group", label="kind")
    return Job.from_table(LoadedTable(frame, "t", ""), supervision, wanted=["shade", "noise"])


def decisions(tree):
    if "left_child" not in tree:
        return set()
    here = {(tree["split_feature"], tree["decision_type"])}
    return here | decisions(tree["left_child"]) | decisions(tree["right_child"])


@pytest.mark.parametrize("trees", [{}, {"trees__max_depth": 1}])
def test_trees_split_on_categories(trees):
    job = make_job(n_groups=200)  # LightGBM wants a hundred rows of a category
    model = job.fit(job.method("group-boost"), {"n_estimators": 1} | trees)
    assert model.preparation.columns is None
    dumped = model.estimator.ensemble_.parts[0].booster.dump_model()["tree_info"]
    found = set.union(*(decisions(tree["tree_structure"]) for tree in dumped))
    assert (1, "==") in found and (1, "<=") not in found
    said = model.predictions(job.features, job.targets.groups)
    assert (said.code_group == job.targets.y[job.targets.groups.first_rows]).all()


def test_categories_of_a_table_are_the_codes_of_an_array():
    """As if an encoder had numbered them and the trees had been told the column."""
    job = make_job(n_groups=200)
    method = job.method("group-boost")
    params = {"n_estimators": 5}
    model = job.fit(method, params)
    codes = OrdinalEncoder().fit_transform(job.features[["shade"]])
    X = np.column_stack([job.features["noise"], codes])
    by_hand = method.build(
        job.supervision.constructor(), params | {"trees__categorical_features": [1]}, 0
    )
    by_hand.fit(X, job.targets.y, **job.supervision.ids(job.targets))
    said = model.predictions(job.features, job.targets.groups)
    np.testing.assert_array_equal(said.score_row, by_hand.decision_function(X))


EACH = [m for m in METHODS if m.kind == "majority" and m.name != "auto"]


@pytest.mark.long
@pytest.mark.parametrize("method", EACH, ids=lambda m: m.name)
def test_categories_never_seen_and_missing_ones_are_predicted(method, tmp_path):
    job = make_job()
    model = load_model(save_model(job.fit(method, {}), tmp_path / "m.skops"))
    strange = job.features.assign(shade=["shade 99", None] * (job.n_rows // 2))
    said = model.predictions(strange, job.targets.groups)
    assert np.isfinite(said.proba_row).all()
    gone = job.features.assign(shade=np.full(job.n_rows, np.nan, dtype=object))
    assert np.isfinite(model.predictions(gone, job.targets.groups).proba_row).all()


def test_classes_that_a_fold_does_not_hold_are_never_said():
    frame = pd.DataFrame({"x": np.r_[np.zeros(8), np.ones(8), np.full(4, 2.0)]})
    frame["group"] = np.repeat(list("abcdefghij"), 2)
    frame["kind"] = np.repeat(["low", "mid", "top"], [8, 8, 4])
    supervision = make_supervision("majority", group="group", label="kind")
    job = Job.from_table(LoadedTable(frame, "t", ""), supervision, wanted=["x"])
    model = job.fit(job.method("naive-logistic"), {}, np.arange(16))
    said = model.predictions(job.features, job.targets.groups)
    assert said.proba_row.shape == (20, 3) and not said.proba_group[:, 2].any()
    np.testing.assert_array_equal(said.code_group, [0] * 4 + [1] * 6)


@pytest.mark.parametrize("n_rows", [1, 2, 100, 101])
def test_gaps_are_filled_with_the_median_that_scikit_learn_has(n_rows):
    rng = np.random.RandomState(n_rows)
    X = rng.normal(size=(n_rows, 5))
    X[rng.rand(n_rows, 5) < 0.2] = np.nan
    X[:, 3] = np.nan
    given = X.copy()
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    steps = make_pipeline(fill, StandardScaler())
    plain = ColumnTransformer([("numbers", steps, slice(0, 5))]).fit(X)
    made, prepared = fit_preparation(X, range(5), (), LogisticRegression())
    np.testing.assert_array_equal(prepared, plain.transform(X))
    np.testing.assert_array_equal(made.transform(X), plain.transform(X))
    np.testing.assert_array_equal(X, given)
    assert {step[0].strategy for _, step, _ in made.transformers_} == {"median"}


@pytest.mark.parametrize(("n_rows", "limited"), [(180, True), (20_000, False)])
@pytest.mark.usefixtures("counts_threads")  # two may be had
def test_a_small_table_is_predicted_on_one_thread(n_rows, limited, monkeypatch):
    """On a busy machine a tree of boosting that asks two threads waits for both."""
    job = make_job()
    model = job.fit(job.method("naive-logistic"), {})
    before = [library["num_threads"] for library in threadpool_info()]
    seen = []

    def predictions(estimator, X, groups):
        seen.append([library["num_threads"] for library in threadpool_info()])
        return real(estimator, X, groups)

    real = type(model.estimator).predictions
    monkeypatch.setattr(type(model.estimator), "predictions", predictions)
    features = pd.concat([job.features] * (n_rows // len(job.features) + 1))[:n_rows]
    model.predictions(features, Groups(np.arange(n_rows) // 6))
    assert seen == [[1] * len(before) if limited else before]
    assert [library["num_threads"] for library in threadpool_info()] == before

"""The job's score of a model is the model's own ``score`` on the same groups."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from groupwise.jobs import METHODS, Job, leaderboard, make_supervision
from groupwise.jobs.fold_result import wilson_interval
from groupwise.jobs.result import Result
from groupwise.metrics.measure import MEASURES, get_measure
from groupwise.tables import LoadedTable

# Small enough to run all methods; where a method has no such parameter it is left out.
SMALL = {"n_estimators": 6, "epochs": 3, "n_restarts": 1, "cv": 2, "n_members": 1}
MORE = {
    "kernel-counts": {"widths": (1.0,), "alphas": (0.1,), "rhos": (0.0,)},
    "mlp": {"hidden_layer_sizes": (8,)},
    "dpboost": {"time_limit": 2.0},
}


def make_table(n_classes):
    """Twelve groups of different sizes per class; a category, gaps, and every kind of label."""
    rng = np.random.RandomState(n_classes)
    number = np.repeat(np.arange(12 * n_classes), rng.randint(4, 9, 12 * n_classes))
    label = number % n_classes
    row = np.where(rng.rand(label.size) < 0.6, label, rng.randint(n_classes, size=label.size))
    frame = pd.DataFrame({"x": rng.normal(size=row.size) + row, "z": rng.normal(size=row.size)})
    frame.loc[rng.rand(row.size) < 0.1, "z"] = np.nan
    frame["colour"] = np.where(row == 0, "red", rng.choice(["red", "blue"], row.size))
    frame["group"] = [f"g{k:02d}" for k in number]
    frame["kind"], frame["row"] = [[f"c{k}" for k in codes] for codes in (label, row)]
    frame["domain"] = np.where(number % 3 == 0, "new", "old")
    for k in range(n_classes):
        inside = pd.Series(row == k).groupby(frame["group"]).transform("mean")
        frame[f"share_{k}"] = inside
        frame[f"count_{k}"] = (inside * frame.groupby("group")["x"].transform("size")).round()
    frame["t"] = (frame["count_1"] + 1) * np.where(number % 4, 1, -1)
    return LoadedTable(frame, "table", "")


TABLES = {n_classes: make_table(n_classes) for n_classes in (2, 3)}


def supervision_of(kind, n_classes, measure):
    if kind == "proportions":
        return make_supervision(kind, group="group", label=[f"share_{k}" for k in range(n_classes)])
    if kind == "reported":
        label = [f"count_{k}" for k in range(n_classes)] if n_classes > 2 else "count_1"
        return make_supervision(kind, group="group", label=label, reported="laplace 1")
    label = "kind" if kind in ("majority", "presence", "grade") else "row"
    if kind in ("mean", "total", "survival"):
        return make_supervision(kind, group="group", label="count_1" if kind != "survival" else "t")
    more = {"domain": "domain", "target_domain": "new"} if kind == "transfer" else {}
    return make_supervision(kind, group="group", label=label, measure=measure, **more)


def cases():
    for method in (m for m in METHODS if m.name != "auto" and m.kind != "groupings"):  # elsewhere
        measures = ["accuracy", "f1", "roc_area", "precision_at_k"]
        for measure in measures if method.kind == "measure" else [None]:
            for n_classes in (2, 3):
                name = f"{method.kind}-{method.name}-{n_classes}"
                yield pytest.param(
                    method,
                    measure,
                    n_classes,
                    id=f"{name}-{measure}" if measure else name,
                    marks=pytest.mark.long if n_classes > 2 else [],
                )


def params_for(method, supervision):
    valid = method.build(supervision.constructor(), {}, 0).get_params()
    wanted = SMALL | MORE.get(method.name, {})
    return {name: value for name, value in wanted.items() if name in valid}


@pytest.mark.parametrize(("method", "measure", "n_classes"), list(cases()))
def test_the_score_of_a_job_is_that_of_the_estimator(method, measure, n_classes):
    binary = method.kind == "presence" or (measure and not get_measure(measure).multiclass)
    if binary and n_classes > 2:
        pytest.skip("for two classes by definition")
    supervision = supervision_of(method.kind, n_classes, measure)
    job = Job.from_table(TABLES[n_classes], supervision, wanted=["x", "z", "colour"])
    reason = job.reason_against(method)
    if reason is not None:
        pytest.skip(reason)
    train, test = job.splits(2)[0]
    model = job.fit(method, params_for(method, supervision), train)
    features, held = job.features.iloc[test], job.targets.take(test)
    if not held.classes:  # R² of these groups, by their own variance
        held = replace(held, variance=float(np.var(held.y[held.groups.first_rows])))
    found = supervision.judge(model.predictions(features, held.groups), held)
    score = supervision.mean_score(found, held.groups.sizes)
    own = model.estimator.score(model.prepare(features), held.known, **supervision.ids(held))
    assert score == pytest.approx(own, abs=1e-12)


def test_every_measure_is_one_that_a_job_takes():
    assert {"accuracy", "f1", "roc_area", "precision_at_k"} <= set(MEASURES)


def test_rows_count_once_where_the_score_is_that_of_rows():
    """By hand: groups of one and three rows, of which the second has two right."""
    frame = pd.DataFrame({"g": list("abbb"), "y": ["n", "n", "y", "y"], "d": "new"})
    supervision = make_supervision(
        "transfer", group="g", label="y", domain="d", target_domain="new"
    )
    sizes = supervision.targets_in(frame, "t").groups.sizes
    assert supervision.mean_score(np.array([1.0, 2 / 3]), sizes) == pytest.approx(3 / 4)
    assert supervision.mean_score(np.array([np.nan, 2 / 3]), sizes) == pytest.approx(2 / 3)
    majority = make_supervision("majority", group="g", label="y")
    assert majority.mean_score(np.array([1.0, 2 / 3]), sizes) == pytest.approx(5 / 6)


def test_the_leaderboard_shows_that_score():
    supervision = supervision_of("majority", 2, None)
    job = Job.from_table(TABLES[2], supervision, wanted=["x", "z", "colour"])
    method = job.method("group-boost")
    split = job.splits(2)[0]
    fold = job.run_fold(method, {"n_estimators": 6}, split, search=False)
    model = job.fit(method, {"n_estimators": 6}, split[0])
    held = job.targets.take(split[1])
    own = model.estimator.score(
        model.prepare(job.features.iloc[split[1]]), held.y, groups=held.groups
    )
    board = leaderboard(Result(job.about(), {"group-boost": [fold]}))
    assert board.loc["group-boost", "score"] == pytest.approx(own, abs=1e-6)  # as it is stored


def test_the_interval_of_a_method_that_was_fitted_alone_has_the_luck_of_its_training_set():
    """Five folds: 1 + 5/4 times the variance (Nadeau and Bengio 2003)."""
    job = Job.from_table(TABLES[2], supervision_of("mean", 2, None), wanted=["x", "z"])
    alone = job.judge(job.method("means-ridge"), {}, n_splits=5)
    score, low, high = alone.score_with_interval("means-ridge")
    both = replace(alone, methods=alone.methods | {"other": alone.methods["means-ridge"]})
    same, inner_low, inner_high = both.score_with_interval("means-ridge")
    assert alone.with_luck and not both.with_luck and same == score
    assert low == pytest.approx(score - 1.5 * (score - inner_low))
    assert high == pytest.approx(min(1.0, score + 1.5 * (inner_high - score)))
    judged = replace(alone, about=replace(alone.about, n_splits=None))  # of a model that was there
    assert judged.score_with_interval("means-ridge") == (score, inner_low, inner_high)
    right = pd.Series([1.0] * 18 + [0.0] * 6)
    of_fewer = wilson_interval(0.75, 24 / 2.25)
    assert alone.mean_with_interval("means-ridge", right, inflation=2.25)[1:] == of_fewer

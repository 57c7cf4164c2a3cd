"""Sets, reasons and doubts of tables."""

from dataclasses import replace

import numpy as np
import pytest

from groupwise.io import load_model, save_model
from groupwise.jobs import Job, Result, make_supervision
from groupwise.jobs.fold_result import FoldResult, GroupResults
from groupwise.jobs.promises import (
    label_issues,
    promise_coverage,
    promise_from_result,
    promised_columns,
    promises,
)
from groupwise.jobs.reasons import reason_columns
from groupwise.report.promises import held_coverage
from groupwise.tables import TableError

METHODS = {
    "majority": "naive-logistic",
    "proportions": "means-logistic",
    "measure": "boosted-rows",
    "transfer": "augmentation",
}


@pytest.fixture(scope="module")
def fitted(table, columns):
    """A job, a method and a model of it, of each kind."""
    found = {}
    for kind, name in METHODS.items():
        supervision = make_supervision(kind, **columns[kind])
        job = Job.from_table(table, supervision, wanted=["x", "z", "colour"])
        method = job.method(name)
        found[kind] = job, method, job.fit(method, {})
    return found


def result_of(job, method):
    folds = [job.run_fold(method, {}, split, search=False, curve=False) for split in job.splits(3)]
    return Result(job.about(), {method.name: folds})


@pytest.mark.parametrize("kind", list(METHODS))
def test_a_model_of_a_table_with_its_sets(kind, fitted, tmp_path):
    job, _, model = fitted[kind]
    with_sets = promise_coverage(job, model, 0.6, n_splits=2)
    assert "60%" in promises(with_sets) and promises(model) is None
    again = load_model(save_model(with_sets, tmp_path / "model.skops"))
    groups = job.targets.groups
    columns = {
        level: promised_columns(again, job.features, groups, level) for level in ("row", "group")
    }
    if kind == "majority":
        assert columns["row"] == {}
        allowed = {"", "high", "low", "high | low"}
        assert set(columns["group"]["set"]) <= allowed
    elif kind == "proportions":
        low, high = columns["group"]["low_n_no"], columns["group"]["high_n_no"]
        assert (low <= high).all() and len(low) == groups.n_groups
    else:
        assert columns["group"] == {} and len(columns["row"]["set"]) == groups.n_rows
    assert promised_columns(model, job.features, groups, "row") == {}
    before = model.predictions(job.features, groups)
    after = again.predictions(job.features, groups)
    np.testing.assert_allclose(after.proba_group, before.proba_group, atol=1e-6)


@pytest.mark.parametrize("kind", ["majority", "proportions"])
def test_folds_that_were_run_already_calibrate_a_model(kind, fitted):
    job, method, model = fitted[kind]
    result = result_of(job, method)
    with_sets = promise_from_result(job, model, result, method.name, 0.8)
    assert with_sets.estimator.n_calibration_ == 24
    assert promises(with_sets) == "about 80% of new groups drawn as these were"
    found = promised_columns(with_sets, job.features, job.targets.groups, "group")
    assert len(next(iter(found.values()))) == 24
    held = held_coverage(result.methods[method.name])
    assert held.n_groups == 24 and held.of_shares == (kind == "proportions")
    assert "90 % promised" in held.words
    assert np.all(np.diff(held.held) >= 0)


def folds_of(proba, truth, *, copies, with_whole):
    """Two folds of users with so many groups each, all of the same answer."""
    folds = []
    for start in (0, 1):
        user = np.repeat(np.arange(start, len(proba), 2), copies)
        units = GroupResults(
            name=[f"{u}-{k}" for k, u in enumerate(user)],
            size=[1] * len(user),
            score=[1.0] * len(user),
            predicted=proba[user].argmax(axis=1).tolist(),
            proba=proba[user].tolist(),
            truth=truth[user].tolist(),
            whole=[f"u{u}" for u in user] if with_whole else None,
        )
        folds.append(FoldResult(units=units, rows={}))
    return folds


def test_coverage_that_was_held_counts_whole_units_once():
    """A user with three equal groups says as much as one with one."""
    rng = np.random.RandomState(0)
    first = rng.rand(36)
    proba = np.column_stack([first, 1.0 - first])
    truth = (rng.rand(36) > first).astype(int)
    once = held_coverage(folds_of(proba, truth, copies=1, with_whole=False))
    thrice = held_coverage(folds_of(proba, truth, copies=3, with_whole=True))
    assert thrice.n_groups == 108 and once.n_groups == 36
    np.testing.assert_allclose([thrice.held, thrice.size], [once.held, once.size])
    # 18 users cannot promise 95 %; 54 groups on their own would seem to
    alone = held_coverage(folds_of(proba, truth, copies=3, with_whole=False))
    assert alone.size[-1] < thrice.size[-1] == 2.0


def test_folds_keep_what_was_kept_whole(table, columns):
    frame = table.frame.assign(user=table.frame["group"].str[:2])
    supervision = make_supervision("majority", **columns["majority"])
    job = Job.from_table(
        type(table)(frame, "table", "0" * 64), supervision, wanted=["x"], keep_whole="user"
    )
    split = job.splits(2)[0]
    units = job.run_fold(job.method("naive-logistic"), {}, split, search=False, curve=False).units
    assert units.whole == [name[:2] for name in units.name]
    assert GroupResults.from_dict(units.to_dict()) == units


def test_rows_need_a_method_of_their_own(fitted):
    job, method, model = fitted["measure"]
    result = result_of(job, method)
    with pytest.raises(TableError, match="needs one `method`"):
        promise_from_result(job, model, result, method.name, 0.8)
    with pytest.raises(TableError, match="no label that could be doubted"):
        label_issues(*fitted["proportions"][:2], n_splits=3)
    assert held_coverage(result.methods[method.name]) is None


def test_a_wrong_label_is_doubted(table, columns):
    frame = table.frame.copy()
    frame.loc[frame["group"] == "g05", "kind"] = "low"  # g05 is high
    changed = type(table)(frame, "table", "0" * 64)
    supervision = make_supervision("majority", **columns["majority"])
    job = Job.from_table(changed, supervision, wanted=["x", "colour"])
    method = job.method("naive-logistic")
    found = label_issues(job, method, n_splits=3).table
    assert found["group"].head(3).tolist().count("g05") == 1
    first = found.set_index("group").loc["g05"]
    assert (first["given"], first["suggested"]) == ("low", "high")
    # what three draws of the folds say of it, on average
    said = []
    for seed in range(3):
        units = [
            fold.units for fold in result_of(replace(job, seed=seed), method).methods[method.name]
        ]
        said += [unit.proba[unit.name.index("g05")] for unit in units if "g05" in unit.name]
    assert first["proba"] == pytest.approx(
        np.mean(said, axis=0)[job.targets.classes.index("low")], abs=1e-5
    )


@pytest.mark.parametrize("kind", list(METHODS))
def test_reasons_in_a_table(kind, fitted):
    job, _, model = fitted[kind]
    rows = np.arange(40)
    features, targets = job.features.iloc[rows], job.targets.take(rows)
    predictions = model.predictions(features, targets.groups)
    of_rows = reason_columns(model, features, predictions, "row")
    assert len(of_rows["why"]) == 40 and any("x" in text for text in of_rows["why"])
    of_groups = reason_columns(model, features, predictions, "group")
    if kind in ("measure", "transfer"):
        assert of_groups == {} and "share" not in of_rows
    else:
        assert len(of_groups["why"]) == 5 and of_groups["why"][0].startswith("row ")
        total = targets.groups.sum(of_rows["share"])
        top = predictions.proba_group.max(axis=1)
        np.testing.assert_allclose(total, top - 0.5, atol=1e-6)

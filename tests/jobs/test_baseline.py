"""The constant answer, intervals that are never of zero width, and what a score hangs on."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from groupwise.groups import Groups
from groupwise.jobs import Job, Result, make_supervision
from groupwise.jobs.evaluate import constant_scores
from groupwise.jobs.fold_result import wilson_interval
from groupwise.jobs.model import _some_groups
from groupwise.jobs.targets import Targets
from groupwise.metrics import bootstrap_interval
from groupwise.tables import LoadedTable

GROUPS = Groups(["a", "a", "b", "c"])


def test_always_the_commonest_class():
    known = make_supervision("majority", group="g", label="y")
    train = Targets(np.array([0, 0, 1, 1]), GROUPS, ("n", "y"))  # one n, two y
    test = Targets(np.array([1, 1, 0, 1]), GROUPS, ("n", "y"))
    assert constant_scores(known, train, test).tolist() == [1.0, 0.0, 1.0]


def test_constant_shares_are_those_of_least_error():
    """The median of the groups: not their mean, nor that of the rows."""
    known = make_supervision("proportions", group="g", label=["n", "y"])
    shares = np.array([[0.5, 0.5], [0.5, 0.5], [0.6, 0.4], [0.0, 1.0]])
    targets = Targets(shares, GROUPS, ("n", "y"))
    np.testing.assert_allclose(constant_scores(known, targets, targets), [1.0, 0.9, 0.5])


def test_the_better_constant_by_the_measure():
    """All of them positive has a better F1 than all of them negative, though fewer are."""
    known = make_supervision("measure", group="g", label="y", measure="f1")
    targets = Targets(np.array([0, 1, 0, 1]), GROUPS, ("n", "y"))
    found = constant_scores(known, targets, targets)
    np.testing.assert_allclose(found[[0, 2]], [2 / 3, 1.0])


def test_rows_of_the_target_choose_its_constant():
    known = make_supervision("transfer", label="y", domain="d", target_domain="t")
    groups = Groups(np.arange(5))
    targets = Targets(np.array([1, 0, 0, 0, 0]), groups, ("n", "y"), np.array(list("tssss")))
    asked = targets.take(np.array([0]))
    assert constant_scores(known, targets, asked).tolist() == [1.0]


@pytest.mark.parametrize(("right", "n"), [(60, 60), (0, 7), (13, 40)])
def test_wilson_agrees_with_scipy(right, n):
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson_interval(right / n, n), expected, atol=2e-5)


@pytest.fixture(scope="module")
def judged():
    """Groups that x tells perfectly; z says nothing."""
    rng = np.random.RandomState(0)
    high = np.repeat(np.arange(24) % 2, 5)
    frame = pd.DataFrame({"g": np.repeat(np.arange(24), 5), "x": high * 10.0 + rng.rand(120),
                          "z": rng.rand(120), "y": np.where(high, "a", "b")})  # fmt: skip
    job = Job.from_table(
        LoadedTable(frame, "t", "00"), make_supervision("majority", group="g", label="y")
    )
    return job.judge(job.method("naive-logistic"), {}, n_splits=3)


def test_intervals_are_never_of_zero_width(judged):
    values = judged.unit_scores()["naive-logistic"]
    score, low, high = judged.mean_with_interval("naive-logistic", values)
    assert score == 1.0 and high == 1.0 and low == pytest.approx(0.862, abs=1e-3)
    same = judged.mean_with_interval("naive-logistic", values * 0 + 0.5)
    assert same[0] == 0.5 and same[1] < 0.4 and same[2] > 0.6
    mean, low, high = judged.paired_difference("naive-logistic", values, values)
    assert mean == 0.0 and low < 0 < high


@pytest.mark.parametrize("step", [1.0, 0.25])  # right or wrong; a score between
def test_groups_of_one_user_count_as_one(judged, step):
    name, values = "naive-logistic", judged.unit_scores()["naive-logistic"]
    folds = judged.methods[name]
    user = {group: f"u{int(group) % 6}" for group in values.index}
    owned = [
        replace(fold, units=replace(fold.units, whole=[user[g] for g in fold.units.name]))
        for fold in folds
    ]
    of_users = replace(judged, methods={name: owned})
    values[:] = [step * (int(group) % 6 % 2) for group in values.index]
    low, high = of_users.mean_with_interval(name, values)[1:]
    if step == 1.0:
        expected = wilson_interval(0.5, 6 * (5 / 6) / (23 / 24))
    else:
        expected = bootstrap_interval(step * np.array([0, 1] * 3))
        difference = of_users.paired_difference(name, values, values * 0)
        np.testing.assert_allclose(difference, (step / 2, *expected))
    np.testing.assert_allclose((low, high), expected)
    assert high - low > 1.5 * np.ptp(judged.mean_with_interval(name, values)[1:])


def test_the_score_hangs_on_the_column_that_tells(judged):
    table = judged.importance("naive-logistic")
    assert table.index.tolist() == ["x", "z"]
    assert table.loc["x", "low"] > 0.2 and table.loc["z", "low"] < 0 < table.loc["z", "high"]
    again = Result.from_json(judged.to_json(), "r").importance("naive-logistic")
    pd.testing.assert_frame_equal(table, again)
    assert judged.baseline()[0] == pytest.approx(0.5)


def test_confusion_counts_groups(judged):
    total = np.sum([fold.confusion for fold in judged.methods["naive-logistic"]], axis=0)
    assert total.tolist() == [[12, 0], [0, 12]]


def test_of_a_large_table_some_whole_groups_are_enough():
    groups, rng = Groups(np.repeat(np.arange(9), 5)), np.random.RandomState(0)
    rows = _some_groups(groups, 22, rng)
    assert len(rows) == 20 and set(np.bincount(rows // 5).tolist()) <= {0, 5}
    assert len(_some_groups(groups, 45, rng)) == 45

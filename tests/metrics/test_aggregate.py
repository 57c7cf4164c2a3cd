"""From values of groups to one number, and the table by group."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from groupwise.exceptions import GroupDataError
from groupwise.metrics import (
    Aggregate,
    FBeta,
    GroupMean,
    GroupQuantile,
    WorstGroup,
    bootstrap_interval,
    get_aggregate,
    score_groups,
)


def test_aggregates_by_hand():
    value = [0.2, 0.4, np.nan, 0.9]
    assert GroupMean()(value) == pytest.approx(0.5)
    assert WorstGroup()(value) == 0.2
    assert GroupQuantile(0.5)(value) == 0.4


def test_intervals_hold_the_value_and_shrink_with_groups():
    rng = np.random.default_rng(0)
    few, many = rng.uniform(size=20), rng.uniform(size=1000)
    for aggregate in (GroupMean(), GroupQuantile(0.25)):
        widths = []
        for value in (few, many):
            low, high = aggregate.interval(value)
            assert low < aggregate(value) < high
            widths.append(high - low)
        assert widths[1] < widths[0] / 5
    low, high = WorstGroup().interval(few)
    assert low == few.min() and high >= low
    theory = 2 * 1.96 * few.std() / np.sqrt(20)
    low, high = GroupMean().interval(few)
    assert high - low == pytest.approx(theory, rel=0.15)


def test_score_groups_takes_any_labels_and_tells_the_worst():
    y = np.array(["spam", "ham", "ham", "spam", "ham"])
    score = np.array([1.0, -1.0, -1.0, -0.5, -2.0])
    found = score_groups(y, score, ["a", "a", "b", "b", "c"], classes=["ham", "spam"], measure="f1")
    assert found.table["value"].to_dict() == {"b": 0.0, "a": 1.0, "c": 1.0}
    assert found.value == pytest.approx(2 / 3)
    assert found.overall == pytest.approx(2 / 3)  # one of two positives found
    assert "FBeta" in str(found)
    assert "worst 0.000 in group 'b', all rows together 0.667" in str(found)
    skip = score_groups(
        (y == "spam").astype(int), score, ["a", "a", "b", "b", "c"],
        measure=FBeta(without_positives="skip"), aggregate="worst",
    )  # fmt: skip
    assert skip.value == 0 and "2 groups (1 left out)" in str(skip)
    with pytest.raises(GroupDataError, match="'eggs' in group"):
        score_groups(["eggs"], [1.0], [0], classes=["ham", "spam"])


def test_classes_in_the_order_of_the_columns():
    y = np.array(["x", "z", "y"])
    score = np.eye(3)[[2, 0, 1]]  # columns: z, y, x
    found = score_groups(y, score, [0, 0, 0], measure="accuracy", classes=["z", "y", "x"])
    assert found.value == 1


def test_three_classes_against_scikit_learn():
    rng = np.random.default_rng(0)
    y, found, groups = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.integers(0, 5, 60)
    for measure, reference in (
        ("f1", lambda a, b: f1_score(a, b, average="macro", zero_division=0)),
        ("balanced_accuracy", balanced_accuracy_score),
        ("accuracy", accuracy_score),
    ):
        scores = score_groups(y, np.eye(3)[found], groups, measure=measure)
        for name, value in scores.table["value"].items():
            part = groups == name
            assert value == pytest.approx(reference(y[part], found[part]))
        assert scores.overall == pytest.approx(reference(y, found))
        assert scores.value == pytest.approx(scores.table["value"].mean())
        assert scores.interval[0] < scores.value < scores.interval[1]
        assert scores.table["size"].sum() == 60
        assert scores.table["value"].is_monotonic_increasing


def test_bootstrap_interval_has_the_width_of_the_normal_one():
    scores = np.random.default_rng(1).normal(size=400)
    low, high = bootstrap_interval(scores, n_draws=4000)
    expected = 2 * 1.96 * scores.std() / 20
    assert high - low == pytest.approx(expected, rel=0.08)
    assert bootstrap_interval(scores) == bootstrap_interval(scores)


def test_bad_options():
    with pytest.raises(ValueError, match="q must be"):
        GroupQuantile(2)
    with pytest.raises(ValueError, match="aggregate must be"):
        get_aggregate("best")
    with pytest.raises(ValueError, match="no group counts"):
        GroupMean()([np.nan])
    with pytest.raises(TypeError, match="abstract"):
        Aggregate()

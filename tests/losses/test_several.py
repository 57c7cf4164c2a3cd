"""Several groupings at once: a sum of losses."""

import numpy as np
import pandas as pd
import pytest

from groupwise import Groupings, Groups
from groupwise.exceptions import GroupDataError
from groupwise.losses import (
    CoxLoss,
    GroupMeanLoss,
    NoisyOrLoss,
    OrdinalLoss,
    PresenceLabelsLoss,
    SeveralGroupings,
    get_loss,
)

LOSSES = {"user": "presence", "age": "proportions", "county": "reported_counts"}


def make(n_classes=2, seed=0, n_rows=24):
    rng = np.random.default_rng(seed)
    label = rng.integers(n_classes, size=n_rows)
    table = pd.DataFrame(
        {
            "user": rng.integers(5, size=n_rows).astype(object),
            "age": rng.choice(["old", "young", "mid"], n_rows).astype(object),
            "county": rng.integers(4, size=n_rows).astype(float),
        }
    )
    table.loc[rng.choice(n_rows, 5, replace=False), "user"] = None
    table.loc[rng.choice(n_rows, 7, replace=False), "county"] = np.nan
    table.loc[n_rows - 1] = None  # in no group at all
    groups = Groupings(table)
    counts = {
        name: each.mean(np.eye(n_classes)[label[groups.rows[name]]])
        for name, each in groups.groups.items()
    }
    told = counts["county"][:, 1] * groups.groups["county"].sizes
    target = {
        "user": (counts["user"][:, 1] > 0).astype(int),
        "age": counts["age"],
        "county": np.column_stack([told, told]),
    }
    shape = n_rows if n_classes == 2 else (n_rows, n_classes)
    return groups, target, rng.normal(size=shape), rng


def bound(seed=0, weights=None):
    groups, target, score, rng = make(seed=seed)
    return SeveralGroupings(LOSSES, weights).bind(target, groups), score, rng


def test_by_hand():
    groups = Groupings({"a": ["x", "x", "y"], "b": [None, 1, 1]})
    target = {"a": np.array([1, 0]), "b": np.array([[0.5, 0.5]])}
    loss = SeveralGroupings({"a": "presence", "b": "proportions"}, {"b": 3.0})
    found = loss.bind(target, groups)
    # one of two rows at least, not y's; one of two rows: -log 3/4 - log 1/2 - 3 log 1/2
    assert np.isclose(found.value(np.zeros(3)), np.log(4 / 3) + 4 * np.log(2))
    gradient, curvature = found.gradient_and_curvature(np.zeros(3))
    assert np.allclose(gradient, [-1 / 6, -1 / 6, 0.5])
    one = NoisyOrLoss().bind(target["a"], Groups(["x", "x", "y"])).curvature(np.zeros(3))
    assert np.allclose(curvature, one + np.array([0, 0.75, 0.75]))
    assert found.total_weight == 3 + 3 * 2


@pytest.mark.parametrize("weights", [None, {"age": 0.3, "county": 2.0}])
def test_gradient_is_the_numerical_derivative_and_curvature_majorises(weights):
    loss, score, _ = bound(1, weights)
    gradient, curvature = loss.gradient_and_curvature(score)
    size = len(score)
    steps = 1e-5 * np.eye(size)
    numerical = [(loss.value(score + step) - loss.value(score - step)) / 2e-5 for step in steps]
    assert np.allclose(gradient, numerical, atol=1e-6)
    hessian = [(loss.gradient(score + s) - loss.gradient(score - s)) / 2e-5 for s in steps]
    gap = np.diag(curvature) - (np.array(hessian) + np.array(hessian).T) / 2
    assert np.linalg.eigvalsh(gap).min() > -1e-6
    assert gradient[-1] == 0 and 0 < curvature[-1] < 1e-10


@pytest.mark.parametrize("name", ["majority", "presence_lse", "proportions", "proportions_squared"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_grouping_is_its_own_loss(name, n_classes, dtype):
    loss = get_loss(name)
    if loss.binary and n_classes > 2:
        return
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(30) % 6)
    groups, weight = Groups(codes), (1.0 + np.arange(6))[codes]
    target = np.arange(6) % n_classes
    if loss.target_kind == "share":
        target = groups.mean(np.eye(n_classes)[rng.integers(n_classes, size=30)])
    score = rng.normal(size=30 if n_classes == 2 else (30, n_classes)).astype(dtype)
    given = {"n_classes": n_classes, "weight_row": weight}
    one = loss.bind(target, groups, **given)
    several = SeveralGroupings({"g": name}).bind({"g": target}, Groupings({"g": codes}), **given)
    assert several.value(score) == one.value(score)
    assert np.array_equal(several.init_score(), one.init_score())
    assert several.total_weight == one.total_weight
    for ours, theirs in zip(
        several.gradient_and_curvature(score, dtype),
        one.gradient_and_curvature(score, dtype),
        strict=True,
    ):
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def test_row_order_and_names_do_not_matter():
    groups, target, score, rng = make(seed=2)
    loss = SeveralGroupings(LOSSES)
    mixed = rng.permutation(len(score))
    ids = {name: column[mixed] for name, column in groups.ids.items()}
    ids["age"] = pd.Series(ids["age"]).str[::-1].to_numpy()
    renamed = Groupings(ids)
    order = np.argsort([name[::-1] for name in groups.groups["age"].names])
    other = loss.bind(target | {"age": target["age"][order]}, renamed)
    ours = loss.bind(target, groups)
    assert np.isclose(ours.value(score), other.value(score[mixed]))
    assert np.allclose(ours.gradient(score)[mixed], other.gradient(score[mixed]))
    assert np.allclose(ours.curvature(score)[mixed], other.curvature(score[mixed]))


@pytest.mark.parametrize("size", [1e2, 1e6])
def test_extreme_scores_give_finite_numbers(size):
    loss, score, _ = bound(3)
    for extreme in (size * np.sign(score), np.full(len(score), -size)):
        assert np.isfinite(loss.value(extreme))
        assert np.isfinite(loss.gradient_and_curvature(extreme)).all()


def test_exposures_reach_the_rows_of_each_grouping():
    rng = np.random.default_rng(0)
    groups = Groupings({"a": [0, 0, 1, 1], "b": [None, 0, 0, 1]})
    target = {name: rng.uniform(0, 3, each.n_groups) for name, each in groups.groups.items()}
    loss = SeveralGroupings({"a": "poisson", "b": "poisson"})
    assert loss.takes_exposure and loss.of_numbers
    score, offset = rng.normal(size=(2, 4))
    shifted = loss.bind(target, groups).with_offset(offset)
    assert np.isclose(shifted.value(score), loss.bind(target, groups).value(score + offset))


def test_whole_parts_of_rows():
    nested = Groupings({"session": [0, 0, 1, 2, 3], "user": ["a", "a", "a", "b", None]})
    assert nested.components().codes.tolist() == [0, 0, 0, 1, 2]
    crossed = Groupings(np.array([[0, 0], [0, 1], [1, 1]]))
    assert crossed.components().n_groups == 1
    assert crossed.n_groups == 4
    assert nested.take(np.array([3, 4])).groups["user"].names.tolist() == ["b"]


@pytest.mark.parametrize(
    ("losses", "weights", "match"),
    [
        ({}, None, "dict"),
        ({"a": "nothing"}, None, "must be one of"),
        ({"a": "presence", "b": "squared_error"}, None, "the same thing"),
        ({"a": "squared_error", "b": "poisson"}, None, "the same thing"),
        ({"a": OrdinalLoss()}, None, "does not add up"),
        ({"a": CoxLoss()}, None, "does not add up"),
        ({"a": PresenceLabelsLoss()}, None, "does not add up"),
        ({"a": SeveralGroupings({"b": "presence"})}, None, "does not add up"),
        ({"a": "presence"}, {"b": 1.0}, "weights names 'b'"),
        ({"a": "presence"}, {"a": 0.0}, "weights"),
    ],
)
def test_losses_that_do_not_add_up(losses, weights, match):
    with pytest.raises(ValueError, match=match):
        SeveralGroupings(losses, weights).check_parameters()


def test_groups_that_do_not_fit():
    loss = SeveralGroupings({"a": "proportions"})
    with pytest.raises(GroupDataError, match="a column of ids for each"):
        loss.bind({}, Groupings({"b": [1, 2]}))
    with pytest.raises(GroupDataError, match=r"grouping 'a': .* group 1"):
        loss.bind({"a": np.array([[0.5, 0.5]])}, Groupings({"a": [1]}))
    with pytest.raises(GroupDataError, match="a table of ids"):
        Groupings([1, 2])
    with pytest.raises(GroupDataError, match="equally long"):
        Groupings({"a": [1], "b": [1, 2]})
    with pytest.raises(GroupDataError, match="at least one column"):
        Groupings({})
    assert SeveralGroupings({"a": GroupMeanLoss()}).predict(np.ones(2)).tolist() == [1, 1]
    with pytest.raises(ValueError, match="of classes"):
        loss.predict(np.ones(2))

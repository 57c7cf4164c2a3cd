"""What members read: orders that names and rows do not change, bags, projections."""

import numpy as np
import pytest

from groupwise.incontext import members
from groupwise.incontext.columns import Context
from groupwise.incontext.members import bags_of_groups, canonical_order, make_members
from groupwise.incontext.network import MAX_FEATURES
from groupwise.incontext.projections import StandardScores, principal_axes


def table(n_groups=12, size=5, d=4, seed=0, n_known=8):
    rng = np.random.RandomState(seed)
    label = np.eye(2)[np.arange(n_known) % 2]
    return Context(
        rng.normal(size=(n_groups * size, d)), np.full(n_groups, size), label, "majority"
    )


def test_standard_scores_by_hand():
    scores = StandardScores.of(np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]]))
    found = scores(np.array([[2.0, 7.0], [3.0, 9.0], [np.nan, 7.0], [1e9, 7.0]]))
    np.testing.assert_allclose(found, [[0, 0], [1, 0], [0, 0], [5, 0]])


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_principal_axes_are_orthonormal_and_in_order(shape):
    x = np.random.RandomState(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    found = principal_axes(x, 3)
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(3), atol=1e-9)
    spread = found(x).var(axis=0)
    assert (np.diff(spread) < 1e-9).all()


def test_canonical_order_knows_neither_rows_nor_names():
    rng = np.random.RandomState(1)
    x = np.round(rng.normal(size=(60, 2)), 1)
    x[::7, 0] = np.nan
    codes = rng.randint(9, size=60)
    codes[:9] = np.arange(9)
    label = np.eye(2)[np.arange(6) % 2]
    rows, groups = canonical_order(x, codes, label)
    order = rng.permutation(60)
    name = np.concatenate([rng.permutation(6), 6 + rng.permutation(3)])  # new names of the groups
    moved_label = np.empty_like(label)
    moved_label[name[:6]] = label
    rows_2, groups_2 = canonical_order(x[order], name[codes][order], moved_label)
    np.testing.assert_array_equal(x[rows], x[order][rows_2])
    np.testing.assert_array_equal(name[groups], groups_2)
    assert set(groups[:6]) == set(range(6))


def test_a_short_context_is_one_bag():
    context = table()
    assert bags_of_groups(context, 3, np.random.RandomState(0)) == [context]


def test_five_thousand_rows_are_one_bag_and_one_more_is_not():
    sizes = np.full(1000, 5)
    label = np.eye(2)[np.arange(1000) % 2]
    whole = Context(np.zeros((5000, 1)), sizes, label, "majority")
    assert bags_of_groups(whole, 2, np.random.RandomState(0)) == [whole]
    longer = Context(np.zeros((5001, 1)), np.append(sizes[1:], 6), label, "majority")
    assert len(bags_of_groups(longer, 2, np.random.RandomState(0))) == 2


def test_bags_hold_whole_groups_and_all_of_them_in_turn(monkeypatch):
    monkeypatch.setattr(members, "MAX_ROWS", 50)
    context = table(n_groups=40, n_known=30)
    context.x[:, 0] = np.repeat(np.arange(40), 5)  # a row says which group it is of
    bags = bags_of_groups(context, 6, np.random.RandomState(0))
    seen = set()
    for bag in bags:
        assert len(bag.x) <= 50
        group = bag.x[np.concatenate([[0], np.cumsum(bag.sizes)[:-1]]), 0].astype(int)
        assert (bag.x[:, 0] == np.repeat(group, 5)).all()
        np.testing.assert_array_equal(bag.label, context.label[group[: len(bag.label)]])
        seen |= set(group[: len(bag.label)].tolist())
    assert seen == set(range(30))


def test_a_sample_stands_for_a_huge_group(monkeypatch):
    monkeypatch.setattr(members, "MAX_ROWS", 100)
    x = np.random.RandomState(0).normal(size=(210, 2))
    context = Context(x, np.array([200, 5, 5]), np.eye(2)[[0, 1, 1]], "majority")
    (bag,) = bags_of_groups(context, 1, np.random.RandomState(0))
    assert bag.sizes.tolist() == [10, 5, 5]


def test_members_differ_in_scaling_order_and_classes():
    found = make_members(table(), 8, np.random.RandomState(0))
    assert len({id(m.reader) for m in found}) == 2
    assert {tuple(m.place) for m in found} == {(0, 1), (1, 0)}
    assert len({tuple(m.order) for m in found}) > 2


def test_wide_tables_are_read_through_choices_and_sums():
    found = make_members(table(d=MAX_FEATURES + 30), 8, np.random.RandomState(0))
    assert all(m.reader.n_features <= MAX_FEATURES for m in found)
    assert sum(m.reader.projection.axes is not None for m in found) == 4


def test_presence_keeps_its_classes_in_place():
    context = table()
    context = Context(context.x, context.sizes, context.label, "presence")
    found = make_members(context, 8, np.random.RandomState(0))
    assert {tuple(m.place) for m in found} == {(0, 1)}

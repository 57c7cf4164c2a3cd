import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, PredefinedSplit

from groupwise import GroupBoostClassifier, SBoostClassifier
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.groups import Groups
from groupwise.metrics import group_accuracy, make_scorer
from groupwise.model_selection import (
    WholeGroupKFold,
    WholeGroupShuffleSplit,
    cross_validate,
    group_train_test_split,
    hold_out_groups,
    paper_split,
    split_as_given,
    split_whole_groups,
)
from groupwise.proportions import MeanMapClassifier


@given(
    st.lists(st.integers(1, 6), min_size=12, max_size=30),
    st.integers(0, 1000),
    st.sampled_from(["fold", "shuffle"]),
)
def test_groups_stay_whole_and_classes_spread(sizes, seed, kind):
    label = np.arange(len(sizes)) % 2
    groups = np.repeat(np.arange(len(sizes)), sizes)
    order = np.random.default_rng(seed).permutation(len(groups))
    groups = groups[order]
    y = label[groups]
    splitter = {
        "fold": WholeGroupKFold(3, n_repeats=2, random_state=seed),
        "shuffle": WholeGroupShuffleSplit(4, test_size=0.3, random_state=seed),
    }[kind]
    seen = np.zeros(len(sizes), dtype=int)
    n = 0
    for train, test in splitter.split(groups, y, groups):
        assert len(train) + len(test) == len(groups)
        assert not set(groups[train]) & set(groups[test])
        tested = np.unique(groups[test])
        seen[tested] += 1
        assert abs(np.sum(label[tested] == 0) - np.sum(label[tested] == 1)) <= 1
        n += 1
    assert n == splitter.get_n_splits()
    if kind == "fold":
        assert (seen == 2).all()


def test_same_seed_same_folds_and_other_repeats():
    groups = np.arange(12)
    y = groups % 2
    cv = WholeGroupKFold(3, n_repeats=2, random_state=4)
    one = [test.tolist() for _, test in cv.split(groups, y, groups)]
    assert one == [test.tolist() for _, test in cv.split(groups, y, groups)]
    assert one[:3] != one[3:]


def test_without_labels_or_stratification():
    groups = np.repeat(np.arange(6), 2)
    mixed = np.arange(12) % 2  # differs inside the groups
    for splitter in (
        WholeGroupKFold(3, stratify=False),
        WholeGroupShuffleSplit(3, stratify=False),
    ):
        assert len(list(splitter.split(groups, mixed, groups))) == 3
    assert len(list(WholeGroupKFold(3).split(groups, None, groups))) == 3
    with pytest.raises(GroupDataError, match="must be the same on every row"):
        next(WholeGroupKFold(3).split(groups, mixed, groups))


def test_too_few_groups():
    groups = np.arange(10)
    y = np.r_[np.zeros(8), np.ones(2)]
    with pytest.raises(GroupDataError, match=r"at least 3 groups of each class; class 1.0 has 2"):
        next(WholeGroupKFold(3).split(groups, y, groups))
    with pytest.raises(GroupDataError, match="cannot make 11 splits of 10 groups"):
        next(WholeGroupKFold(11, stratify=False).split(groups, None, groups))


def test_every_class_on_both_sides_of_a_small_split():
    groups = np.arange(9)
    y = np.repeat([0, 1, 2], 3)
    for train, test in WholeGroupShuffleSplit(5, test_size=0.05).split(groups, y, groups):
        assert set(y[test]) == set(y[train]) == {0, 1, 2}


def test_early_stopping_with_one_group_of_a_class():
    """What the caller can do is said, with the class's name, not with a splitter's parameter."""
    X, groups = np.arange(12.0)[:, None], np.repeat(np.arange(6), 2)
    y = np.repeat(["sit", "sit", "run", "walk", "walk", "walk"], 2)
    clf = GroupBoostClassifier(early_stopping=True, n_estimators=2)
    with pytest.raises(GroupDataError, match=r"group of class 'run': .*early_stopping=False"):
        clf.fit(X, y, groups=groups)


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.95])
def test_groups_held_out_are_of_every_kind(fraction):
    kind = np.r_[0, 0, 1, 1, 1, np.full(45, 2)]  # one side's share of two or three rounds to none
    for seed in range(10):
        rng = np.random.RandomState(seed)
        held_out = hold_out_groups(50, fraction, rng, (kind, ["a", "b", "c"]))
        assert set(kind[held_out]) == set(kind[~held_out]) == {0, 1, 2}
    assert hold_out_groups(50, 0.2, np.random.RandomState(0)).sum() == 10


def test_the_papers_split_is_80_to_20():
    groups = np.repeat(np.arange(50), 2)
    ((train, test),) = paper_split(0).split(groups, groups % 2, groups)
    assert len(np.unique(groups[test])) == 10 and len(np.unique(groups[train])) == 40


def test_train_test_split_of_anything():
    frame = pd.DataFrame({"a": np.arange(8.0)})
    y = np.repeat(["n", "p"], 4)
    groups = [f"g{k}" for k in range(8)]
    parts = group_train_test_split(frame, y, groups=groups, y=y, test_size=0.5, random_state=1)
    X_train, _, y_train, y_test, g_train, g_test = parts
    assert isinstance(X_train, pd.DataFrame) and isinstance(g_train, list)
    assert sorted(y_train) == sorted(y_test) == ["n", "n", "p", "p"]
    assert sorted(g_train + g_test) == groups
    g_only = group_train_test_split(groups=groups, random_state=0)
    assert [len(part) for part in g_only] == [6, 2]


def test_splitters_print():
    assert repr(WholeGroupKFold(4)) == "WholeGroupKFold(n_splits=4, n_repeats=1)"
    assert repr(paper_split()) == "WholeGroupShuffleSplit(n_splits=1, test_size=0.2)"


class TestCrossValidate:
    def test_ids_from_the_column(self, sessions):
        X = pd.DataFrame(sessions.X, columns=list("abcd"))
        apart = cross_validate(
            SBoostClassifier(n_estimators=3), X, sessions.y, groups=sessions.groups, cv=3
        )
        inside = cross_validate(
            SBoostClassifier(n_estimators=3, group_column="s"),
            X.assign(s=sessions.groups),
            sessions.y,
            cv=3,
        )
        np.testing.assert_array_equal(apart["test_score"], inside["test_score"])

    def test_without_groups_rows_are_groups_and_it_says_so(self, sessions):
        X, y = sessions.X, sessions.y_row
        with pytest.warns(GroupsLostWarning):
            lost = cross_validate(SBoostClassifier(n_estimators=2), X, y, cv=3)
        meant = cross_validate(
            SBoostClassifier(n_estimators=2), X, y, groups=np.arange(len(X)), cv=3
        )
        np.testing.assert_array_equal(lost["test_score"], meant["test_score"])

    def test_coarser_ids_stay_whole(self, sessions):
        users = sessions.groups % 7
        scores = cross_validate(
            SBoostClassifier(n_estimators=2),
            sessions.X,
            sessions.y,
            groups=sessions.groups,
            keep_whole=users,
            cv=4,
            return_indices=True,
        )
        for train, test in zip(*scores["indices"].values(), strict=True):
            assert not set(users[train]) & set(users[test])

    def test_a_splitter_that_divides_groups_is_refused(self, sessions):
        with pytest.raises(GroupDataError, match="divides group"):
            cross_validate(
                SBoostClassifier(),
                sessions.X,
                sessions.y,
                groups=sessions.groups,
                cv=KFold(5, shuffle=True, random_state=0),
            )

    def test_plain_classifiers_with_a_group_scorer(self, sessions):
        scores = cross_validate(
            LogisticRegression(),
            sessions.X,
            sessions.y,
            groups=sessions.groups,
            scoring=make_scorer(group_accuracy),
        )
        assert scores["test_score"].mean() > 0.8


def test_integer_cv_stratifies_only_where_groups_have_one_class():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 4)
    X, y_row = rng.normal(size=(48, 2)), rng.integers(2, size=48)
    shares = np.repeat(rng.dirichlet([1.0, 1.0], size=12), 4, axis=0)
    for y in (y_row, shares):  # of the measures, and of the proportions
        scores = cross_validate(MeanMapClassifier(), X, y, groups=groups, cv=3)
        assert np.isfinite(scores["test_score"]).all()


def test_coarser_ids_stay_on_one_side_of_a_split():
    groups = np.repeat(np.arange(12), 3)
    users = groups // 3
    y = groups % 2
    train, test, g_train, g_test = group_train_test_split(
        users, groups=groups, y=y, keep_whole=users, random_state=0
    )
    assert not set(train) & set(test) and not set(g_train) & set(g_test) and len(set(test)) == 1
    with pytest.raises(GroupDataError, match="divides group 0 "):
        group_train_test_split(groups, groups=groups, keep_whole=np.arange(36), random_state=0)


@pytest.mark.parametrize("cv", [KFold(4), PredefinedSplit(np.arange(24) % 4)], ids=type)
def test_a_splitter_may_not_divide_coarser_ids(cv):
    groups, users = Groups(np.arange(24)), np.arange(24) // 4
    X = np.zeros((24, 1))
    assert len(split_whole_groups(cv, X, None, groups)) == 4
    with pytest.raises(GroupDataError, match="cv divides keep_whole"):
        split_whole_groups(cv, X, None, groups, keep_whole=users)


def test_a_splitter_goes_by_the_place_of_rows_as_they_were_given():
    order = np.array([3, 0, 2, 1])  # the first row that lies here was the last one given
    folds = PredefinedSplit([0, 1, 1, 0])
    found = split_as_given(folds, order, np.zeros((4, 1)), np.zeros(4), Groups(np.arange(4)))
    assert [order[test].tolist() for _, test in found] == [[3, 0], [2, 1]]


def test_repeats_and_random_splits_ask_for_no_more_groups_than_folds():
    X, groups = np.zeros((6, 1)), np.arange(6)
    assert len(list(WholeGroupKFold(3, n_repeats=3).split(X, groups=groups))) == 9
    assert len(list(WholeGroupShuffleSplit(test_size=0.4).split(X, groups=groups))) == 10
    with pytest.raises(GroupDataError, match="cannot make 7 splits of 6 groups"):
        next(WholeGroupKFold(7).split(X, groups=groups))
    for size in (2, 1.5, -0.3, 0.0):
        with pytest.raises(ValueError, match="test_size"):
            next(WholeGroupShuffleSplit(test_size=size).split(X, groups % 2, groups))

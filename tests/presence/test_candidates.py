"""Candidate labels: one general disjunction of rows and classes."""

import numpy as np
import pandas as pd
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.presence import DPBoostClassifier, Stumps
from groupwise.presence.program import ProgramSettings, present_rows, solve_program


@pytest.fixture(scope="module")
def partial():
    """Three separate classes; every row names its class and, half of the time, a wrong one."""
    rng = np.random.RandomState(0)
    y = np.arange(60) % 3
    X = rng.normal(scale=0.4, size=(60, 2)) + np.array([[0, 0], [3, 0], [0, 3]])[y]
    table = np.eye(3, dtype=int)[y]
    wrong = (y + rng.randint(1, 3, 60)) % 3
    table[np.arange(60), wrong] |= rng.randint(2, size=60)
    return X, y, pd.DataFrame(table, columns=["a", "b", "c"])


def test_candidates_are_disambiguated(partial):
    X, y, table = partial
    assert (table.sum(axis=1) == 2).sum() > 15
    clf = DPBoostClassifier(nu=0.05).fit(X, table, groups=np.arange(60))
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert (clf.predict(X) == np.array(["a", "b", "c"])[y]).mean() > 0.95
    assert 0 < clf.lower_bound_ <= clf.upper_bound_ + 1e-9
    assert (clf.witnesses_ == np.arange(60)).all()


@pytest.mark.parametrize("as_frame", [True, False])
def test_one_candidate_each_is_a_label_each(partial, as_frame):
    X, y, _ = partial
    table = np.eye(3, dtype=bool)[y]
    rows = np.arange(60)
    one = DPBoostClassifier(nu=0.05).fit(X, y, groups=rows)
    given = pd.DataFrame(table) if as_frame else table
    other = DPBoostClassifier(nu=0.05).fit(X, given, groups=rows)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.upper_bound_ == other.upper_bound_


def test_rows_and_candidates_at_once(partial):
    """A disjunct for every pair of a row and a candidate of its group; exact is not beaten."""
    X, y, _ = partial
    groups = np.arange(12) // 2
    table = np.zeros((12, 3), dtype=bool)
    table[np.arange(12), y[:12][groups * 2]] = True
    table[groups == 0] = True
    exact = DPBoostClassifier(Stumps(4), C=0.5, exact=True).fit(X[:12], table, groups=groups)
    rough = DPBoostClassifier(Stumps(4), C=0.5).fit(X[:12], table, groups=groups)
    assert exact.gap_ <= 1e-6
    assert rough.lower_bound_ - 1e-6 <= exact.upper_bound_ <= rough.upper_bound_ + 1e-6


def test_a_group_that_may_have_any_class_costs_nothing():
    """Two classes, both possible: any score is right for one of them, so the group has no say."""
    from groupwise import Groups

    X = np.array([[0.0], [1.0], [5.0]])
    table = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    with_it = present_rows(table, Groups([0, 1, 2]), np.zeros(3, bool), 1.0)
    without = present_rows(table[:2], Groups([0, 1]), np.zeros(2, bool), 1.0)
    cost = [
        solve_program(
            p, Stumps().bind(X[: p.n_rows]), ProgramSettings(exact=True), np.random.RandomState(0)
        )
        for p in (with_it, without)
    ]
    assert cost[0].incumbent.cost == pytest.approx(cost[1].incumbent.cost)


def test_bad_tables_are_named(partial):
    X, _, table = partial
    ids = np.array([f"g{k:02d}" for k in range(60)])
    empty = table.copy()
    empty.iloc[4] = 0
    with pytest.raises(GroupDataError, match="'g04' has no candidate"):
        DPBoostClassifier().fit(X, empty, groups=ids)
    with pytest.raises(GroupDataError, match=r"'g02' has 7 for class 'b'"):
        DPBoostClassifier().fit(X, table.assign(b=np.where(np.arange(60) == 2, 7, 1)), groups=ids)
    with pytest.raises(GroupDataError, match="one line per row"):
        DPBoostClassifier().fit(X[:-1], table, groups=ids[:-1])
    with pytest.raises(GroupDataError, match="must be the same on every row"):
        DPBoostClassifier().fit(X, table, groups=np.arange(60) // 30)

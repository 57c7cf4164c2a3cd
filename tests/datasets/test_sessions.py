import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupwise import Groups
from groupwise.datasets import (
    data_folder,
    load_uci,
    load_wisdm,
    make_sessions,
    make_triangle_sessions,
)
from groupwise.exceptions import GroupDataError


def rows(n_classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.arange(n)[:, None], rng.integers(0, n_classes, n)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 4), st.integers(0, 1000), st.booleans())
def test_sessions_are_as_described(n_classes, seed, reuse):
    X, y = rows(n_classes, seed=seed)
    s = make_sessions(X, y, reuse=reuse, n_sessions=40 if reuse else None, random_state=seed)
    groups = Groups(s.groups)
    assert (groups.sizes == 10).all()
    np.testing.assert_array_equal(y[s.X[:, 0]], s.y_row)  # rows keep their own labels
    groups.one_per_group(s.y)
    foreign = groups.sum(s.y_row != s.y)
    assert foreign.min() >= 1 and foreign.max() <= 5
    if not reuse:
        assert len(np.unique(s.X)) == len(s.X)
    counts = np.bincount(groups.one_per_group(s.y), minlength=n_classes)
    assert counts.max() - counts.min() <= 1  # classes take turns


def test_number_of_foreign_rows_is_uniform():
    X, y = rows(n=200)
    s = make_sessions(X, y, reuse=True, n_sessions=5000, random_state=0)
    foreign = Groups(s.groups).sum(s.y_row != s.y).astype(int)
    np.testing.assert_allclose(np.bincount(foreign)[1:] / 5000, 0.2, atol=0.02)


def test_same_seed_same_sessions():
    X, y = rows()
    one, other = (make_sessions(X, y, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.X, other.X)
    assert not np.array_equal(one.X, make_sessions(X, y, random_state=6).X)


def test_rows_that_do_not_suffice():
    X, y = np.zeros((40, 1)), np.repeat([0, 1], [30, 10])
    with pytest.raises(GroupDataError, match="sessions only, for want of class 1; reuse=True"):
        make_sessions(X, y, n_sessions=10, random_state=0)
    with pytest.raises(GroupDataError, match="suffice for 0 sessions"):
        make_sessions(X[:8], y[-14:-6], random_state=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_other": (0, 10)}, "0 <= low <= high < size=10"),
        ({"n_other": (3, 2)}, "n_other must satisfy"),
        ({"reuse": True}, "n_sessions must be given"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_sessions(*rows(), **options)


def test_one_class():
    with pytest.raises(GroupDataError, match="at least two classes"):
        make_sessions(np.zeros((20, 1)), np.zeros(20))


def test_triangle():
    s = make_triangle_sessions(40, random_state=0)
    groups = Groups(s.groups)
    own = groups.sum(s.y_row == s.y)
    label = groups.one_per_group(s.y)
    np.testing.assert_array_equal(own[label == "D"], 10)
    np.testing.assert_array_equal(own[label != "D"], 4)
    centres = np.array([s.X[s.y_row == name].mean(axis=0) for name in "ABCD"])
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), [1, 1, 1, 0], atol=0.1)
    sides = [np.linalg.norm(centres[i] - centres[(i + 1) % 3]) for i in range(3)]
    np.testing.assert_allclose(sides, np.sqrt(3), atol=0.15)
    with pytest.raises(ValueError, match="must be even"):
        make_triangle_sessions(own=5)


def test_where_the_data_is(tmp_path, monkeypatch):
    monkeypatch.delenv("GROUPWISE_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set GROUPWISE_DATA"):
        data_folder()
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    with pytest.raises(FileNotFoundError, match="does not exist"):
        data_folder("uci")
    with pytest.raises(ValueError, match="must be one of"):
        load_uci("iris")


def test_real_sets_have_their_published_sizes(real_data):
    shapes = {name: load_uci(name).X.shape for name in ("spam", "cmc", "german")}
    assert shapes == {"spam": (4601, 57), "cmc": (1473, 9), "german": (1000, 24)}
    assert load_uci("spam").y.sum() == 1813
    wisdm = load_wisdm()
    assert wisdm.X.shape == (5418, 43)
    assert len(np.unique(wisdm.groups)) == 177 and len(np.unique(wisdm.keep_whole)) == 36
    assert len(np.unique(wisdm.y)) == 6
    Groups(wisdm.groups).one_per_group(wisdm.y)
    Groups(wisdm.groups).one_per_group(wisdm.keep_whole)  # a session is of one user

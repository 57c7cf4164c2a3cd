import numpy as np
import pytest
from scipy import sparse

from groupwise.datasets.transfer import (
    NEWSGROUP_TASKS,
    REUTERS_TASKS,
    load_mushroom_task,
    load_newsgroups_task,
    load_reuters_task,
    make_shifted_domains,
)


def test_shifted_domains_turn_the_plane():
    d = make_shifted_domains(300, 300, angle=180.0, noise=0.0, random_state=0)
    side = (d.X[:, 0] > 0).astype(int)
    source = d.domains == "source"
    np.testing.assert_array_equal(d.y[source], side[source])
    np.testing.assert_array_equal(d.y[~source], 1 - side[~source])
    noisy = make_shifted_domains(3000, 0, angle=0.0, noise=0.25, random_state=0)
    assert np.mean(noisy.y != (noisy.X[:, 0] > 0)) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("rec-talk", (3669, 3561)), ("rec-sci", (3961, 3965)), ("sci-talk", (3374, 3828))],
)
def test_newsgroups_have_the_papers_sizes(real_data, name, sizes):
    task = load_newsgroups_task(name)
    counted = [(task.domains == side).sum() for side in ("source", "target")]
    np.testing.assert_allclose(counted, sizes, atol=5)
    assert sparse.issparse(task.X)
    lengths = sparse.linalg.norm(task.X, axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1.0)
    counts = load_newsgroups_task(name, tfidf=False)
    assert counts.X.shape == task.X.shape
    assert (counts.X.data == np.round(counts.X.data)).all()


@pytest.mark.parametrize("name", sorted(REUTERS_TASKS))
def test_reuters_sides_are_near_equal(real_data, name):
    task = load_reuters_task(name)
    n_source, n_target = ((task.domains == side).sum() for side in ("source", "target"))
    assert abs(n_source - n_target) < 0.05 * n_source
    for side in ("source", "target"):
        assert 0.3 < task.y[task.domains == side].mean() < 0.7


def test_mushroom_has_the_papers_sizes(real_data):
    task = load_mushroom_task()
    assert (task.domains == "source").sum() == 4608
    assert (load_mushroom_task(source="enlarging").domains == "source").sum() == 3516
    assert task.y.sum() == 4208


@pytest.mark.parametrize(
    ("load", "argument"),
    [(load_newsgroups_task, "a-b"), (load_reuters_task, "a-b")],
)
def test_unknown_names(load, argument):
    with pytest.raises(ValueError, match="name must be one of"):
        load(argument)


def test_unknown_source():
    with pytest.raises(ValueError, match="source must be one of"):
        load_mushroom_task(source="flat")


def test_tasks_do_not_share_newsgroups():
    for source, target in NEWSGROUP_TASKS.values():
        assert not set(source) & set(target)

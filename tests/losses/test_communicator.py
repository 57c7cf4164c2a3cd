"""Losses whose groups lie on several machines: together they are the loss of one."""

import numpy as np
import pytest
from scipy.stats import norm

from groupwise import Groups
from groupwise.losses import (
    LOSSES,
    NUMBER_LOSSES,
    GroupMeanLoss,
    NegativeBinomialTotalLoss,
    PoissonTotalLoss,
    ShareLoss,
    get_loss,
    get_number_loss,
)
from groupwise.losses.layout import LocalOnly, SpreadGroups
from groupwise.losses.median import weighted_median


class Counted:
    """Agreement between threads, and how often it was asked for."""

    def __init__(self, machines):
        self.machines, self.n_calls = machines, 0

    def allreduce_sum(self, values):
        self.n_calls += 1
        return self.machines("sum", values)

    def allreduce_max(self, value):
        self.n_calls += 1
        return self.machines("max", value)


def lockstep(tasks):
    """Run one function per machine in threads that meet whenever they agree on a number."""
    import threading

    barrier = threading.Barrier(len(tasks))
    said, out = [None] * len(tasks), [None] * len(tasks)

    def meet(rank):
        def agree(how, values):
            said[rank] = values
            barrier.wait()
            found = sum(said) if how == "sum" else max(said)
            barrier.wait()
            return found

        return agree

    def run(rank):
        communicator = Counted(meet(rank))
        out[rank] = tasks[rank](communicator), communicator.n_calls

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return out


def three_machines(n_groups=30, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), rng.integers(1, 8, n_groups))
    score = rng.normal(size=(len(group), n_classes) if n_classes > 2 else len(group))
    weight = rng.uniform(0.5, 2.0, n_groups)[group]
    machine = np.arange(n_groups) % 3
    return group, score, weight, machine


CLASSES = [name for name in LOSSES if get_loss(name).on_machines]
NUMBERS = [name for name in NUMBER_LOSSES if get_number_loss(name).on_machines]
TWO = [(name, 2) for name in (*CLASSES, *NUMBERS, "huber")]
THREE = [(name, 3) for name in CLASSES if not get_loss(name).binary]


@pytest.mark.parametrize(("name", "n_classes"), [*TWO, *THREE])
def test_parts_of_a_loss_make_the_whole(name, n_classes):
    group, score, weight, machine = three_machines(n_classes=n_classes)
    rng = np.random.default_rng(1)
    n_groups = len(machine)
    if name in (*NUMBERS, "huber"):
        loss = GroupMeanLoss(0.3) if name == "huber" else get_number_loss(name)
        target = rng.integers(0, 5, n_groups) / Groups(group).sizes
    else:
        loss = get_loss(name)
        target = rng.integers(0, n_classes, n_groups)
        counts = Groups(group).sum(np.eye(n_classes)[rng.integers(0, n_classes, len(group))])
        if loss.target_kind == "report":
            counts[::4] = np.nan
            target = counts[:, [0, 0]] if n_classes == 2 else counts
        if loss.target_kind == "share":
            target = counts / Groups(group).sizes[:, None]
    whole = loss.bind(target, Groups(group), n_classes=n_classes, weight_row=weight)

    def task(rank):
        mine = machine[group] == rank

        def work(communicator):
            part = loss.bind(
                target[machine == rank],
                Groups(group[mine]),
                n_classes=n_classes,
                weight_row=weight[mine],
            ).connect(communicator)
            start = part.init_score()
            value = part.value(score[mine])
            before = communicator.n_calls
            derivatives = part.gradient_and_curvature(score[mine])
            return start, value, derivatives, part.total_weight, communicator.n_calls - before

        return work

    for rank, ((start, value, (gradient, curvature), total, n_calls), _) in enumerate(
        lockstep([task(rank) for rank in range(3)])
    ):
        mine = machine[group] == rank
        np.testing.assert_allclose(start, whole.init_score(), atol=1e-6)
        assert value == pytest.approx(whole.value(score), rel=1e-12)
        assert total == pytest.approx(whole.total_weight, rel=1e-12)
        np.testing.assert_allclose(gradient, whole.gradient(score)[mine], rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(curvature, whole.curvature(score)[mine], rtol=1e-9, atol=1e-14)
        # the scale and the sum of the exponential loss; nothing for sums over groups
        assert n_calls == (2 if name == "majority" else 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("loss", "n_classes"),
    [
        (ShareLoss(), 2),
        (ShareLoss(), 3),
        (GroupMeanLoss(), 2),
        (GroupMeanLoss(0.3), 2),
        (PoissonTotalLoss(), 2),
        (NegativeBinomialTotalLoss(), 2),
    ],
)
def test_groups_whose_rows_lie_on_three_machines(loss, n_classes, weighted):
    """Sums over rows are enough; one machine holds none of these rows, and one group is empty."""
    group, score, weight, _ = three_machines(n_groups=7, n_classes=n_classes)
    rng = np.random.default_rng(2)
    weight = weight * rng.uniform(0.5, 2.0, len(group)) if weighted else None
    machine = rng.integers(0, 2, len(group))
    whole_groups = Groups(group)
    target = rng.integers(0, 5, 7) / whole_groups.sizes
    if loss.target_kind == "share":
        target = whole_groups.mean(np.eye(n_classes)[rng.integers(0, n_classes, len(group))])
    whole = loss.bind(target, whole_groups, n_classes=n_classes, weight_row=weight)
    assert loss.by_sums

    def task(rank):
        mine = machine == rank

        def work(communicator):
            groups = SpreadGroups(group[mine], np.arange(8), communicator)
            here = None if weight is None else weight[mine]
            part = loss.bind(target, groups, n_classes=n_classes, weight_row=here)
            found = part.gradient_and_curvature(score[mine])
            return part.init_score(), part.value(score[mine]), found, part.total_weight

        return work

    for rank, ((start, value, (gradient, curvature), total), _) in enumerate(
        lockstep([task(rank) for rank in range(3)])
    ):
        mine = machine == rank
        np.testing.assert_allclose(start, whole.init_score(), atol=1e-6)
        assert value == pytest.approx(whole.value(score), rel=1e-12)
        assert total == pytest.approx(whole.total_weight, rel=1e-12)
        np.testing.assert_allclose(gradient, whole.gradient(score)[mine], rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(curvature, whole.curvature(score)[mine], rtol=1e-9, atol=1e-14)


def test_scores_too_far_apart_to_be_added_up_are_refused_on_all_machines():
    groups = SpreadGroups(np.zeros(2, int), np.arange(1), LocalOnly())
    part = PoissonTotalLoss().bind(np.ones(1), groups)
    assert np.isfinite(part.gradient(np.array([0.0, 100.0]))).all()
    assert np.isfinite(part.gradient_and_curvature(np.array([0, 100], "f4"), "f4")).all()
    with pytest.raises(OverflowError, match="too far apart"):
        part.value(np.array([0.0, 1e3]))


def test_the_median_of_values_on_three_machines():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=101) * 1e3, rng.integers(1, 5, 101).astype(float)
    order = np.argsort(values)
    expected = values[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]

    def task(rank):
        return lambda communicator: weighted_median(values[rank::3], weight[rank::3], communicator)

    assert [found for found, _ in lockstep([task(rank) for rank in range(3)])] == [expected] * 3
    assert weighted_median(values, weight) == expected


@pytest.mark.parametrize("values", [[-1.5, -1.5, 7.0], [0.0], [1e300, -1e300, 5e-324]])
def test_medians_by_hand(values):
    expected = sorted(values)[(len(values) - 1) // 2]
    assert weighted_median(np.array(values), np.ones(len(values))) == expected


def test_the_median_of_many_normals_is_near_zero():
    values = norm.ppf((np.arange(1000) + 0.5) / 1000)
    assert abs(weighted_median(values, np.ones(1000))) < 2e-3

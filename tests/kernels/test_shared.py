"""Work that fits share: the same numbers, computed once, and let go at the end of the block."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from groupwise import Groups
from groupwise.datasets import make_presence_bags
from groupwise.kernels import Kernel, share_kernels
from groupwise.kernels.shared import shareable
from groupwise.presence import (
    CitationKNNClassifier,
    DissimilarityClassifier,
    MILESClassifier,
    MISVMClassifier,
    SetKernelClassifier,
)


@pytest.fixture
def counted():
    calls = []

    @shareable
    def double(*args):
        calls.append(args)
        return 2.0 * np.asarray(args[0].sum(axis=1))

    return double, calls


def test_equal_content_is_computed_once_and_only_inside_the_block(counted):
    double, calls = counted
    X = np.arange(6.0).reshape(3, 2)
    double(X)
    with share_kernels():
        first, second = double(X), double(X.copy())
        assert first is second and len(calls) == 2
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 7.0
    with share_kernels():
        double(X)
    double(X)
    assert len(calls) == 4


@pytest.mark.parametrize(
    "other",
    [
        (np.arange(6.0).reshape(3, 2) + 1e-15, Groups([0, 0, 1]), Kernel("rbf", 1.0)),
        (np.arange(6.0).reshape(2, 3), Groups([0, 0, 1]), Kernel("rbf", 1.0)),
        (np.arange(6).reshape(3, 2), Groups([0, 0, 1]), Kernel("rbf", 1.0)),
        (csr_array(np.arange(6.0).reshape(3, 2)), Groups([0, 0, 1]), Kernel("rbf", 1.0)),
        (np.arange(6.0).reshape(3, 2), Groups([0, 1, 1]), Kernel("rbf", 1.0)),
        (np.arange(6.0).reshape(3, 2), Groups([0, 0, 1]), Kernel("rbf", np.nextafter(1.0, 2.0))),
    ],
)
def test_any_other_content_is_computed_anew(counted, other):
    double, calls = counted
    with share_kernels():
        double(np.arange(6.0).reshape(3, 2), Groups([0, 0, 1]), Kernel("rbf", 1.0))
        double(*other)
    assert len(calls) == 2


def test_a_row_that_changes_in_place_is_seen(counted):
    double, _ = counted
    X = np.ones((3, 2))
    with share_kernels():
        assert double(X)[0] == 4.0
        X[0, 0] = 5.0
        assert double(X)[0] == 12.0


def test_what_was_longest_unused_leaves_first(counted):
    double, calls = counted
    one, two, three = (np.full((4, 1), value) for value in (1.0, 2.0, 3.0))
    with share_kernels(max_bytes=2 * 4 * 8):
        for X in (one, two, one, three, one):
            double(X)
        assert len(calls) == 3
        double(two)
        assert len(calls) == 4
    with share_kernels(max_bytes=0):
        double(one), double(one)
        assert len(calls) == 6


def test_unknown_kinds_are_refused(counted):
    with share_kernels(), pytest.raises(TypeError, match="list"):
        counted[0](np.ones((2, 2)), [1, 2])


@pytest.mark.parametrize(
    "estimator",
    [
        CitationKNNClassifier(),
        DissimilarityClassifier(),
        MILESClassifier(),
        MISVMClassifier(),
        MISVMClassifier("witness"),
        SetKernelClassifier(),
        SetKernelClassifier("statistic"),
    ],
    ids=str,
)
def test_models_are_the_same(estimator):
    d = make_presence_bags(15, random_state=3)
    alone = estimator.fit(d.X, d.y, groups=d.groups).predict_groups_proba(d.X, groups=d.groups)
    with share_kernels():
        for _ in range(2):
            model = estimator.fit(d.X, d.y, groups=d.groups)
            shared = model.predict_groups_proba(d.X, groups=d.groups)
            np.testing.assert_array_equal(shared, alone)

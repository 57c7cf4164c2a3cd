"""Labels that have the known counts: the best ones."""

import itertools

import numpy as np
import pytest

from groupwise import Groups
from groupwise.proportions import decode_counts
from groupwise.proportions.decode import project_simplex


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_no_other_labelling_with_these_counts_scores_more(n_classes, seed):
    rng = np.random.RandomState(seed)
    groups = Groups(rng.permutation([0, 0, 0, 1, 1, 1, 1]))
    hidden = rng.randint(n_classes, size=7)
    counts = np.array([np.bincount(hidden[groups.codes == g], minlength=n_classes) for g in (0, 1)])
    score = rng.normal(size=(7, n_classes))
    codes = decode_counts(score, counts, groups)
    best = -np.inf
    for labels in itertools.product(range(n_classes), repeat=7):
        labels = np.array(labels)
        held = [np.bincount(labels[groups.codes == g], minlength=n_classes) for g in (0, 1)]
        if np.array_equal(held, counts):
            best = max(best, score[np.arange(7), labels].sum())
    assert score[np.arange(7), codes].sum() == pytest.approx(best)
    for g in (0, 1):
        held = np.bincount(codes[groups.codes == g], minlength=n_classes)
        np.testing.assert_array_equal(held, counts[g])


def test_two_classes_as_two_and_as_three_with_one_absent():
    rng = np.random.RandomState(0)
    groups = Groups(rng.randint(6, size=60))
    score = rng.normal(size=(60, 2))
    positive = groups.sum(rng.randint(2, size=60)).astype(int)
    counts = np.column_stack([groups.sizes - positive, positive])
    three = np.column_stack([score, np.full(60, 9.0)])
    absent = np.column_stack([counts, np.zeros(6, int)])
    np.testing.assert_array_equal(
        decode_counts(score, counts, groups), decode_counts(three, absent, groups)
    )


def test_projection_onto_distributions():
    values = np.array([[0.2, 0.3, 0.5], [2.0, 0.0, 0.0], [0.5, 0.5, 0.3], [-1.0, -1.0, -1.0]])
    projected = project_simplex(values)
    np.testing.assert_allclose(projected.sum(axis=1), 1.0)
    np.testing.assert_allclose(projected[0], values[0])
    np.testing.assert_allclose(projected[1], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(projected[2], [0.4, 0.4, 0.2])
    np.testing.assert_allclose(projected[3], 1 / 3)

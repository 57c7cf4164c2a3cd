"""Labels and machines in turn."""

import numpy as np
import pytest

from groupwise import Groups
from groupwise.kernels import fit_kernel


def test_alternation_ends_where_neither_step_helps(blobs):
    from groupwise.proportions.alternating_svm import alternate

    groups = Groups(blobs.groups)
    counts = groups.one_per_group(blobs.y.to_numpy())
    gram = fit_kernel("rbf", 1.0, blobs.X)(blobs.X, blobs.X)
    score = np.random.RandomState(0).normal(size=(len(blobs.X), 2))
    first = alternate(gram, counts, groups, C=1.0, starts=[score])
    again = alternate(gram, counts, groups, C=1.0, starts=[np.eye(2)[first.codes]])
    assert again.n_iter == 1
    assert again.objective == pytest.approx(first.objective, rel=1e-6)
    several = alternate(gram, counts, groups, C=1.0, starts=[score, np.eye(2)[first.codes]])
    assert several.objective <= first.objective + 1e-9
    np.testing.assert_array_equal(groups.sum(first.codes), counts[:, 1])

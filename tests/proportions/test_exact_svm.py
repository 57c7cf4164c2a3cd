"""The mixed-integer SVM against all labellings."""

import numpy as np
import pytest

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.kernels import fit_kernel
from groupwise.proportions import (
    SVMAOCClassifier,
)
from groupwise.proportions.exact_svm import for_labels, solve_exact


def tiny():
    rng = np.random.RandomState(1)
    y = np.tile([0, 1], 6)
    X = rng.normal(size=(12, 1)) + 3 * y[:, None]
    return X, y, Groups(np.repeat([0, 1, 2], 4)), np.array([[2, 2]] * 3)


def test_exact_svm_is_as_good_as_the_best_of_all_labellings():
    from itertools import combinations, product

    X, _, groups, counts = tiny()
    gram = fit_kernel("rbf", 1.0, X)(X, X)
    solution = solve_exact(gram, counts, groups, np.tile([1, 1, 0, 0], 3), C=1.0, time_limit=60)
    values = []
    for picks in product(combinations(range(4), 2), repeat=3):
        labels = np.zeros(12, int)
        labels[[4 * g + i for g, pick in enumerate(picks) for i in pick]] = 1
        values.append(for_labels(gram, labels, 1.0).objective)
    assert solution.objective == pytest.approx(min(values), rel=1e-6)
    assert solution.certificate.is_optimal(1e-5) and solution.status == "optimal"
    assert (groups.sum(solution.codes) == 2).all()


def test_exact_method_reports_its_certificate():
    X, y, _, _ = tiny()
    groups = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    model = SVMAOCClassifier("exact", n_restarts=0, random_state=0).fit(X, y, groups=groups)
    assert model.gap_ <= 1e-5
    assert model.bound_ > 0
    quick = SVMAOCClassifier("exact", time_limit=0.0).fit(X, y, groups=groups)
    assert quick.gap_ >= 0
    assert quick.objective_ >= model.bound_
    with pytest.raises(GroupDataError, match="two classes, y holds 3"):
        SVMAOCClassifier("exact").fit(X, np.arange(12) % 3, groups=groups)

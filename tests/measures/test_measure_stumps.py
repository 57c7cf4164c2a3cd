"""Stumps that maximise a measure: against a search over all of them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from groupwise.datasets.users import make_users
from groupwise.measures import GroupAdaBoostClassifier, MeasureStumps
from groupwise.metrics import FBeta


@pytest.mark.parametrize("measure", ["accuracy", "f1", "balanced_accuracy", "matthews"])
@pytest.mark.parametrize("sparse", [False, True])
def test_stumps_find_the_best_of_all(measure, sparse):
    """Against a search over every threshold, feature and sign."""
    u = make_users(8, n_rows=12, n_features=4, positive=0.3, random_state=1)
    X = np.round(u.X)
    clf = GroupAdaBoostClassifier(MeasureStumps(200), measure=measure, n_estimators=3)
    clf.fit(csr_array(X) if sparse else X, u.y, groups=u.groups)
    scorer = clf.measure_
    best = max(
        scorer(u.y, sign * np.where(X[:, j] > cut, 1, -1), u.groups).mean()
        for j in range(X.shape[1])
        for cut in [-np.inf, *np.unique(X[:, j])]
        for sign in (-1, 1)
    )
    assert clf.history_["hypothesis_measure"][0] == pytest.approx(best)
    np.testing.assert_allclose(
        list(clf.staged_score(X, u.y, groups=u.groups)), clf.history_["measure"]
    )


def test_stumps_with_many_values_constant_columns_and_groups_left_out():
    u = make_users(8, n_rows=60, random_state=2)
    X = np.column_stack([u.X, np.ones(len(u.y))])
    y, groups = np.append(u.y, 0), np.append(u.groups, 99)
    clf = GroupAdaBoostClassifier(
        MeasureStumps(4), measure=FBeta(without_positives="skip"), n_estimators=3
    ).fit(np.vstack([X, X[:1]]), y, groups=groups)
    assert clf.ensemble_.feature.max() < X.shape[1] - 1
    assert 0 < clf.history_["hypothesis_measure"][0] <= 1


def test_stumps_refuse_what_they_cannot_do():
    u = make_users(4, random_state=0)
    with pytest.raises(ValueError, match="measure of counts"):
        GroupAdaBoostClassifier(MeasureStumps(), measure="ndcg").fit(u.X, u.y, groups=u.groups)
    with pytest.raises(ValueError, match="two classes, not 3"):
        GroupAdaBoostClassifier(MeasureStumps(), measure="accuracy").fit(
            u.X, np.arange(len(u.y)) % 3, groups=u.groups
        )

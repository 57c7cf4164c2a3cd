"""Bins that several fits to the same rows share."""

import numpy as np
import pytest

from groupwise.boosting import HistTrees
from groupwise.boosting import lightgbm as engine
from groupwise.boosting.lightgbm import share_bins
from groupwise.datasets import make_triangle_sessions
from groupwise.gbdt import GroupBoostClassifier
from groupwise.majority import SBoostClassifier

MODELS = [
    GroupBoostClassifier(n_estimators=3, random_state=0),
    GroupBoostClassifier("majority_softmax", n_estimators=3, random_state=0),
    GroupBoostClassifier(
        "proportions", n_estimators=3, trees=HistTrees(max_depth=2), random_state=0
    ),
    GroupBoostClassifier(n_estimators=3, trees=HistTrees(max_bins=7), random_state=0),
    GroupBoostClassifier(n_estimators=3, engine_params={"max_bin": np.int64(5)}, random_state=0),
    SBoostClassifier(HistTrees(), n_estimators=3),
    SBoostClassifier(HistTrees(subsample=0.5), n_estimators=3, random_state=0),
]


@pytest.fixture
def constructed(monkeypatch):
    """The number of bins of each table that is binned."""
    found = []
    construct = engine._construct

    def counted(X, params, categorical):
        found.append(params["max_bin"])
        return construct(X, params, categorical)

    monkeypatch.setattr(engine, "_construct", counted)
    return found


def test_shared_bins_are_those_of_a_fit_of_its_own(constructed):
    s = make_triangle_sessions(n_sessions=30, random_state=0)

    def scores():
        return [m.fit(s.X, s.y, groups=s.groups).decision_function(s.X) for m in MODELS]

    alone = scores()
    assert len(constructed) == len(MODELS)
    constructed.clear()
    with share_bins():
        together = scores() + scores()[::-1]
    # the boosted ones with and the weak learners without a start; 7 and 5 bins once a time
    assert sorted(constructed) == [5, 7, 255, 255]
    for one, other in zip(alone + alone[::-1], together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_bins_of_other_values_are_others(constructed):
    s = make_triangle_sessions(n_sessions=30, random_state=0)
    X, model = s.X.copy(), MODELS[0]
    with share_bins():
        before = model.fit(X, s.y, groups=s.groups).decision_function(X)
        X[:, 0] = -X[:, 0]  # in place: the same array
        after = model.fit(X, s.y, groups=s.groups).decision_function(X)
    assert len(constructed) == 2
    np.testing.assert_array_equal(
        after, MODELS[0].fit(X, s.y, groups=s.groups).decision_function(X)
    )
    assert not np.array_equal(before, after)

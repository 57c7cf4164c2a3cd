"""Pools as weak learners, and weak learners as pools."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees, SBoostClassifier
from groupwise.presence import (
    Balls,
    DPBoostClassifier,
    FixedPool,
    Stumps,
)
from groupwise.presence.program import Pool, bind_pool


@pytest.mark.parametrize(
    "learner", [HistTrees(2, n_jobs=1), DecisionTreeClassifier(max_depth=2, random_state=0)]
)
def test_weak_learners_that_are_asked(bags, learner):
    clf = DPBoostClassifier(learner, nu=0.05, cut_rounds=2, max_queries=30, random_state=0)
    clf.fit(bags.X, bags.y, groups=bags.groups)
    assert clf.lower_bound_ <= clf.upper_bound_ + 1e-9
    assert clf.score(bags.X, bags.y, groups=bags.groups) > 0.9
    with pytest.raises(ValueError, match="searched whole"):
        DPBoostClassifier(learner, exact=True).fit(bags.X, bags.y, groups=bags.groups)


def test_pools_are_weak_learners_of_the_library_too(bags):
    for pool in (Stumps(), Balls(10), FixedPool([_Sign(0), _Sign(1)])):
        clf = SBoostClassifier(pool, n_estimators=4).fit(bags.X, bags.y, groups=bags.groups)
        assert len(clf.estimator_weights_) >= 1
        assert np.isfinite(clf.predict_proba(bags.X)).all()


class _Sign:
    def __init__(self, feature):
        self.feature = feature

    def predict(self, X):
        return np.where(X[:, self.feature] > 0.5, 1, -1)


@pytest.mark.parametrize("pool", [Stumps(4), Balls(5, max_radii=3), FixedPool([_Sign(0)])])
def test_pools_are_recipes(pool):
    copy = clone(pool)
    assert copy is not pool and not hasattr(pool, "fit")
    assert type(copy) is type(pool) and set(copy.get_params()) == set(pool.get_params())
    search = DPBoostClassifier(Stumps(4)).set_params(estimator__max_thresholds=8)
    assert search.estimator == Stumps(8)


def test_a_whole_pool_has_nothing_to_ask_for_and_a_learner_has(bags):
    whole = bind_pool(Stumps(4), bags.X, np.random.RandomState(0), 5)
    assert whole.is_complete and isinstance(whole, Pool)
    n_before = len(whole.feature)
    whole.ask(np.ones(len(bags.X)))
    assert len(whole.feature) == n_before
    asked = bind_pool(DecisionTreeClassifier(max_depth=1), bags.X, np.random.RandomState(0), 2)
    assert not asked.is_complete and isinstance(asked, Pool)
    assert list(asked.blocks(csr_array(np.ones((1, len(bags.X)))))) == []
    weight = np.where(bags.y == 1, 1.0, -1.0)
    for _ in range(3):
        asked.ask(weight)
    assert len(asked.columns) == 2  # max_queries
    asked.ask(np.zeros(len(bags.X)))
    with pytest.raises(ValueError, match="two classes"):
        whole.start(3, np.random.RandomState(0), resample=False)

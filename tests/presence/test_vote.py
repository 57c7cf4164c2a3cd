"""The mean of several classifiers."""

import numpy as np
import pytest
from sklearn.base import clone

from groupwise.presence import (
    GroupVoteClassifier,
    MILESClassifier,
    SetKernelClassifier,
)


def test_a_vote_is_the_mean_of_its_members(easy):
    X, y, groups = easy
    members = [("a", MILESClassifier()), ("b", SetKernelClassifier(width=1.0))]
    vote = GroupVoteClassifier(members, scale=False).fit(X, y, groups=groups)
    alone = [
        clone(m).fit(X, y, groups=groups).predict_groups_proba(X, groups=groups) for _, m in members
    ]
    np.testing.assert_allclose(
        vote.predict_groups_proba(X, groups=groups), np.mean(alone, axis=0), atol=1e-12
    )
    scaled = GroupVoteClassifier(members).fit(X, y, groups=groups)
    again = GroupVoteClassifier(members).fit(X * [1.0, 100.0], y, groups=groups)
    np.testing.assert_allclose(
        scaled.predict_proba(X), again.predict_proba(X * [1.0, 100.0]), atol=1e-2
    )
    with pytest.raises(ValueError, match="at least one"):
        GroupVoteClassifier([]).fit(X, y, groups=groups)

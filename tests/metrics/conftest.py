from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from groupwise import Groups
from groupwise.datasets.users import make_users
from groupwise.rules import get_rule


@dataclass(frozen=True)
class FakePredictions:
    classes: np.ndarray
    groups: Groups
    score_row: np.ndarray
    proba_row: np.ndarray
    proba_group: np.ndarray
    code_row: np.ndarray

    @property
    def y_row(self):
        return self.classes[self.code_row]

    @property
    def y_group(self):
        return self.classes[self.proba_group.argmax(axis=1)]


class AboveGroupMean(ClassifierMixin, BaseEstimator):
    """Positive where the first feature is above its mean in the row's group: groups decide.

    Whoever asks it without groups gets other answers; whoever asks it otherwise than by
    ``predictions`` gets an error.
    """

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predictions(self, X, groups=None):
        groups = Groups.singletons(len(X)) if groups is None else Groups(groups)
        score_row = X[:, 0] - groups.mean(X[:, 0])[groups.codes]
        proba = 1 / (1 + np.exp(-score_row))
        proba_row = np.column_stack([1 - proba, proba])
        return FakePredictions(
            self.classes_,
            groups,
            score_row,
            proba_row,
            get_rule("mean").combine(proba_row, groups),
            (score_row > 0).astype(int),
        )


@pytest.fixture
def above_group_mean():
    return AboveGroupMean()


@pytest.fixture(scope="module")
def users():
    return make_users(20, n_rows=40, positive=0.3, random_state=0)

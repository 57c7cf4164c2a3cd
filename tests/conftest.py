import os

# Two test processes on two cores: more threads would only wait for each other. Before any import
# that starts a thread pool.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from groupwise import Groups
from groupwise.datasets import GroupedData, data_folder, make_sessions
from groupwise.rules import get_rule


@pytest.fixture
def sessions() -> GroupedData:
    """Two overlapping classes, 52 sessions of five rows, sorted by session."""
    rng = np.random.RandomState(3)
    y_row = rng.randint(2, size=300)
    X = rng.normal(size=(300, 4)) + y_row[:, None]
    return make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=3)


@pytest.fixture(scope="session")
def real_data():
    """The data folder; tests that use it are skipped where it is absent."""
    if not os.environ.get("GROUPWISE_DATA"):
        pytest.skip("GROUPWISE_DATA names no folder of data sets")
    return data_folder()


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

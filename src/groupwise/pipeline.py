"""Pipelines that end in a group estimator and are asked as it is."""

from typing import Any, Self

import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from groupwise._typing import Ids, MatrixLike

__all__ = ["GroupPipeline", "make_group_pipeline"]


class GroupPipeline(Pipeline):
    """scikit-learn's ``Pipeline`` with the questions of a group estimator.

    ``fit`` and ``score`` take ``groups`` and hand them to the last step, and ``predict_groups``,
    ``predict_groups_proba`` and ``predictions`` are there.

    Parameters
    ----------
    steps : list of (name, estimator)
        The last is a group estimator.
    memory, transform_input, verbose
        As for scikit-learn's.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from groupwise import SBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.pipeline import make_group_pipeline
    >>> s = make_triangle_sessions(n_sessions=20, random_state=0)
    >>> pipe = make_group_pipeline(StandardScaler(), SBoostClassifier(n_estimators=3))
    >>> pipe.fit(s.X, s.y, groups=s.groups).predict_groups(s.X, groups=s.groups).shape
    (20,)
    """

    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, groups: Ids = None, **params: Any
    ) -> Self:
        """Fit all steps; the last is given the groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), default=None
        **params
            More metadata, by scikit-learn's routing.
        """
        with sklearn.config_context(enable_metadata_routing=True):
            return super().fit(X, y, **_given(groups), **params)

    def score(self, X: MatrixLike, y: ArrayLike | None = None, groups: Ids = None) -> float:
        """The last step's score on what the others make of the rows."""
        return self._last().score(self._before(X), y, **_given(groups))

    def predict_groups(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """One label per group, in the order of ``np.unique(groups)``."""
        return self._last().predict_groups(self._before(X), groups=groups)

    def predict_groups_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """One line of probabilities per group."""
        return self._last().predict_groups_proba(self._before(X), groups=groups)

    def predictions(self, X: MatrixLike, groups: Ids = None) -> Any:
        """Labels, probabilities and scores of rows and groups at once."""
        return self._last().predictions(self._before(X), groups=groups)

    def _last(self) -> Any:
        return self.steps[-1][1]

    def _before(self, X: MatrixLike) -> Any:
        return self[:-1].transform(X) if len(self.steps) > 1 else X


def make_group_pipeline(*steps: Any) -> GroupPipeline:
    """A :class:`GroupPipeline` whose steps are named by their classes."""
    named = sklearn.pipeline.make_pipeline(*steps)
    return GroupPipeline(named.steps)


def _given(groups: Ids) -> dict[str, Any]:
    return {} if groups is None else {"groups": groups}

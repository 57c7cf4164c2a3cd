"""Why a row has its score: what each feature adds."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import GroupMixin
from groupwise.boosting.hist_tree_runs import HistTreeEnsemble
from groupwise.exceptions import GroupDataError
from groupwise.gbdt.rounds import GroupTrees
from groupwise.inputs import check_groups, check_number, check_rows, dense, split_column

__all__ = ["RowContributions", "explain_rows"]

# Rows that are walked through at a time when permuting.
_BLOCK = 100_000
# Rows on which it is found out what computes the score.
_SAMPLE = 2000
# Parameters that name columns which are no features.
_COLUMNS_OF_IDS = ("group_column", "domain_column")
# Contributions that add up this well are the score's.
_EXACT = 1e-5


@dataclass(frozen=True)
class RowContributions:
    """What each feature adds to each row's score.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_classes)
    base : ndarray of shape (n_rows,) or (n_rows, n_classes)
        The score without any feature; ``base + values.sum(axis=1)`` is the score.
    names : list of str
        Of the features.
    method : {"trees", "linear", "permutation"}
    """

    values: NDArray[np.float64]
    base: NDArray[np.float64]
    names: list[str]
    method: str

    @property
    def score_row(self) -> NDArray[np.float64]:
        """What they add up to: ``decision_function``, or a regressor's number."""
        return self.base + self.values.sum(axis=1)

    def top(
        self, n: int = 3, code: NDArray[np.intp] | None = None
    ) -> list[list[tuple[str, float]]]:
        """The largest contributions of each row, by magnitude, with the features' names.

        Parameters
        ----------
        n : int, default=3
        code : ndarray of shape (n_rows,), default=None
            With three or more classes, the class of each row to tell about.
        """
        values = self.values
        if values.ndim == 3:
            if code is None:
                raise ValueError("with three or more classes, code must say which one of each row")
            values = values[np.arange(len(values)), :, code]
        order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :n]
        return [
            [(self.names[place], float(line[place])) for place in places if line[place] != 0.0]
            for line, places in zip(values, order, strict=True)
        ]


def explain_rows(
    estimator: BaseEstimator,
    X: MatrixLike,
    *,
    groups: Ids = None,
    background: MatrixLike | None = None,
    n_permutations: int = 10,
    random_state: RandomState = None,
) -> RowContributions:
    r"""What each feature adds to the score of each row.

    Boosted trees: exact Shapley values of the trees from the engine itself (Lundberg et al. 2020).
    Linear models: :math:`w_j (x_j - \bar x_j)`. Anything else: features are changed from those of a
    background row into the row's own, one after the other in random orders, and a feature's
    contribution is the mean step (Strumbelj and Kononenko 2014). All add up to the score. Where a
    model sees rows in view of their group, a feature changes for the whole group at once.

    Parameters
    ----------
    estimator : fitted estimator
        Of this library.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,), default=None
        Group ids; ``None``: each row is a group (or ``group_column`` holds the ids).
    background : {array-like, DataFrame} of shape (n_background, n_features), default=None
        What rows are compared with, except by trees, which know their training rows; ``None``: X.
    n_permutations : int, default=10
        Orders of the features, each walked both ways.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    contributions : RowContributions

    References
    ----------
    S. Lundberg et al. (2020). From local explanations to global understanding with explainable AI
    for trees. Nature Machine Intelligence 2.

    E. Strumbelj, I. Kononenko (2014). Explaining prediction models and individual predictions with
    feature contributions. Knowledge and Information Systems 41.

    Examples
    --------
    >>> from groupwise import GroupBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.explain import explain_rows
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> clf = GroupBoostClassifier(n_estimators=10).fit(s.X, s.y, groups=s.groups)
    >>> found = explain_rows(clf, s.X)
    >>> found.method, bool(abs(found.score_row - clf.decision_function(s.X)).max() < 1e-6)
    ('trees', True)
    """
    check_number("n_permutations", n_permutations, "[1, inf)", whole=True)
    check_is_fitted(estimator)
    group_column, domain_column = (getattr(estimator, n, None) for n in _COLUMNS_OF_IDS)
    X, groups = split_column(X, group_column, groups, required=False)
    X, _ = split_column(X, domain_column, None, name="domain", required=False)
    if background is not None:
        background, _ = split_column(background, group_column, None, required=False)
        background, _ = split_column(background, domain_column, None, name="domain", required=False)
    in_view = getattr(estimator, "_decides_per_group", False)
    if groups is None and in_view:
        raise GroupDataError(
            f"{type(estimator).__name__} sees a row in view of its group: pass groups "
            "(np.arange(len(X)) if every row is one)"
        )
    ids = check_groups(groups, _num_samples(X)).codes if in_view else None
    few = _some_rows(_num_samples(X), ids)
    asked = _safe_indexing(X, few)
    score = _score(estimator, asked, None if ids is None else ids[few])
    for owner, scorer in _scorers(estimator):
        rows = check_rows(owner, X)
        compared = rows if background is None else check_rows(owner, background)
        found = _contributions(scorer, check_rows(owner, asked), compared)
        if found is not None and _adds_up(found, score):
            if len(few) < rows.shape[0]:
                found = _contributions(scorer, rows, compared)
            values, base, method = cast(_Found, found)
            return RowContributions(values, base, _names(owner, X, values.shape[1]), method)
    rng = check_random_state(random_state)
    values, base = _by_permutation(estimator, X, ids, background, n_permutations, rng)
    return RowContributions(values, base, _names(estimator, X, values.shape[1]), "permutation")


_Found = tuple[NDArray[np.float64], NDArray[np.float64], str]


def _scorers(estimator: Any) -> list[tuple[Any, Any]]:
    """Models, and what may compute the rows' scores inside them; the answers decide.

    A model that is given other features than the one around it is not asked about these.
    """
    inside = [getattr(estimator, name, None) for name in ("ensemble_", "estimator_")]
    found = [(estimator, each) for each in inside if each is not None]
    ours: list[Any] = [each for _, each in found if isinstance(each, GroupMixin)]
    same = [each for each in ours if each.n_features_in_ == estimator.n_features_in_]
    return found + [deeper for each in same for deeper in _scorers(each)]


def _adds_up(found: _Found, score: NDArray[Any]) -> bool:
    total = found[1] + found[0].sum(axis=1)
    return total.shape == score.shape and np.allclose(total, score, rtol=_EXACT, atol=_EXACT)


@singledispatch
def _contributions(scorer: Any, rows: Rows, background: Rows) -> _Found | None:
    """Contributions, the constant and how they were found; ``None`` where there is no way."""
    return None


@_contributions.register
def _of_group_trees(scorer: GroupTrees, rows: Rows, background: Rows) -> _Found:
    values = scorer.contributions(rows)
    if values.shape[1] == 1:
        return values[:, 0, :-1], values[:, 0, -1], "trees"
    return np.moveaxis(values[:, :, :-1], 1, 2), values[:, :, -1], "trees"


@_contributions.register
def _of_histogram_trees(scorer: HistTreeEnsemble, rows: Rows, background: Rows) -> _Found | None:
    if scorer.trees is None:
        return np.zeros(rows.shape), np.full(rows.shape[0], scorer.bias), "trees"
    values = scorer.trees.predict(rows, pred_contrib=True)
    if issparse(values):
        values = values.toarray()
    return values[:, :-1], values[:, -1] + scorer.bias, "trees"


@_contributions.register(LinearRegression)
@_contributions.register(LinearSVC)
@_contributions.register(LogisticRegression)
@_contributions.register(Ridge)
@_contributions.register(RidgeClassifier)
def _of_linear(scorer: Any, rows: Rows, background: Rows) -> _Found | None:
    weight = np.atleast_2d(scorer.coef_)
    if weight.shape[1] != rows.shape[1]:
        return None
    table: Any = background
    mean = np.asarray(table.mean(axis=0)).ravel()
    values = (dense(rows) - mean)[:, :, None] * weight.T
    base = np.tile(weight @ mean + scorer.intercept_, (rows.shape[0], 1))
    if len(weight) == 1:
        return values[:, :, 0], base[:, 0], "linear"
    return values, base, "linear"


def _some_rows(n_rows: int, ids: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Rows to find out on; of whole groups, where the model sees these."""
    few = np.arange(0, n_rows, 1 + n_rows // _SAMPLE)
    if ids is None:
        return few
    order = np.argsort(ids, kind="stable")
    return order[: np.searchsorted(ids[order], ids[order[len(few) - 1]], side="right")]


def _score(estimator: Any, X: Any, ids: NDArray[np.intp] | None) -> NDArray[np.float64]:
    """Scores of rows; without ids each is a group of its own."""
    found = estimator.predictions(X, np.arange(X.shape[0]) if ids is None else ids)
    return np.asarray(found.score_row if hasattr(found, "score_row") else found.y_row, dtype=float)


def _by_permutation(
    estimator: Any,
    X: Any,
    ids: NDArray[np.intp] | None,
    background: Any,
    n_permutations: int,
    rng: np.random.RandomState,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    table = _columns(X)
    other = table if background is None else _columns(background)
    n_rows, n_features = table.shape
    total: Any = 0.0
    base: Any = 0.0
    for _ in range(n_permutations):
        order = rng.permutation(n_features)
        drawn = other.iloc[rng.randint(len(other), size=n_rows)].reset_index(drop=True)
        for places in (order, order[::-1]):
            steps, start = _walk(
                estimator, table, ids, drawn, places, as_table=hasattr(X, "columns")
            )
            total, base = total + steps, base + start
    return total / (2 * n_permutations), base / (2 * n_permutations)


def _walk(
    estimator: Any,
    table: pd.DataFrame,
    ids: NDArray[np.intp] | None,
    drawn: pd.DataFrame,
    places: NDArray[np.intp],
    *,
    as_table: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps of the score as features change from the drawn rows' to the rows' own."""

    def ask(frame: pd.DataFrame) -> NDArray[np.float64]:
        given = frame if as_table else frame.to_numpy(dtype=float)
        if ids is not None:
            return _score(estimator, given, ids)
        parts = range(0, len(frame), _BLOCK)
        return np.concatenate([_score(estimator, given[at : at + _BLOCK], None) for at in parts])

    present = drawn.copy()
    before = start = ask(present)
    steps = np.zeros((len(table), table.shape[1], *start.shape[1:]))
    for place in places:
        present.isetitem(int(place), table.iloc[:, int(place)].to_numpy())
        if isinstance(table.dtypes.iloc[int(place)], pd.CategoricalDtype):
            present.isetitem(int(place), table.iloc[:, int(place)].array)
        after = ask(present)
        steps[:, place] = after - before
        before = after
    return steps, start


def _columns(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X.reset_index(drop=True)
    if hasattr(X, "to_pandas"):
        raise GroupDataError("to explain rows by permutation, X must be an array or of pandas")
    return pd.DataFrame(X.toarray() if issparse(X) else np.asarray(X, dtype=float))


def _names(estimator: Any, X: Any, n_features: int) -> list[str]:
    """Features as the table calls them; a category column may have become one per category."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and len(known) == n_features:
        return [str(name) for name in known]
    categories = vars(estimator).get("_categories")
    if categories is not None:
        made = categories.to_numbers(X).columns
        if len(made) == n_features:
            return [str(name) for name in made]
    return [f"feature {place}" for place in range(n_features)]

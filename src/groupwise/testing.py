"""Checks that every estimator of the library passes; public, for your own estimators too.

They come on top of scikit-learn's ``check_estimator``. Use them in a test module::

    @parametrize_with_group_checks([SBoostClassifier()])
    def test_group_contract(estimator, check):
        check(estimator)

Estimators that take ``domains`` (transfer) are checked in the same way, their domains in place of
groups.
"""

import importlib
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from groupwise.datasets import make_sessions
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.io import load_model, save_model
from groupwise.model_selection import WholeGroupKFold, cross_validate

__all__ = ["GROUP_CHECKS", "all_estimators", "parametrize_with_group_checks"]

_PACKAGES = (
    "relative",
    "majority",
    "proportions",
    "presence",
    "measures",
    "transfer",
    "gbdt",
    "incontext",
    "nets",
    "auto",
    "uncertainty",
)

Check = Callable[[BaseEstimator], None]


def all_estimators() -> dict[str, type[BaseEstimator]]:
    """Every public estimator of the library by name.

    Examples
    --------
    >>> from groupwise.testing import all_estimators
    >>> "SBoostClassifier" in all_estimators()
    True
    """
    found = {}
    for package in _PACKAGES:
        module = importlib.import_module(f"groupwise.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            is_estimator = isinstance(thing, type) and issubclass(thing, BaseEstimator)
            if is_estimator and hasattr(thing, "fit"):  # a recipe has none
                found[name] = thing
    return found


def parametrize_with_group_checks(
    estimators: Iterable[BaseEstimator],
    *,
    expected_failed_checks: Callable[[BaseEstimator], dict[str, str]] | None = None,
) -> Any:
    """Pytest decorator: one test per estimator and check.

    Parameters
    ----------
    estimators : iterable of estimators
    expected_failed_checks : callable, default=None
        Gives, for an estimator, the names of checks it is known to fail and the reason of each.

    Returns
    -------
    decorator
        For a test function with arguments ``estimator`` and ``check``.
    """
    import pytest

    cases = []
    for estimator in estimators:
        reasons = expected_failed_checks(estimator) if expected_failed_checks else {}
        name = " ".join(repr(estimator).split())
        for check in GROUP_CHECKS:
            reason = reasons.get(check.__name__)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            case = pytest.param(estimator, check, marks=marks, id=f"{name}-{check.__name__}")
            cases.append(case)
    return pytest.mark.parametrize(("estimator", "check"), cases)


@dataclass(frozen=True)
class _Case:
    """A data set as one estimator takes it: its ids are groups or domains."""

    estimator: BaseEstimator
    X: Any
    y: NDArray[Any]
    ids: Any
    target_domain: Any = None

    @classmethod
    def of(cls, estimator: BaseEstimator, seed: int = 0) -> "_Case":
        """Two overlapping classes in interleaved groups of unequal size, ids of strings."""
        rng = np.random.RandomState(seed)
        y_row = rng.randint(2, size=260)
        X = rng.normal(size=(260, 3)) + 1.2 * y_row[:, None]
        sessions = make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=rng)
        order = rng.permutation(len(sessions.X))[: len(sessions.X) - 7]
        X, labels = sessions.X[order], sessions.y[order]
        # of the automatic choice the kind says it
        if hasattr(estimator, "domain_column") and getattr(estimator, "kind", None) in (
            None,
            "transfer",
        ):
            ids = np.where(rng.uniform(size=len(X)) < 0.3, "new", "old")
            labels, target = np.asarray(sessions.y_row)[order], "new"
        else:
            ids = np.array([f"s{code:02d}" for code in sessions.groups])[order]
            target = None
        if is_classifier(estimator):
            return cls(estimator, X, np.array(["no", "yes"])[labels], ids, target)
        y = labels.astype(float)
        if get_tags(estimator).target_tags.positive_only:
            y = y + 1.0
        return cls(estimator, X, y, ids, target)

    @property
    def name(self) -> str:
        return "groups" if self.target_domain is None else "domains"

    def fresh(self) -> Any:
        estimator = clone(self.estimator)
        known = estimator.get_params()
        if "random_state" in known:
            estimator.set_params(random_state=0)
        if self.target_domain is not None:
            estimator.set_params(target_domain=self.target_domain)
        return estimator

    def fit(self) -> Any:
        with warnings.catch_warnings():
            if self.ids is None:  # then it is meant
                warnings.simplefilter("ignore", GroupsLostWarning)
            return self.fresh().fit(self.X, self.y, **{self.name: self.ids})

    def score(self, model: Any) -> float:
        return model.score(self.X, self.y, **{self.name: self.ids})

    def rows(self, model: Any, X: Any = None) -> NDArray[Any]:
        """The model's answers about rows."""
        X, groups = self.X if X is None else X, self._groups()
        if is_classifier(model):
            return model.predict_proba(X, groups)
        return model.predict(X, groups)

    def groups(self, model: Any) -> NDArray[Any]:
        """The model's answers about groups."""
        found = model.predictions(self.X, self._groups())
        return found.proba_group if is_classifier(model) else found.y_group

    def _groups(self) -> Any:
        return self.ids if self.target_domain is None else None


@lru_cache(maxsize=2)
def _fitted(estimator: BaseEstimator) -> Any:
    """A model for checks that only ask it: fitted once for all of them."""
    return _Case.of(estimator).fit()


def _assert_same(one: Any, other: Any) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def check_row_order(estimator: BaseEstimator) -> None:
    """The order of the rows does not change the model."""
    case = _Case.of(estimator)
    order = np.random.RandomState(1).permutation(len(case.X))
    moved = replace(case, X=case.X[order], y=case.y[order], ids=case.ids[order])
    _assert_same(case.rows(_fitted(estimator)), case.rows(moved.fit()))


def check_group_names(estimator: BaseEstimator) -> None:
    """Other ids for the same groups give the same model and the same answers, in their order."""
    case = _Case.of(estimator)
    names, codes = np.unique(case.ids, return_inverse=True)
    number = np.random.RandomState(2).permutation(len(names))
    target = None if case.target_domain is None else number[names.tolist().index("new")]
    renamed = replace(case, ids=number[codes], target_domain=target)
    one, other = _fitted(estimator), renamed.fit()
    _assert_same(case.rows(one), renamed.rows(other))
    if case.target_domain is None:
        _assert_same(case.groups(one), renamed.groups(other)[number])


def check_kinds_of_ids(estimator: BaseEstimator) -> None:
    """Strings, dates, tuples and a series of categories serve as ids alike."""
    case = _Case.of(estimator)
    names, codes = np.unique(case.ids, return_inverse=True)
    expected = case.rows(_fitted(estimator))
    day = np.datetime64("2026-01-01")
    kinds: list[tuple[Any, Any]] = [
        (day + codes.astype("timedelta64[D]"), day),
        ([(0, int(code)) for code in codes], (0, 0)),
        (pd.Series(pd.Categorical(case.ids), index=np.arange(len(codes))[::-1]), names[0]),
    ]
    for ids, first in kinds:  # the target domain is the first name, "new"
        target = None if case.target_domain is None else first
        other = replace(case, ids=ids, target_domain=target)
        _assert_same(other.rows(other.fit()), expected)


def check_groups_of_one(estimator: BaseEstimator) -> None:
    """No groups, and a group for each row, are the same thing; so are no domain and one."""
    case = _Case.of(estimator)
    if case.target_domain is not None:
        one = replace(case, ids=np.full(len(case.X), "new"))
        other = replace(case, ids=None)
    else:
        one = replace(case, ids=np.arange(len(case.X)))
        other = replace(case, ids=None)
    model = one.fit()
    _assert_same(one.rows(model), one.rows(other.fit()))
    alone = model.predictions(case.X, np.arange(len(case.X)))
    np.testing.assert_array_equal(alone.y_group, alone.y_row)


def check_predictions(estimator: BaseEstimator) -> None:
    """``predictions`` holds what every other method says; groups come as ``np.unique`` has them."""
    case = _Case.of(estimator)
    model = _fitted(estimator)
    groups = case._groups()
    found = model.predictions(case.X, groups)
    np.testing.assert_array_equal(found.y_row, model.predict(case.X, groups))
    np.testing.assert_array_equal(found.y_group, model.predict_groups(case.X, groups))
    n_groups = len(case.X) if groups is None else len(np.unique(groups))
    assert len(found.y_group) == n_groups
    if is_classifier(model):
        np.testing.assert_array_equal(found.proba_row, model.predict_proba(case.X, groups))
        np.testing.assert_array_equal(found.score_row, model.decision_function(case.X, groups))
        np.testing.assert_array_equal(found.proba_group, model.predict_groups_proba(case.X, groups))
        np.testing.assert_allclose(found.proba_row.sum(axis=1), 1.0)
        np.testing.assert_allclose(found.proba_group.sum(axis=1), 1.0)
    if groups is not None:
        last = groups == np.unique(groups)[-1]
        alone = model.predict_groups(case.X[last], groups[last])
        if is_classifier(model):
            np.testing.assert_array_equal(alone, found.y_group[-1:])
        else:
            _assert_same(alone, found.y_group[-1:])


class _Untouchable:
    """Stands in for a parameter that nobody may look at any more."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a fitted model looked at a constructor parameter")

    # ignored: none of them returns, so that what it would return does not matter
    __bool__ = __float__ = __len__ = __iter__ = __call__ = __hash__ = __eq__  # type: ignore[assignment]


def check_fitted_state_answers(estimator: BaseEstimator) -> None:
    """What ``set_params`` changes after ``fit`` changes no answer."""
    case = _Case.of(estimator)
    model = case.fit()
    rows, groups, score = case.rows(model), case.groups(model), case.score(model)
    columns = (
        "group_column",
        "domain_column",
    )  # where the ids are in the table that is asked about
    for name in model.get_params(deep=False):
        if name not in columns:
            setattr(model, name, _Untouchable())
    np.testing.assert_array_equal(case.rows(model), rows)
    np.testing.assert_array_equal(case.groups(model), groups)
    assert case.score(model) == score


def check_lost_groups(estimator: BaseEstimator) -> None:
    """A fit without groups or domains says that they may have been lost; a score does, too."""
    import pytest

    case = _Case.of(estimator)
    learns = getattr(estimator, f"_learns_from_{case.name}", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GroupsLostWarning)
        if case.name == "groups":
            with pytest.raises((GroupsLostWarning, GroupDataError), match="groups"):
                _fitted(estimator).score(case.X, case.y)
    with warnings.catch_warnings():
        if not learns:
            warnings.simplefilter("error", GroupsLostWarning)
            case.fresh().fit(case.X, case.y)
            return
        with pytest.warns(GroupsLostWarning, match=case.name):
            case.fresh().fit(case.X, case.y)


def check_inputs_unchanged(estimator: BaseEstimator) -> None:
    """``fit``, ``predict`` and ``score`` work on arrays that cannot be written to."""
    case = _Case.of(estimator)
    for array in (case.X, case.y, case.ids):
        array.flags.writeable = False
    model = case.fit()
    case.rows(model)
    case.score(model)


def check_parameters_unchanged(estimator: BaseEstimator) -> None:
    """``fit`` writes no parameter."""
    case = _Case.of(estimator)
    fresh = case.fresh()
    before = {key: repr(value) for key, value in fresh.get_params().items()}
    fresh.fit(case.X, case.y, **{case.name: case.ids})
    assert {key: repr(value) for key, value in fresh.get_params().items()} == before


def check_same_seed(estimator: BaseEstimator) -> None:
    """The same seed gives the same model, to the bit."""
    case = _Case.of(estimator)
    np.testing.assert_array_equal(case.rows(_fitted(estimator)), case.rows(case.fit()))


def check_persistence(estimator: BaseEstimator) -> None:
    """A model comes back the same from pickle and from a model file."""
    case = _Case.of(estimator)
    model = _fitted(estimator)
    with tempfile.TemporaryDirectory() as folder:
        from_file = load_model(save_model(model, Path(folder) / "model.skops"))
    for loaded in (pickle.loads(pickle.dumps(model)), from_file):
        np.testing.assert_array_equal(case.rows(loaded), case.rows(model))
        np.testing.assert_array_equal(case.groups(loaded), case.groups(model))


def check_id_column(estimator: BaseEstimator) -> None:
    """Ids in a DataFrame's column are as good as ids passed apart."""
    case = _Case.of(estimator)
    plain = _fitted(estimator)
    table = pd.DataFrame(case.X, columns=["a", "b", "c"])
    both = table.assign(where=case.ids)
    inside = case.fresh().set_params(**{f"{case.name[:-1]}_column": "where"}).fit(both, case.y)
    assert list(inside.feature_names_in_) == ["a", "b", "c"]
    _assert_same(case.rows(inside, table), case.rows(plain))
    _assert_same(inside.score(both, case.y), case.score(plain))


def check_category_columns(estimator: BaseEstimator) -> None:
    """A DataFrame's category column is taken as it is, and unknown categories at prediction too."""
    case = _Case.of(estimator)
    colours = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(len(case.X)) % 3])
    table = pd.DataFrame(case.X, columns=["a", "b", "c"]).assign(colour=colours)
    model = replace(case, X=table).fit()
    assert model.n_features_in_ == 4
    assert np.isfinite(case.rows(model, table)).all()
    strange = table.assign(colour=pd.Categorical(["violet"] * len(table)))
    assert np.isfinite(case.rows(model, strange)).all()


def check_groups_reach_fit(estimator: BaseEstimator) -> None:
    """``groupwise.model_selection.cross_validate`` trains on groups, not on rows."""
    case = _Case.of(estimator)
    if case.target_domain is not None:
        return  # domains are routed by scikit-learn itself: see the tests of transfer
    cv = WholeGroupKFold(2, stratify=is_classifier(estimator), random_state=0)
    given = cross_validate(
        case.fresh(), case.X, case.y, groups=case.ids, cv=cv, return_estimator=True
    )
    train, test = next(cv.split(case.X, case.y, case.ids))
    inside, outside = (
        replace(case, X=case.X[rows], y=case.y[rows], ids=case.ids[rows]) for rows in (train, test)
    )
    by_hand = inside.fit()
    _assert_same(case.rows(given["estimator"][0]), case.rows(by_hand))
    np.testing.assert_allclose(given["test_score"][0], outside.score(by_hand))


def check_bad_input(estimator: BaseEstimator) -> None:
    """Bad input gets an error that says what is wrong, and leaves the estimator unfitted."""
    import pytest

    case = _Case.of(estimator)
    holey_ids = case.ids.astype(object)
    holey_ids[3] = None
    holey_y = case.y.astype(object)
    holey_y[5] = None
    infinite = np.where(np.arange(case.X.size).reshape(case.X.shape) == 4, np.inf, case.X)
    cases: list[tuple[_Case, str]] = [
        (replace(case, ids=holey_ids), "row 3"),
        (replace(case, ids=case.ids[:-1]), "one id per row"),
        (replace(case, ids=np.column_stack([case.ids] * 2)), "1-D"),
        (replace(case, y=holey_y), "row 5"),
        (replace(case, y=case.y[:-1]), "y|inconsistent"),
        (replace(case, X=infinite), "infinity"),
        (replace(case, X=case.X[:0], y=case.y[:0], ids=case.ids[:0]), "0 sample"),
    ]
    for changed, message in cases:
        fresh = changed.fresh()
        with pytest.raises(ValueError, match=message):
            fresh.fit(changed.X, changed.y, **{case.name: changed.ids})
        with pytest.raises(ValueError):
            check_is_fitted(fresh)


#: All checks, in the order they run.
GROUP_CHECKS: tuple[Check, ...] = (
    check_row_order,
    check_group_names,
    check_kinds_of_ids,
    check_groups_of_one,
    check_predictions,
    check_fitted_state_answers,
    check_lost_groups,
    check_inputs_unchanged,
    check_parameters_unchanged,
    check_same_seed,
    check_persistence,
    check_id_column,
    check_category_columns,
    check_groups_reach_fit,
    check_bad_input,
)

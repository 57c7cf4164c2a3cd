"""Checks that every estimator of the group contract passes; public, for your own estimators too.

They come on top of scikit-learn's ``check_estimator``. Use them in a test module::

    @parametrize_with_group_checks([SBoostClassifier()])
    def test_group_contract(estimator, check):
        check(estimator)
"""

import pickle
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from groupwise.datasets import GroupedData, make_sessions
from groupwise.io import load_model, save_model
from groupwise.model_selection import WholeGroupKFold, cross_validate

__all__ = ["GROUP_CHECKS", "parametrize_with_group_checks"]

Check = Callable[[Any], None]


def parametrize_with_group_checks(
    estimators: Iterable[Any],
    *,
    expected_failed_checks: Callable[[Any], dict[str, str]] | None = None,
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
        for check in GROUP_CHECKS:
            reason = reasons.get(check.__name__)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            name = f"{' '.join(repr(estimator).split())}-{check.__name__}"
            cases.append(pytest.param(estimator, check, marks=marks, id=name))
    return pytest.mark.parametrize(("estimator", "check"), cases)


def _data(seed: int = 0) -> GroupedData:
    """Two overlapping classes in interleaved groups of unequal size, ids of strings."""
    rng = np.random.RandomState(seed)
    y_row = rng.randint(2, size=260)
    X = rng.normal(size=(260, 3)) + 1.2 * y_row[:, None]
    sessions = make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=rng)
    order = rng.permutation(len(sessions.X))[: len(sessions.X) - 7]
    names = np.array([f"s{code:02d}" for code in sessions.groups])
    return GroupedData(
        sessions.X[order],
        np.array(["no", "yes"])[sessions.y[order]],
        names[order],
        sessions.y_row[order],
    )


def _fresh(estimator: Any) -> Any:
    estimator = clone(estimator)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


def _fit(estimator: Any, data: GroupedData, **changed: Any) -> Any:
    given = {"X": data.X, "y": data.y, "groups": data.groups, **changed}
    return _fresh(estimator).fit(given["X"], given["y"], groups=given["groups"])


def _assert_same_model(one: Any, other: Any, X: Any) -> None:
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-5, atol=1e-7)


def check_row_order(estimator: Any) -> None:
    """The order of the rows does not change the model."""
    data = _data()
    order = np.random.RandomState(1).permutation(len(data.X))
    moved = _fit(estimator, data, X=data.X[order], y=data.y[order], groups=data.groups[order])
    _assert_same_model(_fit(estimator, data), moved, data.X)


def check_group_names(estimator: Any) -> None:
    """Other ids for the same groups give the same model and the same answers, in their order."""
    data = _data()
    names, codes = np.unique(data.groups, return_inverse=True)
    renamed = np.random.RandomState(2).permutation(len(names))[codes]
    one, other = _fit(estimator, data), _fit(estimator, data, groups=renamed)
    _assert_same_model(one, other, data.X)
    position = renamed[np.unique(codes, return_index=True)[1]]
    np.testing.assert_allclose(
        one.predict_groups_proba(data.X, groups=data.groups),
        other.predict_groups_proba(data.X, groups=renamed)[position],
        rtol=1e-5,
        atol=1e-7,
    )


def check_kinds_of_ids(estimator: Any) -> None:
    """Strings, integers, dates, tuples and categoricals serve as ids alike."""
    data = _data()
    codes = np.unique(data.groups, return_inverse=True)[1]
    reference = _fit(estimator, data, groups=codes)
    expected = reference.predict_groups(data.X, groups=codes)
    kinds = [
        codes.astype(float),
        np.datetime64("2026-01-01") + codes.astype("timedelta64[D]"),
        [(0, code) for code in codes],
        pd.Categorical(data.groups),
        pd.Series(data.groups, index=np.arange(len(codes))[::-1]),
    ]
    for ids in kinds:
        fitted = _fit(estimator, data, groups=ids)
        np.testing.assert_array_equal(fitted.predict_groups(data.X, groups=ids), expected)


def check_groups_of_one(estimator: Any) -> None:
    """No groups, and a group for each row, are the same thing."""
    data = _data()
    one = _fit(estimator, data, groups=None)
    other = _fit(estimator, data, groups=np.arange(len(data.X)))
    _assert_same_model(one, other, data.X)
    np.testing.assert_array_equal(other.predict_groups(data.X), other.predict(data.X))


def check_group_output(estimator: Any) -> None:
    """Groups come in the order of ``np.unique``, and classes agree with probabilities."""
    data = _data()
    fitted = _fit(estimator, data)
    names = np.unique(data.groups)
    proba_group = fitted.predict_groups_proba(data.X, groups=data.groups)
    assert proba_group.shape == (len(names), 2)
    np.testing.assert_allclose(proba_group.sum(axis=1), 1.0)
    y_group = fitted.predict_groups(data.X, groups=data.groups)
    np.testing.assert_array_equal(y_group, fitted.classes_[proba_group.argmax(axis=1)])
    last = data.groups == names[-1]
    np.testing.assert_array_equal(
        fitted.predict_groups(data.X[last], groups=data.groups[last]), y_group[-1:]
    )


def check_inputs_unchanged(estimator: Any) -> None:
    """``fit`` and ``predict`` work on arrays that cannot be written to."""
    data = _data()
    for array in (data.X, data.y, data.groups):
        array.flags.writeable = False
    fitted = _fit(estimator, data)
    fitted.predict(data.X)
    fitted.score(data.X, data.y, groups=data.groups)


def check_parameters_unchanged(estimator: Any) -> None:
    """``fit`` writes no parameter."""
    fresh = _fresh(estimator)
    before = {key: repr(value) for key, value in fresh.get_params().items()}
    data = _data()
    fresh.fit(data.X, data.y, groups=data.groups)
    assert {key: repr(value) for key, value in fresh.get_params().items()} == before


def check_same_seed(estimator: Any) -> None:
    """The same seed gives the same model, to the bit."""
    data = _data()
    one, other = _fit(estimator, data), _fit(estimator, data)
    np.testing.assert_array_equal(one.predict_proba(data.X), other.predict_proba(data.X))


def check_persistence(estimator: Any) -> None:
    """A model comes back the same from pickle and from a model file."""
    data = _data()
    fitted = _fit(estimator, data)
    expected = fitted.predict_groups_proba(data.X, groups=data.groups)
    with tempfile.TemporaryDirectory() as folder:
        from_file = load_model(save_model(fitted, Path(folder) / "model.skops"))
    for loaded in (pickle.loads(pickle.dumps(fitted)), from_file):
        again = loaded.predict_groups_proba(data.X, groups=data.groups)
        np.testing.assert_array_equal(again, expected)


def check_group_column(estimator: Any) -> None:
    """Ids in a DataFrame's column are as good as ids passed apart."""
    data = _data()
    table = pd.DataFrame(data.X, columns=["a", "b", "c"])
    plain = _fit(estimator, data, X=table)
    table = table.assign(session=data.groups)
    inside = _fresh(estimator).set_params(group_column="session").fit(table, data.y)
    assert list(inside.feature_names_in_) == ["a", "b", "c"]
    _assert_same_model(plain, inside, table.drop(columns="session"))
    assert inside.score(table, data.y) == plain.score(
        table.drop(columns="session"), data.y, groups=data.groups
    )


def check_groups_reach_fit(estimator: Any) -> None:
    """``groupwise.model_selection.cross_validate`` trains on groups, not on rows."""
    data = _data()
    cv = WholeGroupKFold(2, random_state=0)
    given = cross_validate(
        _fresh(estimator), data.X, data.y, groups=data.groups, cv=cv, return_estimator=True
    )
    train, test = next(cv.split(data.X, data.y, data.groups))
    by_hand = _fresh(estimator).fit(data.X[train], data.y[train], groups=data.groups[train])
    _assert_same_model(given["estimator"][0], by_hand, data.X)
    expected = by_hand.score(data.X[test], data.y[test], groups=data.groups[test])
    np.testing.assert_allclose(given["test_score"][0], expected)


def check_bad_input(estimator: Any) -> None:
    """Bad input gets an error that says what is wrong, and leaves the estimator unfitted."""
    import pytest

    data = _data()
    holey_ids = data.groups.astype(object)
    holey_ids[3] = None
    holey_y = data.y.astype(object)
    holey_y[5] = None
    nan_row = np.where(np.arange(data.X.size).reshape(data.X.shape) == 4, np.inf, data.X)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"groups": holey_ids}, "row 3"),
        ({"groups": data.groups[:-1]}, "one id per row"),
        ({"groups": np.column_stack([data.groups] * 2)}, "1-D"),
        ({"y": holey_y}, data.groups[5]),
        ({"y": data.y[:-1]}, "y|inconsistent"),
        ({"X": nan_row}, "infinity"),
        ({"X": data.X[:0], "y": data.y[:0], "groups": data.groups[:0]}, "0 sample"),
    ]
    for changed, message in cases:
        fresh = _fresh(estimator)
        given = {"X": data.X, "y": data.y, "groups": data.groups, **changed}
        with pytest.raises(ValueError, match=message):
            fresh.fit(given["X"], given["y"], groups=given["groups"])
        with pytest.raises(ValueError):
            check_is_fitted(fresh)


#: All checks, in the order they run.
GROUP_CHECKS: tuple[Check, ...] = (
    check_row_order,
    check_group_names,
    check_kinds_of_ids,
    check_groups_of_one,
    check_group_output,
    check_inputs_unchanged,
    check_parameters_unchanged,
    check_same_seed,
    check_persistence,
    check_group_column,
    check_groups_reach_fit,
    check_bad_input,
)

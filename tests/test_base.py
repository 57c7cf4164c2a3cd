"""The contract, on the smallest estimators that can be written for it."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from groupwise import GroupBoostRegressor, SBoostClassifier
from groupwise.base import BaseGroupClassifier, BaseGroupRegressor, Predictions
from groupwise.exceptions import GroupDataError, GroupsLostWarning, solving
from groupwise.groups import Groups
from groupwise.measures import FocusedAdaBoostClassifier
from groupwise.proportions import GroupMeansRegressor, NaiveGroupRegressor
from groupwise.rules import get_rule
from groupwise.transfer import TrAdaBoostClassifier


class MeanLine(BaseGroupClassifier):
    """A logistic regression on group means."""

    def __init__(self, C=1.0, group_column=None):
        self.C = C
        self.group_column = group_column

    def fit(self, X, y, *, groups=None):
        data = self._check_training(X, y, groups)
        self.rule_ = get_rule("mean")
        self.line_ = LogisticRegression(C=self.C).fit(data.groups.mean(data.X), data.y_group)
        return self

    def _answer_rows(self, rows, groups):
        score = self.line_.decision_function(rows)
        return score, np.column_stack([1 - expit(score), expit(score)])


class RowLine(MeanLine):
    """The same on rows: groups come in where it is asked about them."""

    _learns_from_groups = False

    def fit(self, X, y, *, groups=None):
        data = self._check_training(X, y, groups)
        self.line_ = LogisticRegression(C=self.C).fit(data.X, data.y_row)
        return self


class Centred(MeanLine):
    """The same, with a row's score less the mean of its group."""

    _decides_per_group = True

    def _answer_rows(self, rows, groups):
        score = self.line_.decision_function(rows)
        score = score - groups.spread(groups.mean(score))
        return score, np.column_stack([1 - expit(score), expit(score)])


class MeanRegression(BaseGroupRegressor):
    """Least squares on group means."""

    def __init__(self, target="mean", group_column=None):
        self.target = target
        self.group_column = group_column

    def fit(self, X, y, *, groups=None):
        data = self._check_training(X, y, groups)
        self.line_ = LinearRegression().fit(data.groups.mean(data.X), data.mean_group)
        return self

    def _answer_rows(self, rows, groups):
        return self.line_.predict(rows)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 4)
    y = np.repeat(rng.permutation(np.arange(20) % 2), 4)
    return rng.normal(size=(80, 2)) + y[:, None], np.array(["no", "yes"])[y], groups


def test_predictions_hold_what_every_other_method_says(data):
    X, y, groups = data
    clf = MeanLine().fit(X, y, groups=groups)
    found = clf.predictions(X, groups)
    np.testing.assert_array_equal(found.score_row, clf.decision_function(X))
    np.testing.assert_array_equal(found.proba_row, clf.predict_proba(X))
    np.testing.assert_array_equal(found.proba_group, clf.predict_groups_proba(X, groups))
    np.testing.assert_array_equal(found.y_row, clf.predict(X))
    np.testing.assert_array_equal(found.y_group, clf.predict_groups(X, groups))
    assert clf.score(X, y, groups) == np.mean(found.y_group == y[found.groups.first_rows])


def test_row_weights_are_shares_of_the_group(data):
    X, y, groups = data
    found = MeanLine().fit(X, y, groups=groups).predictions(X, groups)
    np.testing.assert_allclose(found.groups.sum(found.row_weights()), 1.0)


def test_row_weights_by_hand():
    proba = np.array([[0.9, 0.1], [0.3, 0.7], [0.0, 1.0]])
    group = np.array([[0.6, 0.4], [1.0, 0.0]])
    code = np.array([0, 1, 1])
    found = Predictions(np.arange(2), Groups(["a", "a", "b"]), proba[:, 1], proba, group, code)
    # of 0.9 and 0.3 towards the group's class; a group without any shares evenly
    np.testing.assert_allclose(found.row_weights(), [0.75, 0.25, 1.0])


def test_classes_that_were_never_seen_get_columns_of_zeros(data):
    X, y, groups = data
    found = MeanLine().fit(X, y, groups=groups).predictions(X, groups)
    wide = found.with_classes(np.array(["maybe", "no", "yes"]))
    np.testing.assert_array_equal(wide.proba_group[:, 1:], found.proba_group)
    assert not wide.proba_row[:, 0].any()
    np.testing.assert_array_equal(wide.y_row, found.y_row)
    assert found.with_classes(found.classes) is found


def test_a_fit_without_groups_says_so_and_how_to_mean_it(data):
    X, y, _ = data
    with pytest.warns(GroupsLostWarning, match="enable_metadata_routing.*group_column"):
        MeanLine().fit(X, y)
    MeanLine().fit(X, y, groups=np.arange(len(X)))  # no warning: it is meant


@pytest.mark.parametrize("model", [MeanLine(), RowLine()])
@pytest.mark.parametrize("ask", ["score", "predict_groups", "predict_groups_proba"])
def test_groups_are_not_lost_on_the_way_to_an_answer_about_groups(data, ask, model):
    X, y, groups = data
    clf = clone(model).fit(X, y, groups=groups)
    with pytest.warns(GroupsLostWarning, match="fitted with groups") as caught:
        getattr(clf, ask)(*((X, y) if ask == "score" else (X,)))
    assert [each.filename for each in caught] == [__file__]
    clf.predict(X)  # rows are answered without


def test_a_model_that_learns_from_rows_has_not_lost_groups_it_never_had(data):
    X, y, _ = data
    assert RowLine().fit(X, y).score(X, y) > 0.5  # no warning in either


@pytest.mark.parametrize(
    ("model", "ids"),
    [
        (SBoostClassifier(n_estimators=2), "groups"),
        (GroupBoostRegressor(n_estimators=2), "groups"),
        (FocusedAdaBoostClassifier(n_estimators=2), "groups"),
        (TrAdaBoostClassifier(n_estimators=2, target_domain=0), "domains"),
    ],
)
def test_warnings_point_at_the_line_that_lost_the_groups(data, model, ids):
    X, y, _ = data
    with pytest.warns(GroupsLostWarning, match=f"got no {ids}") as caught:
        here = inspect.currentframe().f_lineno + 1
        model.fit(X, (y == "yes").astype(int))
    assert [(each.filename, each.lineno) for each in caught] == [(__file__, here)]


@pytest.mark.parametrize(
    "lose",
    [
        lambda X, y, g: GridSearchCV(MeanLine(), {"C": [1.0]}, cv=GroupKFold(2)).fit(
            X, y, groups=g
        ),
        lambda X, y, g: cross_val_score(MeanLine(), X, y, groups=g, cv=GroupKFold(2)),
        lambda X, y, g: CalibratedClassifierCV(MeanLine(), cv=2).fit(X, y),
    ],
    ids=["GridSearchCV", "cross_val_score", "CalibratedClassifierCV"],
)
def test_scikit_learn_does_not_lose_groups_in_silence(data, lose):
    with pytest.warns(GroupsLostWarning):
        lose(*data)


def test_metadata_routing_and_group_column_pass_groups_on(data):
    X, y, groups = data
    with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=True):
        warnings.simplefilter("error")
        search = GridSearchCV(MeanLine(), {"C": [1.0]}, cv=2).fit(X, y, groups=groups)
        assert search.best_estimator_.n_groups_ == 20
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(session=groups)
    search = GridSearchCV(MeanLine(group_column="session"), {"C": [1.0]}, cv=2).fit(frame, y)
    assert search.best_estimator_.n_groups_ == 20


def test_metadata_routing_passes_groups_on_to_every_question(data):
    X, y, groups = data
    pipe = make_pipeline(StandardScaler(), Centred())
    with sklearn.config_context(enable_metadata_routing=True):
        pipe.fit(X, y, groups=groups)
        for ask in (pipe.predict, pipe.predict_proba, pipe.decision_function):
            assert len(ask(X, groups=groups)) == len(X)


def test_an_estimator_that_decides_per_group_wants_groups(data):
    X, y, groups = data
    clf = Centred().fit(X, y, groups=groups)
    for ask in (clf.predict, clf.predict_proba, clf.decision_function, clf.predictions):
        with pytest.raises(GroupDataError, match="in view of its group"):
            ask(X)
    np.testing.assert_allclose(Groups(groups).sum(clf.decision_function(X, groups)), 0.0, atol=1e-9)
    assert (clf.decision_function(X, np.arange(len(X))) == 0).all()


def test_what_set_params_says_after_fit_changes_nothing(data):
    X, _, groups = data
    clf = MeanRegression().fit(X, np.arange(80.0) // 4, groups=groups)
    before = clf.predict_groups(X, groups)
    np.testing.assert_array_equal(clf.set_params(target="total").predict_groups(X, groups), before)


@pytest.mark.parametrize("target", ["mean", "total"])
def test_numbers_of_groups(data, target):
    X, _, groups = data
    value = X @ [1.0, 2.0]
    encoded = Groups(groups)
    of_group = encoded.sum(value) if target == "total" else encoded.mean(value)
    model = MeanRegression(target).fit(X, encoded.spread(of_group), groups=groups)
    np.testing.assert_allclose(model.predict_groups(X, groups), of_group)
    np.testing.assert_allclose(model.predict(X), value)
    assert model.score(X, encoded.spread(of_group), groups) == pytest.approx(1.0)
    found = model.predictions(X, groups)
    np.testing.assert_array_equal(found.y_group, model.predict_groups(X, groups))
    if target == "mean":  # rows' own values say the same as their mean
        other = MeanRegression().fit(X, value, groups=groups)
        np.testing.assert_allclose(other.predict(X), model.predict(X))
    else:
        with pytest.raises(GroupDataError, match="same on every row"):
            MeanRegression("total").fit(X, value, groups=groups)


def test_rather_no_answer_than_nan(data):
    class Blind(MeanLine):
        def _answer_rows(self, rows, groups):
            score, proba = super()._answer_rows(rows, groups)
            score[:3] = np.nan
            return score, proba

    X, y, groups = data
    clf = Blind().fit(X, y, groups=groups)
    for ask in (clf.predict, clf.predict_proba, clf.decision_function, clf.predictions):
        with pytest.raises(GroupDataError, match=r"no finite answer for 3 of 80 rows.*scale X"):
            ask(X, groups)


def test_equations_without_a_solution_are_told_in_words():
    with pytest.raises(GroupDataError, match=r"scale its columns \(Singular matrix\)"), solving():
        np.linalg.inv(np.zeros((2, 2)))


class Forgets(LinearRegression):
    """Cannot be fitted to totals."""

    def fit(self, X, y):
        if np.max(y) > 5:
            raise MemoryError
        return super().fit(X, y)


@pytest.mark.parametrize("regressor", [GroupMeansRegressor, NaiveGroupRegressor])
def test_a_fit_that_fails_leaves_the_model_as_it_was(regressor):
    X, groups = np.arange(8.0)[:, None], np.repeat(np.arange(4), 2)
    model = regressor(Forgets()).fit(X, np.repeat([1.0, 2.0, 3.0, 4.0], 2), groups=groups)
    before = model.predict_groups(X, groups)
    model.set_params(target="total")
    with pytest.raises(MemoryError):
        model.fit(X[:, [0, 0]], np.repeat([10.0, 20.0, 30.0, 40.0], 2), groups=groups)
    np.testing.assert_array_equal(model.predict_groups(X, groups), before)
    assert model.target_ == "mean" and model.n_features_in_ == 1

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting import LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    NegativeTransferWarning,
    SafeTrAdaBoostClassifier,
    TargetKFold,
    TrAdaBoostClassifier,
    WeightedTransferClassifier,
    target_selection,
)


def test_safe_choice_reports_negative_transfer():
    data = make_shifted_domains(300, 60, angle=180.0, noise=0.0, random_state=0)
    with pytest.warns(NegativeTransferWarning, match="target alone does best"):
        clf = SafeTrAdaBoostClassifier(
            TrAdaBoostClassifier(LinearLearner(), n_estimators=3),
            target_domain="target",
            random_state=0,
        ).fit(data.X, data.y, domains=data.domains)
    assert clf.selection_.negative_transfer
    assert clf.selection_.chosen == clf.best_estimator_.weighting == "target_only"
    alone = WeightedTransferClassifier(
        LinearLearner(), weighting="target_only", target_domain="target"
    ).fit(data.X, data.y, domains=data.domains)
    np.testing.assert_allclose(clf.decision_function(data.X), alone.decision_function(data.X))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::groupwise.transfer.NegativeTransferWarning")
@pytest.mark.parametrize("seed", range(3))
def test_safe_choice_is_never_worse_on_held_out_rows(seed):
    data = make_shifted_domains(200, 40, angle=60.0 * seed, random_state=seed)
    clf = SafeTrAdaBoostClassifier(
        TrAdaBoostClassifier(n_estimators=5), target_domain="target", random_state=0
    ).fit(data.X, data.y, domains=data.domains)
    errors = clf.selection_.errors
    assert set(errors) == {"tradaboost", "equal_mass", "union", "target_only"}
    assert errors[clf.selection_.chosen] == min(errors.values())
    assert clf.selection_.n_rows == 80


def test_without_source_rows_it_is_adaboost(shifted):
    clf = SafeTrAdaBoostClassifier(
        TrAdaBoostClassifier(n_estimators=5), target_domain="target", random_state=0
    )
    clf.fit(shifted.X, shifted.y, domains=["target"] * len(shifted.y))  # nothing to compare with
    assert clf.selection_ is None
    alone = TrAdaBoostClassifier(n_estimators=5)
    alone.fit(shifted.X, shifted.y, domains=np.zeros(len(shifted.y)))
    np.testing.assert_array_equal(
        clf.decision_function(shifted.X), alone.decision_function(shifted.X)
    )


def test_safe_choice_needs_two_target_rows_of_a_class():
    X = np.arange(8.0).reshape(8, 1)
    y = np.array([0, 0, 1, 1, 0, 1, 0, 0])
    with pytest.raises(GroupDataError, match="two target rows of each class; class 1 has 1"):
        SafeTrAdaBoostClassifier(
            TrAdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2),
            target_domain="t",
        ).fit(X, y, domains=["s", "s", "s", "s", "t", "t", "t", "t"])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::groupwise.transfer.NegativeTransferWarning")
@pytest.mark.parametrize("seed", range(4))
def test_the_chosen_model_is_the_model(seed):
    """Whatever is chosen, fitted on its own to the same rows it scores the same."""
    data = make_shifted_domains(200, 40, angle=30.0 * seed, random_state=seed)
    clf = SafeTrAdaBoostClassifier(
        TrAdaBoostClassifier(LinearLearner(), n_estimators=5),
        target_domain="target",
        random_state=seed,
    ).fit(data.X, data.y, domains=data.domains)
    best = clf.best_estimator_
    assert isinstance(best, TrAdaBoostClassifier) == (clf.selection_.chosen == "tradaboost")
    alone = clone(best).fit(data.X, data.y, domains=data.domains)
    np.testing.assert_allclose(clf.decision_function(data.X), alone.decision_function(data.X))


@pytest.mark.filterwarnings("ignore::groupwise.transfer.NegativeTransferWarning")
def test_folds_of_ones_own():
    data = make_shifted_domains(200, 40, random_state=0)
    folds = TargetKFold(4, target_domain="target", random_state=0)
    for cv, n_rows in ((3, 40), (folds, 40), (None, 80)):
        clf = SafeTrAdaBoostClassifier(
            TrAdaBoostClassifier(LinearLearner(), n_estimators=2), cv=cv, target_domain="target"
        ).fit(data.X, data.y, domains=data.domains)
        assert clf.selection_.n_rows == n_rows
    with pytest.raises(ValueError, match="cv must be a whole number"):
        clf.set_params(cv=1).fit(data.X, data.y, domains=data.domains)


@pytest.mark.parametrize(
    ("n_rows", "wrong", "chosen"),
    [
        # that many of 20 held-out predictions (10 rows, twice) are wrong
        (10, {"vote": 3, "start": 4, "alone": 9}, "start"),  # one fewer says nothing
        (10, {"vote": 9, "start": 8, "alone": 6}, "start"),
        (10, {"vote": 9, "start": 18, "alone": 2}, "alone"),
        (10, {"vote": 1, "start": 18, "alone": 2}, "vote"),
        (20, {"vote": 3, "start": 4, "alone": 9}, "vote"),
        (20, {"vote": 9, "start": 8, "alone": 6}, "alone"),
    ],
)
def test_safe_choice_with_few_rows_keeps_the_start(monkeypatch, n_rows, wrong, chosen):
    held_out = {
        name: target_selection._HeldOutErrors(
            np.arange(20) < n, np.where(np.arange(20) < n, -1.0, 1.0)
        )
        for name, n in wrong.items()
    }
    monkeypatch.setattr(target_selection, "_folds", lambda *args: [])
    monkeypatch.setattr(target_selection, "_held_out", lambda *args: held_out)
    rows = SimpleNamespace(is_target=np.ones(n_rows, dtype=bool))
    found = target_selection.select_safely(dict.fromkeys(wrong), rows, None, None, start="start")
    assert found.chosen == chosen

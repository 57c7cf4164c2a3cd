"""What every transfer estimator shares: domains on their way in, ties, groups of what is asked."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.transfer import (
    TargetKFold,
    TaskTrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransductiveSVC,
    WeightedTransferClassifier,
)


def weighted(**parameters):
    return WeightedTransferClassifier(LogisticRegression(), target_domain="target", **parameters)


def test_a_tie_goes_to_the_second_class_of_rows_and_groups():
    clf = TransductiveSVC().fit([[-1.0], [1.0]], ["a", "b"])
    clf.intercept_[:] = 0.0
    found = clf.predictions([[0.0], [-1.0], [1.0]])
    assert found.proba_row[0].tolist() == [0.5, 0.5]
    assert found.y_row.tolist() == found.y_group.tolist() == ["b", "a", "b"]


def test_rows_of_a_group_vote(shifted):
    clf = weighted().fit(shifted.X, shifted.y, domains=shifted.domains)
    groups = np.arange(len(shifted.y)) // 7
    votes = pd.Series(clf.predict(shifted.X)).groupby(groups).mean()
    clear = votes != 0.5
    np.testing.assert_array_equal(
        clf.predict_groups(shifted.X, groups)[clear], (votes > 0.5)[clear]
    )


def test_a_fit_without_domains_says_so_where_they_matter(shifted):
    with pytest.warns(GroupsLostWarning, match=r"no domains.*\['target'\] \* len\(X\)"):
        weighted().fit(shifted.X, shifted.y)
    weighted(weighting="union").fit(shifted.X, shifted.y)  # the same model with and without
    TransductiveSVC().fit(shifted.X, shifted.y)
    with pytest.warns(GroupsLostWarning, match="domain_column"):
        TrAdaBoostRegressor(n_estimators=1).fit(shifted.X, shifted.X[:, 0])


def test_scikit_learn_loses_domains_unless_they_are_routed(shifted):
    cv = TargetKFold(2, target_domain="target", random_state=0)
    with pytest.warns(GroupsLostWarning):
        cross_val_score(weighted(), shifted.X, shifted.y, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        given = {"domains": shifted.domains}
        cross_val_score(weighted(), shifted.X, shifted.y, cv=cv, params=given)
        request = weighted().get_metadata_routing()
        assert request.fit.requests["domains"] is request.fit.requests["X_unlabeled"] is True
        assert "groups" not in request.fit.requests and "groups" not in request.score.requests


def test_domains_in_a_column_of_every_table(shifted):
    columns = [f"x{i}" for i in range(shifted.X.shape[1])]
    table = pd.DataFrame(shifted.X, columns=columns)
    both = table.assign(year=shifted.domains)
    plain = weighted().fit(table, shifted.y, domains=shifted.domains)
    inside = weighted(domain_column="year").fit(both, shifted.y, X_unlabeled=both)
    np.testing.assert_array_equal(inside.predict(both), plain.predict(table))
    np.testing.assert_array_equal(inside.predict(table), plain.predict(table))
    assert inside.score(both, shifted.y) == plain.score(table, shifted.y, shifted.domains)
    assert inside.score(table, shifted.y) == plain.score(table, shifted.y)  # all of the target
    with pytest.raises(GroupDataError, match="no column 'year'"):
        weighted(domain_column="year").fit(table, shifted.y)


def test_the_fitted_target_is_scored(shifted):
    clf = weighted().fit(shifted.X, shifted.y, domains=shifted.domains)
    before = clf.score(shifted.X, shifted.y, shifted.domains)
    assert (
        clf.set_params(target_domain="source").score(shifted.X, shifted.y, shifted.domains)
        == before
    )
    assert clf.target_domain_ == "target"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"domains": ["source"] * 340}, "no row of the target domain"),
        ({"sample_weight": -np.ones(340)}, "sample_weight|Negative"),
        ({"X_unlabeled": np.zeros((2, 9))}, "9 features"),
    ],
)
def test_a_refused_fit_leaves_no_trace(given, message, shifted):
    clf = weighted()
    with pytest.raises(ValueError, match=message):
        clf.fit(shifted.X, shifted.y, **{"domains": shifted.domains, **given})
    with pytest.raises(NotFittedError):
        check_is_fitted(clf)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    rng = np.random.RandomState(0)
    X, y, domains = rng.normal(size=(60, 2)), np.arange(60) % 2, np.arange(60) // 30
    model = TaskTrAdaBoostClassifier(target_domain=1, random_state=0).fit(X, y, domains=domains)
    before = model.predict(X)
    model.set_params(min_vote=1e6)
    with pytest.raises(GroupDataError):
        model.fit(X, np.where(y, "zz", "aa"), domains=domains)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.classes_.tolist() == [0, 1]

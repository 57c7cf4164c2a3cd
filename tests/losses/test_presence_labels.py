"""Several labels of presence, with gaps."""

import lightgbm as lgb
import numpy as np
import pytest

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier, objective
from groupwise.losses import NoisyOrLoss, PresenceLabelsLoss


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    groups = Groups(rng.permutation(np.repeat(np.arange(8), rng.integers(1, 6, 8))))
    found = rng.choice([0.0, 1.0, np.nan], (8, 3))
    found[:, 2] = np.nan  # of one label nothing is known
    return groups, found, rng.normal(size=(groups.n_rows, 3)), rng


def test_each_label_is_a_noisy_or_of_the_groups_that_have_it(problem):
    groups, found, score, rng = problem
    weight = groups.spread(rng.uniform(0.5, 2.0, 8)) * rng.uniform(0.5, 2.0, groups.n_rows)
    bound = PresenceLabelsLoss().bind(found, groups, n_classes=3, weight_row=weight)
    gradient, curvature = bound.gradient_and_curvature(score)
    value = 0.0
    for k in range(2):
        known = ~np.isnan(found[:, k])
        rows = known[groups.codes]
        one = NoisyOrLoss().bind(
            found[known, k].astype(int), Groups(groups.codes[rows]), weight_row=weight[rows]
        )
        value += one.value(score[rows, k])
        np.testing.assert_allclose(gradient[rows, k], one.gradient(score[rows, k]))
        np.testing.assert_allclose(curvature[rows, k], one.curvature(score[rows, k]))
        assert (gradient[~rows, k] == 0).all()
        assert np.isclose(bound.init_score()[k], one.init_score()[0])
    assert np.isclose(bound.value(score), value)
    assert (gradient[:, 2] == 0).all()
    absent = np.log1p(np.exp(bound.init_score()[2])) * groups.sizes.mean()  # -log P(absent)
    assert np.isclose(absent, np.log(2))


def test_gradient_is_the_numerical_derivative(problem):
    groups, found, score, _ = problem
    bound = PresenceLabelsLoss().bind(found, groups, n_classes=3)
    gradient = bound.gradient(score)
    for row, label in np.ndindex(*score.shape):
        step = np.zeros_like(score)
        step[row, label] = 1e-5
        numerical = (bound.value(score + step) - bound.value(score - step)) / 2e-5
        assert np.isclose(gradient[row, label], numerical, atol=1e-6)


def test_an_engine_takes_it(problem):
    groups, found, _, rng = problem
    X = rng.integers(0, 9, (groups.n_rows, 2)).astype(float)
    given = objective(PresenceLabelsLoss(), groups.codes, found[groups.codes])
    params = {"objective": given, "num_class": 3, "min_data_in_leaf": 1, "verbosity": -1}
    booster = lgb.train(params | {"num_threads": 1}, lgb.Dataset(X), 3)
    score = booster.predict(X)
    assert score.shape == (groups.n_rows, 3)
    assert (score[:, 2] == 0).all()
    proba = PresenceLabelsLoss().proba_groups(score, groups)
    assert proba.shape == (8, 3)
    assert given.loss.value(score) < given.loss.value(np.zeros_like(score))


def test_what_it_refuses(problem):
    groups, found, _, _ = problem
    with pytest.raises(GroupDataError, match="0, 1 or missing"):
        PresenceLabelsLoss().bind(found + 1, groups, n_classes=3)
    with pytest.raises(GroupDataError, match="same on every row"):
        objective(PresenceLabelsLoss(), np.zeros(4, int), np.eye(4))
    with pytest.raises(ValueError, match="use GroupBoostMultilabelClassifier"):
        GroupBoostClassifier(PresenceLabelsLoss()).fit(np.eye(4), np.eye(4), groups=[0, 0, 1, 1])


def test_a_label_that_nobody_knows_is_as_likely_as_not():
    groups = Groups(np.repeat(np.arange(4), 5))
    known = np.array([[0.0, np.nan], [1.0, np.nan], [0.0, np.nan], [1.0, np.nan]])
    loss = PresenceLabelsLoss()
    start = loss.bind(known, groups, n_classes=2).init_score()
    proba = loss.proba_groups(np.tile(start, (20, 1)), groups)
    np.testing.assert_allclose(proba, 0.5, atol=1e-6)

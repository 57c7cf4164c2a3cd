import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from groupwise.groups import Groups
from groupwise.proportions import GroupMeansClassifier, GroupMeansRegressor


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    groups = Groups(np.repeat(np.arange(12), [3, 5] * 6))
    label = rng.randint(2, size=groups.n_rows)
    return rng.normal(size=(groups.n_rows, 2)) + label[:, None], label, groups


def test_it_is_logistic_regression_on_means_weighted_by_counts(rows):
    X, label, groups = rows
    model = GroupMeansClassifier(LogisticRegression(tol=1e-10)).fit(X, label, groups=groups)
    positive = groups.sum(label)
    lines = np.vstack([groups.mean(X)] * 2)
    weight = np.concatenate([groups.sizes - positive, positive]) * 12 / groups.n_rows
    plain = LogisticRegression(tol=1e-10).fit(lines, np.repeat([0, 1], 12), sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_the_constant_is_the_share_of_all_rows(rows):
    X, label, groups = rows
    model = GroupMeansClassifier(DummyClassifier()).fit(X, label, groups=groups)
    share = label.mean()
    np.testing.assert_allclose(model.predict_groups_proba(X, groups)[0], [1 - share, share])


@pytest.mark.parametrize("target", ["mean", "total"])
def test_a_linear_function_is_found_from_means(rows, target):
    X, _, groups = rows
    number = 3 * X[:, 0] - X[:, 1] + 2
    of_group = groups.mean(number) if target == "mean" else groups.sum(number)
    model = GroupMeansRegressor(Ridge(1e-8), target=target).fit(
        X, groups.spread(of_group), groups=groups
    )
    np.testing.assert_allclose(model.predict(X), number, atol=1e-5)
    np.testing.assert_allclose(model.predict_groups(X, groups), of_group, atol=1e-4)


def test_an_estimator_without_probabilities_is_refused(rows):
    X, label, groups = rows
    with pytest.raises(ValueError, match="Ridge has no predict_proba"):
        GroupMeansClassifier(Ridge()).fit(X, label, groups=groups)

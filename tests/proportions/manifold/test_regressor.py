"""Values of rows from means and totals of groups."""

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge

from groupwise import Groups
from groupwise.proportions import (
    ManifoldAOCRegressor,
    broadcast,
)


def regression_data():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    return X, y, rng.randint(30, size=120)


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_regression_from_values_means_and_totals(loss):
    X, y, groups = regression_data()
    encoded = Groups(groups)
    mean_row = encoded.spread(encoded.mean(y))
    total = pd.Series(encoded.sum(y), index=encoded.names)
    options = {"gamma1": 1e-3, "epsilon": 0.01}
    one = ManifoldAOCRegressor("row", loss, **options).fit(X, y, groups=groups)
    other = ManifoldAOCRegressor("row", loss, **options).fit(X, mean_row, groups=groups)
    third = ManifoldAOCRegressor("row", loss, target="total", **options)
    third.fit(X, broadcast(total, groups), groups=groups)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-6)
    np.testing.assert_allclose(one.predict(X), third.predict(X), atol=1e-6)
    assert np.corrcoef(one.predict(X), y)[0, 1] > 0.95
    np.testing.assert_allclose(one.transduction_, one.predict(X), atol=1e-9)
    np.testing.assert_allclose(
        third.predict_groups(X, groups=groups), encoded.sum(third.predict(X))
    )
    np.testing.assert_allclose(one.predict_groups(X, groups), encoded.mean(one.predict(X)))
    assert one.score(X, y, groups=groups) > 0.95
    assert third.score(X, broadcast(total, groups), groups=groups) > 0.95


def test_regression_of_groups_of_one_is_kernel_ridge():
    X, y, _ = regression_data()
    model = ManifoldAOCRegressor(gamma1=0.2, fit_intercept=False)
    model.fit(X, y, groups=np.arange(len(X)))
    parent = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.5 / model.function_.kernel.sigma**2)
    np.testing.assert_allclose(model.predict(X), parent.fit(X, y).predict(X), atol=1e-9)


def test_regression_takes_ids_from_a_column():
    X, y, groups = regression_data()
    table = pd.DataFrame(X, columns=["a", "b"]).assign(g=groups)
    inside = ManifoldAOCRegressor(group_column="g").fit(table, y)
    apart = ManifoldAOCRegressor().fit(X, y, groups=groups)
    np.testing.assert_allclose(inside.predict(table), apart.predict(X))
    assert inside.score(table, y) == pytest.approx(apart.score(X, y, groups=groups))
    with pytest.raises(ValueError, match="requires y"):
        ManifoldAOCRegressor().fit(X, None, groups=groups)

"""SHAP values and importances."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from groupwise import HistTrees

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shap_values_sum_to_the_score(engine, sparse, n_classes, make, grid_data):
    X, y, groups = grid_data(n_classes=n_classes)
    rows = csr_array(X) if sparse else X
    half = make(engine, n_estimators=4).fit(rows, y, groups=groups)
    model = make(engine, n_estimators=4).fit(rows, y, groups=groups, init_model=half)
    values = model.shap_values(rows)
    assert values.shape == ((len(X), 6) if n_classes == 2 else (len(X), 6, 3))
    assert np.allclose(values.sum(axis=1), model.decision_function(rows), atol=1e-4)
    assert np.isclose(model.feature_importances_.sum(), 1.0)
    assert model.feature_importances_.argmax() == 0

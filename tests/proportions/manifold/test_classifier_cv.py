"""AOC-manifold that chooses its parameters."""

import numpy as np
import pytest

from groupwise.proportions import (
    ManifoldAOCClassifier,
    ManifoldAOCClassifierCV,
)


@pytest.mark.parametrize("goal", ["induction", "transduction"])
@pytest.mark.parametrize("n_components", [None, 40])
def test_what_is_chosen_is_what_is_fitted(goal, n_components, blobs):
    model = ManifoldAOCClassifierCV(
        goal=goal,
        widths=(0.5, 1.0),
        rhos=(0.0, 1.0),
        lambdas=(0.01, 0.1),
        n_components=n_components,
        random_state=0,
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    again = ManifoldAOCClassifier(
        width=model.width_,
        gamma1=model.gamma1_,
        gamma2=model.gamma2_,
        n_components=n_components,
        random_state=0,
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    np.testing.assert_allclose(
        model.predict_proba(blobs.X), again.predict_proba(blobs.X), atol=1e-6
    )
    assert model.error_.shape == (2, 2, 2)


@pytest.mark.parametrize("level", ["row", "group"])
def test_l1_and_group_level_can_be_selected_too(level, blobs):
    model = ManifoldAOCClassifierCV(
        level, "l1", goal="transduction", widths=(1.0,), rhos=(0.0, 1.0), lambdas=(0.1,), cv=3
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    assert (model.transduction_ == blobs.y_row).mean() > 0.9
    linear = ManifoldAOCClassifierCV(level, kernel="linear", rhos=(0.0,))
    assert linear.fit(blobs.X, blobs.y, groups=blobs.groups).error_.shape == (1, 1, 17)

import numpy as np
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    TwoStageTrAdaBoostRegressor,
)
from groupwise.transfer.two_stage import _shift_weight


def test_shifted_weights_reach_the_share():
    weight = np.full(10, 0.1)
    is_target = np.arange(10) < 3
    error = np.linspace(0.1, 1, 10)
    for share in (0.3, 0.5, 0.9):
        moved = _shift_weight(weight, error, is_target, share)
        assert moved[is_target].sum() == pytest.approx(share, abs=1e-9)
        assert moved.sum() == pytest.approx(1.0)
        ratio = np.log(moved[~is_target] / moved[is_target][0]) / error[~is_target]
        np.testing.assert_allclose(ratio, ratio[0], atol=1e-9)  # beta^e for one beta
    assert _shift_weight(weight, error, is_target, 1.0)[~is_target].sum() == 0.0


def test_two_stage_shares_and_steps(regression_task):
    X, y, domains, *_ = regression_task()
    model = TwoStageTrAdaBoostRegressor(
        n_estimators=2, n_steps=4, cv=3, target_domain="new", random_state=0
    ).fit(X, y, domains=domains)
    np.testing.assert_allclose(
        model.cv_results_["target_share"], 1 / 7 + np.arange(4) / 3 * (6 / 7), atol=1e-6
    )
    assert model.best_index_ == np.argmin(model.cv_results_["mean_squared_error"])


def test_two_stage_needs_two_target_rows():
    with pytest.raises(GroupDataError, match="two rows of the target"):
        TwoStageTrAdaBoostRegressor(target_domain="t").fit(
            np.arange(4.0)[:, None], np.arange(4.0), domains=list("ssst")
        )

"""How much denser the target is than all rows together, for weighted calibration."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from groupwise.inputs.rows import CategoryColumns

__all__ = ["DensityRatio"]


@dataclass(frozen=True)
class DensityRatio:
    r"""The target's density over that of all rows, by logistic regression.

    With :math:`r = p_t / p_s` (the odds, both sides weighing the same) and the target's share
    :math:`\pi` of the rows the ratio is :math:`1 / (\pi + (1 - \pi)/r)`, never above
    :math:`1/\pi`.

    Attributes
    ----------
    model : Pipeline
    share : float
        Pi.
    categories : CategoryColumns or None
        Of a table, to make numbers of.
    """

    model: Pipeline
    share: float
    categories: CategoryColumns | None

    @classmethod
    def fit(cls, X: Any, is_target: NDArray[np.bool_]) -> "DensityRatio":
        """Fit to rows of the target and of other domains; of one domain only, all weigh 1."""
        categories = CategoryColumns.of(X, as_codes=False)
        model = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            StandardScaler(with_mean=not issparse(X)),
            LogisticRegression(class_weight="balanced", max_iter=1000),
        )
        share = float(is_target.mean())
        if share < 1.0:
            model.fit(_numbers(X, categories), is_target.astype(int))
        return cls(model, share, categories)

    def weights(self, X: Any) -> NDArray[np.float64]:
        """The ratio at each row."""
        if self.share == 1.0:
            return np.ones(X.shape[0])
        odds = np.exp(np.clip(self.model.decision_function(_numbers(X, self.categories)), -50, 50))
        return 1.0 / (self.share + (1.0 - self.share) / odds)


def _numbers(X: Any, categories: CategoryColumns | None) -> Any:
    table = X if categories is None else categories.to_numbers(X)
    return table.to_numpy(dtype=float) if isinstance(table, pd.DataFrame) else table

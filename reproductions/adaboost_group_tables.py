"""What Ni et al. (2008) print, and our measures of groups laid out beside it."""

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

from groupwise.metrics import bootstrap_interval

__all__ = ["PRINTED", "TUNED", "table"]

TUNED = "LightGBM, threshold tuned"

PRINTED = pd.DataFrame(
    {
        "Email accuracy": [0.9567, 0.9381, 0.9442, 0.9346, 0.9481, 0.9488, 0.9433, 0.9436],
        "Acronym accuracy": [0.9981, 0.9975, 0.9978, 0.9977, 0.9979, 0.9974, 0.9972, 0.9972],
        "Protein accuracy": [0.9970, 0.9966, 0.9968, 0.9953, 0.9966, 0.9965, 0.9965, 0.9966],
        "Email F1": [0.6983, 0.8645, 0.4804, 0.4674, 0.5612, 0.5130, 0.4804, 0.4885],
        "Acronym F1": [0.9160, 0.8918, 0.8990, 0.9017, 0.8849, 0.8867, 0.7932, 0.8298],
        "Protein F1": [0.6708, 0.6848, 0.6636, 0.6712, 0.6510, 0.6601, 0.6354, 0.6532],
    },
    index=pd.Index(
        [
            "AdaBoost.Group (accuracy)",
            "AdaBoost.Group (F1)",
            "SVMperf (accuracy)",
            "SVMperf (F1)",
            "SVM, cost-sensitive",
            "AdaBoost, cost-sensitive",
            "SVM",
            "AdaBoost",
        ],
        name="method",
    ),
)


def table(values: dict[str, pd.DataFrame], printed: str | None = None) -> pd.DataFrame:
    """Means over groups, and F1 against two partners with interval and p over groups."""
    out = pd.DataFrame({method: frame.mean() for method, frame in values.items()}).T
    if out.empty:
        return out
    out["F1 standard error"] = {m: frame["F1"].sem() for m, frame in values.items()}
    out["F1 of the lower tenth"] = {m: frame["F1"].quantile(0.1) for m, frame in values.items()}
    for partner in ("AdaBoost", TUNED):
        out[_columns(partner)] = np.nan
        for method, frame in values.items():
            if partner in values:
                out.loc[method, _columns(partner)] = _difference(frame["F1"], values[partner]["F1"])
    if printed is not None:
        for measure in ("F1", "accuracy"):
            out.insert(0, f"paper {measure}", PRINTED[f"{printed} {measure}"])
    return out.rename_axis("method")


def _columns(partner: str) -> list[str]:
    return (
        [f"F1 minus {partner}", "low", "high", "p"]
        if partner == TUNED
        else [f"F1 minus {partner}", "its low", "its high", "its p"]
    )


def _difference(one: pd.Series, other: pd.Series) -> list[float]:
    """Paired over groups: mean, bootstrap interval, t-test as in the paper."""
    apart = (one - other).to_numpy()
    if not apart.any():
        return [0.0, 0.0, 0.0, 1.0]
    return [apart.mean(), *bootstrap_interval(apart), float(ttest_rel(one, other).pvalue)]

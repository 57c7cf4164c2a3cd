"""skada's CORAL and linear transport, logistic regression on top.

They take labels of the source and rows of the target without: all labelled rows are the source, the
rows that are asked about the target.
"""

from functools import partial
from typing import Any

import numpy as np
from skada import CORAL, LinearOTMapping
from sklearn.linear_model import LogisticRegression


def adapted(make: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Fit to both domains, ask about the target."""
    n_known, n_asked = len(task["X"]), len(task["X_asked"])
    X = np.concatenate([task["X"], task["X_asked"]])
    hidden = np.full(n_asked, -1)  # skada's mark of a label that is not there
    domains = np.repeat([1, -2], [n_known, n_asked])
    model = make(base_estimator=LogisticRegression(max_iter=1000))
    model.fit(X, np.concatenate([task["y"], hidden]), sample_domain=domains)
    return {"label": model.predict(task["X_asked"], sample_domain=np.full(n_asked, -2))}


METHODS = {"CORAL": partial(adapted, CORAL), "linear transport": partial(adapted, LinearOTMapping)}

"""adapt's TrAdaBoost, with logistic regression and with trees."""

from functools import partial
from typing import Any

import numpy as np
from adapt.instance_based import TrAdaBoost
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

TARGET = 1


def tradaboost(estimator: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Twenty rounds."""
    mine = task["domains"] == TARGET
    model = TrAdaBoost(
        estimator,
        n_estimators=20,
        Xt=task["X"][mine],
        yt=task["y"][mine],
        random_state=task["seed"],
        verbose=0,
    )
    model.fit(task["X"][~mine], task["y"][~mine])
    return {"label": np.asarray(model.predict(task["X_asked"])).ravel().astype(int)}


METHODS = {
    "TrAdaBoost, logistic": partial(tradaboost, LogisticRegression(max_iter=1000)),
    "TrAdaBoost, trees": partial(tradaboost, DecisionTreeClassifier(max_depth=3, random_state=0)),
}

"""mil's MILES, with C and the width chosen on inner folds.

Its package imports a Keras module that has been removed; that file, which MILES does not use, is
left out.
"""

import sys
import types
from typing import Any

import numpy as np

_absent = types.ModuleType("mil.models.bag_level.deep_attention")
_absent.AttentionDeepPoolingMil = None  # type: ignore[attr-defined]  # made here
sys.modules[_absent.__name__] = _absent

from mil.models.bag_level.miles import MILES  # noqa: E402
from worker import bags, choose, one_per_group  # noqa: E402

GRID = [(C, times) for C in (0.5, 5.0) for times in (1.0, 0.25)]


def _answer(task: dict[str, Any], setting: tuple[float, float]) -> dict[str, Any]:
    C, times = setting
    sigma2 = times * task["X"].shape[1]  # squared distances of standardised rows are about 2 d
    model = MILES(sigma2=sigma2, C=C).fit(
        bags(task["X"], task["groups"]), one_per_group(task["y"], task["groups"])
    )
    asked = model.mapping.transform(bags(task["X_asked"], task["groups_asked"]))
    score = model.model.decision_function(asked)
    return {"score": score, "label": np.asarray(score > 0, int)}


def miles(task: dict[str, Any]) -> dict[str, Any]:
    """The chosen setting on all training groups."""
    return _answer(task, choose(task, GRID, _answer))


METHODS = {"MILES": miles}

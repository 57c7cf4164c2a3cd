"""Private names of scikit-learn, and what its walks through itself would cost, in one place."""

import sys
from importlib import import_module
from typing import Any

from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester

__all__ = [
    "GroupsConsumerMixin",
    "MetadataRequester",
    "load_skops",
    "loss_module",
    "set_random_states",
]


def loss_module() -> str:
    """What the module of scikit-learn's compiled losses calls itself, once it is loaded."""
    from sklearn._loss._loss import CyHalfBinomialLoss  # only model files want it

    return str(CyHalfBinomialLoss.__module__)


def load_skops() -> Any:
    """The module ``skops.io``, which is slow to load: most commands need no model.

    To list scikit-learn's estimators skops walks through all of its packages, some of which do
    nothing but load another library where it is installed. They are kept from it: torch alone
    takes seconds.
    """
    if "skops.io" in sys.modules:
        return sys.modules["skops.io"]
    hidden = [name for name in ("cupy", "dask", "jax", "torch") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not to be found
    try:
        return import_module("skops.io")
    finally:
        for name in hidden:
            del sys.modules[name]

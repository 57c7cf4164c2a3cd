"""Private names of scikit-learn and LightGBM, in one place."""

from typing import Any

from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester

__all__ = [
    "GroupsConsumerMixin",
    "MetadataRequester",
    "call_lightgbm",
    "loss_module",
    "set_random_states",
]


def loss_module() -> str:
    """What the module of scikit-learn's compiled losses calls itself, once it is loaded."""
    from sklearn._loss._loss import CyHalfBinomialLoss  # only model files want it

    return str(CyHalfBinomialLoss.__module__)


def call_lightgbm(function: str, *arguments: Any) -> None:
    """Call a function of LightGBM's C library; its errors are raised."""
    from lightgbm.basic import _LIB, _safe_call  # takes its time to load

    _safe_call(getattr(_LIB, function)(*arguments))

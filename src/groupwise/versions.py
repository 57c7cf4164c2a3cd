"""Versions that a model or a result depends on."""

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["library_versions"]

_LIBRARIES = ("groupwise", "scikit-learn", "lightgbm", "xgboost-cpu", "torch", "numpy", "pandas")


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

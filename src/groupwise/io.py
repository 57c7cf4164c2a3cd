"""Model files that load without running code."""

import importlib
import os
import tempfile
from pathlib import Path
from typing import Any

import skops.io

__all__ = ["load_model", "save_model"]

# Compiled parts of scikit-learn's models, which skops leaves to the caller: they hold arrays and
# run nothing on loading.
_COMPILED = {
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
}


def save_model(model: Any, path: str | Path) -> Path:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
    path : str or Path
        By habit with the ending ``.skops``.

    Returns
    -------
    path : Path
    """
    path = Path(path)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(handle)
    try:
        skops.io.dump(model, part)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
    return path


def load_model(path: str | Path) -> Any:
    """Read a model file.

    Only types of groupwise, scikit-learn, numpy, scipy and the standard library are allowed;
    loading sets their attributes and runs nothing.

    Raises
    ------
    ValueError
        If the file holds any other type; the message names it.
    """
    path = Path(path)
    unknown = skops.io.get_untrusted_types(file=path)
    refused = [name for name in unknown if name not in _COMPILED and not _is_own_class(name)]
    if refused:
        raise ValueError(f"{path} holds types that a groupwise model has no use for: {refused}")
    return skops.io.load(path, trusted=unknown)


def _is_own_class(name: str) -> bool:
    """Whether this is a class that groupwise itself defines, not something it imports."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith("groupwise."):
        return False
    found = getattr(importlib.import_module(module), attribute, None)
    return isinstance(found, type) and found.__module__ == module

"""Model files that load without running code.

A model file is a zip as skops writes it, with two members of ours: ``groupwise.json`` (format,
versions, a digest of everything else) and, for models of a table, ``result.json`` (what the model
was found to be worth, the input of a report). Both are read without loading the model.
"""

import hashlib
import importlib
import json
import logging
import zipfile
import zlib
from pathlib import Path
from typing import Any

from groupwise.files import written_whole
from groupwise.versions import library_versions

__all__ = [
    "ModelFileError",
    "has_result",
    "load_model",
    "read_header",
    "read_result",
    "save_model",
]

logger = logging.getLogger(__name__)

FORMAT = 1
_HEADER, _RESULT = "groupwise.json", "result.json"
# A model may not mean the same under another minor version of these.
_CHECKED = ("groupwise", "scikit-learn", "lightgbm", "xgboost-cpu")

# Compiled parts of scikit-learn's models, which skops leaves to the caller: they hold arrays (or
# say of what kind an array is) and run nothing on loading.
_COMPILED = {
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
}


class ModelFileError(ValueError):
    """A model file cannot be used; the message names the file."""


def save_model(model: Any, path: str | Path, *, result: str | None = None) -> Path:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator or TableModel
    path : str or Path
        By habit with the ending ``.skops``.
    result : str, default=None
        JSON of a :class:`groupwise.jobs.Result` to travel with the model.

    Returns
    -------
    path : Path
    """
    import skops.io  # slow to load, and most commands need no model

    with written_whole(path) as part:
        skops.io.dump(model, part)
        with zipfile.ZipFile(part, "a") as file:
            if result is not None:
                file.writestr(_RESULT, result, zipfile.ZIP_DEFLATED)
            header = {
                "format": FORMAT,
                "versions": library_versions(),
                "type": type(model).__name__,
                "digest": _digest(file),
            }
            file.writestr(_HEADER, json.dumps(header))
    return Path(path)


def load_model(path: str | Path) -> Any:
    """Read a model file.

    Only types of groupwise, scikit-learn, numpy, scipy and the standard library are allowed;
    loading sets their attributes and runs nothing. Another minor version of groupwise, scikit-learn
    or an engine than the file was written with is logged as a warning.

    Raises
    ------
    ModelFileError
        If the file is no model file, was altered or cut short, was written by a newer groupwise, or
        holds any other type; the message names the file and the type.
    """
    import skops.io  # slow to load, and most commands need no model

    path = Path(path)
    header = read_header(path)
    for line in version_differences(header["versions"]):
        logger.warning("%s: %s", path, line)
    unknown = skops.io.get_untrusted_types(file=path)
    refused = [name for name in unknown if name not in _COMPILED and not _is_own_class(name)]
    if refused:
        raise ModelFileError(f"{path} holds types that a groupwise model has no use for: {refused}")
    try:
        return skops.io.load(path, trusted=unknown)
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
        versions = ", ".join(f"{name} {header['versions'].get(name, '?')}" for name in _CHECKED[:2])
        reason = str(error).splitlines()[0]
        raise ModelFileError(
            f"{path} cannot be loaded ({reason}); it was written with {versions}"
        ) from error


def read_header(path: str | Path) -> dict[str, Any]:
    """Format, versions and digest of a model file, checked, without loading the model."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path}: there is no such file")
    try:
        with zipfile.ZipFile(path) as file:
            if _HEADER not in file.namelist():
                raise ModelFileError(f"{path} is no model file of groupwise")
            header = json.loads(file.read(_HEADER))
            digest = _digest(file)
            if header["format"] > FORMAT:
                raise ModelFileError(
                    f"{path} was written by a newer groupwise ({header['versions']['groupwise']})"
                )
            if header["digest"] != digest:
                raise ModelFileError(f"{path} was altered after it was written")
    # the last two are zipfile's for a damaged header: an unknown compression, a password
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelFileError(
            f"{path} is no model file of groupwise, or was altered or cut short ({error})"
        ) from error
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ModelFileError(f"{path} is no model file of groupwise") from error
    return header


def read_result(path: str | Path) -> str:
    """The JSON of the result that travels with a model of a table."""
    read_header(path)
    with zipfile.ZipFile(path) as file:
        if _RESULT not in file.namelist():
            raise ModelFileError(f"{path} holds a model, but no result to report")
        return file.read(_RESULT).decode()


def has_result(path: str | Path) -> bool:
    """Whether a result travels with a model file."""
    with zipfile.ZipFile(path) as file:
        return _RESULT in file.namelist()


def version_differences(written: dict[str, str]) -> list[str]:
    """One line per library whose major or minor version is not what the file was written with."""
    here = library_versions()
    return [
        f"written with {name} {written[name]}, here is {here.get(name, 'none')}"
        for name in _CHECKED
        if name in written and _minor(written[name]) != _minor(here.get(name, ""))
    ]


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def _digest(file: zipfile.ZipFile) -> str:
    """SHA-256 of all members but the header, by name."""
    digest = hashlib.sha256()
    for name in sorted(file.namelist()):
        if name != _HEADER:
            digest.update(name.encode() + b"\0")
            digest.update(hashlib.sha256(file.read(name)).digest())
    return digest.hexdigest()


def _is_own_class(name: str) -> bool:
    """Whether this is a class that groupwise itself defines, not something it imports."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith("groupwise."):
        return False
    found = getattr(importlib.import_module(module), attribute, None)
    return isinstance(found, type) and found.__module__ == module

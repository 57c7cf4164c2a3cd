"""Saving a model, and loading one that a stranger may have written."""

import hashlib
import json
import logging
import platform
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

from groupwise.files import atomic_write
from groupwise.io.errors import ModelFileError
from groupwise.io.nodes import check_tree
from groupwise.io.sizes import check_arrays, check_sizes, read_bounded

__all__ = [
    "has_result",
    "is_model_file",
    "library_versions",
    "load_model",
    "read_header",
    "read_result",
    "save_model",
    "version_differences",
]

logger = logging.getLogger(__name__)

FORMAT = 2
# The files of 0.1 name classes that have moved.
_OLDEST_FORMAT = 2
_HEADER, _RESULT, _SCHEMA = "groupwise.json", "result.json", "schema.json"
_LIBRARIES = ("groupwise", "scikit-learn", "lightgbm", "xgboost-cpu", "torch", "numpy", "pandas")
_OURS = frozenset({_HEADER, _RESULT})
# A model may not mean the same under another minor version of these.
_CHECKED = ("groupwise", "scikit-learn", "lightgbm", "xgboost-cpu")


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

    Raises
    ------
    ModelFileError
        If the model holds something that :func:`load_model` would refuse.
    """
    skops_io = _load_skops()

    with atomic_write(path) as part:
        try:
            skops_io.dump(model, part)
        except (RuntimeError, TypeError) as error:  # what has no state: a torch module
            raise ModelFileError(
                f"{path}: this {type(model).__name__} cannot be a model file: it holds what has no "
                f"arrays to write, such as a torch module ({error})"
            ) from error
        with zipfile.ZipFile(part, "a") as file:
            try:
                check_tree(json.loads(file.read(_SCHEMA)), frozenset(file.namelist()))
            except ModelFileError as error:
                raise ModelFileError(
                    f"{path}: this {type(model).__name__} cannot be a model file: {error}"
                ) from None
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

    Only what :mod:`groupwise.io.loadable` lists is made, and that by setting attributes: the tree
    of the file is checked as JSON before anything of it is imported, created or called. Another
    minor version of groupwise, scikit-learn or an engine than the file was written with is logged
    as a warning.

    Raises
    ------
    ModelFileError
        If the file is no model file, was altered or cut short, was written by a newer groupwise or
        by 0.1, would unpack to far more than its size, or asks for anything else than the parts of
        a model; the message names the file and the part.
    """
    skops_io = _load_skops()

    path = Path(path)
    with _opened(path) as (file, stream):
        header = _checked_header(file, path)
        for line in version_differences(header["versions"]):
            logger.warning("%s: %s", path, line)
        members = frozenset(file.namelist()) - _OURS
        names = check_tree(json.loads(file.read(_SCHEMA)), members)
        check_arrays(file)
        stream.seek(0)
        try:
            return skops_io.load(stream, trusted=names)
        except Exception as error:
            versions = ", ".join(f"{name} {header['versions'].get(name)}" for name in _CHECKED[:2])
            raise ModelFileError(
                f"{path} cannot be loaded ({_first_line(error)}); it was written with {versions}"
            ) from error


def read_header(path: str | Path) -> dict[str, Any]:
    """Format, versions and digest of a model file, checked, without loading the model."""
    path = Path(path)
    with _opened(path) as (file, _):
        return _checked_header(file, path)


def read_result(path: str | Path) -> str:
    """The JSON of the result that travels with a model of a table."""
    path = Path(path)
    with _opened(path) as (file, _):
        _checked_header(file, path)
        if _RESULT not in file.namelist():
            raise ModelFileError(f"{path} holds a model, but no result to report")
        return read_bounded(file, _RESULT).decode()


def has_result(path: str | Path) -> bool:
    """Whether a result travels with a model file."""
    with _opened(Path(path)) as (file, _):
        return _RESULT in file.namelist()


def is_model_file(path: str | Path) -> bool:
    """Whether a file was written by :func:`save_model`, whole or damaged since."""
    try:
        with zipfile.ZipFile(path) as file:
            return _HEADER in file.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


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


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, BinaryIO]]:
    """The archive and its stream; whatever a crafted file makes readers raise is one error.

    One stream from the first check to the last byte, so that what was checked is what is loaded.
    """
    if not path.is_file():
        raise ModelFileError(f"{path}: there is no such file")
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as file:
            check_sizes(file, path.stat().st_size, packed=frozenset({_RESULT}))
            if _HEADER not in file.namelist():
                raise ModelFileError(f"{path} is no model file of groupwise")
            yield file, stream
    except ModelFileError as error:
        if str(path) in str(error):
            raise
        raise ModelFileError(f"{path}: {error}") from error
    except RecursionError as error:
        raise ModelFileError(f"{path} is nested too deeply to be a model") from error
    except MemoryError as error:
        raise ModelFileError(f"{path} does not fit into memory") from error
    except Exception as error:
        raise ModelFileError(
            f"{path} is no model file of groupwise, or was altered or cut short "
            f"({_first_line(error)})"
        ) from error


def _checked_header(file: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if file.getinfo(_HEADER).file_size > 1 << 20:
        raise ModelFileError("the header is too long")
    header = json.loads(read_bounded(file, _HEADER))
    known = isinstance(header, dict) and type(header.get("format")) is int and header["format"] >= 1
    versions = header.get("versions") if known else None
    if not isinstance(versions, dict) or not all(map(_is_version, versions.values())):
        raise ModelFileError(f"{path} is no model file of groupwise")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path} was written by a newer groupwise ({versions.get('groupwise')})"
        )
    if header["format"] < _OLDEST_FORMAT:
        raise ModelFileError(
            f"{path} was written by groupwise {versions.get('groupwise')}, whose models this one "
            "does not read: fit again"
        )
    if header.get("digest") != _digest(file):
        raise ModelFileError(f"{path} was altered after it was written")
    return header


def _is_version(value: Any) -> bool:
    """Whether a text can be a version: it is shown in warnings."""
    return isinstance(value, str) and re.fullmatch(r"[\w.+!-]{1,64}", value, re.ASCII) is not None


def _digest(file: zipfile.ZipFile) -> str:
    """SHA-256 of all members but the header, by name."""
    digest = hashlib.sha256()
    for name in sorted(file.namelist()):
        if name != _HEADER:
            digest.update(name.encode() + b"\0")
            digest.update(_member_digest(file, name))
    return digest.hexdigest()


def _member_digest(file: zipfile.ZipFile, name: str) -> bytes:
    digest = hashlib.sha256()
    with file.open(name) as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.digest()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _load_skops() -> Any:
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

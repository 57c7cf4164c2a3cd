"""Files that are written whole or not at all, and JSON that strangers may have written."""

import contextlib
import json
import os
import re
import socket
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # asked for before it is used

__all__ = ["atomic_write", "is_of_type", "is_part", "locked", "parse_json", "write_text"]

_PART = re.compile(r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-\w+\.part$", re.DOTALL)


@contextmanager
def atomic_write(path: str | Path, *, sync: bool = True) -> Iterator[Path]:
    """Give a name to write to; what lies there replaces ``path`` when the block ends well.

    Whatever goes wrong (an error, Ctrl-C, a full disk), ``path`` stays as it was and nothing is
    left beside it. Only a killed process can leave a file that ends in ``.part``, which the next
    one that writes the same file removes.

    Parameters
    ----------
    path : str or Path
    sync : bool, default=True
        Whether to wait for the disk; a file that goes when the program ends need not outlive the
        machine.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with atomic_write(target) as part:
    ...     _ = part.write_text("all of it")
    >>> target.read_text()
    'all of it'
    """
    path = Path(path)
    _sweep(path)
    prefix = f".{path.name[:150]}.{_host()}-{os.getpid()}-"
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".part")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    os.close(handle)
    part = Path(name)
    try:
        part.chmod(_mode(path))
        yield part
        if sync:
            with part.open("rb+") as stream:
                os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno is None or error.filename not in (None, name):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error
    except BaseException:  # whatever ended it, an interrupt too, no half file stays
        part.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time into this block; one that is killed lets the next in.

    Windows knows no such lock: there all are let in.
    """
    with path.open("ab") as stream:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file, whole or not at all."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def parse_json(text: str | bytes) -> Any:
    """Read JSON; whatever is wrong with it is a ``ValueError``, nesting without end as well.

    Examples
    --------
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: JSON is nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def is_of_type(value: object, kind: Any) -> bool:
    """Whether a value read from JSON is what a type hint says.

    A whole number is a float too; numbers have to be finite and fit into 64 bits.

    Examples
    --------
    >>> is_of_type({"a": [1, 2.5]}, dict[str, list[float]]), is_of_type([1, "2"], list[int] | None)
    (True, False)
    """
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(is_of_type(value, one) for one in get_args(kind))
    if kind is None or kind is type(None):
        return value is None
    if kind is float:
        # ignored: a comparison of types is no check to mypy, and a bool is an int
        return type(value) in (int, float) and abs(value) <= sys.float_info.max  # type: ignore[arg-type]
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    outer, inner = get_origin(kind), get_args(kind)
    if outer is dict:
        return isinstance(value, dict) and all(is_of_type(v, inner[1]) for v in value.values())
    if outer in (list, tuple):
        return isinstance(value, outer) and all(is_of_type(v, inner[0]) for v in value)
    return isinstance(value, kind)


def is_part(path: Path, of: str | None = None) -> bool:
    """Whether a file is one that :func:`atomic_write` began, of the file called ``of``."""
    found = _PART.match(path.name)
    return found is not None and (of is None or found["name"] == of[:150])


def _sweep(path: Path) -> None:
    """Remove what processes that are no more left of this file: of this machine and user only."""
    with contextlib.suppress(OSError):
        for found in path.parent.glob(".*.part"):
            named = _PART.match(found.name)
            if named is None or named["name"] != path.name[:150] or named["host"] != _host():
                continue
            if not _runs(int(named["process"])) and found.stat().st_uid == os.getuid():
                found.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _host() -> str:
    """Name of the machine, where others may write into the same folder."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _mode(path: Path) -> int:
    """The mode the file has, or would get from a plain ``open``."""
    if path.exists():
        return path.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask

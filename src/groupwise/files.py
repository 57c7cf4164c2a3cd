"""Files that are written whole or not at all."""

import contextlib
import os
import re
import socket
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["is_part", "write_text", "written_whole"]

_PART = re.compile(r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-\w+\.part$", re.DOTALL)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a name to write to; what lies there replaces ``path`` when the block ends well.

    Whatever goes wrong (an error, Ctrl-C, a full disk), ``path`` stays as it was and nothing is
    left beside it. Only a killed process can leave a file that ends in ``.part``, which the next
    one that writes the same file removes.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with written_whole(target) as part:
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
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno is None or error.filename not in (None, name):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file, whole or not at all."""
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def is_part(path: Path, of: str | None = None) -> bool:
    """Whether a file is one that :func:`written_whole` began, of the file called ``of``."""
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

"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["write_text", "written_whole"]


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a name to write to; what lies there replaces ``path`` when the block ends well.

    Whatever goes wrong (an error, Ctrl-C, a full disk), ``path`` stays as it was and nothing is
    left beside it. Only a killed process can leave a file that ends in ``.part``.

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
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
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


def _mode(path: Path) -> int:
    """The mode the file has, or would get from a plain ``open``."""
    if path.exists():
        return path.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask

"""Files that commands write."""

import errno
import os
from pathlib import Path

from groupwise.files import write_text
from groupwise.jobs import Result
from groupwise.tables import TableError

__all__ = ["check_folder", "write_report"]


def check_folder(*paths: Path | None) -> None:
    """Refuse, before any work is done, files that could not be written in the end."""
    for path in paths:
        if path is None:
            continue
        folder = path.parent
        if not folder.is_dir():
            raise OSError(errno.ENOENT, "there is no such folder", str(folder))
        if path.is_dir():
            raise OSError(errno.EISDIR, "is a folder, not a file", str(path))
        if not os.access(folder, os.W_OK):
            raise OSError(errno.EACCES, "the folder cannot be written to", str(folder))


def write_report(result: Result, path: Path, *, source: str = "the result") -> None:
    """Write the page; ``source`` names the result in messages."""
    from groupwise.report import render  # matplotlib is slow to load

    try:
        page = render(result)
    except (LookupError, TypeError, AttributeError) as error:
        raise TableError(f"{source} is incomplete or was altered ({error!r})") from error
    write_text(path, page)

"""Files that commands write."""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from groupwise.files import write_text
from groupwise.jobs import Result
from groupwise.tables import OptionError, TableError

__all__ = ["check_folder", "check_overwriting", "is_page", "write_report"]


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


def check_overwriting(
    path: Path | None,
    *,
    inputs: Sequence[str | Path] = (),
    force: bool = False,
    ours: Callable[[Path], bool] | None = None,
) -> None:
    """Refuse to replace what the command reads, or what was not written by a command like it.

    Parameters
    ----------
    path : Path or None
        Where the command would write.
    inputs : sequence of str or Path
        What it reads.
    force : bool
        Whether the user said that it is meant.
    ours : callable, default=None
        Says of an existing file whether it may be replaced without a word; ``None``: any may.
    """
    if path is None or force:
        return
    for given in map(Path, inputs):
        if given == path or (path.exists() and given.exists() and path.samefile(given)):
            raise OptionError(f"{path} is read, and would be replaced; say --force if it is meant")
        if given.is_dir() and path.resolve().is_relative_to(given.resolve()):
            raise OptionError(f"{path} lies in {given}, which is read; say --force if it is meant")
    if ours is not None and path.exists() and path.stat().st_size > 0 and not ours(path):
        raise OptionError(
            f"{path} exists and was not written by groupwise; say --force to replace it"
        )


def is_page(path: Path) -> bool:
    """Whether a file is a web page."""
    with path.open("rb") as stream:
        return stream.read(256).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def write_report(result: Result, path: Path, *, source: str = "the result") -> None:
    """Write the page; ``source`` names the result in messages."""
    from groupwise.report import render  # matplotlib is slow to load

    try:
        page = render(result)
    except (LookupError, TypeError, AttributeError) as error:
        raise TableError(f"{source} is incomplete or was altered ({error!r})") from error
    write_text(path, page)

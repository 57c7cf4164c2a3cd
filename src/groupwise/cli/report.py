"""``groupwise report``: a page to show."""

from pathlib import Path
from typing import Annotated

import typer

from groupwise.cli import options
from groupwise.cli.console import Console, one_line_errors
from groupwise.files import write_text
from groupwise.io import read_result
from groupwise.jobs import Result
from groupwise.tables import OptionError, TableError


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|RESULT",
            help="A model file, the folder of a comparison, or a result file.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML page to write.")] = Path(
        "report.html"
    ),
    title: options.Title = None,
    notes: options.Notes = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one HTML page: leaderboard, pictures, all groups, and how to repeat it.

    Example: groupwise report model.skops -o report.html
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        options.check_folder(out)
        options.check_overwriting(
            out, inputs=() if source.is_dir() else (source,), force=force, ours=is_page
        )
        write_report(load_result(source), out, title=title, notes=notes)
        console.print(f"written:     {out}")
        console.emit_json({"out": str(out)})


def load_result(source: Path) -> Result:
    """The result in a model file, a comparison's folder or a result file."""
    if source.is_dir():
        inside = source / "result.json"
        if not inside.exists():
            raise TableError(f"{source} holds no result.json: is the comparison finished?")
        source = inside
    if not source.exists():
        raise TableError(f"{source}: there is no such file")
    if source.suffix == ".json":
        try:
            return Result.from_json(source.read_text(encoding="utf-8"), str(source))
        except UnicodeDecodeError as error:
            raise TableError(f"{source} is no result of groupwise") from error
    return Result.from_json(read_result(source), str(source))


def is_page(path: Path) -> bool:
    """Whether a file is a web page."""
    with path.open("rb") as stream:
        return stream.read(256).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def write_report(
    result: Result, path: Path, *, title: str | None = None, notes: str | None = None
) -> None:
    """Write the page; ``notes`` may name a file with ``@``."""
    from groupwise.report import render  # slow to load

    if notes is not None and notes.startswith("@"):
        try:
            notes = Path(notes[1:]).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise OptionError(f"--notes: {notes[1:]} is no text in UTF-8") from error
    write_text(path, render(result, title=title, notes=notes or ""))

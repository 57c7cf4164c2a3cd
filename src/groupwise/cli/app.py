"""All commands, each in a file of its own."""

from typing import Annotated

import typer

from groupwise import __version__
from groupwise.cli.compare import compare
from groupwise.cli.console import EXIT_CODES
from groupwise.cli.dask import CommandWithDask
from groupwise.cli.demo import demo
from groupwise.cli.describe import describe
from groupwise.cli.evaluate import evaluate
from groupwise.cli.fit import fit
from groupwise.cli.methods import methods
from groupwise.cli.predict import predict
from groupwise.cli.report import report

app = typer.Typer(
    name="groupwise",
    help="Learn when labels belong to groups of rows.",
    epilog="Exit codes: " + "; ".join(f"{code} {what}" for code, what in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"groupwise {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Learn when labels belong to groups of rows."""


for command in (demo, describe, fit, predict, evaluate, compare, report, methods):
    app.command(cls=CommandWithDask if command is fit else None)(command)

"""The commands by name; each is in a file of its own, which is loaded when the command runs."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from groupwise import __version__

__all__ = ["COMMANDS", "EXIT_CODES", "app", "load_command"]

#: Every command with the first line of its help, which a test holds to the function's docstring.
COMMANDS = {
    "demo": "Learn which sessions of digits are mostly odd, from the sessions' labels alone.",
    "describe": "Show what a table holds: columns, groups, labels, conflicts, methods that apply.",
    "fit": "Learn from a table and say how good the model is on groups it has not seen.",
    "predict": "Predict rows or groups of a table.",
    "evaluate": "Judge a model on a table whose labels are known, group by group.",
    "compare": "Run every method that applies on the same folds of whole groups.",
    "doubts": "List the groups whose label models of the other groups believe least.",
    "report": "Write one HTML page: leaderboard, pictures, all groups, and how to repeat it.",
    "methods": "List the methods: for which kind of supervision, and from which paper.",
}

#: What a script can tell from a command's exit code.
EXIT_CODES = {
    0: "done",
    1: "an error of groupwise itself, or of a method",
    2: "the command was called wrongly",
    3: "the table (or a result file) cannot be used",
    4: "the model file cannot be used",
    5: "a file cannot be written, or the disk is full",
    130: "interrupted",
    141: "nobody read the output to its end",
}

#: What ``--dask`` without an address stands for.
LOCAL = "local"


class _Command(TyperCommand):
    """A command that refuses options that take one value and are given two."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in given:
            once = not (getattr(param, "multiple", True) or getattr(param, "is_flag", False))
            if once and given.count(param) > 1:
                name = max(param.opts, key=len)
                advice = ""
                if name == "--group":
                    advice = "; several groupings at once are for 'groupwise fit'"
                raise typer.BadParameter(f"{name} is given more than once{advice}", ctx=ctx)
        return super().parse_args(ctx, args)


class _CommandWithDask(_Command):
    """A command whose option ``--dask`` may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_address(args))


def _with_address(args: Sequence[str]) -> list[str]:
    """An address after ``--dask`` where none is: one has a colon in it, and no file does here."""
    out = []
    for position, word in enumerate(args):
        out.append(word)
        follows = args[position + 1] if position + 1 < len(args) else "-"
        if word == "--dask" and ":" not in follows and follows != LOCAL:
            out.append(LOCAL)
    return out


def load_command(name: str) -> TyperCommand:
    """A command with its options; loads everything it needs."""
    module = import_module(f"groupwise.cli.{name}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, cls=_CommandWithDask if name == "fit" else _Command)(getattr(module, name))
    command = typer.main.get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


class _LazyCommands(TyperGroup):
    """Commands that are loaded when they are called, so that ``--help`` need not wait."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """What a list of commands shows."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else load_command(str(command.name)), rest


app = typer.Typer(
    name="groupwise",
    cls=_LazyCommands,
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

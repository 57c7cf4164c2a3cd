"""``groupwise methods``: what there is."""

from typing import Annotated

import typer

from groupwise.cli import options
from groupwise.cli.console import Console, one_line_errors, renamed
from groupwise.jobs import KINDS, METHODS
from groupwise.tables import OptionError


def methods(
    kind: Annotated[str | None, typer.Option("--kind", "-k", help="Only of this kind.")] = None,
    as_json: options.Json = False,
) -> None:
    """List the methods: for which kind of supervision, and from which paper.

    Example: groupwise methods --kind proportions
    """
    console = Console(as_json=as_json)
    with one_line_errors():
        if kind is not None and kind not in KINDS:
            raise OptionError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}")
        kinds = KINDS if kind is None else [kind]
        shown = [method for method in METHODS if method.kind in kinds]
        for one in kinds:
            rows = [[m.name, m.paper] for m in shown if m.kind == one]
            if rows:
                table = Console.table(
                    f"{one}: {renamed(KINDS[one].meaning)}", ["method", "from"], rows
                )
                table.columns[1].justify = "left"
                console.print(table)
        keys = ("kind", "name", "path", "paper", "max_rows", "n_classes", "needs")
        console.emit_json({"methods": [{key: getattr(m, key) for key in keys} for m in shown]})

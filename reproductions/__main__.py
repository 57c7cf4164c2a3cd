"""``python -m reproductions PAPER``: a paper's tables and figures, run again."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from reproductions import PAPERS, load

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help=f"One of: {', '.join(PAPERS)}.")],
    out: Annotated[Path, typer.Option(help="Folder for tables (JSON, markdown) and pictures.")] = (
        Path("reproduction")
    ),
    repeats: Annotated[int, typer.Option(min=2, help="Random repeats.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the first repeat.")] = 0,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Begin no measurement after so long.")
    ] = None,
) -> None:
    """Run a paper's experiments again and print its figures beside ours.

    The data sets are read from the folder that the variable GROUPWISE_DATA names. Measurements are
    kept in the folder as they are made: a second run goes on from them. Rows that have not been
    measured yet are those of the page that is there, and the notes name them; with --minutes 0
    nothing is measured and the page is written from what is stored.

    Example: python -m reproductions sboost --repeats 10
    """
    started = time.monotonic()
    console = Console()
    try:
        module = load(paper)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error

    def show_progress(steps: Sequence[Any], heading: str) -> Iterable[Any]:
        for step in track(steps, heading, console=console, transient=True):
            if minutes is not None and time.monotonic() - started >= 60 * minutes:
                return
            yield step

    console.print(f"[bold]{module.TITLE}[/bold]")
    try:
        result = module.run(out, repeats=repeats, seed=seed, track=show_progress).completed(out)
    except FileNotFoundError as error:
        console.print(f"[red]{error}[/red]")
        raise typer.Exit(code=2) from error
    path = result.save(out)
    for title, frame in result.tables.items():
        console.print(_rich_table(title, frame))
    for note in result.notes:
        console.print(f"- {note}")
    console.print(f"Stored: {path}", soft_wrap=True)


def _rich_table(title: str, frame: pd.DataFrame) -> Table:
    table = Table(title=title)
    table.add_column(str(frame.index.name or ""))
    for column in frame.columns:
        table.add_column(str(column), justify="right")
    for index, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        table.add_row(str(index), *[_cell(value) for value in row])
    return table


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3f}"
    return str(value)


if __name__ == "__main__":
    app(prog_name="python -m reproductions")

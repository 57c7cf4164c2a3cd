"""``python -m reproductions PAPER``: a paper's tables and figures, run again."""

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
) -> None:
    """Run a paper's experiments again and print its figures beside ours.

    The data sets are read from the folder that the variable GROUPWISE_DATA names.

    Example: python -m reproductions sboost --repeats 10
    """
    console = Console()
    try:
        module = load(paper)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error

    def show_progress(steps: Sequence[Any], heading: str) -> Iterable[Any]:
        return track(steps, heading, console=console, transient=True)

    console.print(f"[bold]{module.TITLE}[/bold]")
    try:
        result = module.run(out, repeats=repeats, seed=seed, track=show_progress)
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

"""``python -m arena``: run cells, repeat one, write the pages."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.audit import run_audit
from arena.cells import Arena, CellStore, missing_cells
from arena.folds import N_FOLDS, FoldFile
from arena.methods import ENTRIES, get_entry
from arena.page import fill, write_pages
from arena.processes import ENVIRONMENTS
from arena.sets import ROOMS, SETS, get_set

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)
RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs"
Store = Annotated[Path, typer.Option(help="Folder of finished cells and folds.")]


@app.callback()
def main() -> None:
    """One comparison of the field: the same folds for all, no test labels for anybody."""


@app.command()
def run(
    rooms: Annotated[list[str], typer.Argument(help=f"Of {', '.join(ROOMS)}, or all.")],
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time.")] = 1,
    folds: Annotated[int, typer.Option(min=1, max=N_FOLDS, help="Outer folds.")] = N_FOLDS,
    minutes: Annotated[float | None, typer.Option(help="Begin no cell after so long.")] = None,
    store: Store = RESULTS,
) -> None:
    """Run what is not there yet; every cell is kept at once, the same command goes on."""
    chosen = ROOMS if rooms == ["all"] else tuple(rooms)
    unknown = set(chosen) - set(ROOMS)
    if unknown:
        raise typer.BadParameter(f"there is no room {', '.join(unknown)}; there are {ROOMS}")
    kept = CellStore(store / "cells.jsonl")
    arena = Arena(FoldFile(store / "folds.json"))
    absent = [name for name, each in ENVIRONMENTS.items() if not each.python.exists()]
    for name in absent:
        typer.echo(f"{name} is not installed (python -m arena install {name}): left out")
    todo = []
    for of, entry, fold in missing_cells(kept, chosen, folds):
        if entry.environment not in absent:
            todo.append((of, entry, fold))
    gone = _absent_sets({of.room + "/" + of.name for of, _, _ in todo})
    for name, why in gone.items():
        typer.echo(f"{name} is absent: {why}")
    todo = [cell for cell in todo if f"{cell[0].room}/{cell[0].name}" not in gone]
    seconds = None if minutes is None else 60 * minutes
    arena.run(todo, kept, n_jobs=jobs, seconds=seconds, tell=_tell)
    arena.close()


def _absent_sets(names: set[str]) -> dict[str, str]:
    """Sets whose data are not there, with the reason."""
    gone = {}
    for each in SETS:
        if f"{each.room}/{each.name}" in names:
            try:
                each.load()
            except FileNotFoundError as error:
                gone[f"{each.room}/{each.name}"] = str(error)
    return gone


def _tell(line: dict[str, Any]) -> None:
    shown = {key: value for key, value in line.items() if key not in ("versions", "seed")}
    typer.echo(json.dumps(shown))


@app.command()
def cell(
    room: str,
    name: Annotated[str, typer.Argument(metavar="SET")],
    method: str,
    fold: Annotated[int, typer.Option(min=0, max=N_FOLDS - 1)] = 0,
    store: Store = RESULTS,
) -> None:
    """Repeat one cell and print it beside the one that is kept; nothing is stored."""
    try:
        wanted = get_set(room, name), get_entry(room, method), fold
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    arena = Arena(FoldFile(store / "folds.json"))
    again = arena.run_cell(wanted)
    arena.close()
    typer.echo(json.dumps(again))
    for old in CellStore(store / "cells.jsonl").cells:
        if CellStore.key(old) == (room, name, method, fold):
            typer.echo(f"kept: {json.dumps(old)}")


@app.command()
def audit(
    minutes: Annotated[float | None, typer.Option(help="Begin no fold after so long.")] = None,
    store: Store = RESULTS,
) -> None:
    """Train networks and see what choosing the epoch on the test fold adds; goes on as ``run``."""
    began = time.monotonic()

    def out_of_time() -> bool:
        return minutes is not None and time.monotonic() - began >= 60 * minutes

    run_audit(store, out_of_time=out_of_time, tell=_tell)


@app.command()
def install(names: Annotated[list[str], typer.Argument(help="Peers, or all.")]) -> None:
    """Make the environments of peers, below the folder that ARENA_ENVIRONMENTS names (.arena)."""
    peers = {name: each for name, each in ENVIRONMENTS.items() if each.requires}
    for name in peers if names == ["all"] else names:
        if name not in peers:
            raise typer.BadParameter(f"there is no peer {name}; there are {', '.join(peers)}")
        peers[name].install()


@app.command()
def page(
    store: Store = RESULTS,
    docs: Annotated[Path, typer.Option(help="Folder of the picture and the HTML page.")] = DOCS,
) -> None:
    """Write the leaderboard's pages from what is stored, and the README's tables."""
    write_pages(store, docs)
    readme = docs.parent / "README.md"
    for mark, name in (("arena head", "head.md"), ("peers", "peers.md")):
        fill(readme, mark, (store / name).read_text().splitlines())


@app.command(name="list")
def list_all() -> None:
    """The sets and methods of each room."""
    for room in ROOMS:
        typer.echo(f"{room}\n  sets")
        for each in SETS:
            if each.room == room:
                typer.echo(f"    {each.name}: {each.about}")
        typer.echo("  methods")
        for entry in ENTRIES:
            if entry.room == room:
                typer.echo(f"    {entry.name} ({entry.maker})")


if __name__ == "__main__":
    app(prog_name="python -m arena")

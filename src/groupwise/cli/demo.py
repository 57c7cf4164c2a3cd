"""``groupwise demo``: the main job on data that scikit-learn ships."""

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from groupwise.cli import options
from groupwise.cli.compare import run_comparison, save_best, with_importance
from groupwise.cli.console import Console, one_line_errors, print_board, print_job
from groupwise.cli.report import write_report
from groupwise.jobs import Comparison, Job, make_supervision
from groupwise.tables import read_table, write_table

METHODS = ("sboost", "group-boost", "naive-boosting", "naive-logistic")


def digit_sessions(seed: int) -> pd.DataFrame:
    """A table of sessions of ten handwritten digits, mostly even or mostly odd.

    Two to four digits of each session are of the other kind, and nobody says which. The columns
    are 64 grey levels, the session and its kind.
    """
    from sklearn.datasets import load_digits

    from groupwise.datasets import make_sessions

    X, digit = load_digits(return_X_y=True)
    parity = np.array(["even", "odd"])[digit % 2]
    sessions = make_sessions(X, parity, n_other=(2, 4), random_state=seed)
    frame = pd.DataFrame(sessions.X, columns=[f"pixel_{k}" for k in range(X.shape[1])])
    names = pd.Series(sessions.groups).map("session {:03d}".format)
    return frame.assign(session=names, kind=sessions.y)


def draw_scores(board: pd.DataFrame, path: Path) -> Path:
    """The leaderboard as a picture: scores with their intervals, the best on top."""
    import matplotlib.figure  # slow to load, and no other command needs it at once

    figure = matplotlib.figure.Figure(figsize=(6, 0.6 + 0.5 * len(board)), layout="constrained")
    ax = figure.subplots()
    worst_first = board[::-1]
    reach = [worst_first["score"] - worst_first["low"], worst_first["high"] - worst_first["score"]]
    ax.errorbar(worst_first["score"], worst_first.index, xerr=reach, fmt="o", capsize=3)
    ax.set(xlabel="share of sessions predicted right (95 % interval)", ymargin=0.2)
    figure.savefig(path, dpi=150)
    return path


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for table, model, picture and report.")
    ] = Path("groupwise-demo"),
    folds: options.Folds = 5,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn which sessions of digits are mostly odd, from the sessions' labels alone.

    Writes a table of sessions, compares a few methods on folds of whole sessions, and writes the
    best as a model and everything as a report: what 'groupwise compare' does to your own table.

    Example: groupwise demo --folds 3 -o my-demo
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        out.mkdir(parents=True, exist_ok=True)
        path = write_table(digit_sessions(seed), out / "sessions.parquet")
        supervision = make_supervision("majority", group="session", label="kind")
        job = Job.from_table(read_table(path), supervision, seed=seed)
        print_job(console, job, None)
        command = (
            f"groupwise compare {path} --group session --label kind --no-search --folds {folds} "
            f"--seed {seed} --method {','.join(METHODS)}"
        )
        comparison = Comparison(
            job, out / "comparison", methods=METHODS, n_splits=folds, search=False, command=command
        )
        result = run_comparison(comparison, console)
        board = print_board(console, result)
        save_best(job, result, str(board.index[0]), out / "model.skops", search=False)
        write_report(with_importance(comparison, result, board), out / "report.html")
        picture = draw_scores(board, out / "scores.png")
        console.print(
            f"table:   {path}\nmodel:   {out / 'model.skops'}\npicture: {picture}\n"
            f"report:  {out / 'report.html'}"
        )
        lines = board.reset_index().to_dict(orient="records")
        console.emit_json({"leaderboard": lines, "out": str(out)})

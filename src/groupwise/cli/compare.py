"""``groupwise compare``: every method that applies, on the same folds."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from groupwise.cli import options
from groupwise.cli.console import Console, command_line, one_line_errors, print_board, print_job
from groupwise.cli.report import is_page, write_report
from groupwise.io import is_model_file, save_model
from groupwise.jobs import Comparison, Job, JobOptions, Result
from groupwise.jobs.job import run_steps
from groupwise.methods import AUTO


def compare(
    table: options.TablePath,
    groups_table: options.GroupsTable = None,
    source: options.Source = None,
    group: options.Group = None,
    label: options.Label = None,
    kind: options.Kind = None,
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Only these (a,b or repeated).")
    ] = None,
    search: Annotated[
        bool, typer.Option(help="Search each method's few settings inside the training groups.")
    ] = True,
    measure: options.MeasureName = None,
    domain: options.Domain = None,
    target: options.Target = None,
    positive: options.Positive = None,
    reported: options.ReportedWords = None,
    exposure: options.Exposure = None,
    event: options.Event = None,
    features: options.Features = None,
    ignore: options.Ignore = None,
    order: options.Order = None,
    keep_whole: options.KeepWhole = None,
    sql: options.Sql = None,
    header: options.Header = True,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the folds and the result.")
    ] = Path("comparison"),
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML page to write as well.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Model file of the best method to write as well.")
    ] = None,
    folds: options.Folds = 5,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    title: options.Title = None,
    notes: options.Notes = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run every method that applies on the same folds of whole groups.

    Each finished fold is stored at once: the same command continues a run that was stopped.

    Example: groupwise compare sessions.parquet -g session -l kind --folds 3 --no-search
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        inputs = options.inputs(table, groups_table, source)
        options.check_folder(out / "x" if out.is_dir() else out, report, model)
        options.check_overwriting(model, inputs=inputs, force=force, ours=is_model_file)
        options.check_overwriting(report, inputs=inputs, force=force, ours=is_page)
        job_options = JobOptions(
            table=table,
            groups_table=groups_table,
            sources=source or (),
            sql=sql,
            header=header,
            group=group,
            label=options.split_names(label),
            kind=kind,
            measure=measure,
            domain=domain,
            target_domain=target,
            positive=positive,
            reported=reported,
            exposure=exposure,
            event=event,
            wanted=options.split_names(features),
            ignored=options.split_names(ignore),
            order=order,
            keep_whole=keep_whole,
            seed=seed,
        )
        job, why = job_options.job()
        print_job(console, job, why)
        comparison = Comparison(
            job,
            out,
            methods=options.split_names(method),
            n_splits=folds,
            search=search,
            command=command_line(),
        )
        result = run_comparison(comparison, console, jobs)
        board = print_board(console, result)
        if model is not None:
            save_best(job, result, str(board.index[0]), model, search)
            console.print(f"written:     {model} ({board.index[0]})")
        if report is not None:
            result = with_importance(comparison, result, board)
            write_report(result, report, title=title, notes=notes)
            console.print(f"written:     {report}")
        console.print(f"written:     {out / 'result.json'}")
        lines = board.reset_index().to_dict(orient="records")
        console.emit_json({"leaderboard": lines, "left_out": result.left_out, "out": str(out)})


def run_comparison(comparison: Comparison, console: Console, jobs: int | None = None) -> Result:
    """Do what is left to do, with a progress bar; what is done stays if this is interrupted."""
    steps = comparison.steps()
    total = len(comparison.chosen) * len(comparison.splits)
    if len(steps) < total:
        console.print(f"continued:   {total - len(steps)} of {total} folds are there already")
    names = [step.method.name for step in steps]
    done = total - len(steps)
    try:
        for _ in console.track(
            run_steps(comparison.run, steps, jobs), len(steps), "Methods x folds", names
        ):
            done += 1
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; {done} of {total} folds are done and kept in {comparison.folder}, and "
            "the same command goes on from there"
        ) from None
    return comparison.result()


def with_importance(comparison: Comparison, result: Result, board: pd.DataFrame) -> Result:
    """The result with what the score of the best single method hangs on."""
    single = [name for name in map(str, board.index) if name != AUTO]
    return comparison.with_importance(result, single[0]) if single else result


def save_best(job: Job, result: Result, name: str, path: Path, search: bool) -> None:
    """Fit the best method to all rows and store it with what it was found to be worth."""
    best = job.method(name)
    params = job.tune(best, {}) if search else {}
    own = Result(result.about, {name: result.methods[name]})
    save_model(job.fit(best, params), path, result=own.to_json())

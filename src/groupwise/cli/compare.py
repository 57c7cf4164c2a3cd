"""``groupwise compare``: every method that applies, on the same folds."""

from pathlib import Path
from typing import Annotated

import typer

from groupwise.cli import options
from groupwise.cli.console import Speaker, command_line, one_line_errors
from groupwise.cli.inputs import Question
from groupwise.cli.outputs import check_folder, check_overwriting, is_page, write_report
from groupwise.cli.show import say_board, say_job
from groupwise.io import is_model_file, save_model
from groupwise.jobs import Comparison, Job, Result
from groupwise.jobs.methods import get_method


def compare(
    table: options.TablePath,
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
    features: options.Features = None,
    ignore: options.Ignore = None,
    order: options.Order = None,
    sql: options.Sql = None,
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
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run every method that applies on the same folds of whole groups.

    Each finished fold is stored at once: the same command continues a run that was stopped.

    Example: groupwise compare sessions.parquet -g session -l kind --folds 3 --no-search
    """
    speaker = Speaker(as_json=as_json, quiet=quiet)
    with one_line_errors():
        check_folder(out / "x" if out.is_dir() else out, report, model)
        check_overwriting(model, inputs=(table,), force=force, ours=is_model_file)
        check_overwriting(report, inputs=(table,), force=force, ours=is_page)
        question = Question(
            table=table,
            sql=sql,
            group=group,
            label=options.split_names(label),
            kind=kind,
            measure=measure,
            domain=domain,
            target=target,
            positive=positive,
            features=options.split_names(features),
            ignore=options.split_names(ignore),
            order=order,
            seed=seed,
        )
        job, why = question.job(question.read())
        say_job(speaker, job, why)
        comparison = Comparison(
            job,
            out,
            methods=options.split_names(method),
            n_splits=folds,
            search=search,
            command=command_line(),
        )
        result = run_comparison(comparison, speaker)
        board = say_board(speaker, result)
        if model is not None:
            save_best(job, result, str(board.index[0]), model, search)
            speaker.say(f"written:     {model} ({board.index[0]})")
        if report is not None:
            write_report(result, report)
            speaker.say(f"written:     {report}")
        speaker.say(f"written:     {out / 'result.json'}")
        lines = board.reset_index().to_dict(orient="records")
        speaker.give({"leaderboard": lines, "left_out": result.left_out, "out": str(out)})


def run_comparison(comparison: Comparison, speaker: Speaker) -> Result:
    """Do what is left to do, with a progress bar."""
    steps = comparison.steps()
    total = len(comparison.chosen) * len(comparison.splits)
    if len(steps) < total:
        speaker.say(f"continued:   {total - len(steps)} of {total} folds are there already")
    for step in speaker.track(steps, "Methods x folds"):
        comparison.run(step)
    return comparison.result()


def save_best(job: Job, result: Result, name: str, path: Path, search: bool) -> None:
    """Fit the best method to all rows and store it with what it was found to be worth."""
    best = get_method(
        job.supervision.kind, name, n_rows=job.n_rows, n_classes=len(job.known.classes)
    )
    params = job.tune(best, {}) if search else {}
    own = Result(result.about, {name: result.methods[name]})
    save_model(job.fit(best, params), path, result=own.to_json())

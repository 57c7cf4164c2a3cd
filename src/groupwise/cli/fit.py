"""``groupwise fit``: a model of a table, and what it is worth on new groups."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from groupwise.cli import options
from groupwise.cli.console import (
    Console,
    command_line,
    one_line_errors,
    print_board,
    print_job,
    print_score,
)
from groupwise.cli.dask import fit_folder
from groupwise.cli.report import is_page, write_report
from groupwise.io import is_model_file, save_model
from groupwise.jobs import (
    Job,
    JobOptions,
    Result,
    TableModel,
    fit_auto,
    predict_table,
)
from groupwise.jobs.groupings import SeveralSupervision
from groupwise.jobs.promises import promise_coverage, promise_from_result, promises
from groupwise.methods import AUTO
from groupwise.tables import LoadedTable, OptionError, write_table
from groupwise.tables.write import check_writable, may_be_replaced


class Page(NamedTuple):
    """The HTML page that was asked for."""

    path: Path | None
    title: str | None
    notes: str | None


def fit(
    table: options.TablePath,
    groups_table: options.GroupsTable = None,
    source: options.Source = None,
    group: options.Groups = None,
    label: options.Label = None,
    group_weight: options.GroupWeight = None,
    kind: options.Kind = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", help="See 'groupwise methods'; by default all compete (auto)."
        ),
    ] = None,
    time: options.Time = "2m",
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="Parameter of the method, name=value.")
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Search the method's few settings on whole groups.")
    ] = False,
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
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path(
        "model.skops"
    ),
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML page to write as well.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions", help="Table to write: what the model says of what has no label."
        ),
    ] = None,
    folds: options.Folds = 5,
    coverage: options.Coverage = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="[ADDRESS]",
            help="Fit a folder of Parquet parts on the Dask cluster at this address "
            "(tcp://host:8786), or on a local one. Without --method all compete on a sample of "
            "whole groups, and boosted members are fitted to all rows; a method that is named is "
            "judged on one fold's share of the groups.",
        ),
    ] = None,
    title: options.Title = None,
    notes: options.Notes = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from a table and say how good the model is on groups it has not seen.

    Without --method every method that applies competes on folds of whole groups for the time given,
    and the best few are averaged. The estimate comes from folds of whole groups; the model that is
    written has seen all rows.

    Example: groupwise fit sessions.parquet --group session --label kind -o model.skops
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        page = Page(report, title, notes)
        inputs = options.inputs(table, groups_table, source)
        options.check_folder(out, report)
        options.check_overwriting(out, inputs=inputs, force=force, ours=is_model_file)
        options.check_overwriting(report, inputs=(*inputs, out), force=force, ours=is_page)
        job_options = JobOptions(
            table=table,
            groups_table=groups_table,
            sources=source or (),
            sql=sql,
            header=header,
            group=group,
            label=options.labels_of(group, label),
            group_weights=options.parse_weights(group_weight),
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
        params = options.parse_params(param)
        if dask is not None and (tune or coverage is not None or predictions is not None):
            raise OptionError("--tune, --coverage and --predictions do not go together with --dask")
        if coverage is not None and not 0.0 < coverage < 1.0:
            raise OptionError(f"--coverage must be between 0 and 1, got {coverage:g}")
        seconds = options.parse_time(time)
        if method is None and (params or tune):
            raise OptionError("--param and --tune are for one method: name it with --method")
        if dask is not None:
            with console.log("groupwise.auto"):
                model, result = fit_folder(
                    job_options,
                    dask,
                    method,
                    params,
                    seconds=seconds,
                    folds=folds,
                    jobs=jobs,
                    command=command_line(),
                )
            _tell(console, model, result, out, page)
            return
        job, why = job_options.job()
        if predictions is not None:
            options.check_folder(check_writable(predictions))
            options.check_overwriting(
                predictions, inputs=(*inputs, out), force=force, ours=may_be_replaced
            )
            if job.unlabelled is None:
                raise OptionError("--predictions: every row has a label; see 'groupwise predict'")
        if coverage is not None:
            job.supervision.check_covered()
        if method in (None, AUTO) and not params and job.has_auto:
            print_job(console, job, why, AUTO)
            model = _fit_auto(console, job, seconds, folds, jobs, out, page, coverage)
            _predict_unlabelled(console, job_options, job, model, predictions)
            return
        chosen = job.method(method)
        # a wrong parameter is told before the work
        chosen.build(job.supervision.constructor(), params, seed)
        print_job(console, job, why, chosen.name)
        if isinstance(job.supervision, SeveralSupervision):
            console.print(f"folds:       {job.supervision.about_folds(job.targets, folds)}")
        console.print(f"method:      {chosen.name} ({chosen.paper})")
        final = job.tune(chosen, params) if tune else params
        result = job.judge(
            chosen,
            params,
            n_splits=folds,
            tune=tune,
            n_jobs=jobs,
            final=final,
            command=command_line(),
            progress=lambda found, n: console.track(found, n, "Folds of whole groups"),
        )
        with warnings.catch_warnings(record=True) as told:
            model = job.fit(chosen, final)
            if coverage is not None:
                model = promise_coverage(job, model, coverage, n_splits=folds)
        for text in dict.fromkeys(str(warning.message) for warning in told):
            console.note(text)
        _tell(console, model, result, out, page, promised=coverage is not None)
        _predict_unlabelled(console, job_options, job, model, predictions)


def _predict_unlabelled(
    console: Console, job_options: JobOptions, job: Job, model: TableModel, path: Path | None
) -> None:
    """Write what the model says of the rows or groups that have no label."""
    if path is None or job.unlabelled is None:
        return
    table, _ = job_options.read()
    frame = table.frame.iloc[job.unlabelled.rows].reset_index(drop=True)
    level = "row" if job.supervision.rows_labelled else "group"
    lines = predict_table(model, LoadedTable(frame, table.name, ""), level=level)
    if level == "row":  # as messages count them; a source's rows come behind the table's own
        lines.insert(0, "row", job.unlabelled.rows)
    write_table(lines, path)
    console.print(f"written:     {path}: {len(lines):,} {level}s without a label")


def _fit_auto(
    console: Console,
    job: Job,
    seconds: float,
    folds: int,
    jobs: int | None,
    out: Path,
    page: Page,
    coverage: float | None,
) -> TableModel:
    """Let all methods compete, telling of each when it is done."""
    console.print(f"method:      {AUTO} (all that apply compete, for {seconds:g} s)")
    with console.log("groupwise.auto"):
        model, result = fit_auto(
            job,
            time_limit=seconds,
            n_splits=folds,
            n_jobs=-1 if jobs is None else jobs,
            command=command_line(),
        )
    if coverage is not None:
        model = promise_from_result(job, model, result, AUTO, coverage)
    _tell(console, model, result, out, page, promised=coverage is not None)
    return model


def _tell(
    console: Console,
    model: TableModel,
    result: Result,
    out: Path,
    page: Page,
    *,
    promised: bool = False,
) -> None:
    """Write the files and say what the model is worth."""
    save_model(model, out, result=result.to_json())
    if page.path is not None:
        write_report(result, page.path, title=page.title, notes=page.notes)
    summary, interval = result.summary(model.method), "95 % interval"
    about, units = result.about, "groups" if model.supervision.group else "rows"
    if result.estimate is not None:
        print_board(console, result)
        members = _members(model)
        what = "the best few, averaged" if len(members) > 1 else "one alone"
        console.print(f"{AUTO}: {what}: {', '.join(members)}")
        of_all = f"of {about.n_groups:,} {units}"
        if about.n_sampled:
            console.print(f"methods competed on {about.n_sampled:,} {of_all}")
        for number in sorted({n for n in members.values() if n < about.n_groups}):
            names = [name for name, n in members.items() if n == number]
            console.print(f"fitted to {number:,} {of_all}: {', '.join(names)}")
        summary |= {"members": members}
    if result.with_luck:
        interval += " with the luck of the training set"
    print_score(console, summary, f"{units} not seen in training", interval)
    if promised:
        guarantee = promises(model)
        console.print(f"promised:    {guarantee}")
        summary |= {"promised": guarantee}
    console.print(f"written:     {out}" + (f", {page.path}" if page.path else ""))
    console.emit_json(
        summary
        | {
            "model": str(out),
            "method": model.method,
            "kind": model.supervision.kind,
            "params": about.params,
            "columns": [asdict(use) for use in about.columns],
        }
    )


def _members(model: TableModel) -> dict[str, int]:
    """Names of the members, and how many groups each was fitted to."""
    fitted: Any = getattr(model.estimator, "estimator_", model.estimator)  # inside a promise
    return {member.name: member.n_groups for member in fitted.members_}

"""``groupwise doubts``: groups whose label is probably wrong."""

from pathlib import Path
from typing import Annotated

import typer

from groupwise.cli import options
from groupwise.cli.console import Console, one_line_errors, print_job
from groupwise.cli.terminal import visible
from groupwise.jobs import JobOptions
from groupwise.jobs.promises import label_issues
from groupwise.tables import write_table
from groupwise.tables.write import check_writable, may_be_replaced


def doubts(
    table: options.TablePath,
    groups_table: options.GroupsTable = None,
    group: options.Group = None,
    label: options.Label = None,
    kind: options.Kind = None,
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="See 'groupwise methods'; by default the first."),
    ] = None,
    positive: options.Positive = None,
    features: options.Features = None,
    ignore: options.Ignore = None,
    keep_whole: options.KeepWhole = None,
    sql: options.Sql = None,
    header: options.Header = True,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table of all groups to write.")
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="How many groups to print.")] = 20,
    folds: options.Folds = 5,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List the groups whose label models of the other groups believe least.

    A group comes first if models of the other groups believe its label least. Those that confident
    learning counts as wrong have another label beside theirs.

    Example: groupwise doubts sessions.parquet --group session --label kind -o doubts.csv
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        if out is not None:
            options.check_folder(check_writable(out))
            inputs = options.inputs(table, groups_table)
            options.check_overwriting(out, inputs=inputs, force=force, ours=may_be_replaced)
        job_options = JobOptions(
            table=table,
            groups_table=groups_table,
            sql=sql,
            header=header,
            group=group,
            label=options.split_names(label),
            kind=kind,
            positive=positive,
            wanted=options.split_names(features),
            ignored=options.split_names(ignore),
            keep_whole=keep_whole,
            seed=seed,
        )
        job, why = job_options.job()
        print_job(console, job, why)
        chosen = job.method(method)
        console.print(f"method:      {chosen.name} ({chosen.paper})")
        issues = label_issues(
            job,
            chosen,
            n_splits=folds,
            n_jobs=jobs,
            progress=lambda found, n: console.track(found, n, "Folds of whole groups"),
        )
        n_right = int((issues.table["given"] == issues.table["suggested"]).sum())
        console.print(
            f"doubts:      {issues.n_issues} of {len(issues.table):,} labels are doubted by models "
            f"of the other groups, which agree with {n_right:,}; the least believed come first"
        )
        for line in issues.table.head(n).itertuples():
            rather = f"; rather {line.suggested}" if line.issue else ""
            console.print(
                visible(f"  {line.group}: {line.given} has probability {line.proba:.2f}{rather}")
            )
        if out is not None:
            write_table(issues.table, out)
            console.print(f"written:     {out}: {len(issues.table):,} groups")
        lines = issues.table.head(n).to_dict(orient="records")
        console.emit_json({"n_issues": issues.n_issues, "groups": lines})

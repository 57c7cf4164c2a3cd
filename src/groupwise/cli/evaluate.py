"""``groupwise evaluate``: what a model is worth on a table it has not seen."""

from pathlib import Path
from typing import Annotated

import typer

from groupwise.cli import options
from groupwise.cli.console import Console, command_line, one_line_errors, print_score
from groupwise.cli.predict import load_table_model, note_empty_columns
from groupwise.io import has_result, read_result
from groupwise.jobs import Result, read_tables
from groupwise.jobs.evaluate import evaluate_model
from groupwise.jobs.result import is_result_file


def evaluate(
    model: options.ModelPath,
    table: options.TablePath,
    groups_table: options.GroupsTable = None,
    sql: options.Sql = None,
    header: options.Header = True,
    order: options.Order = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Result file, for 'groupwise report'.")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge a model on a table whose labels are known, group by group.

    Example: groupwise evaluate model.skops new.parquet
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        options.check_folder(out)
        inputs = options.inputs(model, table, groups_table)
        options.check_overwriting(out, inputs=inputs, force=force, ours=is_result_file)
        fitted = load_table_model(model)
        loaded = read_tables(
            table,
            groups_table=groups_table,
            group=fitted.supervision.group,
            sql=sql,
            header=header,
            texts=fitted.schema.categories + fitted.schema.texts,
        )
        for note in loaded.notes:
            console.note(note)
        note_empty_columns(console, fitted, loaded)
        seen = _trained_on(model) == loaded.fingerprint
        if seen:
            console.note("this is the table the model was trained on: new groups will score worse")
        kept = out is not None  # what columns are worth is in the result file only
        result = evaluate_model(
            fitted, loaded, order=order, importance=kept, seen=seen, command=command_line()
        )
        if out is not None:
            result.save(out)
        summary = result.summary(fitted.method)
        console.print(f"table:       {result.about.table}: {result.about.n_rows:,} rows")
        if result.about.n_unlabelled:
            console.note(f"{result.about.n_unlabelled:,} rows have no label and are not judged")
        print_score(console, summary, "groups" if fitted.supervision.group else "rows")
        if out is not None:
            console.print(f"written:     {out}")
        console.emit_json(
            summary | {"model": str(model), "method": fitted.method, "seen_in_training": seen}
        )


def _trained_on(model: Path) -> str | None:
    """The fingerprint of the training table, where the model knows it."""
    if not has_result(model):
        return None
    return Result.from_json(read_result(model), str(model)).about.fingerprint

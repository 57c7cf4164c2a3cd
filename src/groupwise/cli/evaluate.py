"""``groupwise evaluate``: what a model is worth on a table it has not seen."""

from pathlib import Path
from typing import Annotated

import typer

from groupwise.cli import options
from groupwise.cli.console import Speaker, command_line, one_line_errors
from groupwise.cli.outputs import check_folder, check_overwriting
from groupwise.cli.predict import load_table_model
from groupwise.cli.show import say_score, score_summary
from groupwise.io import has_result, read_result
from groupwise.jobs import Result, TableModel
from groupwise.jobs.evidence import gather
from groupwise.jobs.job import order_of
from groupwise.jobs.result import library_versions
from groupwise.tables import LoadedTable, read_table


def evaluate(
    model: options.ModelPath,
    table: options.TablePath,
    sql: options.Sql = None,
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
    speaker = Speaker(as_json=as_json, quiet=quiet)
    with one_line_errors():
        check_folder(out)
        check_overwriting(out, inputs=(model, table), force=force)
        fitted = load_table_model(model)
        text = [c for c in (fitted.supervision.group,) if c is not None]
        loaded = read_table(table, sql=sql, text=text)
        if _trained_on(model) == loaded.fingerprint:
            speaker.note("this is the table the model was trained on: new groups will score worse")
        result = judge(fitted, loaded, order)
        if out is not None:
            result.save(out)
        summary = score_summary(result, fitted.method)
        speaker.say(f"table:       {result.about['table']}: {result.about['n_rows']:,} rows")
        say_score(speaker, summary, "groups" if fitted.supervision.group else "rows")
        if out is not None:
            speaker.say(f"written:     {out}")
        speaker.give(summary | {"model": str(model), "method": fitted.method})


def _trained_on(model: Path) -> str | None:
    """The fingerprint of the training table, where the model knows it."""
    if not has_result(model):
        return None
    return Result.from_json(read_result(model), str(model)).about.get("fingerprint")


def judge(model: TableModel, table: LoadedTable, order: str | None) -> Result:
    """The model's answers about the table's groups."""
    features = model.schema.conform(table.frame, name=table.name)
    known = model.supervision.known_in(table.frame, table.name, model.classes)
    rows = model.supervision.judged_rows(known)
    at = order_of(table.frame, order, table.name)
    found = gather(model, features.iloc[rows], known.take(rows), at[rows])
    zero = dict.fromkeys(("seconds_fit", "seconds_search", "seconds_predict", "memory_mib"), 0.0)
    about = {
        "table": table.name,
        "fingerprint": table.fingerprint,
        "n_rows": len(features),
        "n_groups": known.groups.n_groups,
        "supervision": model.supervision.to_dict(),
        "score": model.supervision.score_name,
        "classes": list(model.classes),
        "columns": [
            {"name": name, "use": use, "why": "the model's"}
            for use, names in (
                ("number", model.schema.numbers),
                ("category", model.schema.categories),
            )
            for name in names
        ],
        "command": command_line(),
        "versions": library_versions(),
    }
    return Result(about, {model.method: [found | zero | {"params": {}}]})

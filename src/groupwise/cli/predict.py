"""``groupwise predict``: what a model says about a table."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import typer

from groupwise.base import Predictions
from groupwise.cli import options
from groupwise.cli.console import Console, check_folder, check_overwriting, one_line_errors, visible
from groupwise.groups import Groups
from groupwise.io import ModelFileError, load_model
from groupwise.jobs import TableModel
from groupwise.jobs.promises import promised_columns
from groupwise.jobs.reasons import reason_columns
from groupwise.tables import OptionError, TableError, read_table, write_table
from groupwise.tables.write import check_writable, spreadsheet_safe


def predict(
    model: options.ModelPath,
    table: options.TablePath,
    level: Annotated[str, typer.Option("--level", help="row or group: one line for each.")] = "row",
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say why: features of each row, or rows of each group."),
    ] = False,
    sql: options.Sql = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table to write; without it CSV is printed."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict rows or groups of a table.

    Columns: the group, 'predicted', one probability 'p_CLASS' per class and, for rows of methods
    that have it, 'weight': the row's part in its group's label. Of a model fitted with --coverage
    also 'set', the classes it may have, or bounds of shares.

    Example: groupwise predict model.skops new.parquet --level group -o out.parquet
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        if level not in ("row", "group"):
            raise OptionError(f"--level must be row or group, got {level!r}")
        if out is not None:
            check_folder(check_writable(out))
            check_overwriting(out, inputs=(model, table), force=force)
        fitted = load_table_model(model)
        answers = _predict(fitted, table, sql, level, explain=explain)
        if out is not None:
            write_table(answers, out)
            console.print(f"written:     {out}: {len(answers):,} {level}s")
            console.emit_json(
                {"out": str(out), "n": len(answers), "columns": list(answers.columns)}
            )
        elif as_json:
            sys.stdout.write(answers.to_json(orient="records", lines=True))
        else:
            _print_csv(answers)


def _print_csv(answers: pd.DataFrame) -> None:
    """CSV as it would be written; a terminal is shown no control characters."""
    safe = spreadsheet_safe(pa.Table.from_pandas(answers, preserve_index=False)).to_pandas()
    if sys.stdout.isatty():
        sys.stdout.write(visible(safe.to_csv(index=False)))
    else:
        safe.to_csv(sys.stdout, index=False)


def load_table_model(path: Path) -> TableModel:
    """A model that takes tables."""
    fitted = load_model(path)
    if not isinstance(fitted, TableModel):
        raise ModelFileError(
            f"{path} holds a {type(fitted).__name__}, which takes arrays, not tables; "
            "'groupwise fit' writes models that take tables"
        )
    return fitted


def _predict(
    model: TableModel, source: str, sql: str | None, level: str, *, explain: bool
) -> pd.DataFrame:
    column = model.supervision.group
    table = read_table(source, sql=sql, text=[column] if column else [])
    features = model.schema.conform(table.frame, name=table.name)
    if column is None and level == "group":
        raise TableError("the model was fitted without `group`: there are rows only")
    if column is not None and (level == "group" or column in table.frame.columns):
        groups = model.supervision.groups_in(table.frame, table.name)
    elif column is not None and model.supervision.explains:
        raise TableError(f"{table.name} has no column {column!r}, which names the group")
    else:
        groups = Groups.singletons(len(features))
        column = None
    predictions = model.predictions(features, groups)
    if level == "group":
        lines = _group_lines(model, predictions, str(column))
    else:
        lines = _row_lines(model, predictions, column)
    more = promised_columns(model, features, groups, level)
    if explain:
        more |= reason_columns(model, features, predictions, level)
    return lines.assign(**more)


def _row_lines(model: TableModel, predictions: Predictions, column: str | None) -> pd.DataFrame:
    classes, groups = np.array(model.classes), predictions.groups
    lines: dict[str, Any] = {} if column is None else {column: groups.spread(groups.names)}
    lines["predicted"] = classes[predictions.code_row]
    lines |= {f"p_{c}": predictions.proba_row[:, k] for k, c in enumerate(model.classes)}
    if model.explains:
        lines["weight"] = predictions.row_weights()
    return pd.DataFrame(lines)


def _group_lines(model: TableModel, predictions: Predictions, column: str) -> pd.DataFrame:
    classes, groups = np.array(model.classes), predictions.groups
    lines: dict[str, Any] = {column: groups.names, "rows": groups.sizes}
    lines["predicted"] = classes[predictions.code_group]
    lines |= {f"p_{c}": predictions.proba_group[:, k] for k, c in enumerate(model.classes)}
    return pd.DataFrame(lines)

"""``groupwise predict``: what a model says about a table."""

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import pyarrow as pa
import typer

from groupwise.cli import options
from groupwise.cli.console import Console, one_line_errors
from groupwise.cli.terminal import visible
from groupwise.io import ModelFileError, load_model
from groupwise.jobs import TableModel, predict_table, read_tables
from groupwise.tables import LoadedTable, write_table
from groupwise.tables.write import check_writable, may_be_replaced, spreadsheet_safe

# In fewer a column may well be empty.
_FEW_ROWS = 10


def predict(
    model: options.ModelPath,
    table: options.TablePath,
    groups_table: options.GroupsTable = None,
    level: Annotated[str, typer.Option("--level", help="row or group: one line for each.")] = "row",
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say why: features of each row, or rows of each group."),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Columns of the table to put in front (a,b or repeated)."),
    ] = None,
    sql: options.Sql = None,
    header: options.Header = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Table to write (csv, tsv, parquet, feather, jsonl; or the table 'predictions' of "
            "a new .sqlite or .duckdb file); without it CSV is printed.",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict rows or groups of a table.

    Columns: those of --keep, the group, 'predicted', one probability 'p_CLASS' per class and, for
    rows of methods that have it, 'weight': the row's part in its group's label. Groups have
    'share_CLASS' where shares were learned, and 'n_CLASS', predicted rows, where rows have labels;
    where numbers were learned, 'predicted' is all there is, and of survival times 'risk'. Rows stay
    in the table's order. Of a model fitted with --coverage also 'set', the classes it may have, or
    bounds of shares, means or totals.

    Example: groupwise predict model.skops new.parquet --level group -o out.parquet
    """
    console = Console(as_json=as_json, quiet=quiet)
    with one_line_errors():
        if out is not None:
            options.check_folder(check_writable(out))
            inputs = options.inputs(model, table, groups_table)
            options.check_overwriting(out, inputs=inputs, force=force, ours=may_be_replaced)
        fitted = load_table_model(model)
        loaded = read_tables(
            table,
            groups_table=groups_table,
            group=fitted.supervision.group,
            sql=sql,
            header=header,
            texts=fitted.schema.categories + fitted.schema.texts,
        )
        note_empty_columns(console, fitted, loaded)
        answers = predict_table(
            fitted, loaded, level=level, keep=options.split_names(keep), explain=explain
        )
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


def note_empty_columns(console: Console, model: TableModel, table: LoadedTable) -> None:
    """Tell of columns that the model learned from and that hold nothing here."""
    if len(table.frame) < _FEW_ROWS:
        return
    there = [column for column in model.schema.columns if column in table.frame]
    empty = [column for column in there if table.frame[column].isna().all()]
    if empty:
        console.note(
            f"{', '.join(map(repr, empty))} held values in training and none here: answers may be "
            "far from right"
        )


def load_table_model(path: Path) -> TableModel:
    """A model that takes tables."""
    fitted = load_model(path)
    if not isinstance(fitted, TableModel):
        raise ModelFileError(
            f"{path} holds a {type(fitted).__name__}, which takes arrays, not tables; "
            "'groupwise fit' writes models that take tables"
        )
    return fitted

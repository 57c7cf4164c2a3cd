"""Tables out, whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from groupwise.files import written_whole
from groupwise.tables.errors import TableError

__all__ = ["check_writable", "spreadsheet_safe", "write_table"]

# Texts that a spreadsheet takes for a formula, with any apostrophes that stand before already (so
# that one apostrophe off is the way back); a text that is a plain number is none.
_FORMULA = r"^'*[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
_NUMBER = r"^[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?$"


def spreadsheet_safe(table: pa.Table) -> pa.Table:
    r"""The table with an apostrophe before every text that a spreadsheet would run as a formula.

    The way back takes one apostrophe off:
    ``column.str.replace(r"^'(?='*[=+\-@\t\r\n])", "", regex=True)``.

    Examples
    --------
    >>> table = pa.table({"user": ["ann", "=1+1", "-7", "'@x"]})
    >>> spreadsheet_safe(table)["user"].to_pylist()
    ['ann', "'=1+1", '-7', "''@x"]
    """
    for position, name in enumerate(table.column_names):
        column = table.column(position)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            safe = _safe_texts(column)
            if safe is not column:
                table = table.set_column(position, name, safe)
    names = pa.array(table.column_names, pa.string())
    return table.rename_columns(_safe_texts(names).to_pylist())


def _safe_texts(texts: Any) -> Any:
    runs = pc.and_(
        pc.match_substring_regex(texts, _FORMULA),
        pc.invert(pc.match_substring_regex(texts, _NUMBER)),
    )
    if not pc.any(runs).as_py():
        return texts
    marked = pc.binary_join_element_wise(
        pa.scalar("'", texts.type), texts, pa.scalar("", texts.type)
    )
    return pc.if_else(pc.fill_null(runs, False), marked, texts)


def _json_lines(table: pa.Table, sink: BinaryIO) -> None:
    table.to_pandas().to_json(
        sink, orient="records", lines=True, compression=None, date_format="iso"
    )


def _comma_separated(table: pa.Table, sink: BinaryIO) -> None:
    pyarrow.csv.write_csv(spreadsheet_safe(table), sink)


def _tab_separated(table: pa.Table, sink: BinaryIO) -> None:
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(spreadsheet_safe(table), sink, options)


_WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    ".csv": _comma_separated,
    ".tsv": _tab_separated,
    ".parquet": pyarrow.parquet.write_table,
    ".feather": pyarrow.feather.write_feather,
    ".arrow": pyarrow.feather.write_feather,
    ".jsonl": _json_lines,
}


def check_writable(path: str | Path) -> Path:
    """Refuse a table's name before any work is done for it."""
    path = Path(path)
    if path.suffix.lower() not in _WRITERS:
        raise TableError(
            f"{path}: a table can be written as {', '.join(_WRITERS)}, not as {path.suffix!r}"
        )
    return path


def write_table(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table in the format its name ends with: csv, tsv, parquet, feather, arrow, jsonl.

    In csv and tsv, texts that a spreadsheet would run get an apostrophe (:func:`spreadsheet_safe`);
    the other formats hold them as they are.
    """
    path = check_writable(path)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    # a stream, as Arrow takes a path for UTF-8 and not every locale gives one
    with written_whole(path) as part, part.open("wb") as sink:
        _WRITERS[path.suffix.lower()](table, sink)
    return path

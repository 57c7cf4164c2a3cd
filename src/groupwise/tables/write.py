"""Tables out, whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from groupwise.files import written_whole
from groupwise.tables.errors import TableError

__all__ = ["check_writable", "write_table"]


def _json_lines(table: pa.Table, path: Path) -> None:
    table.to_pandas().to_json(
        path, orient="records", lines=True, compression=None, date_format="iso"
    )


def _tab_separated(table: pa.Table, path: Path) -> None:
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter="\t"))


_WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    ".csv": pyarrow.csv.write_csv,
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
    """Write a table in the format its name ends with: csv, tsv, parquet, feather, arrow, jsonl."""
    path = check_writable(path)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with written_whole(path) as part:
        _WRITERS[path.suffix.lower()](table, part)
    return path

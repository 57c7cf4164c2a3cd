"""Which kind of table a file is, and one reader per kind."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from groupwise.tables.errors import TableError
from groupwise.tables.nesting import check_nesting

__all__ = ["FORMATS", "Format", "compression_of", "detect_format"]

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22M": "lz4",
}
_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".zst", ".lz4"}


@dataclass(frozen=True)
class Format:
    """A kind of table file and how it is read.

    Attributes
    ----------
    name : str
    read : callable
        ``read(stream, text)`` gives an Arrow table; ``text`` names columns to keep as text.
    """

    name: str
    read: Callable[[Any, Sequence[str]], pa.Table]


def _read_separated(separator: str | None) -> Callable[[Any, Sequence[str]], pa.Table]:
    def read(stream: Any, text: Sequence[str]) -> pa.Table:
        first, stream = _first_line(stream)
        return pyarrow.csv.read_csv(
            stream,
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator or _separator_in(first)),
            convert_options=pyarrow.csv.ConvertOptions(
                strings_can_be_null=True, column_types=dict.fromkeys(text, pa.string())
            ),
        )

    return read


def _first_line(stream: BinaryIO) -> tuple[bytes, Any]:
    """The header without losing it: the rest is handed on behind it."""
    head = stream.read(1 << 16)
    if not head.strip():
        raise TableError("is empty")
    return head.split(b"\n", 1)[0], _Rejoined(head, stream)


class _Rejoined:
    """A stream with what was read of it put back in front."""

    def __init__(self, head: bytes, rest: BinaryIO):
        self._head, self._rest = head, rest
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._rest.read(size)
        if size is None or size < 0:
            out, self._head = self._head + self._rest.read(), b""
        else:
            out, self._head = self._head[:size], self._head[size:]
        return out

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _separator_in(header: bytes) -> str:
    """The separator that cuts the header into most columns; a comma if none does."""
    header = re.sub(rb'"[^"]*"', b"", header)
    return max((",", "\t", ";", "|"), key=lambda mark: header.count(mark.encode()))


def _read_parquet(stream: Any, _text: Sequence[str]) -> pa.Table:
    return pyarrow.parquet.ParquetFile(pa.BufferReader(stream.read())).read()


def _read_feather(stream: Any, _text: Sequence[str]) -> pa.Table:
    content = stream.read()
    if content[:6] == b"ARROW1" or content[:4] == b"FEA1":
        return pyarrow.feather.read_table(pa.BufferReader(content))
    return pa.ipc.open_stream(pa.BufferReader(content)).read_all()


def _read_json_lines(stream: Any, _text: Sequence[str]) -> pa.Table:
    content = stream.read()
    check_nesting(content)
    return pyarrow.json.read_json(pa.BufferReader(content))


FORMATS = {
    "csv": Format("csv", _read_separated(None)),
    "tsv": Format("tsv", _read_separated("\t")),
    "parquet": Format("parquet", _read_parquet),
    "feather": Format("feather", _read_feather),
    "jsonl": Format("jsonl", _read_json_lines),
}


def compression_of(head: bytes) -> str | None:
    """The compression that a file's first bytes tell of."""
    for mark, name in _COMPRESSIONS.items():
        if head.startswith(mark):
            return name
    return None


def detect_format(path: Path | None, head: bytes) -> Format:
    """The format by the first bytes (uncompressed), else by the name, else CSV.

    Parameters
    ----------
    path : Path or None
        ``None`` for standard input.
    head : bytes
    """
    if head.startswith(b"PAR1"):
        return FORMATS["parquet"]
    if head.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return FORMATS["feather"]
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise TableError("is a zip or Excel file; save it as CSV or Parquet")
    suffix = _table_suffix(path)
    if suffix in _SUFFIXES:
        return FORMATS[_SUFFIXES[suffix]]
    return FORMATS["jsonl" if head.lstrip()[:1] == b"{" else "csv"]


def _table_suffix(path: Path | None) -> str:
    suffixes = [] if path is None else [part.lower() for part in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED_SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""

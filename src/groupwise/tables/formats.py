"""Where a table comes from: the address of a database, or a file of some kind with its reader."""

import codecs
import csv
import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from groupwise.tables.errors import TableError
from groupwise.tables.nesting import check_nesting

__all__ = [
    "FORMATS",
    "Format",
    "check_address",
    "compression_of",
    "detect_format",
    "headerless_hint",
    "is_database",
    "is_database_file",
    "passwords_in",
    "without_password",
]

_SCHEME = re.compile(r"^\s*postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
# libpq's other form: host=db user=ann password='hunter 2'
_PAIRS = re.compile(
    r"^\s*(?:host|hostaddr|dbname|user|port|service|password|passfile|sslmode)\s*=", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^:/?#@\s]*):(?P<rest>.*)$", re.I | re.S)
_QUERY = re.compile(r"\?[\w%]+=")
_KEY = re.compile(r"(?P<key>[\w%]+)\s*=\s*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'?")
_SECRET_KEY = re.compile(r"(?:password|passwd|passphrase|pass|pwd)$", re.IGNORECASE)
_HIDDEN = "***"

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
_SHEETS = {".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"}
_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".zst", ".lz4"}


@dataclass(frozen=True)
class Format:
    """A kind of table file and how it is read.

    Attributes
    ----------
    name : str
    read : callable
        ``read(stream, text, header)`` gives an Arrow table; ``text`` names columns to keep as text,
        ``header`` says whether the first line holds the columns' names.
    """

    name: str
    read: Callable[[Any, Sequence[str], bool], pa.Table]


# What stands for a missing value besides what Arrow knows (NA, null, NaN, ...).
_MISSING = [*pyarrow.csv.ConvertOptions().null_values, "?", " ?"]
_SMALL = 1 << 24  # bytes of a table that is copied into the memory of Arrow
_NUMBER_NAME = re.compile(r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")


def headerless_hint(columns: Sequence[str]) -> str:
    """What to say of column names that look like values.

    Examples
    --------
    >>> headerless_hint(["-11", "42", "MUSK-1"])
    '; these look like values: for a file without a line of names see `header`'
    >>> headerless_hint(["x", "y"])
    ''
    """
    if sum(bool(_NUMBER_NAME.match(name)) for name in columns) * 2 < len(columns):
        return ""
    return "; these look like values: for a file without a line of names see `header`"


def _read_separated(separator: str | None) -> Callable[[Any, Sequence[str], bool], pa.Table]:
    def read(stream: Any, text: Sequence[str], header: bool) -> pa.Table:
        first, stream = _first_line(stream)
        mark = separator or _separator_in(first)
        names = (
            None if header else numbered(len(next(csv.reader([first.decode()], delimiter=mark))))
        )
        return pyarrow.csv.read_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=mark),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=_MISSING,
                strings_can_be_null=True,
                column_types=dict.fromkeys(text, pa.string()),
            ),
        )

    return read


def numbered(n_columns: int) -> list[str]:
    """Names for columns that have none."""
    return [f"c{position}" for position in range(1, n_columns + 1)]


def _first_line(stream: BinaryIO) -> tuple[bytes, Any]:
    """The header without losing it: the rest is handed on behind it."""
    head = stream.read(1 << 16)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # Excel's "Unicode text"
        stream = io.BytesIO((head + stream.read()).decode("utf-16").encode())
        head = stream.read(1 << 16)
    if not head.strip():
        raise TableError("is empty")
    first = head.split(b"\n", 1)[0]
    while len(head) < _SMALL and (more := stream.read(_SMALL)):
        head += more
    return first, _source(head) if len(head) < _SMALL else _Rejoined(head, stream)


def _source(content: bytes) -> pa.NativeFile:
    """Bytes for Arrow to read, where they are few in its own memory.

    A thread of Arrow's that has just read an object of Python's lets it go a moment later. If the
    program has ended by then, the process is aborted (apache/arrow issue 34314).
    """
    if len(content) >= _SMALL:
        return pa.BufferReader(content)
    memory = pa.BufferOutputStream()
    memory.write(content)
    return pa.BufferReader(memory.getvalue())


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


def _read_parquet(stream: Any, _text: Sequence[str], _header: bool) -> pa.Table:
    return pyarrow.parquet.ParquetFile(_source(stream.read())).read()


def _read_feather(stream: Any, _text: Sequence[str], _header: bool) -> pa.Table:
    content = stream.read()
    if content[:6] == b"ARROW1" or content[:4] == b"FEA1":
        return pyarrow.feather.read_table(_source(content))
    return pa.ipc.open_stream(_source(content)).read_all()


def _read_json_lines(stream: Any, _text: Sequence[str], _header: bool) -> pa.Table:
    content = stream.read()
    check_nesting(content)
    return pyarrow.json.read_json(_source(content))


def _read_excel(stream: Any, text: Sequence[str], header: bool) -> pa.Table:
    """The first sheet."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise TableError(
            "is an Excel file: pip install 'groupwise[excel]', or save it as CSV or Parquet"
        ) from error
    try:
        with CalamineWorkbook.from_filelike(io.BytesIO(stream.read())) as workbook:
            lines = workbook.get_sheet_by_index(0).to_python()
    except CalamineError as error:
        raise TableError(f"cannot be read: {error}") from error
    if not lines:
        raise TableError("the first sheet is empty")
    names = [str(name) for name in lines[0]] if header else numbered(len(lines[0]))
    columns = zip(*lines[int(header) :], strict=True)
    arrays = [
        _cells(list(cells), name in text) for name, cells in zip(names, columns, strict=False)
    ] or [pa.array([])] * len(names)
    return pa.Table.from_arrays(arrays, names=names)


def _cells(cells: list[Any], as_text: bool) -> pa.Array:
    """A column of a sheet; where it mixes texts and numbers, all are texts."""
    known = [None if cell == "" or cell in _MISSING else cell for cell in cells]
    kinds = {type(cell) for cell in known if cell is not None}
    if as_text or len(kinds - {int, float}) + bool(kinds & {int, float}) > 1:
        known = [None if cell is None else _plain_text(cell) for cell in known]
    return pa.array(known)


def _plain_text(cell: Any) -> str:
    whole = isinstance(cell, float) and cell == int(cell)
    return str(int(cell)) if whole else str(cell)


FORMATS = {
    "csv": Format("csv", _read_separated(None)),
    "tsv": Format("tsv", _read_separated("\t")),
    "parquet": Format("parquet", _read_parquet),
    "feather": Format("feather", _read_feather),
    "jsonl": Format("jsonl", _read_json_lines),
    "excel": Format("excel", _read_excel),
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
    suffix = _table_suffix(path)
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        if suffix in _SHEETS:
            return FORMATS["excel"]
        raise TableError("is a zip or Excel file; save it as CSV or Parquet, or call it .xlsx")
    if suffix in _SUFFIXES:
        return FORMATS[_SUFFIXES[suffix]]
    return FORMATS["jsonl" if head.lstrip()[:1] == b"{" else "csv"]


def _table_suffix(path: Path | None) -> str:
    suffixes = [] if path is None else [part.lower() for part in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED_SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_database(source: str) -> bool:
    """Whether this is the address of a PostgreSQL database, as a URL or as ``key=value`` pairs.

    Examples
    --------
    >>> is_database("POSTGRESQL://db/shop"), is_database("host=db dbname=shop")
    (True, True)
    >>> is_database("shop.csv")
    False
    """
    return bool(_SCHEME.match(source) or _PAIRS.match(source))


def is_database_file(path: str | Path) -> bool:
    """Whether a file is a database of SQLite or DuckDB, by how it begins."""
    with Path(path).open("rb") as file:
        start = file.read(16)
    # behind DuckDB's mark comes a version, a number of eight bytes
    is_duckdb = start[8:12] == b"DUCK" and start[13:16] == b"\0\0\0"
    return start == b"SQLite format 3\0" or is_duckdb


def without_password(text: str) -> str:
    """An address, or a text with one in it, as it may be shown.

    Whatever could be a password is hidden, rather too much than too little.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@db/shop")
    'postgresql://ann:***@db/shop'
    >>> without_password("postgresql://db/shop?user=ann&password=secret")
    'postgresql://db/shop?user=ann&password=***'
    >>> without_password("host=db user=ann password='a b'")
    'host=db user=ann password=***'
    """
    found = _USER_INFO.search(text)
    if found:
        end = _user_info_end(found["rest"])
        if end >= 0:
            shown = f"{found['before']}:{_HIDDEN}{found['rest'][end:]}"
            text = text[: found.start()] + shown
    for start, end in reversed(_secret_values(text)):
        text = text[:start] + _HIDDEN + text[end:]
    return text


def _secret_values(text: str) -> list[tuple[int, int]]:
    """Where the values of ``password=...`` and its like lie."""
    found: list[tuple[int, int]] = []
    for pair in _KEY.finditer(text):
        start = pair.end()
        if not _SECRET_KEY.search(unquote(pair["key"])) or (found and start < found[-1][1]):
            continue
        quoted = _QUOTED.match(text, start)
        # in a URL the next parameter begins with &; in pairs an & may be part of the value
        ends = r"[^\s&]*" if "://" in text[:start] else r"\S*"
        plain = re.compile(ends).match(text, start)
        span = quoted or plain
        if span is not None and span.end() > start:
            found.append((start, span.end()))
    return found


def _user_info_end(rest: str) -> int:
    """Where the password ends: the last ``@`` before the query, or of all."""
    query = _QUERY.search(rest)
    head = rest if query is None else rest[: query.start()]
    return head.rfind("@") if "@" in head else rest.rfind("@")


def passwords_in(source: str) -> list[str]:
    """What may not be seen of an address, and what libpq takes from the environment."""
    found = _USER_INFO.search(source)
    secrets = [] if found is None else [found["rest"][: max(_user_info_end(found["rest"]), 0)]]
    secrets += [source[start:end].strip("'") for start, end in _secret_values(source)]
    secrets.append(os.environ.get("PGPASSWORD", ""))
    both = {form for secret in secrets for form in (secret, unquote(secret)) if form}
    return sorted(both, key=len, reverse=True)


def check_address(source: str) -> str:
    """The address as libpq takes it.

    Raises
    ------
    TableError
        If it would be read in another way than it was meant, which is when parts of a password
        become the name of a host and stand in messages.
    """
    scheme = _SCHEME.match(source)
    if scheme is None:
        return source.strip()
    rest = source[scheme.end() :]
    found = _USER_INFO.search(source)
    password = "" if found is None else found["rest"][: max(_user_info_end(found["rest"]), 0)]
    if re.search(r"[@:/?#\[\]\s]|%(?![0-9a-fA-F]{2})", password):
        raise TableError(
            f"{without_password(source)}: the password holds one of @ : / ? # [ ] % or a space, "
            "which an address writes as %40 %3A %2F %3F %23 %5B %5D %25 %20"
        )
    return f"postgresql://{rest.strip()}"

"""How deep JSON is nested, found out without a parser: one that recurses would not come back."""

import re
from collections.abc import Iterator

import numpy as np

from groupwise.tables.errors import TableError

__all__ = ["MAX_DEPTH", "check_nesting", "nesting_depth"]

#: Of brackets inside each other; a cell of a table has no use for so many.
MAX_DEPTH = 200

_STRING = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?')
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_CHUNK = 4 << 20


def check_nesting(content: bytes) -> None:
    """Refuse JSON (or lines of it) that a parser could only follow into the ground."""
    if content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return
    depth = nesting_depth(content)
    if depth > MAX_DEPTH:
        raise TableError(
            f"values are nested {depth:,} levels deep; at most {MAX_DEPTH} can be read"
        )


def nesting_depth(content: bytes) -> int:
    """The greatest number of brackets open at once, those in strings left out.

    Examples
    --------
    >>> nesting_depth(b'{"a": [[1], "[[[["]}')
    3
    """
    deepest = level = 0
    for chunk in _chunks(content):
        brackets = _STRING.sub(b"", chunk).translate(None, _ALL_BUT_BRACKETS)
        if brackets:
            codes = np.frombuffer(brackets, np.uint8)
            steps = np.where((codes == ord("[")) | (codes == ord("{")), 1, -1)
            levels = level + np.cumsum(steps)
            deepest, level = max(deepest, int(levels.max())), int(levels[-1])
    return deepest


def _chunks(content: bytes) -> Iterator[bytes]:
    """Pieces that end with a line, as no string goes on behind one."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + _CHUNK)
        end = len(content) if end < 0 else end + 1
        yield content[start:end]
        start = end

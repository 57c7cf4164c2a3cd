"""The papers' tables and figures, run again: one module each.

A module has ``TITLE``, a line about the paper, and
``run(out, *, repeats, seed, track) -> Result``, which writes its pictures to the folder ``out``.
"""

from importlib import import_module
from types import ModuleType

from reproductions.result import Result, Track, quiet

__all__ = ["PAPERS", "Result", "Track", "load", "quiet"]

#: Name on the command line and module of each paper.
PAPERS = {
    "sboost": "sboost",
    "aoc": "aoc",
    "adaboost-group": "adaboost_group",
    "tradaboost": "tradaboost",
    "dpboost": "dpboost",
}


def load(name: str) -> ModuleType:
    """The module that reproduces a paper."""
    if name not in PAPERS:
        raise ValueError(f"there is {sorted(PAPERS)} to reproduce, not {name!r}")
    return import_module(f"reproductions.{PAPERS[name]}")

"""Errors of the library name arguments; the command line puts its options in their place."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import groupwise
from groupwise.cli.options import OPTION_NAMES
from groupwise.jobs import Job, JobOptions, make_supervision, predict_table
from groupwise.jobs.promises import promise_coverage
from groupwise.jobs.supervision import KINDS
from groupwise.methods import get_method
from groupwise.tables import OptionError, TableError, choose_features, read_table

ROOT = Path(groupwise.__file__).parent
FILES = [
    path
    for folder in ("dask", "jobs", "report", "tables")
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.name != "read.py"
]


def texts(path):
    """All strings of a file but docstrings."""
    tree = ast.parse(path.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_library_knows_no_options(path):
    assert not [text for text in texts(path) if re.search(r"(^|\W)--[a-z]", text)]


def test_arguments_are_translated():
    error = TableError("t has no column 'a' (`group`); `x` stays")
    assert error.arguments == ("group", "x")
    assert error.renamed(OPTION_NAMES) == "t has no column 'a' (--group); `x` stays"
    with pytest.raises(OptionError) as caught:
        make_supervision("transfer", label="y", domain="d")
    assert caught.value.arguments == ("kind", "domain", "target_domain")


def test_every_option_stands_for_an_argument():
    functions = (choose_features, get_method, make_supervision, read_table, Job.from_table, Job.fit,
                 JobOptions, predict_table, promise_coverage)  # fmt: skip
    known = {name for function in functions for name in inspect.signature(function).parameters}
    known |= {name for kind in KINDS.values() for name in kind.__dataclass_fields__}
    assert set(OPTION_NAMES) <= known

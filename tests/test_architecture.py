"""The folder tree is the data's journey: a room imports only from rooms before it."""

import ast
from pathlib import Path

import pytest

import groupwise

ROOT = Path(groupwise.__file__).parent
ROOMS = [
    "exceptions",
    "_compat",
    "forks",
    "groups",
    "rules",
    "validation",
    "metrics",
    "model_selection",
    "base",
    "losses",
    "boosting",
    "gbdt",
    "kernels",
    "solvers",
    "datasets",
    "majority",
    "proportions",
    "presence",
    "measures",
    "transfer",
    "plotting",
    "files",
    "tables",
    "jobs",
    "io",
    "dask",
    "testing",
    "report",
    "reproduce",
    "cli",
]
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("groupwise."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("groupwise."):
                    yield name.name.split(".")[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_backwards(path):
    here = ROOMS.index(room_of(path))
    later = {room for room in imported_rooms(path) if ROOMS.index(room) > here}
    assert not later, f"{path.name} imports from {later}, which come after it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_private_names_of_scikit_learn_are_in_one_place(path):
    if path.name == "_compat.py":
        return
    allowed = {
        "_num_samples",
        "_safe_indexing",
        "_check_sample_weight",
    }  # used by half of the libraries around sklearn
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            private_module = any(part.startswith("_") for part in node.module.split("."))
            private_names = {n.name for n in node.names if n.name.startswith("_")} - allowed
            assert not private_module and not private_names, node.module


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_is_printed_outside_the_command_line(path):
    if room_of(path) in ("cli", "report"):
        return
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]

"""The package itself: its names, and what loading it costs."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import groupwise
from groupwise.testing import all_estimators

SLOW = ("dask", "lightgbm", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "skops")


def loaded_after(program):
    """Which of the slow libraries a program has loaded."""
    show = f"import sys; print(*[name for name in {SLOW} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{show}"], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "program",
    [
        "import groupwise",
        "import groupwise.cli",
        "from groupwise.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass",
    ],
    ids=["package", "command line", "help"],
)
def test_nothing_slow_is_loaded_before_it_is_needed(program):
    assert loaded_after(program) == []


@pytest.mark.long
def test_names_are_loaded_when_they_are_asked_for():
    found = loaded_after("import groupwise\ngroupwise.SBoostClassifier().get_params()")
    assert {"numpy", "sklearn"} <= set(found)


@pytest.mark.parametrize("name", groupwise.__all__)
def test_every_public_name_is_there_and_listed(name):
    value = getattr(groupwise, name)
    assert name in dir(groupwise)
    home = groupwise._HOMES.get(name)
    module = importlib.import_module(f"groupwise.{home or name}")
    assert value is (module if home is None else getattr(module, name))


def test_every_subpackage_is_an_attribute():
    internal = {"bags", "base", "cli", "files", "forks", "inputs", "methods", "preparation",
                "recipes", "statistics", "targets", "threads"}  # fmt: skip
    found = {info.name for info in pkgutil.iter_modules(groupwise.__path__)}
    hidden = {name for name in found if name.startswith("_")} | internal
    assert found - hidden <= {*groupwise.__all__, *groupwise._EXTRAS}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'forest'"):
        groupwise.forest  # noqa: B018


def test_the_checks_are_asked_of_every_estimator():
    """scikit-learn's checks and the library's own, model files among them: see test_contract.py."""
    named = {
        node.id
        for path in Path(__file__).parent.rglob("test_contract.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name)
    }
    assert set(all_estimators()) <= named

"""The folder tree is the data's journey: a package imports from lower layers only."""

import ast
import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import groupwise

ROOT = Path(groupwise.__file__).parent
# Packages of one layer are peers: none imports another.
LAYERS = [
    {"_compat", "exceptions", "files", "forks", "recipes", "threads"},
    {"groups"},
    {"_typing", "bags", "rules"},
    {"inputs"},
    {"base", "kernels", "losses", "solvers", "metrics", "datasets"},
    {"model_selection", "boosting", "pipeline", "relative", "statistics", "targets"},
    {"gbdt", "nets"},
    {
        "majority",
        "proportions",
        "presence",
        "measures",
        "transfer",
        "dask",
        "incontext",
        "ecological",
    },
    {"plotting", "tables"},
    {"io", "methods", "onnx", "preparation"},
    {"auto"},
    {"uncertainty", "explain"},
    {"jobs", "testing"},
    {"mlflow", "report"},
    {"cli"},
]
LAYER = {package: level for level, layer in enumerate(LAYERS) for package in layer}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def each_file(check):
    """Run a check on every file; a failure names the file."""

    def test():
        for path in FILES:
            try:
                check(path)
            except AssertionError as error:
                raise AssertionError(f"{path.relative_to(ROOT)}: {error}") from error

    return test


def package_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def nodes_of(path):
    return list(ast.walk(ast.parse(path.read_text())))


def imported_packages(path):
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "groupwise":
                yield from (name.name for name in node.names if name.name in LAYER)
            elif (node.module or "").startswith("groupwise."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (n.name.split(".")[1] for n in node.names if n.name.startswith("groupwise."))


@each_file
def test_a_package_imports_from_lower_layers_only(path):
    here = package_of(path)
    others = set(imported_packages(path)) - {here}
    above = {other for other in others if LAYER[other] >= LAYER[here]}
    assert not above, f"{here} (layer {LAYER[here]}) imports {above}"


def private(name):
    return name.startswith("_") and not name.startswith("__")


@cache
def private_names_defined_in(package):
    """Private names that the package's own files define or assign."""
    names = set()
    for path in FILES:
        if package_of(path) != package:
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
                names.update(t.id for t in targets if isinstance(t, ast.Name))
            elif isinstance(node, ast.arg):
                names.add(node.arg)
    return {name for name in names if private(name)}


# The standard library spells these public names so.
NOT_PRIVATE = {"_replace", "_asdict", "_fields", "_exit"}


@each_file
def test_nobody_uses_private_attributes_of_another_package(path):
    here = package_of(path)
    for node in nodes_of(path):
        if not isinstance(node, ast.Attribute) or not private(node.attr):
            continue
        of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        of_super = isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"
        own = node.attr in private_names_defined_in(here) or node.attr in NOT_PRIVATE
        assert of_self or of_super or own, f"line {node.lineno}: {ast.unparse(node)}"


@each_file
def test_private_names_are_not_imported(path):
    here = package_of(path)
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("groupwise."):
            if node.module in ("groupwise._compat", "groupwise._typing"):
                continue
            parts = node.module.split(".")
            assert not any(map(private, parts)), node.module
            if parts[1] != here:
                assert not [n.name for n in node.names if private(n.name)], node.module


@each_file
def test_modules_have_no_leading_underscore(path):
    assert not private(path.stem) or path.stem in ("_compat", "_typing")


@each_file
def test_private_names_of_scikit_learn_are_in_one_place(path):
    if path.name == "_compat.py":
        return
    # used by half of the libraries around scikit-learn
    allowed = {"_num_samples", "_safe_indexing", "_check_sample_weight"}
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            private_module = any(part.startswith("_") for part in node.module.split("."))
            private_names = {n.name for n in node.names if n.name.startswith("_")} - allowed
            assert not private_module and not private_names, node.module


def test_every_package_has_a_layer():
    assert {package_of(path) for path in FILES} == set(LAYER)


@each_file
def test_nobody_guesses_what_an_estimator_can_do(path):
    """Asking is in the contract: no signature is inspected, no kind of estimator looked for."""
    text = path.read_text()
    assert "inspect.signature" not in text and "import signature" not in text


def test_what_stands_beside_the_package_imports_what_there_is():
    beside = [
        path
        for folder in ("arena", "benchmarks", "training", "reproductions", "docs")
        for path in (Path(__file__).parents[1] / folder).rglob("*.py")
    ]
    for path in beside:
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("groupwise"):
                needs = {"nets": "torch", "dask": "distributed"}.get(node.module[10:].split(".")[0])
                if needs is not None and find_spec(needs) is None:
                    continue
                module = importlib.import_module(node.module)
                for name in node.names:
                    assert hasattr(module, name.name), f"{path.name}: {node.module}.{name.name}"

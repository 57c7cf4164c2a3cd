"""Every example runs: docstrings, the README and the pages of the guide."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import groupwise
from groupwise.cli import app

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    info.name for info in pkgutil.walk_packages(groupwise.__path__, prefix="groupwise.")
)
SITE = sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
PAGES = [ROOT / "README.md", *SITE]
TUTORIALS = ROOT / "docs" / "tutorials"
WITH_COMMANDS = [
    page for page in SITE if "```bash\n" in page.read_text() and page.parent != TUTORIALS
]
# What takes many seconds of them.
LONG = (
    "docs/auto.md",
    "docs/majority.md",
    "docs/dask.md",
    "docs/guide.md",
    "docs/networks.md",
    "docs/presence.md",
)
LONG_COMMANDS = ("start.md", "cli.md")
LONG_MODULES = ("groupwise.auto", "groupwise.proportions.kernel_count")


def marked(names, long):
    """The names, some of them marked as long."""
    return [pytest.param(n, marks=pytest.mark.long if n.startswith(long) else []) for n in names]


@pytest.mark.parametrize("name", marked(MODULES, LONG_MODULES))
def test_docstrings(name):
    if name.endswith((".torch_network", ".mlp")) or name.startswith("groupwise.nets."):
        pytest.importorskip("torch", reason="the extra torch is not installed")
    if name.startswith("groupwise.dask"):
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("name", marked([str(p.relative_to(ROOT)) for p in PAGES], LONG))
def test_code_blocks(name, capsys):
    page = ROOT / name
    if page.name == "dask.md":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    if page.name == "networks.md":
        pytest.importorskip("torch", reason="the extra nets is not installed")
    if page.name == "interop.md":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    # pictures are drawn when the site is built
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    names = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("name", marked([page.name for page in WITH_COMMANDS], LONG_COMMANDS))
def test_command_blocks(name, tmp_path, monkeypatch):
    page = ROOT / "docs" / name
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for line in "".join(blocks).splitlines():
        program, *arguments = shlex.split(line)
        assert program == "groupwise", f"{page.name}: {line}"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{line}: {done.output}"


def tutorial_files():
    spec = importlib.util.spec_from_file_location("tutorial_files", TUTORIALS / "files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAGES


@pytest.mark.long
@pytest.mark.parametrize("name", ["wearable", "precincts", "molecules", "mails", "mushrooms"])
def test_tutorials(name, real_data, tmp_path, monkeypatch):
    """The commands of a page as they stand, on real data; what they say is what the page shows."""
    monkeypatch.chdir(tmp_path)
    tutorial_files()[name](tmp_path)
    text = (TUTORIALS / f"{name}.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    said = ""
    for line in "".join(blocks).splitlines():
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}: {done.output}"
        said += done.stdout
    assert (tmp_path / f"{name}.html").exists()
    shown = re.findall(r"^(?:score|baseline): +(\d\.\d+)", text, re.MULTILINE)
    assert all(figure in said for figure in shown)


EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def test_the_gallery_has_titles_and_prose():
    assert len(EXAMPLES) >= 15
    for example in EXAMPLES:
        text = example.read_text()
        title, line, *prose = ast.get_docstring(ast.parse(text)).splitlines()
        assert line == "=" * len(title) and len(prose) > 1, example.name
        assert "\n# %%\n# " in text and "plt.show()" in text, f"{example.name}: no picture"


@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of the tools around us
def test_examples(example, monkeypatch):
    """Those that need what is not installed are shown on the site without output."""
    plt = pytest.importorskip("matplotlib.pyplot")
    for package in re.findall(r"^(?:from|import) (\w+)", example.read_text(), re.MULTILINE):
        pytest.importorskip(package, reason=f"{package} is not installed")
    if "groupwise.nets" in example.read_text():
        pytest.importorskip("torch", reason="the extra nets is not installed")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    exec(compile(example.read_text(), str(example), "exec"), {"__name__": "__main__"})
    assert plt.get_fignums()
    plt.close("all")


def test_included_source_exists():
    for page in SITE:
        for target in re.findall(
            r"^```\{(?:literal)?include\} (.+)$", page.read_text(), re.MULTILINE
        ):
            assert (page.parent / target).exists(), f"{page.name} includes {target}"


def test_every_page_is_in_the_site():
    listed = set()
    for page in SITE:
        for tree in re.findall(
            r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.S | re.MULTILINE
        ):
            for entry in re.findall(r"^(?!:)(\S+)$", tree, re.MULTILINE):
                listed |= set(page.parent.glob(f"{entry}.md"))
    assert set(SITE) - listed - {ROOT / "docs" / "index.md"} == set()


def test_the_reference_lists_every_public_name():
    text = (ROOT / "docs" / "api.md").read_text()
    for room in re.findall(r"currentmodule:: (\S+)", text):
        module = importlib.import_module(room)
        listed = set(re.findall(r"^   (\w+)$", text, re.MULTILINE))
        public = {n for n in module.__all__ if inspect.isroutine(getattr(module, n))}
        public |= {n for n in module.__all__ if inspect.isclass(getattr(module, n))}
        assert public <= listed, f"docs/api.md does not list {sorted(public - listed)} of {room}"


def test_links_in_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            if target == "gallery/index.rst":  # made when the site is built
                continue
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_has_a_docstring():
    for name in groupwise.__all__:
        assert getattr(groupwise, name).__doc__


@pytest.mark.long
def test_the_counts_that_contributing_tells():
    told = re.findall(r"`([^`]+)` (\d+)(?: files)?[,)]", (ROOT / "CONTRIBUTING.md").read_text())
    command = [sys.executable, str(ROOT / "benchmarks" / "walk.py")]
    counted = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(told) == 2
    for name, n_files in told:
        assert f"{name.removesuffix(' -m group-boost')}: {n_files} files" in counted


def test_the_hops_that_contributing_lists_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Read it as data")[1].split("\n## ")[0]
    source = ROOT / "src" / "groupwise"
    for line in re.findall(r"^- .*$", text, re.MULTILINE):
        for hop in re.findall(r"(?<![\w/])((?:[a-z_]+/)*[a-z_]+)\.(\w+)", line):
            path, name = source / f"{hop[0]}.py", hop[1]
            assert path.exists(), f"{hop[0]}.{name}"
            assert re.search(rf"^ *(?:def|class) {name}\b", path.read_text(), re.MULTILINE), hop

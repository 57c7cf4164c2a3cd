"""Every example runs: docstrings, the README and the pages of the guide."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import groupwise

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    info.name for info in pkgutil.walk_packages(groupwise.__path__, prefix="groupwise.")
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name.endswith("._torch"):
        pytest.importorskip("torch", reason="the extra torch is not installed")
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks(page, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    names = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def test_links_in_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_has_a_docstring():
    for name in groupwise.__all__:
        assert getattr(groupwise, name).__doc__

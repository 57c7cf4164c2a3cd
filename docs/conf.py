"""The documentation site.

Sphinx rather than MkDocs: the docstrings are reStructuredText with mathematics and references,
which Sphinx renders as they stand; the pages stay markdown (MyST). Build it with
``python -m sphinx -W docs docs/_build`` and the extra ``docs``.
"""

import importlib.metadata
import importlib.util
import logging
import warnings
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

project = "groupwise"
copyright = "The groupwise developers"
version = release = importlib.metadata.version("groupwise")

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

plot_formats = [("png", 110)]
plot_html_show_formats = plot_html_show_source_link = False

# Examples that need what no extra of ours brings are shown, and run where it is installed.
_NEEDS = {"networks_attention": "torch", "skore": "skore", "skrub": "skrub"}
_missing = [name for name, package in _NEEDS.items() if not importlib.util.find_spec(package)]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/plot_(?!{'|'.join(_missing)})" if _missing else "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}
logging.getLogger("distributed").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# Formulas are MathML, which browsers show without a script from the network.
html_math_renderer = "mathml"


def _inline(self: Any, node: nodes.Element) -> None:
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.Element) -> None:
    formula = convert(_plain(node.astext()), display="block")
    self.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def _plain(formula: str) -> str:
    """Lines that an environment aligns, where it stands alone."""
    if "\\\\" in formula and "\\begin" not in formula:
        return rf"\begin{{aligned}}{formula}\end{{aligned}}"
    return formula


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx of the formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True}


html_theme = "pydata_sphinx_theme"
html_title = "groupwise"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_sidebars = {"index": []}
# Pages link to files of the repository that are no pages (results as JSON, source files).
suppress_warnings = ["myst.xref_missing"]

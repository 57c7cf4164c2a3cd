"""The documentation site.

Sphinx rather than MkDocs: the docstrings are reStructuredText with mathematics and references,
which Sphinx renders as they stand; the pages stay markdown (MyST). Build it with
``python -m sphinx -W docs docs/_build`` and the extra ``docs``.
"""

import importlib.metadata

project = "groupwise"
copyright = "The groupwise developers"
version = release = importlib.metadata.version("groupwise")

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
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

html_theme = "pydata_sphinx_theme"
html_title = "groupwise"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_sidebars = {"index": []}
# Pages link to files of the repository that are no pages (results as JSON, source files).
suppress_warnings = ["myst.xref_missing"]

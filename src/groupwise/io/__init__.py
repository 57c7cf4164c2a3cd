"""Model files that load without running code.

A model file is a zip as skops writes it, with two members of ours: ``groupwise.json`` (format,
versions, a digest of everything else) and, for models of a table, ``result.json`` (what the model
was found to be worth, the input of a report). Both are read without loading the model.
"""

from groupwise.io.errors import ModelFileError
from groupwise.io.model_file import (
    has_result,
    is_model_file,
    library_versions,
    load_model,
    read_header,
    read_result,
    save_model,
    version_differences,
)

__all__ = [
    "ModelFileError",
    "has_result",
    "is_model_file",
    "library_versions",
    "load_model",
    "read_header",
    "read_result",
    "save_model",
    "version_differences",
]

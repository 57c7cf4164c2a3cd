"""Tables in and out: one row a record, as files or as the answer to a query."""

from groupwise.tables.columns import ColumnUse, Schema, choose_features
from groupwise.tables.errors import OptionError, TableError
from groupwise.tables.read import LoadedTable, read_table
from groupwise.tables.write import write_table

__all__ = [
    "ColumnUse",
    "LoadedTable",
    "OptionError",
    "Schema",
    "TableError",
    "choose_features",
    "read_table",
    "write_table",
]

"""Tables in and out: one row a record, as files or as the answer to a query."""

from groupwise.tables.columns import ColumnUse, Schema, choose_features
from groupwise.tables.combine import join_groups, stack_sources
from groupwise.tables.errors import OptionError, TableError
from groupwise.tables.read import LoadedTable, as_table, read_table
from groupwise.tables.write import write_table

__all__ = [
    "ColumnUse",
    "LoadedTable",
    "OptionError",
    "Schema",
    "TableError",
    "as_table",
    "choose_features",
    "join_groups",
    "read_table",
    "stack_sources",
    "write_table",
]

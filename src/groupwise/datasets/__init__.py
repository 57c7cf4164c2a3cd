"""Generators as the papers describe them, and loaders of real data."""

from groupwise.datasets.loaders import data_folder, load_uci, load_wisdm
from groupwise.datasets.sessions import GroupedData, make_sessions, make_triangle_sessions

__all__ = [
    "GroupedData",
    "data_folder",
    "load_uci",
    "load_wisdm",
    "make_sessions",
    "make_triangle_sessions",
]

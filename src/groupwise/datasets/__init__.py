"""Generators as the papers describe them, and loaders of real data."""

from groupwise.datasets.aggregates import make_aggregates
from groupwise.datasets.data import AggregateData, GroupedData, LabelledData, TransferData
from groupwise.datasets.loaders import data_folder, load_uci, load_wisdm
from groupwise.datasets.presence import (
    MIL_SETS,
    load_mil,
    make_presence_bags,
    perfect_knowledge,
    perfect_selector,
    presence_intensity,
)
from groupwise.datasets.sessions import make_sessions, make_triangle_sessions
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.datasets.users import make_users

__all__ = [
    "MIL_SETS",
    "AggregateData",
    "GroupedData",
    "LabelledData",
    "TransferData",
    "data_folder",
    "load_mil",
    "load_uci",
    "load_wisdm",
    "make_aggregates",
    "make_presence_bags",
    "make_sessions",
    "make_shifted_domains",
    "make_triangle_sessions",
    "make_users",
    "perfect_knowledge",
    "perfect_selector",
    "presence_intensity",
]

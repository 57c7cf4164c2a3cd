"""Learning when labels belong to groups of rows."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupwise.boosting import HistTrees
    from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
    from groupwise.groups import Groups, flatten_bags, unflatten_bags
    from groupwise.majority import (
        GroupStatisticsClassifier,
        NaiveGroupClassifier,
        SBoostClassifier,
        select_gamma,
    )

__version__ = "0.1.0"

__all__ = [
    "GroupBoostClassifier",
    "GroupBoostRegressor",
    "GroupStatisticsClassifier",
    "Groups",
    "HistTrees",
    "NaiveGroupClassifier",
    "SBoostClassifier",
    "flatten_bags",
    "select_gamma",
    "unflatten_bags",
]

_HOMES = {
    "groupwise.boosting": ("HistTrees",),
    "groupwise.gbdt": ("GroupBoostClassifier", "GroupBoostRegressor"),
    "groupwise.groups": ("Groups", "flatten_bags", "unflatten_bags"),
    "groupwise.majority": (
        "GroupStatisticsClassifier",
        "NaiveGroupClassifier",
        "SBoostClassifier",
        "select_gamma",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name or a subpackage, loaded when it is first asked for."""
    if name in _HOME_OF:
        found = getattr(importlib.import_module(_HOME_OF[name]), name)
        globals()[name] = found
        return found
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

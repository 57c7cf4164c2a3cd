"""Learning when labels belong to groups of rows.

Every module below is an attribute of the package, loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from groupwise import (
        auto,
        boosting,
        datasets,
        ecological,
        exceptions,
        explain,
        gbdt,
        groups,
        incontext,
        io,
        jobs,
        kernels,
        losses,
        majority,
        measures,
        metrics,
        model_selection,
        nets,
        pipeline,
        plotting,
        presence,
        proportions,
        report,
        rules,
        solvers,
        tables,
        testing,
        transfer,
        uncertainty,
    )
    from groupwise.auto import AutoGroupClassifier, AutoGroupRegressor
    from groupwise.bags import flatten_bags, unflatten_bags
    from groupwise.boosting import HistTrees
    from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
    from groupwise.groups import Groupings, Groups
    from groupwise.incontext import InContextClassifier
    from groupwise.io import load_model, save_model
    from groupwise.majority import (
        GroupStatisticsClassifier,
        NaiveGroupClassifier,
        SBoostClassifier,
        SBoostClassifierCV,
    )
    from groupwise.measures import ExpectedMeasureClassifier, GroupAdaBoostClassifier
    from groupwise.presence import DPBoostClassifier, LPBoostClassifier
    from groupwise.proportions import ManifoldAOCClassifier, ManifoldAOCClassifierCV
    from groupwise.relative import RelativeFeaturesClassifier
    from groupwise.transfer import BalancedTransferClassifier, TrAdaBoostClassifier
    from groupwise.uncertainty import (
        CalibratedGroupClassifier,
        ConformalGroupClassifier,
        ConformalGroupRegressor,
    )

__all__ = [
    "AutoGroupClassifier",
    "AutoGroupRegressor",
    "BalancedTransferClassifier",
    "CalibratedGroupClassifier",
    "ConformalGroupClassifier",
    "ConformalGroupRegressor",
    "DPBoostClassifier",
    "ExpectedMeasureClassifier",
    "GroupAdaBoostClassifier",
    "GroupBoostClassifier",
    "GroupBoostRegressor",
    "GroupStatisticsClassifier",
    "Groupings",
    "Groups",
    "HistTrees",
    "InContextClassifier",
    "LPBoostClassifier",
    "ManifoldAOCClassifier",
    "ManifoldAOCClassifierCV",
    "NaiveGroupClassifier",
    "RelativeFeaturesClassifier",
    "SBoostClassifier",
    "SBoostClassifierCV",
    "TrAdaBoostClassifier",
    "auto",
    "boosting",
    "datasets",
    "ecological",
    "exceptions",
    "explain",
    "flatten_bags",
    "gbdt",
    "groups",
    "incontext",
    "io",
    "jobs",
    "kernels",
    "load_model",
    "losses",
    "majority",
    "measures",
    "metrics",
    "model_selection",
    "nets",
    "pipeline",
    "plotting",
    "presence",
    "proportions",
    "relative",
    "report",
    "rules",
    "save_model",
    "solvers",
    "tables",
    "testing",
    "transfer",
    "uncertainty",
    "unflatten_bags",
]

# Needs an extra: not among the names that ``import *`` loads.
_EXTRAS = ("dask", "mlflow", "onnx")
# Where the names that are no modules come from.
_HOMES = {
    "AutoGroupClassifier": "auto",
    "AutoGroupRegressor": "auto",
    "BalancedTransferClassifier": "transfer",
    "CalibratedGroupClassifier": "uncertainty",
    "ConformalGroupClassifier": "uncertainty",
    "ConformalGroupRegressor": "uncertainty",
    "DPBoostClassifier": "presence",
    "ExpectedMeasureClassifier": "measures",
    "GroupAdaBoostClassifier": "measures",
    "GroupBoostClassifier": "gbdt",
    "GroupBoostRegressor": "gbdt",
    "GroupStatisticsClassifier": "majority",
    "Groupings": "groups",
    "Groups": "groups",
    "HistTrees": "boosting",
    "InContextClassifier": "incontext",
    "LPBoostClassifier": "presence",
    "ManifoldAOCClassifier": "proportions",
    "ManifoldAOCClassifierCV": "proportions",
    "NaiveGroupClassifier": "majority",
    "RelativeFeaturesClassifier": "relative",
    "SBoostClassifier": "majority",
    "TrAdaBoostClassifier": "transfer",
    "flatten_bags": "bags",
    "load_model": "io",
    "save_model": "io",
    "SBoostClassifierCV": "majority",
    "unflatten_bags": "bags",
}


def __getattr__(name: str) -> Any:
    if name not in (*__all__, *_EXTRAS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    value = getattr(home, name) if name in _HOMES else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_EXTRAS})

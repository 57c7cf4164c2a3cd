"""The boosting libraries that can grow trees on a group loss, behind one interface."""

from groupwise.gbdt.engines.interface import (
    Engine,
    EngineModel,
    EngineOptions,
    EngineRun,
    GroupObjective,
    Objective,
)

__all__ = [
    "ENGINES",
    "Engine",
    "EngineModel",
    "EngineOptions",
    "EngineRun",
    "GroupObjective",
    "Objective",
    "get_engine",
]

#: The names that :func:`get_engine` knows.
ENGINES = ("lightgbm", "xgboost")


def get_engine(name: str) -> Engine:
    """Look an engine up by name; its library is loaded here, as one of them is optional."""
    if name == "lightgbm":
        from groupwise.gbdt.engines.lightgbm import LightGBMEngine

        return LightGBMEngine()
    if name == "xgboost":
        from groupwise.gbdt.engines.xgboost import XGBoostEngine

        return XGBoostEngine()
    raise ValueError(f"engine must be 'lightgbm' or 'xgboost', got {name!r}")

"""MLflow's log, save and load for our models, by our own model files: no pickle (extra ``mlflow``).

As with MLflow's own flavours, ``mlflow.pyfunc.load_model`` reads what is written here, if groupwise
is installed there.
"""

import platform
from pathlib import Path
from typing import Any

import pandas as pd

from groupwise import __version__
from groupwise.exceptions import GroupDataError
from groupwise.io import load_model as load_model_file
from groupwise.io import save_model as save_model_file
from groupwise.jobs import TableModel

__all__ = ["GroupwisePyfunc", "load_model", "log_model", "save_model"]

FLAVOR = "groupwise"
_FILE = "model.skops"


def save_model(
    model: Any,
    path: str | Path,
    *,
    group_column: str | None = None,
    signature: Any = None,
    mlflow_model: Any = None,
) -> None:
    """Write a fitted model as a folder that MLflow knows.

    Parameters
    ----------
    model : estimator or TableModel
    path : str or Path
        A folder that is new or empty.
    group_column : str, default=None
        The column of tables that ``pyfunc`` is given in which the group ids are. ``None``: the
        model's own ``group_column``, else ``"group"``. A TableModel knows its own.
    signature : mlflow.models.ModelSignature, default=None
        Of features and predictions; the parameter ``level`` is added where it has none.
    mlflow_model : mlflow.models.Model, default=None
        What MLflow itself hands over when it logs.

    Raises
    ------
    ModelFileError
        If the model holds something that could not be loaded without running code.
    """
    mlflow = _need_mlflow()
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    column = group_column or getattr(model, "group_column", None) or "group"
    save_model_file(model, folder / _FILE)
    (folder / "requirements.txt").write_text(f"groupwise=={__version__}\n")
    (folder / "python_env.yaml").write_text(
        f"python: {platform.python_version()}\nbuild_dependencies:\n- pip\n"
        "dependencies:\n- -r requirements.txt\n"
    )
    described = mlflow.models.Model() if mlflow_model is None else mlflow_model
    described.signature = _with_level(mlflow, signature)
    described.add_flavor(FLAVOR, data=_FILE, groupwise_version=__version__, group_column=column)
    mlflow.pyfunc.add_to_model(
        described, loader_module="groupwise.mlflow", python_env="python_env.yaml"
    )
    described.save(str(folder / "MLmodel"))


def log_model(
    model: Any,
    name: str,
    *,
    group_column: str | None = None,
    signature: Any = None,
    registered_model_name: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> Any:
    """Log a fitted model in the active run of MLflow.

    Parameters
    ----------
    model : estimator or TableModel
    name : str
    group_column : str, default=None
    signature : mlflow.models.ModelSignature, default=None
        Both as in :func:`save_model`.
    registered_model_name : str, default=None
        Also register a version of it under this name.
    metadata : dict, default=None

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        ``info.model_uri`` is what :func:`load_model` takes.
    """
    import groupwise.mlflow as flavor

    return _need_mlflow().models.Model.log(
        artifact_path=None,
        name=name,
        flavor=flavor,
        registered_model_name=registered_model_name,
        metadata=metadata,
        model=model,
        group_column=group_column,
        signature=signature,
    )


def load_model(model_uri: str | Path) -> Any:
    """The model that was saved or logged, by its address in MLflow or its folder.

    As in :func:`groupwise.io.load_model` nothing in the file is run.

    Raises
    ------
    ModelFileError
        If the file was altered, cut short, or holds anything else than a model.
    ValueError
        If the folder holds no model of groupwise.
    """
    mlflow = _need_mlflow()
    folder = Path(model_uri)
    if not folder.is_dir():
        folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    return load_model_file(folder / _options(mlflow, folder)["data"])


class GroupwisePyfunc:
    """A model as ``mlflow.pyfunc`` asks it: tables in, tables out.

    Parameters
    ----------
    model : estimator or TableModel
    group_column : str
        Of the tables that :meth:`predict` is given.
    """

    def __init__(self, model: Any, group_column: str):
        self.model = model
        self.group_column = group_column

    def predict(self, table: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Predict the rows of a table, or with ``params={"level": "group"}`` its groups.

        Returns
        -------
        lines : DataFrame
            In the order of the rows, or of the groups' ids: the group where it is known,
            ``predicted``, and of a classifier ``p_CLASS`` for every class.
        """
        level = (params or {}).get("level", "row")
        if level not in ("row", "group"):
            raise ValueError(f"level must be 'row' or 'group', got {level!r}")
        if isinstance(self.model, TableModel):
            return (self.model.predict_groups if level == "group" else self.model.predict)(table)
        column = self.group_column
        known = isinstance(table, pd.DataFrame) and column in table.columns
        if level == "group" and not known:
            raise GroupDataError(f"there is no column {column!r}, which names the group")
        groups = table[column] if known else None
        features = table.drop(columns=column) if known else table
        said = self.model.predictions(features, groups)
        ids = said.groups.names if level == "group" else groups
        lines: dict[str, Any] = {column: pd.Series(ids).array} if known else {}
        lines["predicted"] = getattr(said, f"y_{level}")
        if hasattr(said, "classes"):
            proba = getattr(said, f"proba_{level}")
            lines |= {f"p_{label}": proba[:, k] for k, label in enumerate(said.classes)}
        return pd.DataFrame(lines)


def _load_pyfunc(path: str) -> GroupwisePyfunc:
    """What ``mlflow.pyfunc`` calls, with the model's folder."""
    folder = Path(path)
    options = _options(_need_mlflow(), folder)
    return GroupwisePyfunc(load_model_file(folder / options["data"]), options["group_column"])


def _options(mlflow: Any, folder: Path) -> dict[str, Any]:
    """What was written beside the model; only plain names of files in the folder are taken."""
    flavors = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise ValueError(f"{folder} holds no model of groupwise, but {sorted(flavors)}")
    options: dict[str, Any] = flavors[FLAVOR]
    if Path(options["data"]).name != options["data"]:
        raise ValueError(f"{folder}: the model file must be in the folder, not {options['data']!r}")
    return options


def _with_level(mlflow: Any, signature: Any) -> Any:
    """A signature with the parameter ``level``: MLflow drops parameters that it does not know."""
    types = mlflow.types.schema
    level = types.ParamSchema([types.ParamSpec("level", "string", "row")])
    if signature is None:
        return mlflow.models.ModelSignature(params=level)
    if signature.params is not None:
        return signature
    return mlflow.models.ModelSignature(signature.inputs, signature.outputs, level)


def _need_mlflow() -> Any:
    try:
        import mlflow
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
        import mlflow.types.schema
    except ImportError as error:
        raise ImportError(
            "groupwise.mlflow needs the package mlflow: install groupwise[mlflow]"
        ) from error
    return mlflow

"""Models through MLflow and back, in files that run no code."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import groupwise.mlflow
from groupwise import GroupBoostClassifier, GroupBoostRegressor, load_model
from groupwise.datasets import make_triangle_sessions
from groupwise.io import ModelFileError
from groupwise.jobs import fit_table


@pytest.fixture
def mlflow():
    return pytest.importorskip("mlflow", reason="the extra mlflow is not installed")


def through_mlflow(test):
    """MLflow takes seconds to load, and warns of itself."""
    return pytest.mark.long(pytest.mark.filterwarnings("ignore")(test))


@pytest.fixture(scope="module")
def data():
    s = make_triangle_sessions(n_sessions=30, random_state=0)
    table = pd.DataFrame(s.X, columns=[f"x{k}" for k in range(s.X.shape[1])])
    return table, s.y, s.groups


@pytest.fixture(scope="module")
def model(data):
    X, y, groups = data
    return GroupBoostClassifier(n_estimators=4).fit(X, y, groups=groups)


@pytest.fixture
def store(mlflow, tmp_path, monkeypatch):
    """Runs in files: mlflow-skinny brings no database."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    yield
    mlflow.set_tracking_uri(None)


@through_mlflow
def test_saved_and_loaded(mlflow, model, data, tmp_path):
    X, _, groups = data
    groupwise.mlflow.save_model(model, tmp_path / "m", group_column="session")
    assert load_model(tmp_path / "m" / "model.skops").n_iter_ == 4  # our own model file
    back = groupwise.mlflow.load_model(tmp_path / "m")
    assert (back.predict_proba(X) == model.predict_proba(X)).all()
    pyfunc = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    table = X.assign(session=groups)
    rows = pyfunc.predict(table)
    said = model.predictions(X, groups)
    assert list(rows.columns) == ["session", "predicted", "p_A", "p_B", "p_C", "p_D"]
    assert (rows["predicted"] == said.y_row).all()
    lines = pyfunc.predict(table, params={"level": "group"})
    assert (lines["session"] == np.unique(groups)).all()
    assert (lines.iloc[:, 2:].to_numpy() == said.proba_group).all()
    assert len(pyfunc.predict(X)) == len(X)  # rows need no groups
    with pytest.raises(Exception, match="no column 'session'"):
        pyfunc.predict(X, params={"level": "group"})


@through_mlflow
def test_logged_and_loaded(mlflow, model, data, store):
    X, _, groups = data
    with mlflow.start_run():
        info = groupwise.mlflow.log_model(model, "sessions")
    back = groupwise.mlflow.load_model(info.model_uri)
    assert (back.predict_groups(X, groups) == model.predict_groups(X, groups)).all()
    said = mlflow.pyfunc.load_model(info.model_uri).predict(
        X.assign(group=groups), params={"level": "group"}
    )
    assert (said["predicted"] == model.predict_groups(X, groups)).all()


@through_mlflow
def test_a_regressor_and_a_model_of_a_table(mlflow, data, tmp_path):
    X, y, groups = data
    model = GroupBoostRegressor(n_estimators=3).fit(X, (y == "A").astype(float), groups=groups)
    groupwise.mlflow.save_model(model, tmp_path / "number")
    table = X.assign(group=groups, label=y)
    lines = mlflow.pyfunc.load_model(str(tmp_path / "number")).predict(
        table.drop(columns="label"), params={"level": "group"}
    )
    assert (lines["predicted"] == model.predict_groups(X, groups)).all()
    of_table, _ = fit_table(table, group="group", label="label", method="group-boost")
    groupwise.mlflow.save_model(of_table, tmp_path / "table")
    pyfunc = mlflow.pyfunc.load_model(str(tmp_path / "table"))
    assert pyfunc.predict(table).equals(of_table.predict(table))
    assert pyfunc.predict(table, params={"level": "group"}).equals(of_table.predict_groups(table))


@through_mlflow
def test_an_altered_file_and_a_path_elsewhere_are_refused(mlflow, model, tmp_path):
    folder = tmp_path / "m"
    groupwise.mlflow.save_model(model, folder)
    with pytest.raises(FileExistsError, match="not empty"):
        groupwise.mlflow.save_model(model, folder)
    text = (folder / "MLmodel").read_text()
    (folder / "MLmodel").write_text(text.replace("data: model.skops", "data: ../model.skops"))
    with pytest.raises(ValueError, match="must be in the folder"):
        groupwise.mlflow.load_model(folder)
    (folder / "MLmodel").write_text(text)
    content = bytearray((folder / "model.skops").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.skops").write_bytes(bytes(content))
    with pytest.raises(ModelFileError):
        groupwise.mlflow.load_model(folder)


def test_tables_in_tables_out(model, data):
    X, _, groups = data
    asked = groupwise.mlflow.GroupwisePyfunc(model, "session")
    lines = asked.predict(X.assign(session=groups), {"level": "group"})
    assert (lines["predicted"] == model.predict_groups(X, groups)).all()
    assert (asked.predict(X)["p_B"] == model.predict_proba(X)[:, 1]).all()
    with pytest.raises(ValueError, match="level must be"):
        asked.predict(X, {"level": "bag"})


@pytest.mark.slow
def test_mlflow_is_loaded_when_it_is_needed():
    code = "import sys, groupwise.mlflow; assert 'mlflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer

import groupwise.io.model_file as model_file
from groupwise import GroupBoostClassifier, NaiveGroupClassifier, SBoostClassifier
from groupwise.io import (
    ModelFileError,
    load_model,
    read_header,
    read_result,
    save_model,
    version_differences,
)


def test_round_trip_in_place(tmp_path, sessions):
    path = tmp_path / "model.skops"
    for model in (SBoostClassifier(n_estimators=3), NaiveGroupClassifier(KNeighborsClassifier(3))):
        model.fit(sessions.X, sessions.y, groups=sessions.groups)
        assert save_model(model, path) == path
        again = load_model(str(path))
        np.testing.assert_array_equal(
            again.predict_proba(sessions.X), model.predict_proba(sessions.X)
        )
    assert [p.name for p in tmp_path.iterdir()] == ["model.skops"]


def test_a_failed_write_leaves_the_old_file(tmp_path, sessions):
    path = tmp_path / "model.skops"
    save_model(SBoostClassifier(), path)
    before = path.read_bytes()
    broken = SBoostClassifier()
    broken.vote = open(tmp_path / "not-serialisable", "w")  # noqa: SIM115
    with broken.vote, pytest.raises(Exception, match=r".+"):
        save_model(broken, path)
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"model.skops", "not-serialisable"}


class Evil:
    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


def test_other_types_are_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.skops"
    for function, name in ((np.save, "numpy.save"), (save_model, r"model_file\.save_model")):
        with pytest.raises(ModelFileError, match=rf"has no use for .*{name}"):
            save_model(FunctionTransformer(function), path)
        assert not path.exists()
    skops.io.dump(SBoostClassifier(), path)
    with pytest.raises(ModelFileError, match="is no model file of groupwise"):
        load_model(path)
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelFileError, match="zip"):
        load_model(path)
    assert not (tmp_path / "touched").exists()


def test_other_versions_are_told(tmp_path, caplog, monkeypatch):
    path = save_model(SBoostClassifier(), tmp_path / "model.skops")
    assert version_differences(read_header(path)["versions"]) == []
    here = model_file.library_versions() | {"scikit-learn": "0.1.2"}
    monkeypatch.setattr(model_file, "library_versions", lambda: here)
    load_model(path)
    (record,) = caplog.records
    assert "here is 0.1.2" in record.message and "written with scikit-learn" in record.message
    monkeypatch.setattr(model_file, "library_versions", dict)
    assert any("lightgbm" in line for line in version_differences(read_header(path)["versions"]))


def test_a_class_that_is_no_more_is_told_with_the_versions(tmp_path, monkeypatch):
    path = save_model(SBoostClassifier(), tmp_path / "model.skops")
    monkeypatch.setattr(skops.io, "load", lambda *_, **__: getattr(np, "no_more"))  # noqa: B009
    with pytest.raises(
        ModelFileError, match=r"model\.skops cannot be loaded .*written with groupwise"
    ):
        load_model(path)


def test_a_model_without_a_result_has_nothing_to_report(tmp_path):
    path = save_model(SBoostClassifier(), tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="holds a model, but no result"):
        read_result(path)
    save_model(SBoostClassifier(), path, result='{"a": 1}')
    assert read_result(path) == '{"a": 1}'


@pytest.mark.slow
def test_a_model_file_loads_no_library_that_the_model_does_not_need(tmp_path):
    """skops walks through scikit-learn, which loads torch and dask where they are installed."""
    save_model(
        SBoostClassifier(n_estimators=2).fit([[0.0], [1.0]], [0, 1], groups=[0, 1]),
        tmp_path / "model.skops",
    )
    code = (
        "import sys, lightgbm; own = set(sys.modules); "  # before 4.7 it loads dask itself
        "from groupwise.io import load_model; "
        f"load_model({str(tmp_path / 'model.skops')!r}); "
        "print(sorted({'cupy', 'dask', 'jax', 'torch'} & set(sys.modules) - own))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_keys_that_skops_would_change_are_refused(tmp_path):
    """It keeps keys as text, and the text of False is true: {False: 1} would come back empty."""
    X, y = np.eye(4), np.array([True, True, False, False])
    model = GroupBoostClassifier(class_weight={False: 1.0, True: 3.0}).fit(
        X, y, groups=[0, 1, 2, 3]
    )
    with pytest.raises(ModelFileError, match=r"keys of a dictionary cannot be made by .*bool"):
        save_model(model, tmp_path / "m.skops")
    assert not (tmp_path / "m.skops").exists()

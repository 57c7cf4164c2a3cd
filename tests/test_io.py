import pickle
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer

from groupwise import NaiveGroupClassifier, SBoostClassifier
from groupwise.io import ModelFileError, load_model, save_model


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
    save_model(FunctionTransformer(np.save), path)
    with pytest.raises(ModelFileError, match=r"no use for: \['numpy.save'\]"):
        load_model(path)
    save_model(FunctionTransformer(save_model), path)  # ours, but no class
    with pytest.raises(ModelFileError, match=r"groupwise\.io\.save_model"):
        load_model(path)
    skops.io.dump(SBoostClassifier(), path)
    with pytest.raises(ModelFileError, match="is no model file of groupwise"):
        load_model(path)
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelFileError, match="zip"):
        load_model(path)
    assert not (tmp_path / "touched").exists()

"""The whole reproduction on made-up data with the names and keys of the real files."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from groupwise.datasets.users import make_users
from reproductions import adaboost_group
from reproductions.adaboost_group import OURS
from reproductions.adaboost_group_tables import PRINTED, TUNED


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """Twelve blocks in three files, and eight inboxes of words."""
    protein = tmp_path / "data" / "kddcup2004_protein"
    protein.mkdir(parents=True)
    for part in (1, 2, 3):
        u = make_users(4, n_rows=30, n_features=4, positive=0.25, random_state=part)
        np.savez(
            protein / f"bio_train_part{part}.npz",
            cols_int16=np.arange(3),
            cols_int32=np.array([3]),
            x100_int16=np.round(100 * u.X[:, :3]).astype(np.int16),
            x100_int32=np.round(100 * u.X[:, 3:]).astype(np.int32),
            y=u.y.astype(np.int8),
            block=10 * part + u.groups,
        )
    spam = tmp_path / "data" / "ecml_pkdd2006_spam"
    spam.mkdir()
    rng = np.random.default_rng(0)
    is_spam = np.tile([0, 1], 100)
    words = rng.poisson(0.5 + np.outer(is_spam, [2, 1, 0, 0, 0]))
    X = csr_matrix(words)
    np.savez(
        spam / "task_b.npz",
        data=X.data.astype(np.int16),
        indices=X.indices,
        indptr=X.indptr,
        shape=np.array(X.shape),
        is_spam=is_spam,
        user=np.repeat(np.arange(8), 25),
    )
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path / "data"))
    for name, value in {
        "ROUNDS": 3,
        "TREES": 5,
        "INNER_TREES": 2,
        "FOLDS": 2,
        "N_USERS": 8,
        "COSTS": (3.0,),
    }.items():
        monkeypatch.setattr(adaboost_group, name, value)
    return tmp_path


@pytest.mark.long
def test_whole_run_on_small_data(small_data):
    headings = []

    def track(steps, heading):
        headings.append((heading, len(steps)))
        return steps

    result = adaboost_group.run(small_data / "out", repeats=2, seed=1, track=track)
    n_families = len(adaboost_group.FAMILIES)
    assert headings == [("protein, spam and users", 3 * 2 * n_families)]
    protein = result.tables["Tables 1 and 2, Protein"]
    assert set(PRINTED.index) < set(protein.index)
    assert protein.loc["AdaBoost.Group (F1)", "paper F1"] == 0.6848
    assert protein.loc[OURS, ["accuracy", "F1", "average precision"]].between(0, 1).all()
    assert protein.loc[TUNED, f"F1 minus {TUNED}"] == 0
    assert (protein["low"] <= protein[f"F1 minus {TUNED}"]).all()
    assert "relative" not in " ".join(result.tables["Spam inboxes (the paper: TREC 2005)"].index)
    assert result.figures[0].exists()
    stored = json.loads(result.save(small_data / "out").read_text())
    assert stored["settings"]["seed"] == 1
    assert "AdaBoost.Group (F1)" in (small_data / "out" / "adaboost_group.md").read_text()
    again = adaboost_group.run(small_data / "out", repeats=2, seed=1, track=track)
    assert headings[-1][1] == 0  # all on disk
    pd.testing.assert_frame_equal(again.tables["Tables 1 and 2, Protein"], protein)

"""A fit that goes on from a checkpoint ends in the same model, bit for bit."""

import json

import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

import xgboost

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier
from groupwise.dask.checkpoint import Checkpoint, CheckpointState, read_checkpoint
from groupwise.gbdt import GroupBoostClassifier

THIN = HistTrees(n_jobs=1)


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "majority"},
        {"loss": "presence", "early_stopping": True, "n_iter_no_change": 20},
        {"loss": "majority_softmax", "trees": HistTrees(n_jobs=1, subsample=0.7, max_features=0.6)},
    ],
    ids=["plain", "early stopping", "random draws"],
)
def test_a_continued_fit_is_the_same_fit(client, coarse, cut, tmp_path, options):
    X, y, groups = coarse()

    def fitted(n_rounds, path=None):
        settings = GroupBoostClassifier(
            engine="xgboost", n_estimators=n_rounds, random_state=0, **{"trees": THIN, **options}
        )
        many = DaskGroupBoostClassifier(
            settings, client=client, checkpoint=path, checkpoint_every=5
        )
        return many.fit(cut(X, 4), cut(y, 4), groups=cut(groups, 4)).estimator_

    path = tmp_path / "fit.json"
    # random draws begin anew at every checkpoint
    through = fitted(24, tmp_path / "other.json" if "trees" in options else None)
    fitted(13, path)
    assert json.loads(path.read_text())["n_rounds"] == 10
    continued = fitted(24, path)
    assert continued.ensemble_.parts[0].text == through.ensemble_.parts[0].text
    assert continued.ensemble_.init_score.tolist() == through.ensemble_.init_score.tolist()
    assert continued.history_ == through.history_
    assert continued.n_iter_ == through.n_iter_


@pytest.mark.long
def test_a_checkpoint_of_another_fit_is_refused(client, coarse, cut, tmp_path):
    path = tmp_path / "fit.json"

    def fit(seed, **options):
        X, y, groups = coarse(seed=seed)
        settings = GroupBoostClassifier(
            engine="xgboost", n_estimators=4, **{"trees": THIN, **options}
        )
        many = DaskGroupBoostClassifier(
            settings, client=client, checkpoint=path, checkpoint_every=2
        )
        return many.fit(cut(X, 2), cut(y, 2), groups=cut(groups, 2))

    fit(0, random_state=0)
    with pytest.raises(ValueError, match=r"another fit: trees__max_depth was '3' and is '2'"):
        fit(0, random_state=0, trees=HistTrees(2))
    with pytest.raises(ValueError, match="checkpoint of another fit: data was"):
        fit(1, random_state=0)


def test_files_that_are_no_checkpoints(tmp_path):
    path = tmp_path / "fit.json"
    assert read_checkpoint(path, {}) is None
    trees = xgboost.train({}, xgboost.DMatrix([[0.0], [1.0]], [0, 1]), num_boost_round=5)
    booster = trees.save_raw("json").decode()
    state = CheckpointState(5, {"train": [0.5]}, booster)
    Checkpoint(str(path), 5, {"a": 1}).write(state)
    assert read_checkpoint(path, {"a": 1}) == state
    for text in ("{", "[]", "{}", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(ValueError, match="is no checkpoint of groupwise"):
            read_checkpoint(path, {})
    for state in (("5", {}, ""), (5, [], ""), (5, {"train": ["x"]}, booster), (5, {}, None)):
        Checkpoint(str(path), 5).write(CheckpointState(*state))
        with pytest.raises(ValueError, match="is no checkpoint of groupwise"):
            read_checkpoint(path, {})
    other = booster.replace("gbtree", "no such")
    for nonsense in ("", "{}", "x", '{"learner": {}}', booster[:200], other):
        Checkpoint(str(path), 5).write(CheckpointState(5, {}, nonsense))
        with pytest.raises(ValueError, match=r"fit\.json holds no booster that XGBoost can read"):
            read_checkpoint(path, {})
    Checkpoint(str(path), 5).write(CheckpointState(4, {}, booster))
    with pytest.raises(ValueError, match="says 4 rounds, its booster has 5"):
        read_checkpoint(path, {})
    path.write_text('{"format": 9}')
    with pytest.raises(ValueError, match="format 9"):
        read_checkpoint(path, {})


@pytest.mark.long
def test_an_error_of_one_worker_is_the_error_told(client, coarse, cut, tmp_path):
    X, y, groups = coarse()
    path = tmp_path / "no such folder" / "fit.json"  # only the first worker writes
    settings = GroupBoostClassifier(engine="xgboost", n_estimators=50, trees=HistTrees(n_jobs=1))
    many = DaskGroupBoostClassifier(settings, client=client, checkpoint=path, checkpoint_every=2)
    with pytest.raises(FileNotFoundError, match=r"fit\.json"):
        many.fit(cut(X, 2), cut(y, 2), groups=cut(groups, 2))


def test_checkpoints_need_a_positive_distance(client, coarse, cut):
    X, y, groups = coarse()
    many = DaskGroupBoostClassifier(client=client, checkpoint="fit.json", checkpoint_every=0)
    with pytest.raises(ValueError, match="checkpoint_every must be a whole number"):
        many.fit(cut(X, 2), cut(y, 2), groups=cut(groups, 2))

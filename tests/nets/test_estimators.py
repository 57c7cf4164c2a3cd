"""What networks take, refuse and answer."""

import builtins
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from groupwise import Groups, load_model, save_model
from groupwise.exceptions import GroupDataError
from groupwise.io import ModelFileError
from groupwise.losses import GroupMeanLoss, MajorityLoss
from groupwise.nets import GroupNetClassifier, GroupNetRegressor, read_folder
from groupwise.nets.network import Pooling

SMALL = {"encoder": (8,), "epochs": 4, "n_members": 2, "random_state": 0, "device": "cpu"}
PLAIN = SMALL | {"dropout": 0.0}


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, size=24)
    groups = np.repeat(np.arange(24), sizes)
    y_group = np.arange(24) % 2
    X = rng.normal(size=(len(groups), 4))
    X[:, 0] += 1.5 * y_group[groups]
    return X, y_group[groups], groups


def without_torch(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "torch" or name.startswith("torch."):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    for module in [name for name in sys.modules if name.startswith("groupwise.nets.")]:
        if "torch" in vars(sys.modules[module]):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.parametrize("pooling", [None, "mean_max", "attention", "set_transformer"])
def test_rows_and_groups_answer_for_any_number_of_classes(bags, pooling):
    X, _, groups = bags
    y = np.array(["a", "b", "c"])[groups % 3]
    model = GroupNetClassifier("majority_softmax", pooling=pooling, **SMALL)
    said = model.fit(X, y, groups=groups).predictions(X, groups)
    assert said.proba_row.shape == (len(X), 3) and said.proba_group.shape == (24, 3)
    np.testing.assert_allclose(said.proba_group.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_groups(X, groups), said.y_group)
    np.testing.assert_array_equal(model.predict(X, groups), said.y_row)
    np.testing.assert_allclose(model.predict_proba(X, groups), said.proba_row)
    assert model.score(X, y, groups) == np.mean(said.y_group == y[Groups(groups).first_rows])


def test_a_rows_score_is_what_it_adds_to_its_group(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", pooling="attention", **SMALL).fit(X, y, groups=groups)
    score = model.decision_function(X, groups)
    both = np.flatnonzero(groups == groups[np.argmax(np.bincount(groups)[groups] == 2)])
    if len(both) != 2:
        pytest.fail("the data hold no group of two rows")
    whole = model.decision_function(X[both], [0, 0])
    alone = model.decision_function(X[both], [0, 1])  # a row that is alone adds all there is
    np.testing.assert_allclose(whole, score[both])
    group = np.log(np.divide(*model.predict_groups_proba(X[both], [0, 0])[0, ::-1]))
    np.testing.assert_allclose(whole, group - alone[::-1], atol=1e-9)
    with pytest.raises(GroupDataError, match="in view of its group"):
        model.predict(X)


def test_attention_shares_sum_to_one(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", pooling="attention", **SMALL).fit(X, y, groups=groups)
    share = model.attention(X, groups)
    np.testing.assert_allclose(np.bincount(groups, share), 1.0)
    own = GroupNetClassifier("presence", pooling="attention", **SMALL | {"encoder": nn.Identity()})
    share = own.fit(X, y, groups=groups).attention(X, groups)
    np.testing.assert_allclose(np.bincount(groups, share), 1.0, rtol=1e-5)
    with pytest.raises(ValueError, match="only pooling='attention'"):
        GroupNetClassifier("presence", **SMALL).fit(X, y, groups=groups).attention(X, groups)


@pytest.mark.parametrize("pooling", [None, "mean"])
@pytest.mark.parametrize("loss", ["proportions", "proportions_squared"])
def test_shares_as_labels_of_rows_or_as_a_table(bags, loss, pooling):
    X, _, groups = bags
    y_row = (X[:, 0] > 0.5).astype(int)
    model = GroupNetClassifier(loss, pooling=pooling, **SMALL)
    first = model.fit(X, y_row, groups=groups).predict_groups_proba(X, groups)
    share = Groups(groups).spread(Groups(groups).mean(y_row))
    table = pd.DataFrame({0: 1 - share, 1: share})
    second = model.fit(X, table, groups=groups).predict_groups_proba(X, groups)
    np.testing.assert_allclose(first, second, atol=1e-6)
    assert 0.0 < model.score(X, table, groups) <= 1.0


def test_rows_of_weight_zero_are_not_there(bags):
    X, y, groups = bags
    model = GroupNetClassifier(**PLAIN)
    kept = groups < 16
    weighted = model.fit(X, y, groups=groups, sample_weight=1.0 * kept).decision_function(X)
    without = model.fit(X[kept], y[kept], groups=groups[kept]).decision_function(X)
    np.testing.assert_allclose(weighted, without, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", [None, "mean"])
def test_a_weight_counts_groups_several_times(bags, pooling):
    X, y, groups = bags
    model = GroupNetClassifier("presence", pooling=pooling, **PLAIN | {"encoder": ()})
    twice = groups < 4
    weighted = model.fit(X, y, groups=groups, sample_weight=1.0 + twice)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)  # the standardisation does not see weights
    again = np.concatenate([groups, 100 + groups[twice]])
    rows, labels = np.concatenate([scaled, scaled[twice]]), np.concatenate([y, y[twice]])
    weighted = model.fit(scaled, y, groups=groups, sample_weight=1.0 + twice).history_["train"]
    repeated = model.fit(rows, labels, groups=again).history_["train"]
    assert weighted[0] == pytest.approx(repeated[0], rel=0.05)


@pytest.mark.parametrize("pooling", [None, "attention", "set_transformer"])
def test_order_of_rows_and_names_of_groups_do_not_matter(bags, pooling):
    X, y, groups = bags
    model = GroupNetClassifier("presence", pooling=pooling, **PLAIN).fit(X, y, groups=groups)
    order = np.random.default_rng(1).permutation(len(X))
    names = np.random.default_rng(2).permutation(100)[groups]
    other = GroupNetClassifier("presence", pooling=pooling, **PLAIN)
    other.fit(X[order], y[order], groups=names[order])
    np.testing.assert_allclose(
        other.decision_function(X, names), model.decision_function(X, groups), rtol=1e-3, atol=1e-4
    )


def test_memory_mapped_rows_are_rows(bags, tmp_path):
    X, y, groups = bags
    np.save(tmp_path / "rows.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    settings = PLAIN | {"batch_groups": 7}
    from_file = GroupNetClassifier("presence", **settings).fit(mapped, y, groups=groups)
    in_memory = GroupNetClassifier("presence", **settings).fit(X, y, groups=groups)
    np.testing.assert_allclose(
        from_file.decision_function(mapped), in_memory.decision_function(X), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(
        from_file.decision_function(X), from_file.decision_function(mapped), rtol=1e-5, atol=1e-6
    )
    shuffled = np.random.default_rng(0).permutation(len(X))
    np.save(tmp_path / "rows.npy", X[shuffled].astype(np.float32))
    scattered = np.load(tmp_path / "rows.npy", mmap_mode="r")
    again = GroupNetClassifier("presence", **settings)
    again.fit(scattered, y[shuffled], groups=groups[shuffled])
    np.testing.assert_allclose(
        again.decision_function(X), from_file.decision_function(X), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_folders_of_embeddings_are_read_group_by_group(bags, tmp_path, kind):
    X, y, groups = bags
    for group in np.unique(groups):
        part = X[groups == group].astype(np.float32)
        if kind == "npy":
            np.save(tmp_path / f"{group:03}.npy", part)
        else:
            pd.DataFrame(part, columns=list("abcd")).to_parquet(tmp_path / f"{group:03}.parquet")
    rows, names = read_folder(tmp_path)
    assert rows.shape == X.shape and len(rows) == len(X) and "24 files" in repr(rows)
    np.testing.assert_allclose(rows[3:9], X[3:9].astype(np.float32))
    assert names.tolist() == [f"{group:03}" for group in groups]
    settings = PLAIN | {"batch_groups": 7}
    model = GroupNetClassifier("presence", pooling="mean", **settings)
    wanted = model.fit(X, y, groups=groups).predict_groups_proba(X, groups)
    found = model.fit(rows, y, groups=names).predict_groups_proba(rows, names)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_folders_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(GroupDataError, match="it holds none"):
        read_folder(tmp_path)
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    np.save(tmp_path / "b.npy", np.zeros((2, 4)))
    with pytest.raises(GroupDataError, match=r"b.npy holds rows of shape \(4,\)"):
        read_folder(tmp_path)
    np.save(tmp_path / "b.npy", np.zeros((0, 3)))
    with pytest.raises(GroupDataError, match=r"b.npy holds no rows"):
        read_folder(tmp_path)


def test_columns_of_parquet_files_go_by_name(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index=[7, 9])
    table.to_parquet(tmp_path / "0.parquet")
    table[["b", "a"]].to_parquet(tmp_path / "1.parquet")
    rows, _ = read_folder(tmp_path)
    assert rows.shape == (4, 2)  # without the index that pandas wrote
    np.testing.assert_array_equal(rows[:], [[1, 3], [2, 4], [1, 3], [2, 4]])
    table.rename(columns={"b": "c"}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(GroupDataError, match=r"1.parquet has other columns than .*\['b', 'c'\]"):
        read_folder(tmp_path)
    table.assign(b=["x", "y"]).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(GroupDataError, match=r"1.parquet must hold a table of numbers; column 'b'"):
        read_folder(tmp_path)


@pytest.mark.parametrize("encoder", [64, "64", None, nn.Linear])
def test_encoders_that_are_none_are_refused(bags, encoder):
    X, y, groups = bags
    model = GroupNetClassifier(**PLAIN | {"encoder": encoder})
    with pytest.raises(
        ValueError, match=r"encoder must be a tuple of sizes or a torch\.nn\.Module"
    ):
        model.fit(X, y, groups=groups)


def test_a_set_transformer_wants_vectors_for_its_heads(bags):
    X, y, groups = bags
    model = GroupNetClassifier(**PLAIN | {"encoder": nn.Linear(4, 6)}, pooling="set_transformer")
    with pytest.raises(ValueError, match="a multiple of 4 numbers, got 6"):
        model.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="a multiple of 4 numbers, got 6"):
        Pooling("set_transformer", 6)
    with pytest.raises(ValueError, match="pooling must be one of"):
        Pooling("median", 6)


def test_what_goes_wrong_while_reading_is_said(bags, tmp_path):
    X, y, groups = bags
    for group in np.unique(groups):
        np.save(tmp_path / f"{group:03}.npy", X[groups == group])
    rows, names = read_folder(tmp_path)

    def remove_a_file(progress):
        (tmp_path / "005.npy").unlink(missing_ok=True)

    with pytest.raises(FileNotFoundError):
        GroupNetClassifier(**SMALL).fit(rows, y, groups=names, callbacks=[remove_a_file])


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )

    def forward(self, images):
        return self.layers(images)


def test_images_go_through_an_encoder_of_ones_own(bags):
    _, y, groups = bags
    torch.manual_seed(0)
    images = np.random.default_rng(0).normal(size=(len(y), 1, 6, 6)).astype(np.float32)
    images += y[:, None, None, None]
    for pooling in (None, "mean_max", "set_transformer"):
        model = GroupNetClassifier(
            "presence",
            pooling=pooling,
            **SMALL | {"encoder": Convolution(), "epochs": 30, "learning_rate": 0.02},
        )
        model.fit(images, y, groups=groups)
        assert model.score(images, y, groups) > 0.8
        assert model.row_shape_ == (1, 6, 6) and model.n_features_in_ == 36
        assert model.predict(images, groups).shape == (len(y),)
        assert model.ensemble_.n_members == 2
    with pytest.raises(GroupDataError, match=r"fit saw rows of shape \(1, 6, 6\)"):
        model.predict(images[:, :, :5], groups)
    with pytest.raises(GroupDataError, match=r"rows of shape \(1, 6, 6\)"):
        model.predict(images[:, 0, 0], groups)
    with pytest.raises(ValueError, match="need a torch module as encoder"):
        GroupNetClassifier("presence", **SMALL).fit(images, y, groups=groups)
    with pytest.raises(ValueError, match=r"one vector of a row.*\(2, 3, 4, 4\)"):
        GroupNetClassifier(**SMALL | {"encoder": nn.Conv2d(1, 3, 3)}).fit(images, y, groups=groups)


def test_model_files_hold_arrays_and_answer_without_torch(bags, tmp_path, monkeypatch):
    X, y, groups = bags
    model = GroupNetClassifier("presence", pooling="attention", **SMALL).fit(X, y, groups=groups)
    wanted = model.predictions(X, groups)
    save_model(model, tmp_path / "net.skops")
    own = GroupNetClassifier(**SMALL | {"encoder": nn.Identity()}).fit(X, y, groups=groups)
    with pytest.raises(ModelFileError, match="such as a torch module"):
        save_model(own, tmp_path / "own.skops")
    without_torch(monkeypatch)
    found = load_model(tmp_path / "net.skops").predictions(X, groups)
    np.testing.assert_array_equal(found.proba_group, wanted.proba_group)
    np.testing.assert_array_equal(found.score_row, wanted.score_row)


def test_without_torch_fit_says_which_extra(bags, monkeypatch):
    X, y, groups = bags
    without_torch(monkeypatch)
    with pytest.raises(ImportError, match=r"groupwise\[nets\]"):
        GroupNetClassifier(**SMALL).fit(X, y, groups=groups)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_numbers_are_refused(bags, bad, tmp_path):
    X, y, groups = bags
    spoilt = X.copy()
    spoilt[5, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        GroupNetClassifier(**SMALL).fit(spoilt, y, groups=groups)
    np.save(tmp_path / "rows.npy", spoilt)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.raises(GroupDataError, match="row 5 holds a missing or infinite number"):
        GroupNetClassifier(**SMALL).fit(mapped, y, groups=groups)


def test_one_row_one_group_one_class_and_one_huge_group(bags):
    X, y, groups = bags
    one_class = GroupNetClassifier(**SMALL)
    with pytest.raises(ValueError, match="class"):
        one_class.fit(X, np.zeros(len(X)), groups=groups)
    with pytest.raises(ValueError, match="class"):
        one_class.fit(X[:1], y[:1], groups=groups[:1])
    one_group = GroupNetRegressor("total", **SMALL | {"epochs": 100, "learning_rate": 0.01})
    one_group.fit(X, np.full(len(X), 7.0), groups=0 * groups)
    assert one_group.predict_groups(X, 0 * groups) == pytest.approx(7.0, rel=0.2)
    huge = np.where(groups < 20, 0, groups)  # one group of most rows
    labels = np.where(huge == 0, 0, y)
    model = GroupNetClassifier("presence", pooling="mean_max", **SMALL | {"batch_groups": 2})
    assert np.isfinite(model.fit(X, labels, groups=huge).decision_function(X, huge)).all()
    with pytest.raises(ValueError, match="whole rows"):
        share = np.tile([0.3, 0.7], (len(X), 1))
        GroupNetClassifier("proportions", **SMALL).fit(X, share, groups=groups)


def test_empty_classes_and_raw_rows_of_weight_zero_are_refused(bags, tmp_path):
    X, y, groups = bags
    with pytest.raises(GroupDataError, match="only one class is left"):
        GroupNetClassifier(**SMALL).fit(X, y, groups=groups, sample_weight=1.0 * (y == 0))
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.raises(GroupDataError, match="leave rows out of X"):
        GroupNetClassifier(**SMALL).fit(mapped, y, groups=groups, sample_weight=1.0 * (groups > 1))
    with pytest.raises(GroupDataError, match="must hold numbers"):
        GroupNetClassifier(**SMALL).fit(np.full((3, 2, 2), "a"), y[:3], groups=groups[:3])
    with pytest.raises(GroupDataError, match="at least one"):
        GroupNetClassifier(**SMALL).fit(np.empty((0, 2, 2)), [], groups=[])


@pytest.mark.parametrize(("settings", "message"), [
    ({"pooling": "median"}, "pooling"),
    ({"n_members": 0}, "n_members"),
    ({"epochs": 0}, "epochs"),
    ({"batch_groups": 0}, "batch_groups"),
    ({"batch_groups": 1.5}, "batch_groups"),
    ({"dropout": 1.0}, "dropout"),
    ({"max_norm": 0.0}, "max_norm"),
    ({"encoder": (0,)}, "encoder"),
    ({"encoder": (6,), "pooling": "set_transformer"}, "multiple of 4"),
])  # fmt: skip
def test_settings_without_a_meaning_are_refused(bags, settings, message):
    X, y, groups = bags
    with pytest.raises(ValueError, match=message):
        GroupNetClassifier("majority", **(SMALL | settings)).fit(X, y, groups=groups)


def test_losses_are_objects_or_names(bags):
    X, y, groups = bags
    model = GroupNetClassifier(MajorityLoss(gamma=2.0), **SMALL).fit(X, y, groups=groups)
    assert model.loss_ == MajorityLoss(gamma=2.0) and model.get_params()["loss__gamma"] == 2.0
    robust = GroupNetRegressor(loss=GroupMeanLoss(delta=0.5), **SMALL | {"pooling": "max"})
    assert robust.fit(X, 1.0 * y, groups=groups).loss_.delta == 0.5
    with pytest.raises(ValueError, match="squared_error"):
        GroupNetRegressor(loss="huber", **SMALL).fit(X, y, groups=groups)


def test_progress_is_logged(bags, caplog):
    X, y, groups = bags
    with caplog.at_level("INFO"):
        GroupNetClassifier(**SMALL | {"verbose": 2}).fit(X, y, groups=groups)
    assert [record.message[:12] for record in caplog.records] == ["epoch 2 of 4", "epoch 4 of 4"]

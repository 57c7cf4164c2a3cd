"""Training: against plain torch, members at once, folds at once, continued, stopped."""

import threading

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from torch import nn

from groupwise import Groups
from groupwise.nets import GroupNetClassifier, GroupNetRegressor, fit_folds, read_folder
from groupwise.nets import batches as batches_module
from groupwise.nets.batches import GroupRows, ResidentRows, StreamedRows
from groupwise.nets.losses import SessionSoftmax
from groupwise.nets.mean_outputs import _MeanOutputs, initial_layers
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import Packed
from groupwise.nets.passes import standardise
from groupwise.nets.rows import fingerprint
from groupwise.nets.steps import one_cycle, train_step
from groupwise.nets.torch_answers import scores_on
from groupwise.proportions import MLPAOCClassifier

PLAIN = {"device": "cpu", "random_state": 0, "dropout": 0.0, "n_members": 1}


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, size=30)
    groups = np.repeat(np.arange(30), sizes)
    y_group = np.arange(30) % 2
    X = rng.normal(size=(len(groups), 4))
    X[:, 0] += 1.5 * y_group[groups]
    return X, y_group[groups], groups


def weights_of(model):
    return model.ensemble_.weights


def assert_equal_weights(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_groups_of_one_are_a_plain_network():
    """The same start, AdamW and rate in a loop of torch's own parts give the same network."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    epochs = 12
    model = GroupNetClassifier(encoder=(6, 5), epochs=epochs, **PLAIN)
    model.fit(X, y, groups=np.arange(40))
    seed = np.random.RandomState(0).randint(2**31 - 1, size=1).tolist()
    start = GroupNet(3, encoder=(6, 5), seed=seed).arrays()
    net = nn.Sequential(
        nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1)
    )  # fmt: skip
    with torch.no_grad():
        for layer, name in zip(net[::2], ("encoder_0", "encoder_1", "head"), strict=True):
            layer.weight.copy_(torch.tensor(start[f"{name}_weight"][0].T))
            layer.bias.copy_(torch.tensor(start[f"{name}_bias"][0, 0]))
        net[-1].bias.fill_(np.log(y.mean() / (1 - y.mean())))
    decayed = [p for p in net.parameters() if p.ndim == 2]
    plain = [p for p in net.parameters() if p.ndim == 1]
    optimiser = torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}],
                                  weight_decay=1e-2)  # fmt: skip
    rows = torch.tensor(standardise(X, X.mean(axis=0), X.std(axis=0))).float()
    for epoch in range(epochs):
        for group in optimiser.param_groups:
            group["lr"] = one_cycle(epoch, epochs, 2e-3)
        optimiser.zero_grad()
        nn.BCEWithLogitsLoss()(net(rows)[:, 0], torch.tensor(y).float()).backward()
        optimiser.step()
    wanted = net(rows)[:, 0].detach().numpy()
    np.testing.assert_allclose(model.decision_function(X), wanted, rtol=1e-4, atol=1e-5)


def test_without_layers_it_is_logistic_regression():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    settings = {**PLAIN, "alpha": 0.0, "epochs": 100, "learning_rate": 0.3}
    model = GroupNetClassifier(encoder=(), **settings).fit(X, y, groups=np.arange(80))
    seen = standardise(X, X.mean(axis=0), X.std(axis=0))
    wanted = LogisticRegression(C=1e8).fit(seen, y).decision_function(seen)
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-2)


@pytest.mark.parametrize("pooling", [None, "mean_max", "set_transformer"])
def test_members_at_once_are_the_members_alone(pooling):
    rng = np.random.default_rng(3)
    packed, rows = Packed([2, 3, 1]), torch.tensor(rng.normal(size=(6, 3))).float()
    y = torch.tensor([0, 1, 1])
    settings = {"encoder": (8,), "pooling": pooling}
    together = GroupNet(3, n_members=3, seed=[5, 6, 7], **settings)
    alone = [GroupNet(3, seed=[seed], **settings) for seed in (5, 6, 7)]
    loss = SessionSoftmax()
    for net in (together, *alone):
        optimiser = torch.optim.AdamW(net.parameters(), 1e-2)
        for _ in range(5):
            train_step(net, loss, optimiser, rows, packed, y, max_norm=0.5)
    # scores: biases of keys change nothing, and Adam makes steps of their rounding errors
    wanted = torch.cat([net(rows, packed) for net in alone]).detach()
    np.testing.assert_allclose(together(rows, packed).detach(), wanted, rtol=1e-3, atol=1e-4)


def test_folds_at_once_are_the_folds_alone(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", encoder=(8,), epochs=15, **PLAIN)
    folds = fit_folds(model, X, y, groups=groups, cv=3)
    tested = np.concatenate([fold.test for fold in folds])
    assert sorted(tested) == list(range(len(X)))
    first = folds[0]
    alone = model.fit(X[first.train], y[first.train], groups=groups[first.train])
    assert first.model.n_groups_ == alone.n_groups_
    np.testing.assert_allclose(
        first.model.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-4
    )
    parts = fit_folds(model, X, y, groups=groups, cv=3, networks_at_once=1)
    np.testing.assert_allclose(
        parts[0].model.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-4
    )


def test_rows_without_labels_tell_where_features_lie(bags):
    """A feature that is zero on all labelled rows has a spread on the others."""
    X, y, groups = bags
    X = np.column_stack([X, np.zeros(len(X))])
    new = np.random.default_rng(1).normal(loc=3.0, size=(40, 5))
    model = GroupNetClassifier("presence", encoder=(8,), epochs=3, **PLAIN)
    fitted = clone(model).fit(X, y, groups=groups, X_unlabeled=new)
    together = np.concatenate([X, new])
    np.testing.assert_allclose(fitted.ensemble_.centre, together.mean(axis=0))
    np.testing.assert_allclose(fitted.ensemble_.scale, together.std(axis=0))
    alone = clone(model).fit(X, y, groups=groups)
    assert alone.ensemble_.scale[4] == 1.0
    frames = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(new).add_prefix("x")
    of_tables = clone(model).fit(frames[0], y, groups=groups, X_unlabeled=frames[1])
    asked = of_tables.decision_function(frames[1]), fitted.decision_function(new)
    np.testing.assert_allclose(*asked, rtol=1e-5)


def test_folds_whose_test_rows_are_known_are_those_given_rows_without_labels(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", encoder=(8,), epochs=15, **PLAIN)
    first = fit_folds(model, X, y, groups=groups, cv=3, test_rows_known=True)[0]
    train, test = first.train, first.test
    alone = model.fit(X[train], y[train], groups=groups[train], X_unlabeled=X[test])
    np.testing.assert_allclose(first.model.ensemble_.scale, X.std(axis=0))
    np.testing.assert_allclose(
        first.model.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-4
    )


def test_rows_without_labels_are_checked(bags):
    X, y, groups = bags
    model = GroupNetClassifier(encoder=(8,), epochs=2, **PLAIN)
    with pytest.raises(ValueError, match="3 features"):
        model.fit(X, y, groups=groups, X_unlabeled=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y, groups=groups, X_unlabeled=np.full((2, 4), np.nan))
    own = GroupNetClassifier(encoder=nn.Linear(4, 2), epochs=2, **PLAIN)
    with pytest.raises(ValueError, match="X_unlabeled"):
        own.fit(X, y, groups=groups, X_unlabeled=X)
    numbers = GroupNetRegressor(encoder=(8,), epochs=2, **PLAIN)
    numbers.fit(X, groups.astype(float), groups=groups, X_unlabeled=X + 1.0)
    np.testing.assert_allclose(numbers.ensemble_.centre, X.mean(axis=0) + 0.5)


def test_folds_are_not_for_early_stopping_or_modules(bags):
    X, y, groups = bags
    with pytest.raises(ValueError, match="early_stopping"):
        fit_folds(GroupNetClassifier(early_stopping=True), X, y, groups=groups)
    with pytest.raises(ValueError, match="not with a module"):
        fit_folds(GroupNetClassifier(encoder=nn.Linear(4, 2), **PLAIN), X, y, groups=groups)


@pytest.mark.parametrize("settings", [
    {"pooling": "attention", "batch_groups": 7},
    {"early_stopping": True, "n_iter_no_change": 100},
    {"encoder": nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), "batch_groups": 10},
], ids=["batches", "held out", "module"])  # fmt: skip
def test_a_continued_training_gives_the_same_model_to_the_last_bit(bags, settings, tmp_path):
    X, y, groups = bags
    common = {"encoder": (8,), "epochs": 20, "n_members": 2, "random_state": 0, "device": "cpu"}
    whole = GroupNetClassifier(**(common | settings)).fit(X, y, groups=groups)
    path = tmp_path / "state.npz"
    model = GroupNetClassifier(**(common | settings), checkpoint=str(path))
    seen = []
    killed = [lambda progress: seen.append(progress) or progress.epoch == 10]
    stopped = model.fit(X, y, groups=groups, callbacks=killed)
    assert len(seen) == 10 and len(stopped.history_["train"]) == 10
    went_on = model.fit(X, y, groups=groups)
    assert went_on.history_ == whole.history_
    np.testing.assert_array_equal(went_on.decision_function(X, groups),
                                  whole.decision_function(X, groups))  # fmt: skip
    with pytest.raises(ValueError, match="checkpoint of another training"):
        model.set_params(epochs=30).fit(X, y, groups=groups)


def test_a_checkpoint_knows_its_rows_and_weights(bags, tmp_path):
    X, y, groups = bags
    small = PLAIN | {"encoder": (4,), "epochs": 3}
    model = GroupNetClassifier(checkpoint=str(tmp_path / "state.npz"), **small)
    model.fit(X, y, groups=groups)
    model.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="data, settings or seed differ"):
        model.fit(X + X[:, ::-1] ** 2, y, groups=groups)
    with pytest.raises(ValueError, match="data, settings or seed differ"):
        model.fit(X, y, groups=groups, sample_weight=1.0 + (X[:, 0] > 0))


@pytest.mark.parametrize("encoder", [(4,), nn.Linear(4, 3)], ids=["sizes", "module"])
def test_a_checkpoint_knows_every_row_and_its_group(bags, encoder, tmp_path):
    """Rows that change places leave means and deviations as they are."""
    X, y, groups = bags
    model = GroupNetClassifier(
        encoder=encoder, epochs=2, checkpoint=str(tmp_path / "state.npz"), **PLAIN
    )
    model.fit(X, y, groups=groups)
    same = np.flatnonzero(y == y[-1])
    first, last = same[same > 16][0], same[-1]
    assert groups[first] != groups[last]
    swapped, moved = X.copy(), groups.copy()
    swapped[[first, last]] = X[[last, first]]
    moved[[first, last]] = groups[[last, first]]
    for other in ((swapped, groups), (X, moved)):
        with pytest.raises(ValueError, match=r"checkpoint of another training .* earlier version"):
            model.fit(other[0], y, groups=other[1])


def test_rows_are_hashed_in_parts(tmp_path, monkeypatch):
    """Wherever they lie; one bit of the last row counts."""
    X = np.random.default_rng(0).normal(size=(7, 2, 3))
    wanted = fingerprint(X)
    monkeypatch.setattr("groupwise.nets.rows._HASHED", 100)
    assert fingerprint(X) == fingerprint(np.asfortranarray(X)) == wanted
    np.save(tmp_path / "a.npy", X[:3])
    np.save(tmp_path / "b.npy", X[3:])
    assert fingerprint(read_folder(tmp_path)[0]) == wanted
    X[-1, -1, -1] = np.nextafter(X[-1, -1, -1], 9.0)
    assert fingerprint(X) != wanted


def test_a_training_that_stopped_by_itself_is_not_gone_on_with(bags, tmp_path):
    X, y, groups = bags
    model = GroupNetClassifier(
        encoder=(8,), epochs=60, early_stopping=True, n_iter_no_change=1, learning_rate=0.1,
        random_state=0, device="cpu", n_members=2, checkpoint=str(tmp_path / "state.npz"),
    )  # fmt: skip
    once = model.fit(X, y, groups=groups).history_
    assert len(once["train"]) < 60
    assert model.fit(X, y, groups=groups).history_ == once


@pytest.mark.parametrize(("answer", "n_epochs"), [(True, 2), (np.True_, 2), (1, 5), (None, 5)])
def test_a_callback_stops_by_true_of_python_or_numpy(bags, answer, n_epochs):
    X, y, groups = bags
    model = GroupNetClassifier(epochs=5, **PLAIN)
    model.fit(X, y, groups=groups, callbacks=[lambda progress: progress.epoch == 2 and answer])
    assert model.n_iter_ == n_epochs


def test_files_that_are_no_checkpoint_are_refused(bags, tmp_path):
    X, y, groups = bags
    path = tmp_path / "state.npz"
    model = GroupNetClassifier(checkpoint=str(path), epochs=2, **PLAIN)
    for write in (
        lambda: path.write_bytes(b"nothing of the kind"),
        lambda: path.write_bytes(b""),
        lambda: np.savez(path, other=np.ones(2)),
        lambda: path.write_bytes(path.read_bytes()[:50]),
    ):
        write()
        with pytest.raises(ValueError, match=r"state.npz is no checkpoint of a training; remove"):
            model.fit(X, y, groups=groups)
    model.set_params(checkpoint=str(tmp_path / "missing" / "state.npz"))
    seen = []
    with pytest.raises(FileNotFoundError, match="has no folder to lie in"):
        model.fit(X, y, groups=groups, callbacks=[seen.append])
    assert not seen


def test_folds_of_several_trainings_have_no_checkpoint(bags, tmp_path):
    X, y, groups = bags
    model = GroupNetClassifier(checkpoint=str(tmp_path / "state.npz"), epochs=2, **PLAIN)
    with pytest.raises(ValueError, match="3 folds take several, 2 at a time"):
        fit_folds(model, X, y, groups=groups, cv=3, networks_at_once=2)
    assert len(fit_folds(model, X, y, groups=groups, cv=3)) == 3


def test_a_training_that_diverges_says_so(bags):
    X, _, groups = bags
    y = Groups(groups).spread(Groups(groups).mean(X[:, 0]))
    model = GroupNetRegressor(learning_rate=1e30, epochs=5, **PLAIN)
    with pytest.raises(ValueError, match=r"diverged in epoch 2, its loss is nan: lower learning_"):
        model.fit(X, y, groups=groups)


@pytest.mark.parametrize("device", ["nowhere", "meta", "cuda:99"])
def test_devices_that_are_not_there_are_refused(bags, device):
    X, y, groups = bags
    for model in (GroupNetClassifier(device=device), MLPAOCClassifier(device=device)):
        with pytest.raises(ValueError, match=f"device '{device}' cannot be used here; torch says"):
            model.fit(X, y, groups=groups)


def test_an_encoder_stays_as_it_was_given(bags):
    X, y, groups = bags
    encoder = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    GroupNetClassifier(encoder=encoder, epochs=2, **PLAIN).fit(X, y, groups=groups)
    assert all(part.training for part in encoder.modules())
    assert all(torch.equal(before[name], value) for name, value in encoder.state_dict().items())


def test_the_same_seed_gives_the_same_model_and_leaves_the_generators_alone(bags):
    X, y, groups = bags
    model = GroupNetClassifier(encoder=(8,), epochs=5, n_members=2, batch_groups=9, device="cpu",
                               random_state=3)  # fmt: skip
    state = torch.random.get_rng_state()
    one = weights_of(model.fit(X, y, groups=groups))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert_equal_weights(one, weights_of(model.fit(X, y, groups=groups)))
    other = weights_of(model.set_params(random_state=4).fit(X, y, groups=groups))
    assert not np.array_equal(one["head_weight"], other["head_weight"])


def test_early_stopping_keeps_each_members_best_epoch(bags):
    X, y, groups = bags
    model = GroupNetClassifier(
        encoder=(32,), epochs=60, early_stopping=True, n_iter_no_change=5, learning_rate=0.05,
        random_state=0, device="cpu", n_members=2,
    ).fit(X, y, groups=groups)  # fmt: skip
    valid = np.array(model.history_["valid"])
    assert len(valid) < 60 and model.n_iter_ <= len(valid) - 5
    assert len(model.history_["train"]) == len(valid)


def test_gradients_are_clipped_for_each_member():
    rows, packed, y = torch.ones(2, 3) * 100.0, Packed([1, 1]), torch.tensor([0, 1])
    for encoder in ((4,), nn.Linear(3, 4)):
        n_in = 3 if isinstance(encoder, tuple) else 4
        net = GroupNet(n_in, encoder=encoder, n_members=2)
        optimiser = torch.optim.SGD(net.parameters(), 1.0)
        before = [p.detach().clone() for p in net.parameters()]
        train_step(net, SessionSoftmax(), optimiser, rows, packed, y, max_norm=0.1)
        moved = [(p.detach() - b) for p, b in zip(net.parameters(), before, strict=True)]
        length = torch.sqrt(sum(m.square().sum() for m in moved))
        assert length <= 0.1 * np.sqrt(2) * 1.001


def test_a_frozen_encoder_does_not_hinder_clipping(bags):
    X, y, groups = bags
    frozen = nn.Linear(4, 3).requires_grad_(False)
    model = GroupNetClassifier(encoder=frozen, epochs=2, max_norm=0.1, **PLAIN)
    model.fit(X, y, groups=groups)
    (found,) = model.ensemble_.network.encoders
    assert torch.equal(found.weight, frozen.weight)


def test_the_rate_rises_and_falls():
    rates = [one_cycle(step, 100, 2.0) for step in range(100)]
    assert max(rates) == pytest.approx(2.0, rel=1e-2) and rates[-1] == pytest.approx(0.0, abs=1e-12)
    assert rates[0] == pytest.approx(0.08)
    assert one_cycle(0, 1, 2.0) == pytest.approx(2.0)


@pytest.mark.long
def test_numbers_of_rows_come_from_totals():
    rng = np.random.default_rng(6)
    X, groups = rng.normal(size=(120, 2)), np.repeat(np.arange(40), 3)
    y_row = 3.0 * standardise(X, X.mean(axis=0), X.std(axis=0))[:, 0] + 10.0
    encoded = Groups(groups)
    total = encoded.spread(encoded.sum(y_row))
    settings = {**PLAIN, "alpha": 0.0, "epochs": 100, "learning_rate": 0.2}
    for pooling in (None, "mean"):
        model = GroupNetRegressor("total", encoder=(), pooling=pooling, **settings)
        model.fit(X, total, groups=groups)
        np.testing.assert_allclose(model.predict(X, groups), y_row, atol=0.3)
        np.testing.assert_allclose(
            model.predict_groups(X, groups), encoded.sum(y_row), atol=0.6
        )  # fmt: skip
        assert model.score(X, total, groups) > 0.999


def test_batches_are_the_same_from_wherever_rows_come(bags, monkeypatch):
    X, _, ids = bags
    groups = Groups(ids)
    parts = [np.array([3, 0, 7]), np.array([20, 5, 1, 2])]
    shuffled = np.random.default_rng(0).permutation(len(X))
    scattered = GroupRows(X[shuffled], Groups(ids[shuffled]))
    by_size = GroupRows(X, groups)
    wanted = {}
    for batch in ResidentRows(by_size, "cpu", torch.float32, None, None).batches(parts):
        sizes = batch.packed.counts.tolist()
        wanted |= zip(batch.groups.tolist(), batch.rows.split(sizes), strict=True)
    monkeypatch.setattr(batches_module, "_MUCH", 1)  # so that threads read pieces
    monkeypatch.setattr(batches_module, "_PIECE", 64)
    some = 40 * X.shape[1] * X.itemsize
    for source in (
        StreamedRows(by_size, "cpu", torch.float32, None, None),
        StreamedRows(by_size, "cpu", torch.float32, None, None, keep=some),
        StreamedRows(by_size, "cpu", torch.float32, None, None, keep=10**9),
    ):
        seen = 0
        for batch in source.batches(parts):
            sizes = batch.packed.counts.tolist()
            for group, rows in zip(batch.groups.tolist(), batch.rows.split(sizes), strict=True):
                assert torch.equal(rows, wanted[group])
                seen += 1
        assert seen == 7
    for batch in StreamedRows(scattered, "cpu", torch.float32, None, None).batches(parts):
        sizes = batch.packed.counts.tolist()
        for group, rows in zip(batch.groups.tolist(), batch.rows.split(sizes), strict=True):
            assert torch.allclose(rows.sum(0), wanted[group].sum(0), atol=1e-5)


def test_a_reader_that_is_left_early_ends(bags):
    X, _, ids = bags
    source = StreamedRows(GroupRows(X, Groups(ids)), "cpu", torch.float32, None, None)
    before = threading.active_count()
    for _ in source.batches([np.array([group]) for group in range(20)]):
        break
    assert threading.active_count() == before


def test_answers_by_torch_are_those_of_numpy(bags):
    X, y, ids = bags
    for pooling in (None, "attention"):
        model = GroupNetClassifier("presence", pooling=pooling, encoder=(8,), epochs=5, **PLAIN)
        model.fit(X, y, groups=ids)
        numpy_said = model.ensemble_.scores(X, Groups(ids))
        torch_said = scores_on(model.ensemble_, "cpu", X, Groups(ids))
        for one, other in zip(numpy_said, torch_said, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_folds_without_layers_see_rows_in_their_own_units(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", pooling="attention", encoder=(), epochs=3,
                               **PLAIN | {"n_members": 2})  # fmt: skip
    folds = fit_folds(model, X, y, groups=groups, cv=3)
    assert all(fold.model.ensemble_.n_members == 2 for fold in folds)


def test_units_with_dropout_have_the_right_derivatives():
    """With numpy's noise on a CPU: what is kept has the factor, and so has its gradient."""
    net = GroupNet(4, encoder=(50, 40), n_members=3, dropout=0.25)
    net.noise = np.random.default_rng(0)
    for values in (torch.randn(3, 60, 50), torch.randn(60, 3, 50).transpose(0, 1)):
        values.requires_grad_()
        out = net._activate(values)
        out.sum().backward()
        kept = out > 0
        torch.testing.assert_close(out, torch.where(kept, values / 0.75, 0.0))
        torch.testing.assert_close(values.grad, kept / 0.75)
        assert abs(kept.sum() / (values > 0).sum() - 0.75) < 0.02


def test_a_maximum_is_not_raised_by_dropout():
    """Units are dropped after the largest is taken: it is kept as it is, or not at all."""
    net = GroupNet(4, encoder=(30,), pooling="max", dropout=0.5)
    net.weights["head_weight"].data = torch.eye(30)[None]
    net.weights["head_bias"].data = torch.zeros(1, 1, 30)
    net.noise = np.random.default_rng(0)
    rows, packed = torch.randn(500, 4), Packed([500])
    noisy = net.train()(rows, packed)
    plain = net.eval()(rows, packed)
    torch.testing.assert_close(noisy, torch.where(noisy > 0, 2 * plain, 0.0))


def test_rare_features_are_left_out_of_steps_and_not_of_answers():
    rare = np.array([False, True, True])
    net = GroupNet(3, encoder=(5,), n_members=400, dropout=0.5, rare=rare)
    net.noise = np.random.default_rng(0)
    factor = net.train()._step_weights()["encoder_0_weight"] / net.weights["encoder_0_weight"]
    assert (factor[:, 0] == 1).all()
    seen = factor[:, 1:, 0]  # of a feature either all weights or none
    assert (
        set(seen.unique().tolist()) == {0.0, 4.0} and abs((seen == 0).float().mean() - 0.75) < 0.05
    )
    torch.testing.assert_close(factor, factor[..., :1].expand_as(factor))
    assert net.eval()._step_weights()["encoder_0_weight"] is net.weights["encoder_0_weight"]


def test_features_that_nine_of_ten_rows_lack_are_rare(bags, monkeypatch):
    X, y, groups = bags
    X = X.copy()
    X[3:, 2] = 0.0
    made = []

    def watched(*args, rare, **settings):
        made.append(rare)
        return GroupNet(*args, rare=rare, **settings)

    monkeypatch.setattr("groupwise.nets.fitting.GroupNet", watched)
    model = GroupNetClassifier("presence", encoder=(4,), epochs=2, n_members=2, device="cpu")
    model.fit(X, y, groups=groups)
    assert made[0].tolist() == [[False, False, True, False]] * 2
    fit_folds(model, X, y, groups=groups, cv=3)
    assert made[1].shape == (6, 4) and made[1][:, 2].all()
    model.fit(bags[0], y, groups=groups)
    assert made[2] is None


def test_filled_batches_of_mean_outputs_are_means_of_their_groups():
    rng = np.random.RandomState(0)
    codes = rng.permutation(np.repeat(np.arange(7), [3, 1, 4, 2, 5, 1, 2]))
    X, counts = rng.normal(size=(len(codes), 3)), rng.randint(3, size=(7, 2)).astype(float)
    layers = initial_layers([3, 2], rng)
    net = _MeanOutputs(X, Groups(codes), counts, layers, "cross_entropy", 0.1, 0.0, "cpu")
    part = torch.tensor([[2, 5, 7], [0, 6, 1]])  # there is no group 7
    rows, member, counts_part, sizes = net.batch(part, 9)
    wanted = np.stack([X[codes == g].mean(axis=0) for g in range(7)] + [np.zeros(3)])
    np.testing.assert_allclose((member @ rows)[..., :3], wanted[part], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(counts_part, np.vstack([counts, [0, 0]])[part])
    assert sizes[..., 0].tolist() == [[4, 1, 1], [3, 2, 1]]


def test_a_share_of_the_groups_per_step_is_that_number_of_them(bags):
    X, y, groups = bags
    n_groups = len(np.unique(groups))
    by_share, by_number = (
        GroupNetClassifier("presence", encoder=(8,), epochs=3, batch_groups=at_once, **PLAIN)
        .fit(X, y, groups=groups)
        .decision_function(X, groups)
        for at_once in (0.25, round(0.25 * n_groups))
    )
    np.testing.assert_array_equal(by_share, by_number)

"""The training program: it lowers the loss, repeats itself, and made the weights of the package."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from groupwise.incontext.network import load_network

torch = pytest.importorskip("torch", reason="the training program is in torch")

columns = pytest.importorskip("training.incontext.columns")
measure = pytest.importorskip("training.incontext.measure")
network = pytest.importorskip("training.incontext.network")
prior = pytest.importorskip("training.incontext.prior")
train = pytest.importorskip("training.incontext.train")

SHAPE = prior.Shape(64, 16, 8)


def small_trainer(seed=0):
    return train.Trainer(
        seed=seed,
        device="cpu",
        shapes=(SHAPE,),
        sizes={"width": 16, "n_blocks": 1, "n_heads": 2, "n_hidden": 32},
        learning_rate=3e-3,
        compiled=False,
        warm_steps=5,
    )


def loss_of(model, seed=99):
    tables = prior.make_tables(seed, 0, SHAPE, 24, "cpu")
    with torch.no_grad():
        row, group = model(columns.read_tables(tables, prior.Draw(seed, 1, "cpu")))
    of_rows, of_groups = measure.losses(row, group, tables)
    return float(of_rows + measure.GROUP_WEIGHT * of_groups)


@pytest.mark.long
def test_fifty_steps_lower_the_loss():
    trainer = small_trainer()
    before = loss_of(trainer.network)
    for step in range(50):
        trainer.train_step(trainer.rate(step))
    assert loss_of(trainer.network) < before - 0.2


@pytest.mark.long
def test_the_same_seed_makes_the_same_network():
    found = []
    for _ in range(2):
        trainer = small_trainer(seed=3)
        for step in range(3):
            trainer.train_step(trainer.rate(step))
        found.append(loss_of(trainer.network))
    assert found[0] == found[1]


def test_a_piece_goes_on_where_the_last_one_ended(tmp_path):
    trainer = small_trainer()
    for step in range(3):
        trainer.train_step(trainer.rate(step))
    meta = {
        "seed": 0, "steps": 3, "tables": 24, "source": "here", "n_parameters": 1, "pieces": [],
        "held_out": {},
    }  # fmt: skip
    trainer.save(tmp_path, meta)
    other = small_trainer()
    other.resume(tmp_path)
    assert (other.step, other.chunk) == (trainer.step, trainer.chunk)
    assert loss_of(other.network) == loss_of(trainer.network)


def test_a_piece_goes_on_from_the_weights_alone(tmp_path):
    trainer = small_trainer()
    for step in range(3):
        trainer.train_step(trainer.rate(step))
    meta = {
        "seed": 0, "steps": 3, "tables": 24, "source": "here", "n_parameters": 1,
        "pieces": [{"commit": "here", "steps": 3, "minutes": 0.0, "device": "cpu"}], "held_out": {},
    }  # fmt: skip
    trainer.save(tmp_path, meta)
    for part in tmp_path.glob("state-*.npz"):
        part.unlink()
    other = small_trainer()
    other.resume(tmp_path)
    assert other.step == trainer.step and other.chunk >= trainer.chunk
    assert other.pieces == meta["pieces"]
    assert abs(loss_of(other.network) - loss_of(trainer.average)) < 1e-3  # half precision
    other.progress = 0.5
    assert other.rate(0) < other.rate(10**6)  # warms up: there are no moments
    other.train_step(other.rate(0))


def test_some_tables_ask_for_rows_one_by_one():
    tables = prior.make_tables(0, 0, SHAPE, 40, "cpu")
    single = tables.group >= SHAPE.max_groups
    assert 0.1 < single.any(1).float().mean() < 0.5
    assert single.sum(1).max() <= prior.n_singles(SHAPE.n_rows)
    assert not tables.context.gather(1, tables.group)[single].any()
    assert all(
        len(g.unique()) == len(g) for g in (t[s] for t, s in zip(tables.group, single, strict=True))
    )
    assert (tables.label.sum(2)[tables.real] - 1).abs().max() < 1e-6


#: Loss of rows and groups on the tables below, as the weights of the package have it.
STORED = {"digest": "dfeb4957a96c0eac", "rows": 0.5722, "groups": 0.8185}


def test_the_shipped_weights_have_the_stored_loss():
    stored = load_network()
    assert stored.digest == STORED["digest"]
    model = network.InContextNetwork(**stored.meta["sizes"])
    model.load_state_dict({k: torch.tensor(v.T) for k, v in stored.weights.items()})
    tables = prior.make_tables(2026, 0, prior.Shape(128, 32, 16), 16, "cpu")
    with torch.no_grad():
        row, group = model(columns.read_tables(tables, prior.Draw(2027, 0, "cpu")))
    of_rows, of_groups = measure.losses(row, group, tables)
    np.testing.assert_allclose(float(of_rows), STORED["rows"], atol=2e-3)
    np.testing.assert_allclose(float(of_groups), STORED["groups"], atol=2e-3)


def test_the_weights_were_made_by_this_prior_and_network():
    """Whoever changes prior, columns or network trains again; see the card."""
    folder = Path(prior.__file__).parent
    text = "".join((folder / name).read_text() for name in ("prior.py", "columns.py", "network.py"))
    meta = load_network().meta
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == meta["source"]
    assert [piece["commit"] for piece in meta["pieces"]]
    json.dumps(meta)

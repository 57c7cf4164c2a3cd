"""The package computes in numpy what the training program computes in torch."""

import numpy as np
import pytest

from groupwise.incontext.columns import read_context
from groupwise.incontext.network import KINDS, load_network
from groupwise.incontext.projections import Projection

torch = pytest.importorskip("torch", reason="the training program is in torch")

columns = pytest.importorskip("training.incontext.columns")
network = pytest.importorskip("training.incontext.network")
prior = pytest.importorskip("training.incontext.prior")


@pytest.fixture(scope="module")
def in_torch(made_up):
    """Columns and logits of the training program, with what it drew per table."""
    tables, _ = made_up
    batch = columns.read_tables(tables, prior.Draw(11, 0, "cpu"))
    draw = prior.Draw(11, 0, "cpu")
    n = len(tables)
    ranked = draw.flags(n, 1, 1, p=0.5).flatten().numpy()
    disorder = (draw.uniform(n, 1) * draw.flags(n, 1, p=0.7)).numpy()
    noise = (2 * disorder * draw.normal(n, prior.MAX_FEATURES).numpy()).astype(float)
    stored = load_network()
    model = network.InContextNetwork(**stored.meta["sizes"])
    model.load_state_dict({k: torch.tensor(v.T) for k, v in stored.weights.items()})
    with torch.no_grad():
        row, group = model(batch)
    return batch.columns.numpy(), row.numpy(), group.numpy(), ranked, noise


@pytest.mark.parametrize("place", range(12))
def test_same_columns_and_logits(made_up, in_torch, place):
    _tables, table = made_up
    expected, row, group, ranked, noise = in_torch
    one = table(place)
    reader = read_context(one.context, Projection(), quantiles=bool(ranked[place]))
    key = np.log(reader.relevance + 1e-4) + noise[place, : reader.n_features]
    order = np.argsort(-key, kind="stable")
    n_classes = one.context.label.shape[1]
    seen = reader.columns(reader.read_context(), order, np.arange(n_classes))
    asked = reader.columns(reader.read(one.x, one.sizes), order, np.arange(n_classes))
    np.testing.assert_allclose(seen, expected[place, one.context_rows], atol=5e-3)
    np.testing.assert_allclose(asked, expected[place, one.asked_rows], atol=5e-3)

    # the same columns, so that only the passes are compared
    seen, asked = expected[place, one.context_rows], expected[place, one.asked_rows]
    memory = load_network().read(seen, one.context.codes)
    row_seen, group_seen = load_network().answer(seen, one.context.codes, memory)
    at_once = load_network().answer_context(seen, one.context.codes)
    np.testing.assert_allclose(at_once[0], row_seen, atol=1e-5)
    np.testing.assert_allclose(at_once[1], group_seen, atol=1e-5)
    codes = np.repeat(np.arange(len(one.sizes)), one.sizes)
    row_asked, group_asked = load_network().answer(asked, codes, memory)
    for found, rows in ((row_seen, one.context_rows), (row_asked, one.asked_rows)):
        np.testing.assert_allclose(
            found[:, :n_classes], row[place, rows, :n_classes], rtol=1e-3, atol=1e-3
        )
    for found, groups in ((group_seen, one.context_groups), (group_asked, one.asked_groups)):
        np.testing.assert_allclose(
            found[:, :n_classes], group[place, groups, :n_classes], rtol=1e-3, atol=1e-3
        )


def test_the_tables_are_of_all_kinds(made_up, in_torch):
    tables, _ = made_up
    assert {KINDS[kind] for kind in tables.kind} == set(KINDS)
    assert set(tables.n_classes.tolist()) > {2}
    assert {True, False} == set(in_torch[3].tolist())
    assert np.isnan(tables.x.numpy()).any()

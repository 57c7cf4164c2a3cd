"""Made-up tables of the prior, as the package reads them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from groupwise.incontext.columns import Context


@dataclass(frozen=True)
class MadeUpTable:
    """One table: context and asked rows, and the places of their rows in the batch."""

    context: Context
    context_rows: Any
    x: Any
    sizes: Any
    asked_rows: Any
    context_groups: Any
    asked_groups: Any


@pytest.fixture(scope="session")
def made_up():
    """Tables of the prior, and a function that cuts one out."""
    pytest.importorskip("torch", reason="the training program is in torch")
    from training.incontext.prior import KINDS, Shape, make_tables

    tables = make_tables(4, 5, Shape(128, 24, 12), 12, "cpu")

    def table(place):
        group = tables.group[place].numpy()
        known, context = (getattr(tables, n)[place].numpy() for n in ("known", "context"))
        d, n_classes = int(tables.n_features[place]), int(tables.n_classes[place])
        real = tables.real[place].numpy()
        seen = np.concatenate([np.flatnonzero(known), np.flatnonzero(context & ~known)])
        asked = np.flatnonzero(real & ~context)
        rows, rows_asked = (
            np.concatenate([np.flatnonzero(group == g) for g in which]) for which in (seen, asked)
        )
        sizes, sizes_asked = (np.bincount(group, minlength=len(real))[w] for w in (seen, asked))
        x = tables.x[place, :, :d].numpy().astype(float)
        label = tables.label[place, :, :n_classes].numpy().astype(float)
        context = Context(x[rows], sizes, label[known], KINDS[tables.kind[place]])
        return MadeUpTable(context, rows, x[rows_asked], sizes_asked, rows_asked, seen, asked)

    return tables, table

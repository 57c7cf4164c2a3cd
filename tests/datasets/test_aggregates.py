"""Making groups from labelled rows, and the loaders."""

import numpy as np
import pandas as pd
import pytest

from groupwise.datasets.aggregates import (
    load_adult,
    load_bank,
    load_ecological,
    load_ionosphere,
    make_aggregates,
)
from groupwise.exceptions import GroupDataError


@pytest.mark.parametrize("randomness", [0.0, 0.4, 1.0])
def test_counts_are_those_of_the_hidden_labels_and_rows_stay(randomness):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(53, 2)), rng.choice(list("abc"), size=53)
    d = make_aggregates(X, y, size=5, randomness=randomness, random_state=1)
    np.testing.assert_array_equal(d.X, X)
    np.testing.assert_array_equal(d.y_row, y)
    assert np.bincount(d.groups).tolist() == [5] * 10 + [3]
    counted = pd.crosstab(d.groups, y).to_numpy()
    np.testing.assert_array_equal(d.y.to_numpy(), counted[d.groups])
    again = make_aggregates(X, y, size=5, randomness=randomness, random_state=1)
    np.testing.assert_array_equal(again.groups, d.groups)


def test_randomness_goes_from_pure_groups_to_random_ones():
    y = np.repeat([0, 1], 5000)
    spread = [
        make_aggregates(np.zeros((10000, 1)), y, randomness=r, random_state=0).y[1].var()
        for r in (0.0, 0.5, 1.0)
    ]
    assert spread[0] == pytest.approx(25.0, rel=1e-3)
    assert spread[0] > spread[1] > spread[2]
    assert spread[2] == pytest.approx(2.5, rel=0.1)  # ten draws with p = 1/2


def test_refusals():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match="size"):
        make_aggregates(X, [0, 1, 0, 1], size=0)
    with pytest.raises(ValueError, match="randomness"):
        make_aggregates(X, [0, 1, 0, 1], randomness=1.5)
    with pytest.raises(GroupDataError, match="one label per row"):
        make_aggregates(X, [0, 1])


def test_loaders(real_data):
    ionosphere, adult, bank = load_ionosphere(), load_adult(), load_bank()
    assert ionosphere.X.shape == (351, 34)
    assert (ionosphere.y == "g").sum() == 225
    assert (adult.X.shape[1], adult.y.sum()) == (14, 11687)
    assert (bank.X.shape, bank.y.sum()) == ((4521, 16), 521)
    unit = load_ecological("matproii")
    left = unit["x"] * unit["tb"] + (1 - unit["x"]) * unit["tw"]
    assert np.abs(left - unit["t"]).median() < 0.01  # the cells add up to the margin
    senc = load_ecological("senc")
    assert (senc[["whdem", "bldem", "natamdem"]].sum(axis=1) == senc["dem"]).mean() > 0.95
    with pytest.raises(ValueError, match="must be one of"):
        load_ecological("nowhere")

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from groupwise.datasets import AggregateData, GroupedData, LabelledData, TransferData


@pytest.mark.parametrize("X", [np.eye(3), csr_array(np.eye(3)), pd.DataFrame(np.eye(3))])
@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])])
def test_take_keeps_the_type_and_what_is_not_known(X, rows):
    y, ids = np.array([5, 6, 7]), np.array(["a", "b", "c"])
    positions = np.arange(3)[rows]
    for data in (
        LabelledData(X, y),
        GroupedData(X, y, ids),
        GroupedData(X, y, ids, y + 1, ids),
        AggregateData(X, pd.DataFrame({0: y, 1: y}), ids, y),
        TransferData(X, y, ids),
    ):
        part = data.take(rows)
        assert type(part) is type(data) and part.X.shape == (2, 3)
        assert np.asarray(part.y).tolist() == np.asarray(data.y)[positions].tolist()
    assert part.domains.tolist() == ids[positions].tolist()
    assert GroupedData(X, y, ids).take(rows).y_row is None


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        LabelledData(np.eye(2), np.zeros(2)).y = np.ones(2)

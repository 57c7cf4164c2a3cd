import numpy as np
import pandas as pd
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.metrics import share_error


def test_shares_counts_and_labels_say_the_same():
    groups = ["g", "g", "g", "g", "h"]
    predicted = [[0.5, 0.5], [0.8, 0.2]]
    expected = (0.25 + 0.2) / 2
    labels = ["a", "a", "a", "b", "a"]
    shares = pd.DataFrame({"b": [0.25] * 4 + [0.0], "a": [0.75] * 4 + [1.0]})
    for y in (labels, shares, shares.mul([4, 4, 4, 4, 1], axis=0)):
        assert share_error(y, predicted, groups, classes=["a", "b"]) == pytest.approx(expected)


def test_it_is_the_error_rate_for_groups_of_one():
    y, predicted = np.array([0, 1, 1, 2]), np.eye(3)[[0, 1, 2, 2]]
    assert share_error(y, predicted, np.arange(4), classes=[0, 1, 2]) == 0.25
    with pytest.raises(GroupDataError, match="4 groups and 3 classes"):
        share_error(y, predicted[:2], np.arange(4), classes=[0, 1, 2])

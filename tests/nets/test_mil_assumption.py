"""Unit tests of the multiple-instance assumption, after Raff and Holt (NeurIPS 2023).

Training data hold a short cut that contradicts the assumption: rows that are seen in negative
groups only, or many witnesses where one would do. At test time the short cut misleads. A network
whose group is positive if one row is cannot take it.
"""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from groupwise.nets import GroupNetClassifier

pytestmark = pytest.mark.slow  # networks that have to learn: some seconds
SETTINGS = {"encoder": (16,), "epochs": 60, "n_members": 2, "random_state": 0, "device": "cpu",
            "learning_rate": 0.02}  # fmt: skip
N_GROUPS, N_ROWS = 60, 8


def bags(seed, *, witnesses, poison_negative, poison_positive):
    """Background rows; positives hold ``witnesses`` rows of the concept, poison is another spot."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_GROUPS, N_ROWS, 4))
    y = np.arange(N_GROUPS) % 2
    X[y == 1, :witnesses, 0] += 4.0
    X[y == 0, -1, 1] += 5.0 * poison_negative
    X[y == 1, -1, 1] += 5.0 * poison_positive
    groups = np.repeat(np.arange(N_GROUPS), N_ROWS)
    return X.reshape(-1, 4), y[groups], groups, y


def area(loss, pooling, train, test):
    X, y, groups, _ = train
    model = GroupNetClassifier(loss, pooling=pooling, **SETTINGS).fit(X, y, groups=groups)
    return roc_auc_score(test[3], model.predict_groups_proba(test[0], test[2])[:, 1])


@pytest.mark.parametrize("loss", ["presence", "presence_lse"])
def test_rows_of_negative_groups_are_no_evidence_against(loss):
    train = bags(0, witnesses=1, poison_negative=True, poison_positive=False)
    test = bags(1, witnesses=1, poison_negative=False, poison_positive=True)
    assert area(loss, None, train, test) > 0.8
    # a mean of vectors takes the short cut, as the page says
    assert area("presence", "mean", train, test) < 0.5


@pytest.mark.parametrize("loss", ["presence", "presence_lse"])
def test_one_witness_is_enough_where_training_had_many(loss):
    train = bags(0, witnesses=5, poison_negative=False, poison_positive=False)
    test = bags(1, witnesses=1, poison_negative=False, poison_positive=False)
    assert area(loss, None, train, test) > 0.8
    # any more rows never make a group less positive
    X, y, groups, _ = train
    model = GroupNetClassifier(loss, **SETTINGS).fit(X, y, groups=groups)
    if loss == "presence":
        few = model.predict_groups_proba(test[0][:4], np.zeros(4))[0, 1]
        more = model.predict_groups_proba(test[0][:8], np.zeros(8))[0, 1]
        assert more >= few

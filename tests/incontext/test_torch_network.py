"""The network in torch on a device gives numpy's answers."""

import builtins
import sys

import numpy as np
import pytest

from groupwise.incontext import InContextClassifier
from groupwise.incontext.network import load_network

torch = pytest.importorskip("torch", reason="an extra")


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
        ),
    ],
)
@pytest.mark.parametrize("kind", ["majority", "proportions", "presence"])
def test_same_answer_as_numpy(kind, device):
    rng = np.random.RandomState(0)
    groups = rng.permutation(np.repeat(np.arange(30), 5))
    X = rng.normal(size=(150, 6)) + (groups % 2)[:, None]
    known = groups < 20
    in_numpy, in_torch = (
        InContextClassifier(kind, n_members=2, device=where, random_state=0).fit(
            X[known], groups[known] % 2, groups=groups[known]
        )
        for where in (None, device)
    )
    one, other = (m.predictions(X[~known], groups[~known]) for m in (in_numpy, in_torch))
    np.testing.assert_allclose(other.proba_row, one.proba_row, atol=1e-4)
    np.testing.assert_allclose(other.proba_group, one.proba_group, atol=1e-4)
    one, other = (m.transductive_predictions() for m in (in_numpy, in_torch))
    np.testing.assert_allclose(other.proba_row, one.proba_row, atol=1e-4)
    again = in_torch.predictions(X[~known], groups[~known])
    np.testing.assert_array_equal(
        again.proba_row, in_torch.predict_proba(X[~known], groups[~known])
    )


def test_without_torch_the_message_says_which_extra(monkeypatch):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    load_network.cache_clear()
    monkeypatch.delitem(sys.modules, "groupwise.incontext.torch_network", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"groupwise\[torch\]"):
        InContextClassifier(device="cpu").fit([[0.0], [1.0]], [0, 1], groups=[0, 1])


def test_a_device_that_is_not_there_is_refused():
    model = InContextClassifier(n_members=1, device="nowhere")
    with pytest.raises(ValueError, match="device 'nowhere' cannot be used here; torch says"):
        model.fit([[0.0], [1.0]], [0, 1], groups=[0, 1])

"""A network on shares of groups."""

import builtins
import sys

import numpy as np
import pytest

from groupwise.proportions import (
    MLPAOCClassifier,
)

torch_only = pytest.mark.skipif(
    "torch" not in sys.modules and not __import__("importlib.util").util.find_spec("torch"),
    reason="torch is not installed",
)


@torch_only
@pytest.mark.parametrize("loss", ["cross_entropy", "squared"])
def test_network_loss_is_of_mean_probabilities_and_has_the_right_slope(loss):
    torch = pytest.importorskip("torch")
    from groupwise.nets.mean_outputs import loss_and_slope

    mean = torch.tensor([[0.55, 0.45]], dtype=torch.float64, requires_grad=True)
    counts, sizes = torch.tensor([[1.0, 1.0]]).double(), torch.tensor([[2.0]]).double()
    value, slope = loss_and_slope(mean, counts, sizes, loss)
    by_hand = -np.log(0.55) - np.log(0.45) if loss == "cross_entropy" else 2 * 0.1**2 / 2
    assert float(value.detach()) == pytest.approx(by_hand)
    value.backward()
    np.testing.assert_allclose(slope.detach(), mean.grad)


@torch_only
def test_network_learns_and_its_loss_falls(blobs):
    model = MLPAOCClassifier((16, 8), epochs=60, device="cpu", random_state=0)
    model.fit(blobs.X, blobs.y, groups=blobs.groups)
    assert model.history_["loss"][-1] < 0.8 * model.history_["loss"][0]
    assert model.n_iter_ == 60
    assert (model.predict(blobs.X) == blobs.y_row).mean() > 0.9
    assert all(isinstance(part, np.ndarray) for layer in model.layers_ for part in layer)


def test_network_without_torch_says_which_extra(monkeypatch, blobs):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "groupwise.nets.mean_outputs", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"groupwise\[torch\]"):
        MLPAOCClassifier().fit(blobs.X, blobs.y, groups=blobs.groups)

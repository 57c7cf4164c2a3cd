"""What a fitted ensemble says, computed by torch: on a GPU, or with an encoder of its own."""

from typing import Any

from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.nets.answers import NetEnsemble, collect, scores_of
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import Packed
from groupwise.nets.passes import attention, encode, standardise

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["EncoderEnsemble", "scores_on"]


class EncoderEnsemble:
    """Networks with an encoder of one's own; it is a torch module and cannot be a model file."""

    def __init__(self, network: GroupNet, device: str):
        self.network = network.eval()
        self.device = device

    @property
    def n_members(self) -> int:
        return self.network.n_members

    @property
    def pooling(self) -> str | None:
        return self.network.pooling

    @torch.inference_mode()
    def scores(
        self, X: Any, groups: Groups, *, rows: bool = True
    ) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """As :meth:`groupwise.nets.answers.NetEnsemble.scores`."""
        network = self.network.to(self.device)
        weights = dict(network.weights.items())

        def block(part: NDArray[Any], sizes: Any) -> tuple[Any, Any]:
            packed = Packed(sizes, self.device)
            table = torch.as_tensor(part, device=self.device).float()
            hidden = network.embed(table, packed)
            return _arrays(scores_of(packed, weights, network.pooling, hidden, rows))

        return collect(X, groups, block)

    @torch.inference_mode()
    def attention(self, X: Any, groups: Groups) -> NDArray[Any]:
        """As :meth:`groupwise.nets.answers.NetEnsemble.attention`."""
        network = self.network.to(self.device)
        weights = dict(network.weights.items())

        def block(part: NDArray[Any], sizes: Any) -> tuple[Any, Any]:
            packed = Packed(sizes, self.device)
            hidden = network.embed(torch.as_tensor(part, device=self.device).float(), packed)
            return attention(packed, weights, hidden).mean(0).double().cpu().numpy(), None

        return collect(X, groups, block)[0][:, 0]


@torch.inference_mode()
def scores_on(
    ensemble: NetEnsemble, device: str, X: Any, groups: Groups, *, rows: bool = True
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """What :meth:`NetEnsemble.scores` says, in single precision on a device."""
    weights = {
        name: torch.as_tensor(value, device=device).float()
        for name, value in ensemble.weights.items()
    }
    centre = torch.as_tensor(ensemble.centre, device=device).float()
    scale = torch.as_tensor(ensemble.scale, device=device).float()

    def block(part: NDArray[Any], sizes: Any) -> tuple[Any, Any]:
        packed = Packed(sizes, device)
        table = standardise(
            torch.as_tensor(ensemble.table(part), device=device).float(), centre, scale
        )
        hidden = encode(packed, weights, table)
        return _arrays(scores_of(packed, weights, ensemble.pooling, hidden, rows))

    return collect(X, groups, block)


def _arrays(scores: tuple[Any, Any]) -> tuple[Any, Any]:
    row, group = (None if each is None else each.double().cpu().numpy() for each in scores)
    return row, group

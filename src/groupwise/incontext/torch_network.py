"""The passes of the in-context network in torch; the one module of this package that imports it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.incontext.network import Array, Memory, Network

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(
        "device= needs torch: the extra groupwise[torch] brings it; device=None computes in numpy"
    ) from error

from groupwise.nets.packed import choose_device

__all__ = ["TorchNetwork"]


@dataclass(frozen=True)
class TorchNetwork(Network):
    """A network whose weights are tensors; columns come in and logits go out as arrays."""

    device: str

    @classmethod
    def of(cls, network: Network, device: str) -> "TorchNetwork":
        """The same network on a device."""
        device = choose_device(device)
        weights: dict[str, Any] = {
            name: torch.as_tensor(value, device=device) for name, value in network.weights.items()
        }
        return cls(weights, network.meta, network.digest, device)

    @torch.inference_mode()
    def read(self, columns: Array, codes: NDArray[np.intp]) -> Memory:
        return super().read(self._tensor(columns), codes)

    @torch.inference_mode()
    def answer(
        self, columns: Array, codes: NDArray[np.intp], memory: Memory
    ) -> tuple[Array, Array]:
        return super().answer(self._tensor(columns), codes, memory)

    @torch.inference_mode()
    def answer_context(self, columns: Array, codes: NDArray[np.intp]) -> tuple[Array, Array]:
        return super().answer_context(self._tensor(columns), codes)

    def _logits(self, h: Any, member: Any) -> tuple[Array, Array]:
        row, group = super()._logits(h, member)
        # ignored: the numpy network's logits are typed as arrays; here they are tensors
        return row.cpu().numpy(), group.cpu().numpy()  # type: ignore[attr-defined]

    def _tensor(self, values: NDArray[Any]) -> Any:
        return torch.as_tensor(values, device=self.device)

    def _member(self, codes: NDArray[np.intp]) -> Any:
        # A full matrix: sums by position are in no fixed order on a GPU.
        return F.one_hot(self._tensor(codes)).T.float()

    def _square(self, x: Any) -> Any:
        return F.relu(x).square()

    def _norm(self, name: str, x: Any) -> Any:
        weights: Any = self.weights
        return F.layer_norm(x, x.shape[1:], weights[name + ".weight"], weights[name + ".bias"])

    def _pool(self, gate_name: str, u: Any, member: Any) -> Any:
        linear: Any = self._linear(gate_name, u)
        gate = torch.exp(6 * torch.tanh(linear / 6))
        weighted = u.unflatten(1, (gate.shape[1], -1)) * gate[:, :, None]
        share = (member @ gate).clamp(min=1e-6)
        soft = (member @ weighted.flatten(1)).unflatten(1, (gate.shape[1], -1))
        mean = member @ u / member.sum(1, keepdim=True)
        return torch.cat([mean, (soft / share[:, :, None]).flatten(1)], 1)

    def _heads(self, x: Any) -> Any:
        return x.unflatten(1, (self.meta["sizes"]["n_heads"], -1)).transpose(0, 1)

    def _keys(self, x: Any) -> Any:
        return self._heads(x)

    def _attend(self, q: Any, k: Any, v: Any) -> Any:
        seen = F.scaled_dot_product_attention(self._heads(q), k, v)
        return seen.transpose(0, 1).flatten(1)

"""Training by torch; the one module of this package that imports it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(
        "MLPAOCClassifier needs torch to fit: the extra groupwise[torch] brings it"
    ) from error

__all__ = ["group_loss", "train_network"]


def group_loss(
    score: torch.Tensor,
    place: torch.Tensor,
    counts: torch.Tensor,
    sizes: torch.Tensor,
    loss: str,
) -> torch.Tensor:
    """The loss of ``MLPAOCClassifier`` for a batch, as a torch scalar."""
    proba = torch.softmax(score, dim=1)
    sums = torch.zeros_like(counts).index_add(0, place, proba)
    if loss == "squared":
        return (((sums - counts) ** 2).sum(dim=1) / sizes).sum()
    return -(counts * torch.log(torch.clamp(sums / sizes[:, None], min=1e-30))).sum()


def train_network(
    X: NDArray[Any],
    groups: Groups,
    counts_group: NDArray[Any],
    layers: list[tuple[NDArray[Any], NDArray[Any]]],
    *,
    loss: str,
    batches: Iterable[list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]],
    learning_rate: float,
    alpha: float,
    device: str | None,
) -> tuple[list[tuple[NDArray[Any], NDArray[Any]]], NDArray[Any]]:
    """Train from the given layers; returns NumPy layers and the loss per row of each epoch."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"

    def tensor(values: NDArray[Any], dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.as_tensor(values, dtype=dtype, device=device)

    rows, counts = tensor(X), tensor(counts_group)
    sizes = tensor(groups.sizes.astype(float))
    parameters = [tensor(part).requires_grad_() for layer in layers for part in layer]
    optimiser = torch.optim.Adam(parameters, lr=learning_rate)
    history = []
    for epoch in batches:
        total = 0.0
        for part, members, place in epoch:
            hidden = rows[tensor(members, torch.long)]
            for k in range(0, len(parameters) - 2, 2):
                hidden = torch.relu(hidden @ parameters[k] + parameters[k + 1])
            score = hidden @ parameters[-2] + parameters[-1]
            chosen = tensor(part, torch.long)
            value = group_loss(
                score, tensor(place, torch.long), counts[chosen], sizes[chosen], loss
            )
            decay = sum((parameters[k] ** 2).sum() for k in range(0, len(parameters), 2))
            optimiser.zero_grad()
            (value / len(members) + 0.5 * alpha * decay).backward()
            optimiser.step()
            total += float(value.detach())
        history.append(total / groups.n_rows)
    arrays = [p.detach().cpu().numpy().astype(float) for p in parameters]
    return list(zip(arrays[::2], arrays[1::2], strict=True)), np.array(history)

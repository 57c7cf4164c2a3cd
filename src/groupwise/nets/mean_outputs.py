"""Training of AOC-ANN: a network whose mean outputs are fitted to shares of groups."""

from collections.abc import Callable, Iterable
from itertools import pairwise
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

from groupwise.nets.packed import choose_device, to_device

__all__ = ["group_batches", "initial_layers", "loss_and_slope", "train_mean_outputs"]

_STEPS_AT_ONCE = 25  # of a recorded graph
_NUMBERS_AT_ONCE = 2**24  # in the matrices of its steps

Layers = list[tuple[NDArray[Any], NDArray[Any]]]
Batches = Iterable[list[NDArray[np.intp]]]


def initial_layers(sizes: list[int], rng: np.random.RandomState) -> Layers:
    """Weights of He et al. (2015): standard deviation sqrt(2 / inputs); biases zero."""
    return [
        (np.sqrt(2.0 / n_in) * rng.normal(size=(n_in, n_out)), np.zeros(n_out))
        for n_in, n_out in pairwise(sizes)
    ]


def group_batches(
    groups: Groups, batch_groups: int, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Random batches of whole groups: their codes."""
    order = rng.permutation(groups.n_groups)
    return np.array_split(order, max(1, round(groups.n_groups / batch_groups)))


def loss_and_slope(
    mean: torch.Tensor, counts: torch.Tensor, sizes: torch.Tensor, loss: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of ``MLPAOCClassifier`` and its derivative by the groups' mean probabilities.

    Both grow in proportion to ``counts`` and ``sizes`` together.

    Parameters
    ----------
    mean, counts : tensor of shape (..., n_groups, n_classes)
    sizes : tensor of shape (..., n_groups, 1)
    loss : {"cross_entropy", "squared"}
    """
    return _loss(mean, counts, sizes, loss), _slope(mean, -counts, sizes, loss)


def _loss(mean: torch.Tensor, counts: torch.Tensor, sizes: torch.Tensor, loss: str) -> torch.Tensor:
    if loss == "squared":
        return ((mean * sizes - counts).square() / sizes).sum()
    return torch.xlogy(-counts, torch.clamp(mean, min=1e-30)).sum()


def _slope(mean: torch.Tensor, less: torch.Tensor, sizes: torch.Tensor, loss: str) -> torch.Tensor:
    """The derivative; ``less`` is minus the counts."""
    if loss == "squared":
        return 2.0 * (mean * sizes + less)
    return less / torch.clamp(mean, min=1e-30)


def train_mean_outputs(
    X: NDArray[Any],
    groups: Groups,
    counts_group: NDArray[Any],
    layers: Layers,
    *,
    loss: str,
    batches: Batches,
    learning_rate: float,
    alpha: float,
    device: str | None,
) -> tuple[Layers, NDArray[Any]]:
    """Train from the given layers; returns NumPy layers and the loss per row of each epoch."""
    device = choose_device(device)
    network = _MeanOutputs(X, groups, counts_group, layers, loss, learning_rate, alpha, device)
    run = _on_gpu if device.startswith("cuda") else _step_by_step
    with torch.no_grad():
        history = run(network, batches)
    arrays = [p.detach().cpu().numpy().astype(float) for p in network.parameters]
    return [(each[:-1], each[-1]) for each in arrays], history / groups.n_rows


class _MeanOutputs:
    """Rows, counts, layers and Adam on a device.

    Rows and hidden values end with a one, and weights with the line of biases: one product less
    for each layer and its gradient.
    """

    def __init__(
        self,
        X: NDArray[Any],
        groups: Groups,
        counts_group: NDArray[Any],
        layers: Layers,
        loss: str,
        learning_rate: float,
        alpha: float,
        device: str,
    ):
        self.device, self.loss, self.groups = device, loss, groups
        self.rows = self.tensor(np.column_stack([X, np.ones(len(X))]))
        self.order = self.tensor(groups.order, torch.long)
        # and those of no group at all, see `batch`
        self.counts = self.tensor(np.vstack([counts_group, np.zeros(counts_group.shape[1])]))
        self.n_held = self.tensor(np.append(groups.sizes, 0), torch.long)
        self.offsets = self.tensor(groups.offsets, torch.long)
        self.parameters = [self.tensor(np.vstack(each)).requires_grad_() for each in layers]
        # the gradient of the penalty alpha / 2 |weight|^2, which biases do not pay
        self.decay = [
            self.tensor([[alpha]] * (len(each) - 1) + [[0.0]]) for each in self.parameters
        ]
        self.hidden: list[torch.Tensor] = []
        on_gpu = device.startswith("cuda")
        self.optimiser = torch.optim.Adam(
            self.parameters, lr=learning_rate, capturable=on_gpu, fused=on_gpu
        )

    def tensor(self, values: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.as_tensor(values, dtype=dtype, device=self.device)

    def step(
        self,
        rows: torch.Tensor,
        member: torch.Tensor,
        less: torch.Tensor,
        sizes: torch.Tensor,
    ) -> torch.Tensor:
        """One step of Adam on a batch; the groups' mean probabilities before it.

        ``less`` is minus the counts; they and ``sizes`` come over the number of rows. The
        derivatives are written out: a third of the kernels that torch's own would launch.
        """
        inputs = [rows]
        for weight, hidden in zip(self.parameters[:-1], self._hidden(len(rows)), strict=True):
            torch.clamp(inputs[-1] @ weight, min=0.0, out=hidden[:, :-1])
            inputs.append(hidden)
        proba = torch.softmax(inputs[-1] @ self.parameters[-1], dim=1)
        mean = member @ proba
        product = (member.T @ _slope(mean, less, sizes, self.loss)) * proba
        above = torch.addcmul(product, proba, product.sum(1, keepdim=True), value=-1.0)
        for at in range(len(self.parameters) - 1, -1, -1):
            weight, below = self.parameters[at], inputs[at]
            weight.grad = (weight * self.decay[at]).addmm_(below.T, above)
            if at:
                above = torch.ops.aten.threshold_backward(above @ weight[:-1].T, below[:, :-1], 0)
        self.optimiser.step()
        return mean

    def _hidden(self, n_rows: int) -> list[torch.Tensor]:
        """Room for hidden values of a batch, kept from step to step."""
        if not self.hidden or len(self.hidden[0]) != n_rows:
            sizes = [each.shape[1] for each in self.parameters[:-1]]
            self.hidden = [torch.ones(n_rows, size + 1, device=self.device) for size in sizes]
        return self.hidden

    def batch(self, part: torch.Tensor, n_rows: int) -> tuple[torch.Tensor, ...]:
        """Rows, averaging matrices, counts and sizes of batches of groups.

        Parameters
        ----------
        part : tensor of shape (..., n_groups)
            Codes; one more than the last stands for no group and fills a batch up.
        n_rows : int
            Of a batch, likewise filled up.

        Returns
        -------
        rows : tensor of shape (..., n_rows, n_features)
        member : tensor of shape (..., n_groups, n_rows)
            Times values of rows: means of groups, summed in a fixed order.
        counts : tensor of shape (..., n_groups, n_classes)
        sizes : tensor of shape (..., n_groups, 1)
        """
        held = self.n_held[part]
        ends = torch.cumsum(held, -1)
        at = torch.arange(n_rows, device=self.device).expand(*part.shape[:-1], n_rows).contiguous()
        place = torch.searchsorted(ends, at, right=True)
        inside = place.clamp(max=part.shape[-1] - 1)
        first = (self.offsets[part] - ends + held).gather(-1, inside)
        places = torch.where(place < part.shape[-1], first + at, 0)
        rows = self.rows.index_select(0, self.order[places].flatten())
        sizes = held.clamp(min=1).to(self.rows.dtype)[..., None]
        groups = torch.arange(part.shape[-1], device=self.device)[:, None]
        member = (place[..., None, :] == groups) / sizes
        return rows.reshape(*places.shape, -1), member, self.counts[part], sizes


def _step_by_step(network: _MeanOutputs, batches: Batches) -> NDArray[Any]:
    history = []
    for epoch in batches:
        total = 0.0
        for part in epoch:
            n_rows = int(network.groups.sizes[part].sum())
            rows, member, counts, sizes = network.batch(network.tensor(part, torch.long), n_rows)
            mean = network.step(rows, member, -counts / n_rows, sizes / n_rows)
            total += float(_loss(mean, counts, sizes, network.loss))
        history.append(total)
    return np.array(history)


def _on_gpu(
    network: _MeanOutputs, batches: Batches
) -> NDArray[Any]:  # pragma: no cover - needs a GPU
    """The same steps as one recorded graph, replayed batch after batch.

    A step on so few rows is all launching of kernels; a replayed graph launches them at once.
    Batches are filled up to one shape.
    """
    history, replay = [], None
    for epoch in batches:
        if replay is None:
            replay = _record(network, epoch)
        history.append(replay(epoch))
    return torch.stack(history).cpu().numpy().astype(float)


def _record(
    network: _MeanOutputs, epoch: list[NDArray[np.intp]]
) -> Callable[[list[NDArray[np.intp]]], torch.Tensor]:  # pragma: no cover - needs a GPU
    most_groups = max(len(part) for part in epoch)
    most_rows = int(np.sort(network.groups.sizes)[-most_groups:].sum())

    def filled(epoch: list[NDArray[np.intp]]) -> torch.Tensor:
        codes = np.full((len(epoch), most_groups), network.groups.n_groups)
        for line, part in zip(codes, epoch, strict=True):
            line[: len(part)] = part
        return to_device(codes, network.device)

    held = filled(epoch)
    at = torch.zeros(1, dtype=torch.long, device=network.device)
    total = torch.zeros((), device=network.device)

    def steps(n_steps: int) -> None:
        """Steps from number ``at`` on; what needs no weights is computed for all at once."""
        part = held.index_select(0, at + torch.arange(n_steps, device=network.device))
        rows, member, counts, sizes = network.batch(part, most_rows)
        n_rows = network.n_held[part].sum(-1)[:, None, None]
        parts = zip(rows, member, -counts / n_rows, sizes / n_rows, strict=True)
        mean = torch.stack([network.step(*part) for part in parts])
        total.add_(_loss(mean, counts, sizes, network.loss))
        at.add_(n_steps)

    before = [p.detach().clone() for p in network.parameters]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # kernels are chosen and the state of Adam is made
        for _ in range(3):
            at.zero_()
            steps(1)
    torch.cuda.current_stream().wait_stream(side)
    graphs = []
    fits = max(1, _NUMBERS_AT_ONCE // (most_groups * most_rows))
    for n_steps in (min(_STEPS_AT_ONCE, fits, len(epoch)), 1):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            steps(n_steps)
        graphs.append((n_steps, graph))
    for parameter, start in zip(network.parameters, before, strict=True):  # back to the start
        parameter.copy_(start)
    for state in network.optimiser.state.values():
        for value in state.values():
            value.zero_()

    def replay(epoch: list[NDArray[np.intp]]) -> torch.Tensor:
        held.copy_(filled(epoch))
        at.zero_()
        total.zero_()
        n_left = len(epoch)
        for n_steps, graph in graphs:
            for _ in range(n_left // n_steps):
                graph.replay()
            n_left %= n_steps
        return total.clone()

    return replay

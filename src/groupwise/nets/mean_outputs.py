"""Training of AOC-ANN: a network whose mean outputs are fitted to shares of groups."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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

from groupwise.nets.packed import to_device

__all__ = ["group_batches", "initial_layers", "loss_and_slope", "train_mean_outputs"]

_STEPS_AT_ONCE = 125  # of a recorded graph
_NUMBERS_AT_ONCE = 2**24  # in the matrices of its steps

Layers = list[tuple[NDArray[Any], NDArray[Any]]]
GroupBatch = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]


def initial_layers(sizes: list[int], rng: np.random.RandomState) -> Layers:
    """Weights of He et al. (2015): standard deviation sqrt(2 / inputs); biases zero."""
    return [
        (np.sqrt(2.0 / n_in) * rng.normal(size=(n_in, n_out)), np.zeros(n_out))
        for n_in, n_out in pairwise(sizes)
    ]


def group_batches(
    groups: Groups, batch_groups: int, rng: np.random.RandomState
) -> list[GroupBatch]:
    """Random batches of whole groups: their codes, their rows, each row's place in the batch."""
    order = rng.permutation(groups.n_groups)
    parts = np.array_split(order, max(1, round(groups.n_groups / batch_groups)))
    sizes = groups.sizes[order]
    within = np.arange(groups.n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = groups.order[np.repeat(groups.offsets[order], sizes) + within]
    place = np.repeat(np.concatenate([np.arange(len(part)) for part in parts]), sizes)
    ends = np.cumsum([groups.sizes[part].sum() for part in parts])[:-1]
    return list(zip(parts, np.split(rows, ends), np.split(place, ends), strict=True))


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
    batches: Iterable[list[GroupBatch]],
    learning_rate: float,
    alpha: float,
    device: str | None,
) -> tuple[Layers, NDArray[Any]]:
    """Train from the given layers; returns NumPy layers and the loss per row of each epoch."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    network = _MeanOutputs(X, groups, counts_group, layers, loss, learning_rate, alpha, device)
    run = _on_gpu if device.startswith("cuda") else _step_by_step
    with torch.no_grad():
        history = run(network, batches)
    arrays = [p.detach().cpu().numpy().astype(float) for p in network.parameters]
    return list(zip(arrays[::2], arrays[1::2], strict=True)), history / groups.n_rows


class _MeanOutputs:
    """Rows, counts, layers and Adam on a device."""

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
        self.rows, self.counts = self.tensor(X), self.tensor(counts_group)
        self.sizes = self.tensor(groups.sizes.astype(float)[:, None])
        self.parameters = [self.tensor(part).requires_grad_() for each in layers for part in each]
        on_gpu = device.startswith("cuda")
        self.alpha = alpha
        self.side = torch.cuda.Stream() if on_gpu else None
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
        layers = list(zip(self.parameters[::2], self.parameters[1::2], strict=True))
        inputs = [rows]
        for weight, bias in layers[:-1]:
            inputs.append(torch.relu(torch.addmm(bias, inputs[-1], weight)))
        proba = torch.softmax(torch.addmm(layers[-1][1], inputs[-1], layers[-1][0]), dim=1)
        mean = member @ proba
        product = (member.T @ _slope(mean, less, sizes, self.loss)) * proba
        above = [torch.addcmul(product, proba, product.sum(1, keepdim=True), value=-1.0)]
        for at in range(len(layers) - 1, -1, -1):
            weight, bias = layers[at]
            with self._beside():
                # with the gradient of the penalty alpha / 2 |weight|^2
                weight.grad = torch.addmm(weight, inputs[at].T, above[-1], beta=self.alpha)
                bias.grad = above[-1].sum(0)
            if at:
                below = torch.ops.aten.threshold_backward(above[-1] @ weight.T, inputs[at], 0)
                above.append(below)
        if self.side is not None:
            torch.cuda.current_stream().wait_stream(self.side)
        self.optimiser.step()
        return mean

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """Compute beside what comes next, where there is a second stream to do so."""
        if self.side is None:
            yield
            return
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            yield

    def members(self, place: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """Matrices that average rows over groups, (..., n_groups, n_rows).

        Sums have a fixed order that way; rows that are there to fill a batch have a place of no
        group.
        """
        groups = torch.arange(sizes.shape[-2], device=self.device)[:, None]
        return (place[..., None, :] == groups) / sizes


def _step_by_step(network: _MeanOutputs, batches: Iterable[list[GroupBatch]]) -> NDArray[Any]:
    history = []
    for epoch in batches:
        total = 0.0
        for part, rows, place in epoch:
            chosen = network.tensor(part, torch.long)
            counts, sizes = network.counts[chosen], network.sizes[chosen]
            member = network.members(network.tensor(place, torch.long), sizes)
            mean = network.step(
                network.rows[network.tensor(rows, torch.long)],
                member,
                -counts / len(rows),
                sizes / len(rows),
            )
            total += float(_loss(mean, counts, sizes, network.loss))
        history.append(total)
    return np.array(history)


def _on_gpu(
    network: _MeanOutputs, batches: Iterable[list[GroupBatch]]
) -> NDArray[Any]:  # pragma: no cover - needs a GPU
    """The same steps as one recorded graph, replayed batch after batch.

    A step on so few rows is all launching of kernels; a replayed graph launches them at once.
    Batches are filled up to one shape: rows with a place of no group, groups with counts of zero
    (and a last line that holds the number of rows).
    """
    history, replay = [], None
    for epoch in batches:
        if replay is None:
            replay = _record(network, epoch)
        history.append(replay(epoch))
    return torch.stack(history).cpu().numpy().astype(float)


def _record(
    network: _MeanOutputs, epoch: list[GroupBatch]
) -> Callable[[list[GroupBatch]], torch.Tensor]:  # pragma: no cover - needs a GPU
    groups = network.groups
    most_groups = max(len(part) for part, _, _ in epoch)
    most_rows = int(np.sort(groups.sizes)[-most_groups:].sum())

    counts_group = network.counts.cpu().numpy()
    n_classes = counts_group.shape[1]

    def filled(epoch: list[GroupBatch]) -> list[torch.Tensor]:
        rows = np.zeros((len(epoch), 2, most_rows), np.int32)
        rows[:, 1] = most_groups
        known = np.zeros((len(epoch), most_groups + 1, n_classes + 1), np.float32)
        known[:, :, n_classes] = 1.0
        for at, (part, members, within) in enumerate(epoch):
            rows[at, 0, : len(members)], rows[at, 1, : len(members)] = members, within
            known[at, : len(part), :n_classes] = counts_group[part]
            known[at, : len(part), n_classes] = groups.sizes[part]
            known[at, most_groups, n_classes] = len(members)
        return [to_device(each, network.device) for each in (rows, known)]

    held = filled(epoch)
    at = torch.zeros(1, dtype=torch.long, device=network.device)
    total = torch.zeros((), device=network.device)

    def steps(n_steps: int) -> None:
        """Steps from number ``at`` on; what needs no weights is computed for all at once."""
        chosen = at + torch.arange(n_steps, device=network.device)
        rows, known = (each.index_select(0, chosen) for each in held)
        inputs = network.rows.index_select(0, rows[:, 0].flatten())
        inputs = inputs.reshape(n_steps, most_rows, -1)
        counts, sizes = known[:, :most_groups, :n_classes], known[:, :most_groups, n_classes:]
        member = network.members(rows[:, 1], sizes)
        n_rows = known[:, most_groups:, n_classes:]
        parts = zip(inputs, member, -counts / n_rows, sizes / n_rows, strict=True)
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

    def replay(epoch: list[GroupBatch]) -> torch.Tensor:
        for buffer, values in zip(held, filled(epoch), strict=True):
            buffer.copy_(values)
        at.zero_()
        total.zero_()
        n_left = len(epoch)
        for n_steps, graph in graphs:
            for _ in range(n_left // n_steps):
                graph.replay()
            n_left %= n_steps
        return total.clone()

    return replay

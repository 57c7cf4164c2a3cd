"""Training many networks at once: members of an ensemble, folds of a cross-validation, or both."""

import importlib.util
import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError
from groupwise.files import atomic_write
from groupwise.nets.batches import Batch, GroupRows, resident, streamed
from groupwise.nets.losses import PackedLoss
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import Packed
from groupwise.nets.progress import NetProgress
from groupwise.nets.rows import FolderRows

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Settings", "Task", "choose_device", "one_cycle", "train", "train_step"]

logger = logging.getLogger(__name__)

_ROWS_AT_ONCE = 20_000  # a batch has about so many, unless batch_groups says
_MANY_ROWS = 10**9  # in all steps of a training together, from which compiling pays
_MANY_EPOCHS = 20  # from which rows in memory are page-locked in place
_CHECKPOINTS = 20  # written in the course of a training


Callback = Callable[[NetProgress], Any]


@dataclass(frozen=True)
class Settings:
    """How to train; the words are those of the estimators."""

    epochs: int = 200
    batch_groups: int | None = None
    learning_rate: float = 2e-3
    alpha: float = 1e-2
    max_norm: float | None = None
    n_iter_no_change: int | None = None
    half_precision: bool = False
    device: str = "cpu"
    seed: int = 0
    checkpoint: str | None = None
    verbose: int = 0


@dataclass(frozen=True)
class Task:
    """What is learned from: rows, and what is known of their groups.

    Attributes
    ----------
    rows : GroupRows
    target : ndarray of shape (n_groups,) or (n_groups, n_classes)
    loss : PackedLoss
    pooled : bool
        Whether the network scores groups.
    weight_row : ndarray of shape (n_rows,) or None
        Group after group.
    train : ndarray of shape (n_runs, n_groups)
        What each group weighs for each network; 0 leaves it out.
    valid : ndarray of shape (n_runs, n_groups) or None
        The same for the groups that decide when to stop.
    centre, scale : ndarray or None
        Of the features.
    """

    rows: GroupRows
    target: NDArray[Any]
    loss: PackedLoss
    pooled: bool
    train: NDArray[Any]
    valid: NDArray[Any] | None = None
    weight_row: NDArray[Any] | None = None
    centre: NDArray[Any] | None = None
    scale: NDArray[Any] | None = None


def choose_device(device: str | None) -> str:
    """The device by its name; ``None``: a GPU if there is one."""
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    return str(torch.device(device))


def one_cycle(step: int, n_steps: int, peak: float) -> float:
    """Rate of a step: up for three tenths of the way, then down to nothing, along cosines.

    Examples
    --------
    >>> [round(one_cycle(step, 11, 1.0), 3) for step in (0, 3, 10)]
    [0.04, 1.0, 0.0]
    """
    turn = 0.3 * (n_steps - 1)
    if step < turn:
        low, high, part = peak / 25.0, peak, step / turn
    else:
        low, high, part = 0.0, peak, 1.0 - (step - turn) / max(n_steps - 1 - turn, 1.0)
    return low + (high - low) * 0.5 * (1.0 - math.cos(math.pi * part))


def train_step(
    network: GroupNet,
    loss: PackedLoss,
    optimiser: Any,
    rows: Any,
    packed: Packed,
    target: Any,
    *,
    weight_row: Any = None,
    weight_group: Any = None,
    max_norm: float | None = None,
) -> Any:
    """One step of training, for loops of one's own.

    Parameters
    ----------
    network : GroupNet
    loss : PackedLoss
    optimiser : torch.optim.Optimizer
    rows : tensor of shape (n_rows, ...)
        Group after group.
    packed : Packed
    target : tensor of shape (n_groups,) or (n_groups, n_classes)
    weight_row, weight_group : tensor, default=None
        As in :class:`~groupwise.nets.losses.PackedLoss`.
    max_norm : float, default=None
        Longest gradient of a member.

    Returns
    -------
    value : tensor of shape (n_members,)
        Loss over the weight.
    """
    optimiser.zero_grad(set_to_none=True)
    value = mean_loss(network, loss, rows, packed, target, weight_row, weight_group)
    value.sum().backward()
    if max_norm is not None:
        clip(network, max_norm)
    optimiser.step()
    return value.detach()


def mean_loss(
    network: GroupNet,
    loss: PackedLoss,
    rows: Any,
    packed: Packed,
    target: Any,
    weight_row: Any = None,
    weight_group: Any = None,
) -> Any:
    """Loss of each member over the weight of its rows, or of its groups where these are scored."""
    score = network(rows, packed)
    pooled = network.pooling is not None
    if pooled and weight_row is not None:
        mean = packed.mean(weight_row.to(score.dtype)[:, None])[:, 0]
        weight_group = mean if weight_group is None else weight_group * mean
        weight_row = None
    layout = Packed(np.ones(packed.n_groups, np.int64), packed.device) if pooled else packed
    value = loss(score, target, layout, weight_row, weight_group)
    weight: Any = layout.size_like(score)[:, 0]
    if weight_row is not None:
        weight = packed.sum(weight_row.to(score.dtype)[:, None])[:, 0]
    if weight_group is not None:
        weight = weight * weight_group
    return value / weight.sum(-1).clamp(min=1e-12)


def clip(network: GroupNet, max_norm: float) -> None:
    """Shorten each member's gradient to ``max_norm``."""
    grads = [p.grad for p in network.weights.values() if p.grad is not None]
    square = torch.stack([g.square().flatten(1).sum(1) for g in grads]).sum(0)
    parts = [[p.grad for p in each.parameters() if p.grad is not None] for each in network.encoders]
    if parts:
        square = square + torch.stack(
            [torch.stack([g.square().sum() for g in part]).sum() for part in parts]
        )
    factor = (max_norm / square.sqrt().clamp(min=1e-12)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor.reshape(-1, *[1] * (grad.ndim - 1)))
    for place, part in enumerate(parts):
        for grad in part:
            grad.mul_(factor[place])


class _Run:
    """The state of a training: everything that a checkpoint holds."""

    def __init__(self, network: GroupNet, settings: Settings, n_runs: int):
        self.network = network
        decayed = [p for name, p in network.weights.items() if not name.endswith("_bias")]
        plain = [p for name, p in network.weights.items() if name.endswith("_bias")]
        own = [p for p in network.encoders.parameters() if p.requires_grad]
        fused = settings.device.startswith("cuda")
        groups: list[dict[str, Any]] = [
            {"params": decayed + own},
            {"params": plain, "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(
            groups,
            lr=settings.learning_rate,
            weight_decay=settings.alpha,
            fused=fused,
        )
        self.n_done = 0
        self.history: dict[str, list[float]] = {"train": [], "valid": []}
        self.best_value = torch.full((n_runs,), math.inf, device=settings.device)
        self.best_epoch = np.zeros(n_runs, np.int64)
        self.best: dict[str, Any] = {}

    def remember_best(self, value: Any) -> None:
        """Keep the weights of the networks that are better than ever."""
        better = value < self.best_value
        self.best_value = torch.where(better, value, self.best_value)
        self.best_epoch[better.cpu().numpy()] = self.n_done
        for name, tensor in self.network.state_dict().items():
            if name not in self.best:
                self.best[name] = tensor.clone()
            elif name.startswith("weights."):
                chosen = better.reshape(-1, *[1] * (tensor.ndim - 1))
                self.best[name] = torch.where(chosen, tensor, self.best[name])
            elif bool(better[int(name.split(".")[1])]):  # encoders.<member>.
                self.best[name] = tensor.clone()

    def save(self, path: Path, mark: str) -> None:
        arrays = {"mark": np.array(mark), "n_done": np.array(self.n_done)}
        arrays["history"] = np.array(json.dumps(self.history))
        arrays["best_value"] = self.best_value.cpu().numpy()
        arrays["best_epoch"] = self.best_epoch
        for name, tensor in self.network.state_dict().items():
            arrays[f"network.{name}"] = tensor.cpu().numpy()
        for name, tensor in self.best.items():
            arrays[f"best.{name}"] = tensor.cpu().numpy()
        for place, state in self.optimiser.state_dict()["state"].items():
            for name, tensor in state.items():
                arrays[f"optimiser.{place}.{name}"] = tensor.cpu().numpy()
        content: Any = arrays
        with atomic_write(path) as part, part.open("wb") as file:
            np.savez(file, **content)

    def load(self, path: Path, mark: str) -> None:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if str(arrays["mark"]) != mark:
            raise ValueError(
                f"{path} is the checkpoint of another training (settings, shapes or seed differ); "
                "remove it or name another file"
            )
        device = self.best_value.device

        def part(prefix: str) -> dict[str, Any]:
            return {
                name.removeprefix(prefix): torch.as_tensor(value, device=device)
                for name, value in arrays.items()
                if name.startswith(prefix)
            }

        self.n_done = int(arrays["n_done"])
        self.history = json.loads(str(arrays["history"]))
        self.best_value = torch.as_tensor(arrays["best_value"], device=device)
        self.best_epoch = arrays["best_epoch"]
        self.network.load_state_dict(part("network."))
        self.best = part("best.")
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in part("optimiser.").items():
            place, _, key = name.partition(".")
            state.setdefault(int(place), {})[key] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})


def train(
    network: GroupNet,
    task: Task,
    settings: Settings,
    callbacks: Sequence[Callback] = (),
) -> tuple[dict[str, list[float]], NDArray[np.intp]]:
    """Train every member of a network on its own groups, all in the same steps.

    Parameters
    ----------
    network : GroupNet
        With as many members as ``task.train`` has lines; changed in place.
    task : Task
    settings : Settings
    callbacks : sequence of callables, default=()

    Returns
    -------
    history : dict
        ``"train"`` and ``"valid"``: loss over weight after each epoch, averaged over the networks.
    n_epochs : ndarray of shape (n_runs,)
        Epochs that each network kept.
    """
    network.to(settings.device)
    run = _Run(network, settings, len(task.train))
    mark = _mark(network, task, settings)
    path = None if settings.checkpoint is None else Path(settings.checkpoint)
    if path is not None and path.exists():
        run.load(path, mark)
    if _pays_to_fuse(network, task, settings):
        network.fuse()

    def save() -> None:
        if path is not None:
            run.save(path, mark)

    with _seeded():
        _epochs(run, task, settings, callbacks, save)
    if task.valid is not None and run.best:
        network.load_state_dict(run.best)
        kept = run.best_epoch.astype(np.intp)
    else:
        kept = np.full(len(task.train), run.n_done, np.intp)
    network.noise = network.fused = None
    network.eval()
    history = {name: values for name, values in run.history.items() if values}
    return history, kept


def _pays_to_fuse(network: GroupNet, task: Task, settings: Settings) -> bool:
    """Whether a training is long enough for compiling, which takes some ten seconds."""
    fits = network.pooling == "attention" and not len(network.encoders)
    n_rows = task.rows.groups.n_rows * settings.epochs * network.n_members
    has_compiler = importlib.util.find_spec("triton") is not None
    return fits and settings.device.startswith("cuda") and n_rows > _MANY_ROWS and has_compiler


def _epochs(
    run: _Run,
    task: Task,
    settings: Settings,
    callbacks: Sequence[Callback],
    save: Callable[[], Any],
) -> None:
    known = _Known(task, settings)
    every = max(1, settings.epochs // _CHECKPOINTS)
    for epoch in range(run.n_done, settings.epochs):
        # so that a continued training draws the same
        torch.manual_seed(settings.seed + epoch)
        run.network.noise = np.random.Generator(np.random.SFC64([settings.seed, epoch, 1]))
        run.network.train()
        batches = known.epoch_parts(epoch)
        total: Any = 0.0
        for place, batch in enumerate(known.source.batches(batches)):
            rate = one_cycle(
                epoch * len(batches) + place, settings.epochs * len(batches), settings.learning_rate
            )
            for group in run.optimiser.param_groups:
                group["lr"] = rate
            total = total + known.step(run, batch)
        run.n_done = epoch + 1
        run.history["train"].append(float(total.mean()) / len(batches))
        waited = _validate(run, known)
        logged = settings.verbose and run.n_done % settings.verbose == 0
        progress = NetProgress(
            run.n_done,
            settings.epochs,
            run.history["train"][-1],
            run.history["valid"][-1] if run.history["valid"] else math.nan,
        )
        if logged:
            logger.info("epoch %d of %d: %s", run.n_done, settings.epochs, progress)
        told = [callback(progress) for callback in callbacks]
        stopped = any(answer is True for answer in told)
        out_of_patience = (
            settings.n_iter_no_change is not None and waited >= settings.n_iter_no_change
        )
        if stopped or out_of_patience or run.n_done % every == 0 or run.n_done == settings.epochs:
            save()
        if stopped or out_of_patience:
            return


def _validate(run: _Run, known: "_Known") -> int:
    """Judge held-out groups; epochs since the last network got better."""
    if known.valid is None:
        return 0
    value = known.validation_loss(run.network)
    run.history["valid"].append(float(value.mean()))
    run.remember_best(value)
    return int(run.n_done - run.best_epoch.max())


class _Known:
    """What is known of groups, on the device, and the batches."""

    def __init__(self, task: Task, settings: Settings):
        self.task, self.settings = task, settings
        device = settings.device
        half = settings.half_precision and device.startswith("cuda")
        self.cast = torch.autocast(device.split(":")[0], torch.bfloat16, enabled=half)
        # embeddings that need no scaling may stay as short as they came
        dtype = torch.bfloat16 if half else torch.float32
        self.source = open_rows(task, device, dtype, lock=settings.epochs >= _MANY_EPOCHS)
        self.target = _tensor(task.target, device)
        self.train = _tensor(task.train, device)
        self.valid = None if task.valid is None else _tensor(task.valid, device)
        self.all_train = bool((task.train == 1).all())
        self.weight_row = None if task.weight_row is None else _tensor(task.weight_row, device)
        sizes = task.rows.groups.sizes
        self.row_starts = torch.as_tensor(np.cumsum(sizes) - sizes, device=device)
        self.used = np.flatnonzero(task.train.any(axis=0))
        n_rows = int(sizes[self.used].sum())
        at_once = settings.batch_groups
        if at_once is None:
            at_once = max(1, round(len(self.used) * min(1.0, _ROWS_AT_ONCE / n_rows)))
        self.n_batches = max(1, -(-len(self.used) // at_once))

    def epoch_parts(self, epoch: int) -> list[NDArray[np.intp]]:
        if self.n_batches == 1:
            return [self.used]
        order = np.random.default_rng([self.settings.seed, epoch]).permutation(self.used)
        return np.array_split(order, self.n_batches)

    def step(self, run: _Run, batch: Batch) -> Any:
        weight_group = None if self.all_train else self.train[:, batch.groups]
        with self.cast:
            return train_step(
                run.network,
                self.task.loss,
                run.optimiser,
                batch.rows,
                batch.packed,
                self.target[batch.groups],
                weight_row=self._rows_of(batch),
                weight_group=weight_group,
                max_norm=self.settings.max_norm,
            )

    def _rows_of(self, batch: Batch) -> Any:
        if self.weight_row is None:
            return None
        packed = batch.packed
        return self.weight_row[self.row_starts[batch.groups][packed.codes] + packed.within]

    @torch.no_grad()
    def validation_loss(self, network: GroupNet) -> Any:
        assert self.valid is not None  # asked for where groups are held out
        network.eval()
        held = np.flatnonzero(self.valid.sum(0).cpu().numpy())
        total, weight = 0.0, 0.0
        for batch in self.source.batches(_parts_of(held, self.task.rows.groups.sizes)):
            valid = self.valid[:, batch.groups]
            here = valid.sum(1)
            with self.cast:
                value = mean_loss(
                    network,
                    self.task.loss,
                    batch.rows,
                    batch.packed,
                    self.target[batch.groups],
                    self._rows_of(batch),
                    valid,
                )
            total, weight = total + value * here, weight + here
        return total / weight


def _parts_of(chosen: NDArray[np.intp], sizes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Whole groups in order, about so many rows at a time."""
    ends = np.cumsum(sizes[chosen])
    return np.split(chosen, np.flatnonzero(np.diff(ends // _ROWS_AT_ONCE)) + 1)


def open_rows(task: Task, device: str, dtype: Any, *, lock: bool) -> Any:
    """Rows on the device as a whole where they fit, else read ahead of it."""
    X, on_gpu = task.rows.X, device.startswith("cuda")
    free = torch.cuda.mem_get_info(torch.device(device))[0] if on_gpu else 0
    on_disk = isinstance(X, FolderRows | np.memmap)
    n_folds = 1 if task.centre is None or task.centre.ndim == 1 else len(task.centre)
    held = int(np.prod(X.shape)) * (n_folds * dtype.itemsize + 8)  # and on the way there
    if on_disk or (on_gpu and held > free // 2):
        if n_folds > 1:
            raise GroupDataError("folds are trained at once on rows that fit into memory")
        return streamed(
            task.rows, device, dtype, task.centre, task.scale, keep=free // 4, lock=lock
        )
    return resident(task.rows, device, dtype, task.centre, task.scale)


def _tensor(values: NDArray[Any], device: str) -> Any:
    kind = torch.float32 if values.dtype.kind == "f" else torch.int64
    return torch.as_tensor(np.ascontiguousarray(values), device=device).to(kind)


def _mark(network: GroupNet, task: Task, settings: Settings) -> str:
    """What has to be the same for a checkpoint to be continued."""
    return json.dumps(
        {
            "shapes": {name: list(value.shape) for name, value in network.state_dict().items()},
            "rows": [int(size) for size in task.rows.X.shape],
            "groups": int(task.rows.groups.n_groups),
            "pooling": network.pooling,
            "dropout": network.dropout,
            "loss": repr(task.loss),
            "target": float(np.abs(np.asarray(task.target, float)).sum()),
            "settings": [
                settings.epochs,
                settings.batch_groups,
                settings.learning_rate,
                settings.alpha,
                settings.max_norm,
                settings.half_precision,
                settings.seed,
            ],
        }
    )


@contextmanager
def _seeded() -> Iterator[None]:
    """Leave torch's generators as they were; they are seeded anew in each epoch."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        yield

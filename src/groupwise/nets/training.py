"""Training many networks at once: members of an ensemble, folds of a cross-validation, or both."""

import importlib.util
import json
import logging
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.files import atomic_write
from groupwise.nets.known import Known
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.progress import Callback, NetProgress
from groupwise.nets.rows import fingerprint
from groupwise.nets.steps import one_cycle
from groupwise.nets.task import Settings, Task

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["train"]

logger = logging.getLogger(__name__)

_MANY_ROWS = 10**9  # in all steps of a training together, from which compiling pays
_CHECKPOINTS = 20  # written in the course of a training


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
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            same = str(arrays["mark"]) == mark
        except (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path} is no checkpoint of a training; remove it or name another file"
            ) from error
        if not same:
            raise ValueError(
                f"{path} is the checkpoint of another training (data, settings or seed differ, or "
                "an earlier version wrote it); remove it or name another file"
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
    path = None if settings.checkpoint is None else Path(settings.checkpoint)
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"checkpoint {path} has no folder to lie in: {path.parent}")
    mark = "" if path is None else _mark(network, task, settings)
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
    if _out_of_patience(run, settings):  # the training of the checkpoint has ended
        return
    known = Known(task, settings)
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
            total = total + known.step(run.network, run.optimiser, batch)
        run.n_done = epoch + 1
        run.history["train"].append(float(total.mean()) / len(batches))
        if not math.isfinite(run.history["train"][-1]):
            raise ValueError(
                f"training diverged in epoch {run.n_done}, its loss is {run.history['train'][-1]}: "
                f"lower learning_rate ({settings.learning_rate:g}) or set max_norm"
            )
        _validate(run, known)
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
        stopped = any(isinstance(answer, bool | np.bool_) and answer for answer in told)
        ended = stopped or _out_of_patience(run, settings)
        if ended or run.n_done % every == 0 or run.n_done == settings.epochs:
            save()
        if ended:
            return


def _validate(run: _Run, known: Known) -> None:
    """Judge held-out groups, where there are any."""
    if known.valid is not None:
        value = known.validation_loss(run.network)
        run.history["valid"].append(float(value.mean()))
        run.remember_best(value)


def _out_of_patience(run: _Run, settings: Settings) -> bool:
    """Whether no network got better for too many epochs."""
    most = settings.n_iter_no_change
    return most is not None and run.n_done - int(run.best_epoch.max()) >= most


def _mark(network: GroupNet, task: Task, settings: Settings) -> str:
    """What has to be the same for a checkpoint to be continued."""
    known = (task.target, task.offset, task.weight_row, task.train, task.valid)
    arrays = (*known, task.centre, task.scale, task.rows.groups.codes)
    return json.dumps(
        {
            "shapes": {name: list(value.shape) for name, value in network.state_dict().items()},
            "rows": fingerprint(task.rows.X),
            "pooling": network.pooling,
            "dropout": network.dropout,
            "loss": repr(task.loss),
            "data": [None if each is None else zlib.crc32(each.tobytes()) for each in arrays],
            "settings": [
                settings.epochs,
                settings.batch_groups,
                settings.learning_rate,
                settings.alpha,
                settings.max_norm,
                settings.n_iter_no_change,
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

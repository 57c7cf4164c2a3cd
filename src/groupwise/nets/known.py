"""What is known of groups, on the device, and the batches of their rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError
from groupwise.nets.batches import Batch, ResidentRows, StreamedRows
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.rows import ROWS_AT_ONCE, FolderRows, blocks
from groupwise.nets.steps import mean_loss, train_step
from groupwise.nets.task import Settings, Task

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Known", "open_rows"]

_MANY_EPOCHS = 20  # from which rows in memory are page-locked in place


class Known:
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
        self.offset = None if task.offset is None else _tensor(task.offset, device)
        sizes = task.rows.groups.sizes
        self.row_starts = torch.as_tensor(np.cumsum(sizes) - sizes, device=device)
        self.used = np.flatnonzero(task.train.any(axis=0))
        n_rows = int(sizes[self.used].sum())
        at_once = settings.batch_groups
        if task.loss.needs_all_groups:
            at_once = len(self.used)
        elif at_once is None:
            at_once = max(1, round(len(self.used) * min(1.0, ROWS_AT_ONCE / n_rows)))
        elif at_once < 1:  # a share of the groups
            at_once = max(1, round(at_once * len(self.used)))
        self.n_batches = max(1, -(-len(self.used) // int(at_once)))

    def epoch_parts(self, epoch: int) -> list[NDArray[np.intp]]:
        if self.n_batches == 1:
            return [self.used]
        order = np.random.default_rng([self.settings.seed, epoch]).permutation(self.used)
        return np.array_split(order, self.n_batches)

    def step(self, network: GroupNet, optimiser: Any, batch: Batch) -> Any:
        weight_group = None if self.all_train else self.train[:, batch.groups]
        with self.cast:
            return train_step(
                network,
                self.task.loss,
                optimiser,
                batch.rows,
                batch.packed,
                self.target[batch.groups],
                weight_row=self._rows_of(batch, self.weight_row),
                weight_group=weight_group,
                offset=self._offset_of(batch),
                max_norm=self.settings.max_norm,
            )

    def _rows_of(self, batch: Batch, values: Any) -> Any:
        if values is None:
            return None
        packed = batch.packed
        return values[self.row_starts[batch.groups][packed.codes] + packed.within]

    def _offset_of(self, batch: Batch) -> Any:
        if self.offset is not None and self.task.pooled:
            return self.offset[batch.groups]
        return self._rows_of(batch, self.offset)

    @torch.no_grad()
    def validation_loss(self, network: GroupNet) -> Any:
        assert self.valid is not None  # asked for where groups are held out
        network.eval()
        self.task.loss.eval()
        held = np.flatnonzero(self.valid.sum(0).cpu().numpy())
        parts = [held]
        if not self.task.loss.needs_all_groups:
            parts = [held[part] for part in blocks(self.task.rows.groups.sizes[held])]
        total, weight = 0.0, 0.0
        for batch in self.source.batches(parts):
            valid = self.valid[:, batch.groups]
            here = valid.sum(1)
            with self.cast:
                value = mean_loss(
                    network,
                    self.task.loss,
                    batch.rows,
                    batch.packed,
                    self.target[batch.groups],
                    self._rows_of(batch, self.weight_row),
                    valid,
                    self._offset_of(batch),
                )
            total, weight = total + value * here, weight + here
        self.task.loss.train()
        return total / weight


def open_rows(task: Task, device: str, dtype: Any, *, lock: bool) -> Any:
    """Rows on the device as a whole where they fit, else read ahead of it."""
    X, on_gpu = task.rows.X, device.startswith("cuda")
    free = torch.cuda.mem_get_info(torch.device(device))[0] if on_gpu else 0
    on_disk = isinstance(X, FolderRows | np.memmap)
    n_folds = 1 if task.centre is None or task.centre.ndim == 1 else len(task.centre)
    copies = n_folds if X.ndim == 2 else 1  # else folds have tables of their own already
    held = int(np.prod(X.shape)) * (copies * dtype.itemsize + 8)  # and on the way there
    if on_disk or (on_gpu and held > free // 2):
        if n_folds > 1:
            raise GroupDataError("folds are trained at once on rows that fit into memory")
        return StreamedRows(
            task.rows, device, dtype, task.centre, task.scale, keep=free // 4, lock=lock
        )
    return ResidentRows(task.rows, device, dtype, task.centre, task.scale)


def _tensor(values: NDArray[Any], device: str) -> Any:
    kind = torch.float32 if values.dtype.kind == "f" else torch.int64
    return torch.as_tensor(np.ascontiguousarray(values), device=device).to(kind)

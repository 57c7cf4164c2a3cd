"""Batches of whole groups, from memory, from the device's memory, or read ahead of it."""

import os
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed, to_device

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Batch", "GroupRows", "resident", "streamed"]

_MUCH = 2**24  # bytes from which several threads read
_AHEAD = 2  # batches that are read while one is computed with


@dataclass(frozen=True)
class Batch:
    """Whole groups on the device."""

    rows: Any
    packed: Packed
    groups: Any  # their codes, a tensor


class GroupRows:
    """Rows of groups, in the order in which they are asked for.

    Parameters
    ----------
    X : array-like with rows first
        In memory, memory-mapped or in files.
    groups : Groups
    """

    def __init__(self, X: Any, groups: Groups):
        self.X, self.groups = X, groups
        bounds = np.flatnonzero(np.diff(groups.codes)) + 1
        # neighbours already: whole groups are slices
        self._starts: NDArray[np.intp] | None = None
        if len(bounds) + 1 == groups.n_groups:
            first = np.concatenate([[0], bounds])
            self._starts = np.empty(groups.n_groups, np.intp)
            self._starts[groups.codes[first]] = first

    def read(self, chosen: NDArray[np.intp], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Rows of the chosen groups, group after group."""
        sizes = self.groups.sizes[chosen]
        if self._starts is None:
            return _into(self.X[self._positions(chosen, sizes)], out)
        if out is None:
            out = np.empty((int(sizes.sum()), *self.X.shape[1:]), self.X.dtype)
        ends = np.cumsum(sizes)
        slices = zip(
            (ends - sizes).tolist(), self._starts[chosen].tolist(), sizes.tolist(), strict=True
        )

        def copy(piece: tuple[int, int, int]) -> None:
            at, start, size = piece
            out[at : at + size] = self.X[start : start + size]

        if out[: ends[-1]].nbytes < _MUCH:
            for piece in slices:
                copy(piece)
        else:  # one core does not fill the way to a GPU, nor wait for a disk well
            with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
                list(pool.map(copy, slices))
        return out[: ends[-1]]

    def _positions(self, chosen: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.groups.order[np.repeat(self.groups.offsets[chosen], sizes) + within]


def _into(values: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
    if out is None:
        return np.asarray(values)
    out[: len(values)] = values
    return out[: len(values)]


class resident:
    """Batches of rows that lie on the device as a whole.

    Parameters
    ----------
    rows : GroupRows
    device : str
    dtype : torch.dtype
    centre, scale : ndarray or None
        Of the features.
    """

    def __init__(self, rows: GroupRows, device: str, dtype: Any, centre: Any, scale: Any):
        self.sizes = rows.groups.sizes
        self.device = device
        everything = np.arange(rows.groups.n_groups)
        table = torch.as_tensor(rows.read(everything), device=device)
        self.rows = _scaled(table, centre, scale, dtype)
        self.starts = torch.as_tensor(np.cumsum(self.sizes) - self.sizes, device=device)
        self._whole: Batch | None = None

    def batches(self, parts: list[NDArray[np.intp]]) -> Iterator[Batch]:
        for part in parts:
            yield self._batch(part)

    def _batch(self, part: NDArray[np.intp]) -> Batch:
        if len(part) == len(self.sizes) and (part[:-1] < part[1:]).all():
            if self._whole is None:
                codes = to_device(part, self.device)
                self._whole = Batch(self.rows, Packed(self.sizes, self.device), codes)
            return self._whole
        packed = Packed(self.sizes[part], self.device)
        codes = to_device(part, self.device)
        places = packed.within + self.starts[codes][packed.codes]
        return Batch(self.rows.index_select(0, places), packed, codes)


class streamed:
    """Batches that are read while the one before is computed with.

    A thread reads whole groups into page-locked memory, from where they travel to a GPU beside its
    computing. What is held on the device is two batches, whatever the rows are in all.
    """

    def __init__(self, rows: GroupRows, device: str, dtype: Any, centre: Any, scale: Any):
        self.source, self.device, self.dtype = rows, device, dtype
        self.sizes = rows.groups.sizes
        self.centre = None if centre is None else torch.as_tensor(centre, device=device)
        self.scale = None if scale is None else torch.as_tensor(scale, device=device)
        self.on_gpu = device.startswith("cuda")
        self._buffers: list[Any] = []

    def batches(self, parts: list[NDArray[np.intp]]) -> Iterator[Batch]:
        ready: queue.Queue[Any] = queue.Queue(maxsize=_AHEAD)
        stop = threading.Event()
        reader = threading.Thread(target=self._read, args=(parts, ready, stop), daemon=True)
        reader.start()
        try:
            while True:
                found = ready.get()
                if found is None:
                    return
                if isinstance(found, BaseException):
                    raise found
                part, table, copied = found
                if copied is not None:
                    torch.cuda.current_stream().wait_event(copied)
                    table.record_stream(torch.cuda.current_stream())
                rows = _scaled(table, self.centre, self.scale, self.dtype)
                codes = to_device(part, self.device)
                yield Batch(rows, Packed(self.sizes[part], self.device), codes)
        finally:
            stop.set()
            while reader.is_alive():  # free a reader that waits for room
                try:
                    ready.get(timeout=0.05)
                except queue.Empty:
                    continue
            reader.join()

    def _read(
        self, parts: list[NDArray[np.intp]], ready: "queue.Queue[Any]", stop: threading.Event
    ) -> None:
        try:
            side = torch.cuda.Stream() if self.on_gpu else None
            most = max(int(self.sizes[part].sum()) for part in parts)
            buffers = self._locked(most) if self.on_gpu else []
            free: list[Any] = [None] * len(buffers)
            for place, part in enumerate(parts):
                if stop.is_set():
                    return
                if side is None:
                    ready.put((part, torch.as_tensor(self.source.read(part)), None))
                    continue
                at = place % len(buffers)
                if free[at] is not None:
                    free[at].synchronize()  # the copy out of this buffer has ended
                held = self.source.read(part, buffers[at].numpy())
                with torch.cuda.stream(side):
                    table = buffers[at][: len(held)].to(self.device, non_blocking=True)
                    free[at] = torch.cuda.Event()
                    free[at].record(side)
                ready.put((part, table, free[at]))
            ready.put(None)
        except BaseException as error:  # raised where the batches are asked for
            ready.put(error)

    def _locked(self, most: int) -> list[Any]:
        """Page-locked buffers for so many rows, kept from one pass to the next."""
        if not self._buffers or len(self._buffers[0]) < most:
            like = torch.as_tensor(np.empty(0, self.source.X.dtype)).dtype
            shape = (most, *self.source.X.shape[1:])
            self._buffers = [
                torch.empty(shape, dtype=like, pin_memory=True) for _ in range(_AHEAD + 1)
            ]
        return self._buffers


def _scaled(table: Any, centre: Any, scale: Any, dtype: Any) -> Any:
    """Rows in units of the training rows' spread, in the precision of the network."""
    if centre is None:
        return table.to(dtype)
    like = {"device": table.device, "dtype": torch.float32}
    if not table.dtype.is_floating_point or table.dtype == torch.float64:
        table = table.to(torch.float64 if table.device.type == "cpu" else torch.float32)
        like["dtype"] = table.dtype
    middle = torch.as_tensor(centre).to(**like)
    return ((table - middle) / torch.as_tensor(scale).to(**like)).to(dtype)

"""Batches of whole groups, from memory, from the device's memory, or read ahead of it."""

import os
import queue
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed, to_device
from groupwise.nets.passes import standardise

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Batch", "GroupRows", "ResidentRows", "StreamedRows"]

_MUCH = 2**24  # bytes from which several threads read
_PIECE = 2**22  # bytes that a thread reads at a time
_AHEAD = 2  # batches that are read while one is computed with

_READERS = ThreadPoolExecutor(min(16, os.cpu_count() or 1), thread_name_prefix="groupwise-rows")


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
        first = self._starts[chosen]
        if out[: ends[-1]].nbytes < _MUCH:
            for at, start, size in zip(ends - sizes, first, sizes, strict=True):
                out[at : at + size] = self.X[start : start + size]
        else:  # one core does not fill the way to a GPU, nor wait for a disk well
            list(_READERS.map(lambda piece: self._copy(out, *piece), self._pieces(ends, first)))
        return out[: ends[-1]]

    @property
    def lies_in_memory(self) -> bool:
        """Whether whole groups are slices of one array in memory."""
        plain = isinstance(self.X, np.ndarray) and not isinstance(self.X, np.memmap)
        return plain and self._starts is not None and bool(self.X.flags.c_contiguous)

    def starts_of(self, chosen: NDArray[np.intp]) -> list[int]:
        """The first row of each of the chosen groups, where these are slices."""
        assert self._starts is not None  # asked for where they are
        return [int(start) for start in self._starts[chosen]]

    def _copy(self, out: NDArray[Any], at: int, start: int, size: int) -> None:
        out[at : at + size] = self.X[start : start + size]

    def _pieces(
        self, ends: NDArray[np.intp], first: NDArray[np.intp]
    ) -> Iterator[tuple[int, int, int]]:
        """Slices of about the same length: where to, where from, how many rows."""
        most = max(1, _PIECE * int(ends[-1]) // self._bytes(int(ends[-1])))
        begin = 0
        for end, start in zip(ends.tolist(), first.tolist(), strict=True):
            for at in range(begin, end, most):
                yield at, start + at - begin, min(most, end - at)
            begin = end

    def _bytes(self, n_rows: int) -> int:
        return max(1, n_rows * int(np.prod(self.X.shape[1:])) * np.dtype(self.X.dtype).itemsize)

    def _positions(self, chosen: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.groups.order[np.repeat(self.groups.offsets[chosen], sizes) + within]


def _into(values: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
    if out is None:
        return np.asarray(values)
    out[: len(values)] = values
    return out[: len(values)]


class ResidentRows:
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
        if centre is not None and table.ndim == np.ndim(centre) == 3:
            table = table.movedim(1, 0)  # rows first, then folds
        self.rows = _scaled(table, centre, scale, dtype)
        self.axis = (
            0 if centre is None or np.ndim(centre) == 1 else 1
        )  # folds have rows of their own
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
        return Batch(self.rows.index_select(self.axis, places), packed, codes)


class StreamedRows:
    """Batches that are read while the one before is computed with.

    A thread reads whole groups into page-locked memory, from where they travel to a GPU beside its
    computing. The groups that fit into ``keep`` bytes stay on the device; of the others, two
    batches are there at a time.

    Parameters
    ----------
    rows, device, dtype, centre, scale
        As in :class:`ResidentRows`.
    keep : int, default=0
        Bytes of the device's memory for rows that stay there.
    lock : bool, default=False
        Whether an array in memory is page-locked where it lies, which takes seconds but spares a
        copy on every pass.
    """

    def __init__(
        self,
        rows: GroupRows,
        device: str,
        dtype: Any,
        centre: Any,
        scale: Any,
        keep: int = 0,
        lock: bool = False,
    ):
        self.source, self.device, self.dtype = rows, device, dtype
        self.sizes = rows.groups.sizes
        self.centre = None if centre is None else torch.as_tensor(centre, device=device)
        self.scale = None if scale is None else torch.as_tensor(scale, device=device)
        self.on_gpu = device.startswith("cuda")
        self._buffers: list[Any] = []
        self.locked = lock and self.on_gpu and rows.lies_in_memory
        if self.locked:
            address, n_bytes = rows.X.ctypes.data, rows.X.nbytes
            runtime = torch.cuda.cudart()
            if int(runtime.cudaHostRegister(address, n_bytes, 0)) != 0:
                raise RuntimeError(f"{n_bytes / 2**30:.1f} GiB of rows could not be page-locked")
            weakref.finalize(self, runtime.cudaHostUnregister, address)
        n_kept = int(np.searchsorted(np.cumsum(self.sizes) * self._row_bytes(), keep, "right"))
        self.is_kept = np.arange(len(self.sizes)) < n_kept
        self.kept: Any = None
        if n_kept:
            kept = Groups.of_sizes(self.sizes[:n_kept])
            chosen = np.arange(n_kept)
            like = torch.as_tensor(np.empty(0, rows.X.dtype)).dtype if centre is not None else dtype
            shape = (kept.n_rows, *rows.X.shape[1:])
            self.kept = torch.empty(shape, dtype=like, device=device)
            for part in np.array_split(chosen, max(1, n_kept // 16)):  # not twice in memory
                at = int(kept.offsets[part[0]])
                found = torch.as_tensor(rows.read(part))
                self.kept[at : at + len(found)].copy_(found)
            self.kept_starts = torch.as_tensor(kept.offsets[:-1].copy(), device=device)

    def _row_bytes(self) -> int:
        return int(np.prod(self.source.X.shape[1:])) * np.dtype(self.source.X.dtype).itemsize

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
                yield self._batch(part, table)
        finally:
            stop.set()
            while reader.is_alive():  # free a reader that waits for room
                try:
                    ready.get(timeout=0.05)
                except queue.Empty:
                    continue
            reader.join()

    def _batch(self, part: NDArray[np.intp], table: Any) -> Batch:
        """Groups that were kept, then those that were read."""
        kept = part[self.is_kept[part]]
        if len(kept):
            packed = Packed(self.sizes[kept], self.device)
            first = self.kept_starts[to_device(kept, self.device)]
            places = packed.within + first[packed.codes]
            read = table
            n_rows = len(places) + (0 if read is None else len(read))
            table = torch.empty(
                (n_rows, *self.kept.shape[1:]), dtype=self.kept.dtype, device=self.device
            )
            torch.index_select(self.kept, 0, places, out=table[: len(places)])
            if read is not None:
                table[len(places) :].copy_(read)
            part = np.concatenate([kept, part[~self.is_kept[part]]])
        rows = _scaled(table, self.centre, self.scale, self.dtype)
        return Batch(rows, Packed(self.sizes[part], self.device), to_device(part, self.device))

    def _read(
        self, parts: list[NDArray[np.intp]], ready: "queue.Queue[Any]", stop: threading.Event
    ) -> None:
        try:
            side = torch.cuda.Stream() if self.on_gpu else None
            missing = [part[~self.is_kept[part]] for part in parts]
            most = max(int(self.sizes[part].sum()) for part in missing)
            buffers = self._buffers_for(most) if self.on_gpu and most and not self.locked else []
            free: list[Any] = [None] * len(buffers)
            for place, (part, wanted) in enumerate(zip(parts, missing, strict=True)):
                if stop.is_set():
                    return
                if side is None or len(wanted) == 0:
                    table = torch.as_tensor(self.source.read(wanted)) if len(wanted) else None
                    ready.put((part, table, None))
                    continue
                if self.locked:
                    ready.put((part, *self._straight(wanted, side)))
                    continue
                at = place % len(buffers)
                if free[at] is not None:
                    free[at].synchronize()  # the copy out of this buffer has ended
                held = self.source.read(wanted, buffers[at].numpy())
                with torch.cuda.stream(side):
                    table = buffers[at][: len(held)].to(self.device, non_blocking=True)
                    free[at] = torch.cuda.Event()
                    free[at].record(side)
                ready.put((part, table, free[at]))
            ready.put(None)
        except BaseException as error:  # raised where the batches are asked for
            ready.put(error)

    def _straight(
        self, wanted: NDArray[np.intp], side: Any
    ) -> tuple[Any, Any]:  # pragma: no cover - needs a GPU
        """Rows from where they lie to the device, and the event of their arrival."""
        sizes = self.sizes[wanted]
        like = torch.as_tensor(np.empty(0, self.source.X.dtype)).dtype
        shape = (int(sizes.sum()), *self.source.X.shape[1:])
        with torch.cuda.stream(side):
            table = torch.empty(shape, dtype=like, device=self.device)
            at = 0
            for start, size in zip(self.source.starts_of(wanted), sizes.tolist(), strict=True):
                rows = torch.as_tensor(self.source.X[start : start + size])
                table[at : at + size].copy_(rows, non_blocking=True)
                at += size
            arrived = torch.cuda.Event()
            arrived.record(side)
        return table, arrived

    def _buffers_for(self, most: int) -> list[Any]:  # pragma: no cover - needs a GPU
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
    kind = torch.float64 if table.device.type == "cpu" else torch.float32
    middle, spread = (
        torch.as_tensor(each).to(device=table.device, dtype=kind) for each in (centre, scale)
    )
    return standardise(table.to(kind), middle, spread).to(dtype)

"""Memory that one round frees and the next one needs."""

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["kept_heap"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_DEFAULT = 128 * 1024
_KEPT, _LARGEST_ON_HEAP = 1 << 30, 32 << 20


@contextmanager
def kept_heap() -> Iterator[None]:
    """Let the C library keep freed memory for a while, where it is glibc.

    Dask starts its workers with ``MALLOC_TRIM_THRESHOLD_=65536``: what is freed goes back to the
    system at once and has to be mapped again, page by page, by the next array. In a loop over
    arrays that cost more than the arithmetic (a round of the majority loss took three times as
    long).
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_TRIM_THRESHOLD, _KEPT)
    libc.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
    try:
        yield
    finally:
        before = int(os.environ.get("MALLOC_TRIM_THRESHOLD_", _DEFAULT))
        libc.mallopt(_TRIM_THRESHOLD, before)
        libc.mallopt(_MMAP_THRESHOLD, _DEFAULT)
        libc.malloc_trim(0)

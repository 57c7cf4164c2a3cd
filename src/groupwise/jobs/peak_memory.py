"""How much memory a fit takes."""

import threading

import psutil

__all__ = ["PeakMemory"]


class PeakMemory:
    """The most resident memory while the block runs, above what there was before, in MiB.

    Read every few milliseconds by a thread: a peak shorter than that can be missed.

    Examples
    --------
    >>> with PeakMemory() as peak:
    ...     block = bytearray(64 << 20)
    >>> peak.mib > 30
    True
    """

    mib = 0.0

    def __enter__(self) -> "PeakMemory":
        self._process = psutil.Process()
        self._start = self._most = self._process.memory_info().rss
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self._look()

    def _look(self) -> None:
        self._most = max(self._most, self._process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._look()
        self.mib = (self._most - self._start) / 2**20

"""Processes that are asked, watched and ended; what they do is :mod:`groupwise.auto.worker`."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Protocol

import psutil

from groupwise.auto.candidates import Candidate
from groupwise.auto.members import key_of_fit
from groupwise.auto.worker import beside

__all__ = ["Process", "Starter"]

_SOURCE = -1  # the number of the process that others are forked from
_LOOK = 0.1  # seconds between looks at whether a process is well
# Nothing is collected while modules are loaded, which takes an eighth less.
_PROGRAM = "import gc; gc.disable(); from groupwise.auto import worker; worker.main()"


class _Handle(Protocol):
    """One process."""

    tasks: IO[bytes]

    def poll(self) -> int | None:
        """Its exit status, or ``None``."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class _Run:
    """A process that is started on its own; its tasks come from its standard input."""

    def __init__(self, job: Path, number: int):
        # one thread each; found wherever this process has found the package
        paths = os.pathsep.join(path for path in sys.path if path)
        with beside(job, "errors", number).open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(job), str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            )
        assert self._process.stdin is not None
        self.tasks, self.poll = self._process.stdin, self._process.poll

    def end(self) -> None:
        """Let it end by itself, which it does unless it is still loading."""
        with contextlib.suppress(BrokenPipeError):
            self.tasks.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.tasks.close()


class _Fork:
    """A process that another forks from itself; its tasks come through a pipe with a name."""

    def __init__(self, source: _Run, job: Path, number: int):
        self._source, self._job, self._number = source, job, number
        self._pipe = beside(job, "pipe", number)
        os.mkfifo(self._pipe)
        # open for both ways it does not wait for the other side
        self.tasks: IO[bytes] = os.fdopen(os.open(self._pipe, os.O_RDWR), "wb")
        with contextlib.suppress(BrokenPipeError):  # the source has ended: poll will tell
            source.tasks.write(f"{number}\n".encode())
            source.tasks.flush()

    def poll(self) -> int | None:
        ended = beside(self._job, "ended", self._number)
        return int(ended.read_text()) if ended.exists() else self._source.poll()

    def stop(self) -> None:
        ready = beside(self._job, "ready", self._number)
        if ready.exists() and self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(ready.read_text()), signal.SIGKILL)
        # one that has not opened it yet finds none; one that has, its end
        self._pipe.unlink(missing_ok=True)
        self.tasks.close()


class Starter:
    """Starts workers: forked from one that has loaded everything, or each anew.

    Parameters
    ----------
    job : Path
        What all of them share; their files lie beside it.
    can_fork : bool
        By default on Linux: Windows has no fork, and libraries of macOS do not survive one.
    """

    def __init__(self, job: Path, can_fork: bool = sys.platform == "linux"):
        self.job, self._can_fork, self._n_started = job, can_fork, 0
        self._source: _Run | None = None

    def start(self) -> tuple[_Handle, int]:
        """Start a worker; its files have the number that is returned."""
        number, self._n_started = self._n_started, self._n_started + 1
        if not self._can_fork:
            return _Run(self.job, number), number
        if self._source is None or self._source.poll() is not None:
            self._source = _Run(self.job, _SOURCE)
        return _Fork(self._source, self.job, number), number

    def last_words(self, number: int) -> str:
        """The last line that a worker, or else its source, has written to its error stream."""
        for writer in (number, _SOURCE):
            path = beside(self.job, "errors", writer)
            said = path.read_text(errors="replace").split("\n") if path.exists() else []
            lines = [line for line in said if line.strip()]
            if lines:
                return lines[-1]
        return ""

    def close(self) -> None:
        """End the source, after all workers."""
        if self._source is not None:
            self._source.end()
            self._source.stop()


class Process:
    """One worker and what it is doing."""

    def __init__(self, starter: Starter):
        self._starter = starter
        self.doing: Path | None = None  # what it will leave
        self.since = 0.0
        self._start()

    def _start(self) -> None:
        self._handle, self._number = self._starter.start()
        self._id: int | None = None
        self._found: psutil.Process | None = None
        self._is_stopped, self._looked = False, 0.0
        self.fold: int | Path | None = None  # that it has in hand
        self.fits: set[str] = set()  # to its rows

    def is_ready(self) -> bool:
        """Whether tasks can be sent: a start takes seconds, and one that was ended starts again."""
        if self._is_stopped:
            self._start()
        if self._id is None:
            ready = beside(self._starter.job, "ready", self._number)
            self._id = int(ready.read_text()) if ready.exists() else None
        if self._handle.poll() is None:
            return self._id is not None
        if self._id is None:
            words = self._starter.last_words(self._number)
            raise RuntimeError(f"a process could not be started: {words}")
        self.stop()
        return False

    def ask(
        self, task: tuple[Candidate | None, int | Path | None, Path | None], result: Path
    ) -> None:
        """Send a task that leaves a file.

        It is of a candidate, a fold (``None``: all rows; a path: the one of the tables there), and
        the file for the fitted model, if it is to be kept.
        """
        with contextlib.suppress(BrokenPipeError):  # it has just ended: trouble will tell
            self._handle.tasks.write(pickle.dumps(task))
            self._handle.tasks.flush()
        candidate, fold, _ = task
        if fold != self.fold:
            self.fold, self.fits = fold, set()
        if candidate is not None:
            self.fits.add(key_of_fit(candidate))
        self.doing, self.since = result, time.monotonic()

    def trouble(self, most_seconds: float, most_bytes: float) -> str | None:
        """Why the task has to be given up, or ``None``; the process is ended then."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return None
        self._looked = now
        reason, code = None, self._handle.poll()
        if code is not None:
            words = self._starter.last_words(self._number)
            reason = f"its process ended with {code}: {words}"
        elif now - self.since > most_seconds:
            reason = f"took longer than {most_seconds:.0f} s on one fold"
        elif self._memory() > most_bytes:
            reason = f"used more than {most_bytes / 2**30:.1f} GiB"
        if reason is not None:
            self.stop()
        return reason

    def _memory(self) -> float:
        """Resident bytes that are its own; the shared table is mapped, not held."""
        try:
            self._found = self._found or psutil.Process(self._id)
            held = self._found.memory_info()
        except psutil.NoSuchProcess:
            return 0.0
        return float(held.rss - getattr(held, "shared", 0))

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._handle.stop()
        self.doing, self._is_stopped = None, True

"""Processes that fit candidates for a race; :mod:`groupwise.auto.processes` starts them.

A worker's tasks come as pickles on its standard input; each leaves one file. When the input ends,
whatever is being done, the process does too. One with a negative number is no worker: it loads what
all need, once, and for each number that it reads forks a worker from itself, whose tasks then come
through a named pipe.
"""

import gc
import importlib
import os
import pickle
import queue
import select
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NoReturn

import joblib

from groupwise.auto.members import Fold, one_thread
from groupwise.auto.store import Store
from groupwise.boosting.lightgbm import share_bins
from groupwise.files import atomic_write, write_text
from groupwise.kernels import share_kernels

__all__ = ["beside", "main", "start_workers", "work"]

_SHARED = 2**28  # bytes of kernels that candidates of a fold share
_LOOK = 0.02  # seconds between looks at the workers


def beside(job: Path, what: str, number: int) -> Path:
    """Files of a worker: its ``pipe``, its ``errors``, its process id once it is ``ready``.

    When it has ended, ``ended`` holds its exit status.
    """
    return job.with_name(f"{what}-{number}")


def start_workers(job: Path) -> NoReturn:
    """Fork a worker for each number that comes in, and say when one ends."""
    shared = _load(job)
    numbers: dict[int, int] = {}  # by process id
    while True:
        if select.select([0], [], [], _LOOK)[0]:
            lines = os.read(0, 4096).split()
            if not lines:  # the end
                for process in numbers:
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)
                os._exit(0)
            for number in map(int, lines):
                process = os.fork()
                if process == 0:
                    _become_worker(job, number, shared)
                numbers[process] = number
        while numbers:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                break
            code = os.waitstatus_to_exitcode(status)
            write_text(beside(job, "ended", numbers.pop(process)), str(code))


def _load(job: Path) -> Any:
    """What all workers share, and the modules that their candidates need."""
    *shared, modules = joblib.load(job, mmap_mode="r")
    for name in modules:
        importlib.import_module(name)
    if "torch" in modules:  # half of it is loaded for the first optimiser
        torch = sys.modules["torch"]
        torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    gc.freeze()  # what is never collected stays shared
    gc.enable()
    return shared


def _become_worker(job: Path, number: int, shared: Any) -> NoReturn:
    try:
        with beside(job, "errors", number).open("wb") as errors:
            os.dup2(errors.fileno(), 2)
        write_text(beside(job, "ready", number), str(os.getpid()))
        # never closed: that would wait for the thread that reads it
        tasks = os.fdopen(os.open(beside(job, "pipe", number), os.O_RDONLY), "rb")
        work(tasks, *shared)
    except BaseException:  # whatever it was: this is not the process that it was forked from
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def work(stream: IO[bytes], kind: Any, tables: Any, seed: int, folder: Path, digest: str) -> None:
    """Do what is asked until nothing is asked any more."""
    store = Store(folder, digest)
    tasks: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(stream, tasks), daemon=True).start()
    number: int | Path | None = -1
    fitted: Any = None  # what fits to the rows of the last task's fold
    with share_kernels(_SHARED), one_thread(), ExitStack() as of_fold:
        while True:
            candidate, fold, model_file = tasks.get()
            if candidate is None:
                tables.make(fold)
                continue
            if fold != number:
                number = fold
                if isinstance(fold, Path):  # the one fold of other tables, or all their rows
                    other = joblib.load(fold, mmap_mode="r")
                    fitted = Fold(kind, other, 0 if other.splits else None, seed)
                else:
                    fitted = Fold(kind, tables, fold, seed)
                of_fold.close()  # of large tables, bins of other folds would fill the memory
                of_fold.enter_context(share_bins())
            if model_file is not None:
                found = fitted.fit(candidate) if fold is None else fitted.fit_and_ask(candidate)
                with atomic_write(model_file, sync=False) as part:
                    joblib.dump(found, part)
            else:
                store.put(candidate, fold, fitted.answer(candidate))
            tables.give_back()


def _listen(stream: IO[bytes], tasks: "queue.Queue[Any]") -> None:
    while True:
        try:
            tasks.put(pickle.load(stream))
        except EOFError:
            os._exit(0)


def main() -> None:
    """Start workers, or be one, as the command line says: a job and a number."""
    job, number = Path(sys.argv[1]), int(sys.argv[2])
    if number < 0:
        start_workers(job)
    shared = _load(job)
    write_text(beside(job, "ready", number), str(os.getpid()))
    work(sys.stdin.buffer, *shared)

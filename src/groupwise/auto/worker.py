"""A process that fits candidates for a race: ``python -m groupwise.auto.worker JOB``.

Tasks come as pickles on standard input, from the process that started this one; each leaves one
file. When the input ends, whatever is being done, the process does too.
"""

import os
import pickle
import queue
import sys
import threading
from pathlib import Path
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from groupwise.auto.members import Fold, Trainer
from groupwise.auto.race import Store
from groupwise.boosting.lightgbm import share_bins
from groupwise.files import atomic_write
from groupwise.kernels import share_kernels

__all__ = ["main", "ready_file"]

_SHARED = 2**28  # bytes of kernels that candidates of a fold share


def ready_file(job: Path, process: int) -> Path:
    """What a process leaves when it has started."""
    return job.with_name(f"ready-{process}")


def main(job: Path) -> None:
    """Do what is asked until nothing is asked any more."""
    kind, tables, seed, folder, digest = joblib.load(job, mmap_mode="r")
    store = Store(folder, digest)
    tasks: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    ready_file(job, os.getpid()).touch()
    number: int | None = -1
    fitted: Any = None  # what has been prepared for the fold of the last task
    with share_kernels(_SHARED), share_bins(), threadpool_limits(1):
        while True:
            candidate, fold, model_file = tasks.get()
            if candidate is None:
                tables.make(fold)
                continue
            if fold != number:
                number, fitted = fold, _on(fold, kind, tables, seed)
            if fold is None:
                with atomic_write(model_file) as part:
                    joblib.dump(fitted.fit(candidate), part)
            else:
                store.put(candidate, fold, fitted.answer(candidate))


def _on(fold: int | None, kind: Any, tables: Any, seed: int) -> Any:
    """What fits candidates to the training rows of a fold, or to all rows."""
    if fold is None:
        return Trainer(kind, tables.problem, seed)
    return Fold(kind, tables, fold, seed)


def _listen(tasks: "queue.Queue[Any]") -> None:
    while True:
        try:
            tasks.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

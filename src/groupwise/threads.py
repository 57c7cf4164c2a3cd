"""How many threads a table is worth."""

from contextlib import AbstractContextManager, nullcontext

from threadpoolctl import threadpool_limits

__all__ = ["few_threads"]


def few_threads(n_rows: int) -> AbstractContextManager[object]:
    """One thread for a small table, where more would only wait for each other.

    On a busy machine a boosted model with 800 trees waits 800 times for its second thread.
    """
    return threadpool_limits(1) if n_rows < 20_000 else nullcontext()

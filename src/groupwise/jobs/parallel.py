"""Steps one after the other, or several at once in processes of their own."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

__all__ = ["run_steps"]

Found = TypeVar("Found")


def run_steps(
    function: Callable[[Any], Found], steps: Sequence[Any], n_jobs: int | None = None
) -> Iterator[Found]:
    """What the function gives for each step, in the order of the steps, as soon as it is there.

    Parameters
    ----------
    function : callable
        Must not depend on what it was called with before; with more than one job it is sent to
        other processes.
    steps : sequence
    n_jobs : int, default=None
        Processes; ``None`` is one, this one; -1: as many as there are cores.

    Examples
    --------
    >>> list(run_steps(abs, [-1, 2]))
    [1, 2]
    """
    if effective_n_jobs(n_jobs) == 1 or len(steps) < 2:
        yield from map(function, steps)
        return
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(step) for step in steps
    )

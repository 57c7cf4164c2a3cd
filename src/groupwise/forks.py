"""Engines that do not survive a fork, and how a child is told."""

import os

__all__ = ["use_engine"]

_used: set[str] = set()
_used_before_fork: set[str] = set()


def use_engine(name: str) -> None:
    """Note that an engine's threads run in this process.

    A forked child inherits the engine's idea of its threads, but not the threads: its first
    parallel region waits for them for ever.

    Raises
    ------
    RuntimeError
        In a child that was forked after the engine ran here.
    """
    if name in _used_before_fork:
        raise RuntimeError(
            f"{name} was used before this process was forked and would wait for ever: start "
            "processes with 'spawn' or 'forkserver' (multiprocessing.set_start_method, joblib's "
            "'loky'), or set OMP_NUM_THREADS=1 before Python starts"
        )
    if _n_threads() > 1:
        _used.add(name)


def _n_threads() -> int:
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(given) if given.isdecimal() else os.cpu_count() or 1


def _after_fork() -> None:
    _used_before_fork.update(_used)


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)

"""Kernels and distances that several fits on the same rows share, inside a block that says so."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import is_dataclass
from functools import wraps
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from groupwise.groups import Groups

__all__ = ["share_kernels", "shareable"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Shelf:
    """Results by what they were computed from; the longest unused ones leave first."""

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.held: OrderedDict[bytes, Any] = OrderedDict()

    def get(self, key: bytes, compute: Callable[[], Any]) -> Any:
        if key not in self.held:
            self.held[key] = _read_only(compute())
        self.held.move_to_end(key)
        result = self.held[key]
        while self.held and sum(map(_bytes, self.held.values())) > self.max_bytes:
            self.held.popitem(last=False)
        return result


_shelf: ContextVar[_Shelf | None] = ContextVar("_shelf", default=None)


@contextmanager
def share_kernels(max_bytes: int = 2**30) -> Iterator[None]:
    """Compute kernels and distances between the same rows once inside this block.

    A search over costs or class weights fits many models to the same rows, and their kernel matrix
    is most of the work. Results are kept by the content of the arrays they were computed from, so
    that they are those of a computation of its own; they are let go at the end of the block.

    Parameters
    ----------
    max_bytes : int, default=2**30
        Of the results held at a time.

    Notes
    -----
    Only this thread shares: a search in several processes (``n_jobs``) gains nothing.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.kernels import share_kernels
    >>> from groupwise.presence import SetKernelClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> with share_kernels():
    ...     fits = [SetKernelClassifier(C=C).fit(d.X, d.y, groups=d.groups) for C in (1.0, 10.0)]
    """
    token = _shelf.set(_Shelf(max_bytes))
    try:
        yield
    finally:
        _shelf.reset(token)


def shareable(function: _Function) -> _Function:
    """Let a pure function of arrays, groups and numbers share its results, which are read-only."""

    @wraps(function)
    def shared(*args: Any) -> Any:
        shelf = _shelf.get()
        if shelf is None:
            return function(*args)
        digest = sha256(function.__qualname__.encode())
        for place, argument in enumerate(args):
            same = next((p for p in range(place) if args[p] is argument), None)
            _feed(digest, argument if same is None else f"argument {same}")
        return shelf.get(digest.digest(), lambda: function(*args))

    # ignored: wraps keeps the signature, but a type variable for whole functions cannot say so
    return shared  # type: ignore[return-value]  # it has the signature of what it wraps


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape} {value.strides}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif issparse(value):
        digest.update(f"{value.format} {value.shape}".encode())
        for part in (value.data, value.indices, value.indptr):
            _feed(digest, part)
    elif isinstance(value, Groups):
        digest.update(f"groups {value.n_groups}".encode())
        _feed(digest, value.codes)
    elif isinstance(value, str | int | float) or is_dataclass(value):  # exact by their names
        digest.update(f"{type(value).__name__} {value!r}".encode())
    else:
        raise TypeError(f"results for a {type(value).__name__} cannot be shared")


def _arrays(result: Any) -> list[np.ndarray]:
    parts = result if isinstance(result, tuple) else (result,)
    return [part for part in parts if isinstance(part, np.ndarray)]


def _read_only(result: Any) -> Any:
    for array in _arrays(result):
        array.flags.writeable = False
    return result


def _bytes(result: Any) -> int:
    return sum(array.nbytes for array in _arrays(result))

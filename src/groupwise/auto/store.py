"""Finished folds on disk."""

import hashlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse

import groupwise
from groupwise.auto.candidates import Candidate
from groupwise.auto.kinds import Kind
from groupwise.auto.members import FoldAnswer
from groupwise.auto.problem import Problem, Split
from groupwise.files import atomic_write

__all__ = ["Store"]


class Store:
    """Finished folds in a folder, one file each, named by everything that makes them what they are.

    Parameters
    ----------
    folder : Path
    digest : str
        Of the data, the folds and the seed; nothing for a folder that goes with the fit.
    """

    def __init__(self, folder: Path, digest: str):
        self.folder, self.digest = folder, digest
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def digest_of(kind: Kind, problem: Problem, splits: Sequence[Split], seed: int) -> str:
        """A text that differs where anything does that a fold's answer depends on."""
        digest = hashlib.blake2b(digest_size=16)
        settings = (groupwise.__version__, kind, problem.categories, problem.n_classes, seed)
        digest.update(repr(settings).encode())
        X: Any = problem.X
        parts: list[Any] = [X.data, X.indices, X.indptr] if issparse(X) else [X]
        parts += [problem.y, problem.groups.codes, *itertools.chain(*splits)]
        if problem.unprepared is not None:
            digest.update(joblib.hash(problem.unprepared).encode())
        if problem.domains is not None:
            parts.append(problem.domains)
        for part in parts:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.data)
        return digest.hexdigest()

    def path(self, candidate: Candidate, fold: int) -> Path:
        """Where a fold is kept."""
        key = f"{self.digest} {candidate.key()} {fold}"
        name = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        return self.folder / f"{candidate.method.name}.{name}.npz"

    def get(self, candidate: Candidate, fold: int) -> FoldAnswer | None:
        """A finished fold, or ``None``."""
        path = self.path(candidate, fold)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as held:
            answer = {name: held[name] for name in held.files if not name.startswith(".")}
            return FoldAnswer(answer, float(held[".seconds"]), str(held[".failed"]))

    def put(self, candidate: Candidate, fold: int, found: FoldAnswer) -> None:
        """Keep a fold, whole or not at all."""
        more = {".seconds": np.array(found.seconds), ".failed": np.array(found.failed)}
        sync = bool(self.digest)  # a later fit reads it
        with atomic_write(self.path(candidate, fold), sync=sync) as part, part.open("wb") as stream:
            # ignored: to the stubs any name could be savez's own option
            np.savez(stream, **found.answer, **more)  # type: ignore[arg-type]

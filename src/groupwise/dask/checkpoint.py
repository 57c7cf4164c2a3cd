"""A fit that was broken off, on disk."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groupwise.files import write_text

__all__ = ["Checkpoint", "CheckpointState", "read_checkpoint"]

_FORMAT = 2


@dataclass(frozen=True)
class CheckpointState:
    """Where a fit was.

    Attributes
    ----------
    n_rounds : int
    history : dict
        The losses so far.
    booster : str
        XGBoost's JSON.
    """

    n_rounds: int
    history: dict[str, list[float]]
    booster: str


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to write, and what the fit is.

    Attributes
    ----------
    path : str
        On a disk that the workers and the caller share.
    every : int
        Rounds between two files; each replaces the one before.
    fit : dict
        Settings and digests of the data: a file of another fit is refused.
    state : CheckpointState, default=None
        To go on from.
    """

    path: str
    every: int
    fit: dict[str, Any] = field(default_factory=dict)
    state: CheckpointState | None = None

    def write(self, state: CheckpointState) -> None:
        """Write the file, whole or not at all."""
        content = {"format": _FORMAT, "fit": self.fit, **vars(state)}
        write_text(self.path, json.dumps(content | {"digest": _digest(content)}))


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_checkpoint(path: str | Path, fit: dict[str, Any]) -> CheckpointState | None:
    """Where the fit was, or ``None`` if there is no file.

    Raises
    ------
    ValueError
        If the file is of another fit (the message names what differs), was altered, or is no
        checkpoint at all.
    """
    path = Path(path)
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        format_, digest = found["format"], found.pop("digest", None)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no checkpoint of groupwise") from error
    if format_ != _FORMAT:
        raise ValueError(f"{path}: checkpoints of format {format_!r} are not known")
    if digest != _digest(found):
        raise ValueError(f"{path} was altered after it was written; remove it to begin anew")
    state = CheckpointState(found["n_rounds"], found["history"], found["booster"])
    before = found["fit"]
    differs = sorted(key for key in fit.keys() | before.keys() if fit.get(key) != before.get(key))
    if differs:
        raise ValueError(
            f"{path} is the checkpoint of another fit: {differs[0]} was "
            f"{before.get(differs[0])!r} and is {fit.get(differs[0])!r}; remove the file to begin "
            "anew"
        )
    return state

"""A fit that was broken off, on disk."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xgboost

from groupwise.files import is_of_type, parse_json, write_text

__all__ = ["Checkpoint", "CheckpointState", "read_checkpoint"]

_FORMAT = 2
_KINDS: dict[str, Any] = {
    "fit": dict[str, Any],
    "n_rounds": int,
    "history": dict[str, list[Any]],
    "booster": str,
}


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
        If the file is of another fit (the message names what differs), was altered, is no
        checkpoint at all, or holds no booster of its rounds.
    """
    path = Path(path)
    if not path.exists():
        return None
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
        format_, digest = found["format"], found.pop("digest", None)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is no checkpoint of groupwise") from error
    if format_ != _FORMAT:
        raise ValueError(f"{path}: checkpoints of format {format_!r} are not known")
    if digest != _digest(found):
        raise ValueError(f"{path} was altered after it was written; remove it to begin anew")
    right = all(is_of_type(found.get(name), kind) for name, kind in _KINDS.items())
    if not right or not all(  # a loss may be nan
        type(loss) in (int, float) for losses in found["history"].values() for loss in losses
    ):
        raise ValueError(f"{path} is no checkpoint of groupwise")
    state = CheckpointState(found["n_rounds"], found["history"], found["booster"])
    _check_booster(path, state)
    before = found["fit"]
    differs = sorted(key for key in fit.keys() | before.keys() if fit.get(key) != before.get(key))
    if differs:
        raise ValueError(
            f"{path} is the checkpoint of another fit: {differs[0]} was "
            f"{before.get(differs[0])!r} and is {fit.get(differs[0])!r}; remove the file to begin "
            "anew"
        )
    return state


def _check_booster(path: Path, state: CheckpointState) -> None:
    """Let XGBoost read the trees here, before the workers do."""
    booster = xgboost.Booster({"verbosity": 0})
    try:
        parse_json(state.booster)  # XGBoost ends the process where there is no text at all
        booster.load_model(bytearray(state.booster.encode()))
    except (xgboost.core.XGBoostError, ValueError) as error:
        raise ValueError(f"{path} holds no booster that XGBoost can read") from error
    n_rounds = booster.num_boosted_rounds()
    if n_rounds != state.n_rounds:
        raise ValueError(f"{path} says {state.n_rounds} rounds, its booster has {n_rounds}")

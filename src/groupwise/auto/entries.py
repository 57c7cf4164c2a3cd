"""Candidates on their way through the race, and the tasks that they are given."""

import logging
from dataclasses import dataclass, field
from enum import IntEnum

from groupwise.auto.candidates import Candidate
from groupwise.auto.members import FoldAnswer

__all__ = ["Certainty", "Entry", "Task"]

logger = logging.getLogger("groupwise.auto")


@dataclass
class Entry:
    """A candidate and how far it has come.

    Attributes
    ----------
    candidate : Candidate
    folds : dict of int to FoldAnswer
    state : str
        ``"running"``, ``"finished"``, ``"dropped"``, ``"failed"`` or ``"out of time"``.
    reason : str
        Why it failed.
    """

    candidate: Candidate
    folds: dict[int, FoldAnswer] = field(default_factory=dict)
    state: str = "running"
    reason: str = ""

    @property
    def seconds(self) -> float:
        return sum(fold.seconds for fold in self.folds.values())

    def seconds_of_all(self, n_folds: int) -> float:
        """What a fit to all rows will take, if time grows with the rows."""
        return self.seconds / len(self.folds) * n_folds / (n_folds - 1)

    def take(self, fold: int, found: FoldAnswer) -> None:
        """Have what came of a fold; where it failed, leave the race."""
        if found.failed:
            self.fail(found.failed)
        else:
            self.folds[fold] = found

    def fail(self, reason: str) -> None:
        """Leave the race."""
        if self.state == "failed":  # told already, of another fold
            return
        self.state, self.reason = "failed", reason
        logger.info("%s failed: %s", self.candidate.name, reason)


class Certainty(IntEnum):
    """How certain it is that the answer to a task is needed."""

    #: It is asked for, and waited for.
    ASKED = 0
    #: It will be asked for later.
    SURE = 1
    #: It may be, or the work is in vain.
    LIKELY = 2


@dataclass(frozen=True, eq=False)
class Task:
    """An entry to be run on a fold.

    Attributes
    ----------
    entry : Entry
    fold : int
    certainty : Certainty
    """

    entry: Entry
    fold: int
    certainty: Certainty = Certainty.ASKED

    @property
    def is_asked(self) -> bool:
        return self.certainty is Certainty.ASKED

"""What one or more methods were found to be worth on a table; the input of a report."""

import json
import math
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from groupwise.files import write_text
from groupwise.jobs.job import Job
from groupwise.tables import TableError

__all__ = ["FORMAT", "Result", "library_versions"]

#: Of the JSON; a newer one is refused.
FORMAT = 1
_LIBRARIES = ("groupwise", "scikit-learn", "lightgbm", "xgboost-cpu", "torch", "numpy", "pandas")


def library_versions() -> dict[str, str]:
    """The versions that a result depends on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Result:
    """Held-out answers of each method, fold by fold, and how to repeat them.

    Attributes
    ----------
    about : dict
        Command, seed, versions, table and its fingerprint, columns, supervision, classes.
    methods : dict of str to list of dict
        What :meth:`Job.run_fold` gave, one per fold.
    left_out : dict of str to str
        Methods that were not run, or failed, with the reason.
    """

    about: dict[str, Any]
    methods: dict[str, list[dict[str, Any]]]
    left_out: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line of JSON."""
        content = {
            "format": FORMAT,
            "what": "groupwise result",
            "about": self.about,
            "methods": self.methods,
            "left_out": self.left_out,
        }
        return json.dumps(content, allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write the JSON, whole or not at all."""
        return write_text(path, self.to_json())

    @classmethod
    def from_json(cls, text: str, name: str) -> "Result":
        """Read the JSON; ``name`` is for messages."""
        try:
            content = json.loads(text)
            if content["what"] != "groupwise result":
                raise KeyError("what")
            if content["format"] > FORMAT:
                raise TableError(
                    f"{name} was written by a newer groupwise (format {content['format']})"
                )
            return cls(content["about"], content["methods"], content["left_out"])
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, TableError):
                raise
            raise TableError(f"{name} is no result of groupwise") from error


def about_job(job: Job, *, command: str, n_splits: int) -> dict[str, Any]:
    """Everything it takes to repeat a job."""
    return {
        "table": job.table,
        "fingerprint": job.fingerprint,
        "n_rows": job.n_rows,
        "n_groups": job.known.groups.n_groups,
        "supervision": job.supervision.to_dict(),
        "score": job.supervision.score_name,
        "classes": list(job.known.classes),
        "columns": [asdict(use) for use in job.uses],
        "seed": job.seed,
        "n_splits": n_splits,
        "command": command,
        "versions": library_versions(),
        "platform": platform.platform(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def plain_scores(units: dict[str, Any]) -> list[float]:
    """The units' scores with NaN for those left out."""
    return [math.nan if value is None else value for value in units["score"]]

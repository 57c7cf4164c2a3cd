"""Finished measurements on disk: a run that was stopped goes on where it ended."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["Store"]


class Store:
    """Measurements, one line of JSON each.

    Parameters
    ----------
    path : Path
    key : tuple of str
        The entries that tell one measurement from another.
    """

    def __init__(self, path: Path, key: tuple[str, ...]):
        self.path, self.key = path, key
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.records = [json.loads(line) for line in lines]
        self._known = {self._name(record) for record in self.records}

    def _name(self, record: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(record[name] for name in self.key)

    def has(self, *values: Any) -> bool:
        """Whether the measurement with these entries is there."""
        return values in self._known

    def add(self, record: dict[str, Any]) -> None:
        """Keep a measurement, at once."""
        self.records.append(record)
        self._known.add(self._name(record))
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def table(self) -> pd.DataFrame:
        """Measurements as they are, one line each."""
        return pd.DataFrame(self.records)

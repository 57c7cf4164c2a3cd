"""What a reproduction hands back, and how it is stored."""

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

__all__ = ["Result", "Track", "quiet", "versions"]

T = TypeVar("T")

#: Goes through a sequence and shows how far it is, under the given heading.
Track = Callable[[Sequence[Any], str], Iterable[Any]]


def quiet(steps: Sequence[T], _heading: str) -> Iterable[T]:
    """Go through the steps and show nothing."""
    return steps


def versions() -> dict[str, str]:
    """Versions of everything a figure may depend on."""
    packages = ("groupwise", "numpy", "scipy", "scikit-learn", "lightgbm")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


@dataclass
class Result:
    """Tables and pictures of one reproduction.

    Attributes
    ----------
    name : str
    tables : dict of str to DataFrame
        By title; the printed figures of the paper in columns of their own.
    settings : dict
        Everything needed to repeat it: seeds, splits, parameters.
    notes : list of str
        What differs from the paper and what we think explains it; what could not be done and why.
    figures : list of Path
    """

    name: str
    tables: dict[str, pd.DataFrame]
    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)

    def save(self, folder: Path) -> Path:
        """Write ``name.json`` (all numbers, settings and versions) and ``name.md`` to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "name": self.name,
            "settings": self.settings,
            "versions": versions(),
            "notes": self.notes,
            "figures": [path.name for path in self.figures],
            "tables": {
                title: json.loads(table.to_json(orient="table", index=True))
                for title, table in self.tables.items()
            },
        }
        (folder / f"{self.name}.json").write_text(json.dumps(record, indent=1) + "\n")
        (folder / f"{self.name}.md").write_text(self.markdown())
        return folder / f"{self.name}.json"

    def markdown(self) -> str:
        """The tables, notes and settings as text."""
        parts = [f"# Reproduction: {self.name}"]
        for title, table in self.tables.items():
            parts.append(f"## {title}\n\n{_markdown_table(table)}")
        parts.extend(f"![{path.stem}]({path.name})" for path in self.figures)
        if self.notes:
            parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in self.notes))
        settings = {**self.settings, **versions()}
        parts.append("## Settings\n\n" + "\n".join(f"- {k}: {v}" for k, v in settings.items()))
        return "\n\n".join(parts) + "\n"


def _markdown_table(table: pd.DataFrame) -> str:
    frame = table.reset_index() if table.index.name or table.index.nlevels > 1 else table
    cells = [[str(name) for name in frame.columns], ["---"] * frame.shape[1]]
    cells += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3f}"
    return "" if value is None else str(value)

"""What a reproduction hands back, and how it is stored."""

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
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
    earlier : dict of str to dict
        By title, the rows that were not measured now and the version that measured them.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    earlier: dict[str, dict[str, str]] = field(default_factory=dict)

    def completed(self, folder: Path) -> "Result":
        """With the rows of the page that is there, where this run has not all of their cells.

        Tables that this run does not name are gone; one without a line is kept whole.
        """
        path = folder / f"{self.name}.json"
        if not path.exists():
            return self
        stored = json.loads(path.read_text())
        tables, earlier = dict(self.tables), {}
        for title, table in self.tables.items():
            if title not in stored["tables"]:
                continue
            before = _stored_table(stored["tables"][title])
            kept = [row for row in before.index if not _has_all(table, before.loc[row])]
            if not kept:
                continue
            marks = stored.get("earlier", {}).get(title, {})
            of_version = stored["versions"]["groupwise"]
            earlier[title] = {_text(row): marks.get(_text(row), of_version) for row in kept}
            order = _joint_order(list(before.index), list(table.index))
            own = table.drop(index=kept, errors="ignore")
            both = pd.concat([own, before.loc[kept]]) if len(own) else before
            tables[title] = both.loc[order].rename_axis(before.index.names)
        return replace(self, tables=tables, earlier=earlier)

    def save(self, folder: Path) -> Path:
        """Write ``name.json`` (all numbers, settings and versions) and ``name.md`` to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "name": self.name,
            "settings": self.settings,
            "versions": versions(),
            "notes": self.notes,
            "figures": [path.name for path in self.figures],
            "earlier": self.earlier,
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
            if table.empty:  # nothing measured, and nothing on the page before
                continue
            parts.append(f"## {title}\n\n{_markdown_table(table)}")
        parts.extend(f"![{path.stem}]({path.name})" for path in self.figures)
        notes = [*self.notes, *self._of_earlier_versions()]
        if notes:
            parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in notes))
        settings = {**self.settings, **versions()}
        parts.append("## Settings\n\n" + "\n".join(f"- {k}: {v}" for k, v in settings.items()))
        return "\n\n".join(parts) + "\n"

    def _of_earlier_versions(self) -> list[str]:
        lines = []
        for title, rows in self.earlier.items():
            for made_by in dict.fromkeys(rows.values()):
                named = [row for row, one in rows.items() if one == made_by]
                shown = _whole_parts(named, self.tables[title].index)
                others = [_text(row) for row in self.tables[title].index]
                others = [row for row in others if row not in named]
                names = "; ".join(shown)
                if len(shown) > 12 > len(others):
                    names = f"all rows but {'; '.join(others)}" if others else "all rows"
                lines.append(f"Measured by version {made_by} and not again, {title}: {names}.")
        return lines


def _stored_table(stored: dict[str, Any]) -> pd.DataFrame:
    """A table as ``save`` wrote it."""
    columns = [field["name"] for field in stored["schema"]["fields"]]
    table = pd.DataFrame(stored["data"]).rename(columns={str(name): name for name in columns})
    keys = stored["schema"].get("primaryKey", [])
    table = table[columns].set_index(keys) if keys else table[columns]
    return table.rename_axis(None) if keys == ["index"] else table


def _has_all(table: pd.DataFrame, row: pd.Series) -> bool:
    """Whether a table has the row with every cell that is filled there."""
    if row.name not in table.index:
        return False
    rows: Any = table.loc  # pandas' stubs know no label of any kind
    return bool(rows[row.name].reindex(row.dropna().index).notna().all())


def _joint_order(before: list[Any], now: list[Any]) -> list[Any]:
    """The order of before; a row that is new follows the one that it follows now."""
    order = list(before)
    for place, row in enumerate(now):
        if row not in order:
            order.insert(order.index(now[place - 1]) + 1 if place else 0, row)
    return order


def _text(row: Any) -> str:
    return ", ".join(map(str, row)) if isinstance(row, tuple) else str(row)


def _whole_parts(named: list[str], index: pd.Index) -> list[str]:
    """Rows by name; where all rows of a first key are named, that key."""
    if index.nlevels == 1:
        return named
    shown = list(named)
    for key in dict.fromkeys(index.get_level_values(0)):
        of_key = [_text(row) for row in index if row[0] == key]
        if len(of_key) > 1 and set(of_key) <= set(named):
            shown[shown.index(of_key[0])] = f"all of {key}"
            shown = [row for row in shown if row not in of_key]
    return shown


def _markdown_table(table: pd.DataFrame) -> str:
    frame = table.reset_index() if table.index.name or table.index.nlevels > 1 else table
    cells = [[str(name) for name in frame.columns], ["---"] * frame.shape[1]]
    cells += [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3f}"
    return "" if value is None else str(value)

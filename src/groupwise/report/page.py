"""From a result to one self-contained HTML page."""

import json
from collections.abc import Sequence
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from groupwise.jobs import FoldResult, Result, leaderboard
from groupwise.report.pictures import make_pictures

__all__ = ["render"]

# What a page can hold and still open on a phone.
_MAX_GROUPS, _MAX_ROWS = 4000, 40_000


def render(result: Result) -> str:
    """The page as text.

    Parameters
    ----------
    result : Result
        Of ``fit``, ``compare`` or ``evaluate``.

    Returns
    -------
    html : str
        Needs no network and no other file.
    """
    board = leaderboard(result)
    names = [str(name) for name in board.index]
    data = _page_data(result, names)
    page = _environment().get_template("page.html.j2")
    return page.render(
        about=result.about,
        board=[{"method": name} | _figures(line) for name, line in board.iterrows()],
        best=names[0],
        left_out=result.left_out,
        pictures=make_pictures(result, names),
        params=_chosen(result),
        data=_safe_json(data),
        notes=data["notes"],
        features=[use for use in result.about.columns if use.is_feature],
        unused=[use for use in result.about.columns if use.use == "not used"],
        about_json=json.dumps(result.about.to_dict(), indent=1),
    )


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("groupwise.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _figures(line: pd.Series) -> dict[str, Any]:
    return {str(key): float(value) for key, value in line.items()} | {
        "tie": bool(line["difference_high"] >= 0)
    }


def _chosen(result: Result) -> dict[str, list[str]]:
    """What each fold's search chose."""
    chosen = {}
    for name, folds in result.methods.items():
        texts = [", ".join(f"{k} = {v}" for k, v in fold.params.items()) for fold in folds]
        if any(texts):
            chosen[name] = texts
    return chosen


def _page_data(result: Result, names: list[str]) -> dict[str, Any]:
    """What the page's script shows: groups and rows of every method."""
    notes: list[str] = []
    methods = {}
    rows_left = _MAX_ROWS
    for name in names:
        units = _units(result.methods[name])
        if len(units) > _MAX_GROUPS:
            notes.append(f"{name}: the {_MAX_GROUPS:,} worst of {len(units):,} groups are listed")
            units = sorted(units, key=lambda u: np.inf if u[2] is None else u[2])[:_MAX_GROUPS]
        rows = {k: v for fold in result.methods[name] for k, v in fold.rows.items()}
        kept: dict[str, Any] = {}
        for group, lines in rows.items():
            if rows_left < len(lines.at):
                notes.append(f"{name}: rows of {len(kept):,} groups are in the page")
                break
            kept[group] = lines.to_dict()
            rows_left -= len(lines.at)
        methods[name] = {"units": units, "rows": kept}
    return {
        "classes": result.about.classes,
        "methods": methods,
        "names": names,
        "notes": notes,
        "group": result.about.supervision.group or "row",
    }


def _units(folds: list[FoldResult]) -> list[list[Any]]:
    """Name, size, score, predicted class and, where there is one, true class of each group."""
    lines: list[Any] = []
    for fold in folds:
        units = fold.units
        truth: Sequence[int | None] = units.truth or [None] * len(units.name)
        lines += zip(units.name, units.size, units.score, units.predicted, truth, strict=True)
    return [list(line) for line in lines]


def _safe_json(content: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

"""From a result to one self-contained HTML page."""

import json
from pathlib import PurePath
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from groupwise.jobs import FoldResult, GroupResults, Result, leaderboard
from groupwise.jobs.fold_result import wilson_interval
from groupwise.report.pictures import make_pictures

__all__ = ["render"]

# What a page can hold and still open on a phone.
_MAX_GROUPS, _MAX_ROWS = 4000, 40_000


def render(result: Result, *, title: str | None = None, notes: str = "") -> str:
    """The page as text.

    Parameters
    ----------
    result : Result
        Of ``fit``, ``compare`` or ``evaluate``.
    title : str, default=None
        By default what is learned from which table.
    notes : str, default=""
        Paragraphs of one's own, shown below the title.

    Returns
    -------
    html : str
        Needs no network and no other file.
    """
    board = leaderboard(result)
    names = [str(name) for name in board.index]
    shown = result.fitted or names[0]
    lines = {str(name): _figures(line) for name, line in board.iterrows()}
    data, summary = _page_data(result, names), result.summary(shown)
    page = _environment().get_template("page.html.j2")
    return page.render(
        title=title or _title(result),
        paragraphs=[part for part in notes.split("\n\n") if part.strip()],
        about=result.about,
        unit="group" if result.about.supervision.group else "row",
        board=[{"method": name} | line for name, line in lines.items()],
        head=lines[shown],
        besides=summary["besides"],
        n_judged=summary["n_groups"],
        estimate=result.estimate,
        with_luck=result.with_luck,
        baseline=result.baseline(),
        shown=shown,
        role=_role(result),
        confusion=_confusion(result, shown),
        left_out=result.left_out,
        pictures=make_pictures(result, board),
        params=_chosen(result),
        data=_safe_json(data),
        notes=data["notes"],
        features=[use for use in result.about.columns if use.is_feature],
        unused=[use for use in result.about.columns if use.use == "not used"],
        about_json=json.dumps(result.about.to_dict(), indent=1),
    )


def _role(result: Result) -> str:
    """What the method is that the page shows."""
    others = len(result.methods) - 1
    if not others:
        return "method"
    if result.fitted is None:
        return f"best of {others + 1} methods"
    return f"the model, made of the best of {others} candidates"


def _title(result: Result) -> str:
    """What is learned from which tables, without folders and queries."""
    known, about = result.about.supervision, result.about
    words = [PurePath(word).name if "/" in word else word for word in about.table.split(" ")]
    table = " ".join(words[:6])
    what = " and ".join(known.label)
    by = f" by {known.group}" if known.group else ""
    return f"{what}{by}: {table.split(':')[0]}"


def _confusion(result: Result, method: str) -> dict[str, Any] | None:
    """Known by predicted classes, and what each class comes to."""
    parts = [fold.confusion for fold in result.methods[method]]
    if any(part is None for part in parts):
        return None
    counts = np.sum(np.array(parts), axis=0)
    known, said, right = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
    lines = []
    for code, name in enumerate(result.about.classes):
        total = max(1, int(known[code]))
        lines.append(
            {
                "name": name,
                "cells": [
                    {"n": int(n), "share": float(n / total), "right": k == code}
                    for k, n in enumerate(counts[code])
                ],
                "found": _share(right[code], known[code]),
                "kept": _share(right[code], said[code]),
                "known": int(known[code]),
            }
        )
    return {"lines": lines, "rows": result.about.supervision.rows_labelled}


def _share(part: int, whole: int) -> str:
    """A share with its interval, or a dash where there is nothing to take it of."""
    if not whole:
        return "none"
    low, high = wilson_interval(part / whole, int(whole))
    return f"{part / whole:.2f} ({low:.2f} to {high:.2f})"


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
        units = _units(result, result.methods[name])
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
        seen = any(fold.rows_seen for fold in result.methods[name])
        methods[name] = {"units": units, "rows": kept, "seen": seen}
    return {
        "classes": result.about.classes,
        "methods": methods,
        "names": names,
        "notes": notes,
        "group": result.about.supervision.group or "",
        "unit": "group" if result.about.supervision.group else "row",
    }


def _units(result: Result, folds: list[FoldResult]) -> list[list[Any]]:
    """Name, size, score, what is predicted and known in words, and whether they differ."""
    classes = result.about.classes
    lines: list[list[Any]] = []
    for fold in folds:
        units = fold.units
        for g, name in enumerate(units.name):
            said, known, wrong = _said(units, g, classes)
            lines.append([name, units.size[g], units.score[g], said, known, wrong])
    return lines


def _said(units: GroupResults, g: int, classes: tuple[str, ...]) -> tuple[str, str, bool]:
    """What was predicted of a group and what is known of it."""
    if units.number is not None and units.number_predicted is not None:
        return f"{units.number_predicted[g]:.4g}", f"{units.number[g]:.4g}", False
    if units.shares is not None:
        return _listed(units.proba[g], classes), _listed(units.shares[g], classes), False
    if units.counts is not None and units.counts_predicted is not None:
        return (
            _counted(units.counts_predicted[g], classes),
            _counted(units.counts[g], classes),
            False,
        )
    code = units.predicted[g]
    said = f"{classes[code]} ({units.proba[g][code]:.2f})"
    if units.truth is None:
        return said, "", False
    return said, classes[units.truth[g]], code != units.truth[g]


def _listed(shares: list[float], classes: tuple[str, ...]) -> str:
    order = range(len(classes)) if len(classes) <= 4 else np.argsort(shares)[::-1][:3]
    return ", ".join(f"{classes[k]} {shares[k]:.2f}" for k in order)


def _counted(counts: list[int], classes: tuple[str, ...]) -> str:
    if len(classes) == 2:
        return f"{counts[1]} of {sum(counts)} {classes[1]}"
    return ", ".join(f"{counts[k]} {classes[k]}" for k in np.argsort(counts)[::-1][:3] if counts[k])


def _safe_json(content: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

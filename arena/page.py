"""The leaderboard's pages from stored cells: Markdown, one sortable HTML file, a picture."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from arena.audit import audit_table
from arena.folds import N_FOLDS
from arena.leaderboard import Board, Score, board_of, critical_difference
from arena.sets import ROOMS, SETS

__all__ = ["boards_of", "fill", "head", "picture", "write_pages"]

Z = 1.96
TITLES = {
    "presence": "Presence (multiple-instance learning)",
    "proportions": "Proportions",
    "majority": "Majority",
    "measure": "Measures per group",
    "transfer": "Transfer",
}


def boards_of(cells: list[dict[str, Any]]) -> list[Board]:
    """Every room of which at least one set is finished."""
    boards = [board_of(room, cells) for room in ROOMS]
    return [board for board in boards if len(board.sets)]


def write_pages(store: Path, docs: Path) -> None:
    """Write ``leaderboard.md``, ``audit.md`` and ``head.md`` beside the cells, the rest to docs."""
    boards = boards_of(_lines(store / "cells.jsonl"))
    (store / "leaderboard.md").write_text("\n".join(_markdown(boards)))
    (store / "head.md").write_text("\n".join([*head(boards), ""]))
    (docs / "arena.svg").write_text(picture(boards))
    (docs / "leaderboard.html").write_text(page(boards))
    audited = audit_table(_lines(store / "audit.jsonl"))
    (store / "audit.md").write_text("\n".join(_audit_markdown(audited)))


def fill(path: Path, mark: str, lines: list[str]) -> None:
    """Put lines between the marks of a page."""
    start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, _, rest = path.read_text().partition(start)
    _, _, after = rest.partition(end)
    path.write_text("\n".join([before + start, *lines, end + after]))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# --- words ----------------------------------------------------------------------------------------


def _shown(score: Score) -> str:
    if score.value is None:
        return "-"
    return f"{score.value:.3f} ± {Z * score.se:.3f}"


def _table(rows: list[dict[str, Any]]) -> list[str]:
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return lines + ["| " + " | ".join(str(row[c]) for c in columns) + " |" for row in rows]


def _standing(board: Board) -> list[dict[str, Any]]:
    """One line per method, the best mean rank first."""
    n_sets = len(board.sets)
    rows = []
    for method, rank in board.mean_ranks.items():
        maker = board.makers[method]
        spent = board.cpu[method]
        rows.append(
            {
                "method": f"**{method}**" if method == "auto" else method,
                "by": maker,
                "mean rank": f"{rank:.2f}",
                "first or within one s.e.": f"{board.near_best(method)} of {n_sets}",
                "sets with a score": f"{board.n_scored(method)} of {n_sets}",
                "CPU s per fold": "-" if np.isnan(spent) else f"{spent:.1f}",
            }
        )
    return rows


def _by_set(board: Board) -> list[dict[str, Any]]:
    """One line per set, the best method first by mean rank; the best score in bold."""
    rows = []
    for name in board.sets:
        row: dict[str, Any] = {"set": name, "folds": board.folds[name]}
        best = board.best(name).value
        for method in board.mean_ranks:
            score = board.scores[name, method]
            text = _shown(score)
            row[method] = f"**{text}**" if score.value is not None and score.value == best else text
        rows.append(row)
    return rows


def _what_is_missing(board: Board) -> list[str]:
    """Sentences about what was not run, and what has no score."""
    absent = [name for name in _known(board) if name not in board.sets]
    short = [name for name in board.sets if board.folds[name] < N_FOLDS]
    lines = []
    if absent:
        lines.append(f"Not run to the end by all methods: {', '.join(absent)}.")
    if short:
        many = [f"{name} ({board.folds[name]})" for name in short]
        lines.append(f"Fewer than {N_FOLDS} folds: {', '.join(many)}.")
    reasons: dict[str, list[str]] = {}
    for (name, method), score in board.scores.items():
        if score.value is None:
            reasons.setdefault(f"{method}: {score.reason}", []).append(name)
    lines += [f"No score of {what} ({', '.join(names)})." for what, names in reasons.items()]
    return lines or ["Nothing is missing."]


def _markdown(boards: list[Board]) -> list[str]:
    lines = []
    for board in boards:
        way = "lower is better" if board.lower else "higher is better"
        gap = critical_difference(len(board.makers), len(board.sets))
        lines += [
            f"## {TITLES[board.room]}",
            "",
            f"{board.measure}, {way}; {len(board.sets)} sets. Mean ranks less than {gap:.2f} apart "
            "cannot be told apart (Nemenyi, 5 %).",
            "",
            *_table(_standing(board)),
            "",
            "Each set, with 95 % intervals over test groups:",
            "",
            *_table(_by_set(board)),
            "",
            *_what_is_missing(board),
            "",
        ]
    return lines


def head(boards: list[Board]) -> list[str]:
    """The first three of each room, for the README."""
    rows = []
    for board in boards:
        first = [f"{m} ({rank:.1f})" for m, rank in list(board.mean_ranks.items())[:3]]
        peers = [m for m in board.mean_ranks if board.makers[m] not in ("groupwise", "baseline")]
        best_peer = f"{peers[0]} ({board.mean_ranks[peers[0]]:.1f})" if peers else "none fits"
        rows.append(
            {
                "problem": board.room,
                "sets": f"{len(board.sets)} of {len(_known(board))}",
                "methods": len(board.makers),
                "first three by mean rank": ", ".join(first),
                "best peer": best_peer,
                "`auto` first or within one s.e.": f"{board.near_best('auto')} of "
                f"{len(board.sets)}",
            }
        )
    counts = [number for board in boards for number in board.folds.values()]
    few, many = min(counts), max(counts)
    done = f"{few}" if few == many else f"{few} to {many}"
    return [*_table(rows), "", f"Outer folds finished so far: {done} of {N_FOLDS} per set."]


def _known(board: Board) -> list[str]:
    """All sets of the room, run or not."""
    return [each.name for each in SETS if each.room == board.room]


def _audit_markdown(table: pd.DataFrame) -> list[str]:
    rows = []
    for row in table.to_dict("records"):
        shown = {}
        for key, value in row.items():
            if isinstance(value, tuple):
                value = f"{value[0]:+.3f} ± {value[1]:.3f}"
            shown[str(key)] = f"{value:.3f}" if isinstance(value, float) else value
        rows.append(shown)
    return [*_table(rows), ""] if rows else ["Not run yet.", ""]


# --- the picture: mean ranks, and bars over those that cannot be told apart -----------------------

_WIDTH, _LEFT, _RIGHT, _LINE = 860, 250, 250, 19
_COLOURS = {"groupwise": "#0b62a4", "baseline": "#6b6b6b"}
_PEER = "#b5541c"


def _alike(ranks: list[float], gap: float) -> list[tuple[int, int]]:
    """Longest runs of sorted ranks no further apart than the gap, as first and last position."""
    runs: list[tuple[int, int]] = []
    for start, low in enumerate(ranks):
        end = max(place for place, rank in enumerate(ranks) if rank - low <= gap)
        if end > start and not any(a <= start and end <= b for a, b in runs):
            runs.append((start, end))
    return runs


def _panel(board: Board, top: int) -> tuple[list[str], int]:
    """One room's axis and labels from ``top`` down, and where it ends."""
    ranks = board.mean_ranks
    names, values = list(ranks), list(ranks.values())
    gap = critical_difference(len(names), len(board.sets))
    runs = _alike(values, gap)
    span = _WIDTH - _LEFT - _RIGHT

    def x(rank: float) -> float:
        return _LEFT + span * (rank - 1.0) / (len(names) - 1.0)

    axis = top + 52
    parts = [
        f'<text x="8" y="{top + 16}" class="t">{TITLES[board.room]}</text>',
        f'<text x="{_WIDTH - 8}" y="{top + 16}" text-anchor="end" class="s">{len(board.sets)} '
        f"sets, {board.measure}; mean rank, 1 is best</text>",
        f'<path d="M{x(1):.1f} {axis}H{x(len(names)):.1f}" class="a"/>',
        f'<path d="M{x(1):.1f} {axis - 24}h{x(1 + gap) - x(1):.1f}" class="g"/>',
        f'<text x="{x(1) - 6:.1f}" y="{axis - 20}" text-anchor="end" class="s">critical difference '
        f"{gap:.1f}</text>",
    ]
    for tick in range(1, len(names) + 1):
        parts.append(f'<path d="M{x(tick):.1f} {axis}v-5" class="a"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{axis - 8}" text-anchor="middle" class="s">{tick}</text>'
        )
    for place, (start, end) in enumerate(runs):
        at = axis + 7 + 6 * place
        parts.append(
            f'<path d="M{x(values[start]) - 3:.1f} {at}H{x(values[end]) + 3:.1f}" class="b"/>'
        )
    first, half = axis + 7 + 6 * len(runs) + 12, (len(names) + 1) // 2
    for place, (name, rank) in enumerate(ranks.items()):
        left = place < half
        at = first + _LINE * (place if left else len(names) - 1 - place)
        colour = _COLOURS.get(board.makers[name], _PEER)
        end, anchor = (_LEFT - 12, "end") if left else (_WIDTH - _RIGHT + 12, "start")
        parts.append(
            f'<path d="M{x(rank):.1f} {axis}V{at}H{end}" fill="none" stroke="{colour}"/>'
            f'<circle cx="{x(rank):.1f}" cy="{axis}" r="3.5" fill="{colour}"/>'
        )
        weight = ' style="font-weight:700"' if name == "auto" else ""
        shift = -5 if left else 5
        parts.append(
            f'<text x="{end + shift}" y="{at + 4}" text-anchor="{anchor}" fill="{colour}"{weight}>'
            f"{html.escape(name)} {rank:.1f}</text>"
        )
    return parts, first + _LINE * half + 14


def picture(boards: list[Board]) -> str:
    """Critical-difference diagrams of all rooms, one below the other, as SVG."""
    parts: list[str] = []
    top = 0
    for board in boards:
        more, top = _panel(board, top)
        parts += more
    key = ((_COLOURS["groupwise"], "groupwise"), (_PEER, "peers"), (_COLOURS["baseline"], "plain"))
    for place, (colour, word) in enumerate(key):
        at = 12 + 110 * place
        parts.append(f'<circle cx="{at}" cy="{top + 8}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{at + 9}" y="{top + 12}" fill="{colour}">{word}</text>')
    height = top + 24
    style = (
        "text{font:13px sans-serif}.t{font-size:15px;font-weight:700}.s{font-size:11px;fill:#555}"
        ".a{stroke:#222;fill:none}.g{stroke:#222;stroke-width:3}.b{stroke:#222;stroke-width:3}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" aria-label="Mean ranks of all methods, by room">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


# --- one HTML file --------------------------------------------------------------------------------

_SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  table.querySelectorAll("th").forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0], value = row => row.cells[column].dataset.v ?? "";
      const rows = [...body.rows].sort((a, b) => {
        const x = value(a), y = value(b), p = parseFloat(x), q = parseFloat(y);
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
        return up ? order : -order;
      });
      body.append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  });
}
"""
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1c1c1c;background:#fff;max-width:1200px;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{margin-top:2.5rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0 1.2rem;font-size:14px}
th{cursor:pointer;text-align:left;border-bottom:2px solid #1c1c1c;vertical-align:bottom}
th,td{padding:.25rem .6rem;white-space:nowrap}th[aria-sort=ascending]::after{content:" ▲"}
th[aria-sort=descending]::after{content:" ▼"}tbody tr:nth-child(even){background:#f3f5f7}
td.n{text-align:right;font-variant-numeric:tabular-nums}.best{font-weight:700}.near{color:#0b62a4}
.peer{color:#9c4414}.ours{color:#0b62a4}.auto{font-weight:700}svg{max-width:100%;height:auto}
p.note{color:#444;max-width:75ch}nav a{margin-right:1rem}
"""


def _cell(text: str, value: Any = None, mark: str = "") -> str:
    given = text if value is None else value
    return f'<td data-v="{html.escape(str(given))}" class="{mark}">{html.escape(text)}</td>'


def _html_table(columns: list[str], rows: list[str]) -> str:
    titles = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    return (
        f'<div class="scroll"><table><thead><tr>{titles}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _html_standing(board: Board) -> str:
    n_sets = len(board.sets)
    rows = []
    for method, rank in board.mean_ranks.items():
        maker, spent = board.makers[method], board.cpu[method]
        kind = {"groupwise": "ours", "baseline": ""}.get(maker, "peer")
        near, scored = board.near_best(method), board.n_scored(method)
        bold = " auto" if method == "auto" else ""
        rows.append(
            f"<tr>{_cell(method, mark=kind + bold)}{_cell(maker)}{_cell(f'{rank:.2f}', mark='n')}"
            + _cell(f"{near} of {n_sets}", near, "n")
            + _cell(f"{scored} of {n_sets}", scored, "n")
            + (_cell("-", "", "n") if np.isnan(spent) else _cell(f"{spent:.1f}", spent, "n"))
            + "</tr>"
        )
    columns = ["method", "by", "mean rank", "first or within one s.e.", "sets with a score",
               "CPU s per fold"]  # fmt: skip
    return _html_table(columns, rows)


def _html_by_set(board: Board) -> str:
    methods, rows = list(board.mean_ranks), []
    for name in board.sets:
        best = board.best(name)
        cells = [_cell(name), _cell(str(board.folds[name]), mark="n")]
        for method in methods:
            score, mark = board.scores[name, method], "n"
            if score.value is not None and best.value is not None:
                near = abs(score.value - best.value) <= best.se
                mark += " best" if score.value == best.value else " near" if near else ""
            cells.append(_cell(_shown(score), "" if score.value is None else score.value, mark))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return _html_table(["set", "folds", *methods], rows)


def page(boards: list[Board]) -> str:
    """One file: tables that sort at a click, the picture; no network."""
    body = []
    for board in boards:
        way = "lower is better" if board.lower else "higher is better"
        notes = "".join(f"<p class='note'>{html.escape(t)}</p>" for t in _what_is_missing(board))
        body.append(
            f'<h2 id="{board.room}">{TITLES[board.room]}</h2><p class="note">{board.measure}, '
            f"{way}; {len(board.sets)} sets. A click on a column's title sorts by it.</p>"
            f"{_html_standing(board)}<p class='note'>Each set, with 95 % intervals over test "
            "groups. Bold: first. Blue: within one standard error of the first.</p>"
            f"{_html_by_set(board)}{notes}"
        )
    links = "".join(f'<a href="#{b.room}">{html.escape(TITLES[b.room])}</a>' for b in boards)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>groupwise: leaderboard</title><style>{_STYLE}</style></head><body>"
        "<h1>Leaderboard</h1><p class='note'>The same folds of whole groups for all, settings on "
        "inner folds, the last epoch; no method is given test labels. Made from the stored cells "
        f"by <code>python -m arena page</code>.</p><nav>{links}</nav>{picture(boards)}"
        f"{''.join(body)}"
        f"<script>{_SCRIPT}</script></body></html>\n"
    )

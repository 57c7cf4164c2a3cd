"""Pictures as SVG in the colours of the page: the page's style decides, light or dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Interval", "Series", "bars", "intervals", "lines", "scatter"]

# Units of the pictures: a phone shows them at about this size.
_WIDTH, _LINE, _LABEL, _RIGHT = 420.0, 26.0, 172.0, 62.0
_SHORT = 22


@dataclass(frozen=True)
class Interval:
    """A value with its interval, and what to call it."""

    name: str
    value: float
    low: float
    high: float
    strong: bool = False


@dataclass(frozen=True)
class Series:
    """A line: one value per step."""

    name: str
    values: Sequence[float]


def intervals(
    rows: Sequence[Interval],
    *,
    reference: tuple[str, float] | None = None,
    digits: int = 3,
    signed: bool = False,
) -> str:
    """Dots with their intervals, one line each, with the values beside them."""
    ends = [end for row in rows for end in (row.low, row.high, row.value)]
    ends += [] if reference is None else [reference[1]]
    scale = _Scale(min(ends), max(ends), _LABEL, _WIDTH - _RIGHT)
    height = _LINE * len(rows) + (44 if reference and reference[0] else 26)
    parts = []
    if reference is not None:
        x = scale(reference[1])
        parts.append(_line(x, 4, x, _LINE * len(rows) + 6, "guide"))
        if reference[0]:
            said = f"{reference[0]} {reference[1]:.{digits}f}"
            near = min(max(x, 60.0), _WIDTH - 60.0)
            parts.append(_text(near, _LINE * len(rows) + 20, said, "middle"))
    for position, row in enumerate(rows):
        y = _LINE * (position + 0.5) + 2
        kind = "mark strong" if row.strong else "mark"
        value = round(row.value, digits) + 0.0  # no minus before a nought
        shown = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
        hover = f"{row.name}: {shown} ({row.low:.{digits}f} to {row.high:.{digits}f})"
        parts.append(
            f"<g><title>{escape(hover)}</title>"
            + f'<rect x="0" y="{y - _LINE / 2:.1f}" width="{_WIDTH}" height="{_LINE}" '
            + 'class="hover"/>'
            + _text(_LABEL - 10, y + 4, _short(row.name), "end")
            + _line(scale(row.low), y, scale(row.high), y, kind)
            + f'<circle cx="{scale(row.value):.1f}" cy="{y:.1f}" r="4.5" class="{kind}"/>'
            + _text(_WIDTH - 4, y + 4, shown, "end")
            + "</g>"
        )
    parts.append(_axis(scale, height - 6, digits=2))
    return _svg(height + 10, parts)


def bars(rows: Sequence[tuple[str, float, float, str]], *, names: tuple[str, str]) -> str:
    """Stacked bars: (label, first part, second part, what to say on hover)."""
    most = max(first + second for _, first, second, _ in rows) or 1.0
    low, high = 40.0, _WIDTH - 8
    width, tall = (high - low) / len(rows), 150.0
    parts = []
    for position, (label, first, second, hover) in enumerate(rows):
        x = low + position * width
        one, other = tall * first / most, tall * second / most
        parts.append(
            f"<g><title>{escape(hover)}</title>"
            f'<rect x="{x:.1f}" y="4" width="{width:.1f}" height="{tall}" class="hover"/>'
            f'<rect x="{x + 2:.1f}" y="{4 + tall - one:.1f}" width="{width - 4:.1f}" '
            f'height="{one:.1f}" class="one"/>'
            f'<rect x="{x + 2:.1f}" y="{4 + tall - one - other:.1f}" width="{width - 4:.1f}" '
            f'height="{other:.1f}" class="two"/>' + _text(x + width / 2, tall + 20, label, "middle")
        )
        parts.append("</g>")
    parts.append(_text(low - 6, 14, f"{most:g}", "end") + _text(low - 6, 4 + tall, "0", "end"))
    parts.append(_line(low, 4 + tall, high, 4 + tall, "axis"))
    parts.append(_key(low, tall + 42, names))
    return _svg(tall + 52, parts)


def scatter(
    dots: Sequence[tuple[float, float, float, int, str]],
    *,
    x_name: str,
    y_name: str,
    names: tuple[str, ...] = (),
    span: tuple[float, float] | None = None,
) -> str:
    """Dots against the diagonal of a square: (x, y, size 0 to 1, colour, hover).

    Both axes have the same ``span``; ``None``: 0 to 1.
    """
    side = _WIDTH - 60
    left, top = 48.0, 8.0
    scale = _Scale(*(span or (0.0, 1.0)), 0.0, 1.0, margin=0.0 if span is None else 0.03)
    ends = scale.ends
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0] if span is None else scale.ticks()

    def place(x: float, y: float) -> tuple[float, float]:
        return left + side * scale(x), top + side * (1 - scale(y))

    parts = [
        f'<rect x="{left}" y="{top}" width="{side}" height="{side}" class="frame"/>',
        _line(*place(ends[0], ends[0]), *place(ends[1], ends[1]), "guide"),
    ]
    for tick in ticks:
        x, y = place(tick, tick)
        parts.append(_text(x, top + side + 16, f"{tick:g}", "middle"))
        parts.append(_text(left - 6, y + 4, f"{tick:g}", "end"))
    for x, y, size, colour, hover in dots:
        cx, cy = place(x, y)
        parts.append(
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{3 + 6 * size:.1f}" '
            f'class="dot c{colour % 6}"><title>{escape(hover)}</title></circle>'
        )
    parts.append(_text(left + side / 2, top + side + 34, x_name, "middle"))
    parts.append(
        f'<text transform="translate(13 {top + side / 2:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_name)}</text>'
    )
    parts += [_key(left, top + side + 54, names)] if names else []
    return _svg(side + (66 if names else 46), parts)


def lines(series: Sequence[Series], *, x_name: str, y_name: str, direct: bool = True) -> str:
    """Lines over steps 1, 2, ..., each with its name at its end (or, many of them, without)."""
    values = [value for one in series for value in one.values]
    longest = max(len(one.values) for one in series)
    right = _WIDTH - (110 if direct else 12)
    across = _Scale(1, max(2, longest), 48, right, margin=0.0)
    up = _Scale(min(values), max(values), 176, 10)
    parts = [
        _line(48, 182, right, 182, "axis"),
        _text((48 + right) / 2, 212, x_name, "middle"),
        '<text transform="translate(13 96) rotate(-90)" text-anchor="middle">'
        f"{escape(y_name)}</text>",
    ]
    for tick in up.ticks():
        parts.append(_text(42, up(tick) + 4, f"{tick:.2g}", "end"))
        parts.append(_line(48, up(tick), right, up(tick), "grid"))
    for tick in (1, longest):
        parts.append(_text(across(tick), 198, f"{tick:g}", "middle"))
    ends = _apart([up(one.values[-1]) for one in series], 14.0)
    for position, (one, y) in enumerate(zip(series, ends, strict=True)):
        path = " ".join(
            f"{'M' if k == 0 else 'L'}{across(k + 1):.1f} {up(value):.1f}"
            for k, value in enumerate(one.values)
        )
        hover = f"{one.name}: {one.values[0]:.3f} at first, {one.values[-1]:.3f} at last"
        parts.append(
            f'<path d="{path}" class="run c{position % 6}"><title>{escape(hover)}</title></path>'
        )
        if direct:
            parts.append(
                f'<text x="{right + 6:.1f}" y="{y + 4:.1f}" class="c{position % 6} named">'
                f"{escape(_short(one.name, 15))}</text>"
            )
    return _svg(218, parts)


class _Scale:
    """From values to places, with round numbers to mark."""

    def __init__(self, low: float, high: float, start: float, end: float, margin: float = 0.03):
        spread = (high - low) or 0.1
        self._low, self._high = low - margin * spread, high + margin * spread
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    @property
    def ends(self) -> tuple[float, float]:
        return self._low, self._high

    def ticks(self) -> list[float]:
        spread = self._high - self._low
        step = next(s for s in _STEPS if spread / s <= 5)
        first = -(-self._low // step)
        count = int((self._high - first * step) // step) + 1
        return [round(float((first + k) * step), 10) for k in range(count)]


_STEPS = [base * 10.0**power for power in range(-6, 40) for base in (1, 2, 5)]


def _apart(places: list[float], least: float) -> list[float]:
    """The places moved down where they would lie on each other."""
    order = sorted(range(len(places)), key=places.__getitem__)
    out, last = list(places), float("-inf")
    for position in order:
        out[position] = last = max(places[position], last + least)
    return out


def _axis(scale: _Scale, y: float, digits: int) -> str:
    return "".join(_text(scale(tick), y, f"{tick:.{digits}g}", "middle") for tick in scale.ticks())


def _key(x: float, y: float, names: Sequence[str]) -> str:
    parts = []
    for position, name in enumerate(names[:6]):
        parts.append(
            f'<circle cx="{x + 5:.1f}" cy="{y - 4:.1f}" r="5" class="dot c{position}"/>'
            + _text(x + 14, y, _short(name), "start")
        )
        x += 30 + 7.2 * len(_short(name))
    return "".join(parts)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(name: str, most: int = _SHORT) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _svg(height: float, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return f'<svg class="drawn" role="img" viewBox="0 0 {_WIDTH:g} {height:.0f}">{inside}</svg>'

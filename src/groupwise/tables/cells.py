"""What stands in cells as text and is something else: numbers, dates."""

import re
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["DATE_PARTS", "comma_in", "date_parts", "dates_in", "numbers_in_text", "unit_in"]

_COMMA = re.compile(r"^\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*$")
_WHOLE = re.compile(r"^\s*[+-]?\d+\s*$")
_THOUSANDS = re.compile(r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$")
# 1,234.5 and 1.234,5, each beside numbers without a mark of thousands
_ENGLISH = re.compile(r"^\s*[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?\s*$")
_CONTINENTAL = re.compile(r"^\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?\s*$")

_WITH_UNIT = re.compile(r"^\s*[+-]?\d+(?:[.,]\d+)*\s*((?:[^\W\d_]|°)\S{0,11})\s*$")

# What texts may look like where another table has told what a comma is.
_PATTERNS = {
    "": re.compile(""),
    "decimal": re.compile(r"^\s*[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?\s*$"),
    "thousands": _ENGLISH,
    "continental": _CONTINENTAL,
}

#: What becomes of a date: its place in time and its places in the year, the week and the day.
DATE_PARTS = ("days", "month", "weekday", "hour")
_NANOSECONDS_PER_DAY = 86_400e9


def numbers_in_text(values: pd.Series, comma: str = "") -> pd.Series:
    """Numbers that were written as text; NaN where a text is none.

    A comma is the decimal mark where every text is a whole number or has one comma, unless all of
    them could have it as a mark of thousands. Where a text has both marks, the first is that of
    thousands. Of a currency that every text has its sign is left out; a percent is a hundredth.

    Parameters
    ----------
    values : Series
    comma : {"", "decimal", "thousands", "continental"}, default=""
        What a comma is in texts that leave it open, as :func:`comma_in` other values of the column
        has told.

    Examples
    --------
    >>> numbers_in_text(pd.Series(["1,5", "2", None])).tolist()
    [1.5, 2.0, nan]
    >>> numbers_in_text(pd.Series(["1,500", "2,250"])).tolist()  # 1.5 or 1500?
    [nan, nan]
    >>> numbers_in_text(pd.Series(["1,500", "2,250.5"])).tolist()
    [1500.0, 2250.5]
    >>> numbers_in_text(pd.Series(["1,500", "2,250"]), comma="decimal").tolist()
    [1.5, 2.25]
    """
    different = pd.Series(values.dropna().unique())
    texts = _without_signs(different.astype(str))
    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.isna().any() or comma == "continental":
        found = _comma_of(texts) or comma
        read = pd.to_numeric(_with_points(texts, found), errors="coerce")
        read = read[texts.str.match(_PATTERNS[found])].reindex(texts.index)
        # there a point is no decimal mark, so that 1.234 is not what it seems
        numbers = read if found == "continental" else numbers.fillna(read)
    if different.astype(str).str.endswith("%").all():
        numbers = numbers / 100.0
    return values.map(dict(zip(different, numbers.to_numpy(float), strict=True))).astype(float)


def comma_in(values: pd.Series) -> str:
    """What a comma is in a column of numbers as text.

    Returns
    -------
    comma : str
        ``"decimal"``, ``"thousands"`` or, with points for thousands beside it, ``"continental"``;
        nothing where there is none, or where it is left open.

    Examples
    --------
    >>> comma_in(pd.Series(["1,5", "2"])), comma_in(pd.Series(["1,500"])), comma_in(pd.Series([7]))
    ('decimal', '', '')
    """
    return _comma_of(_without_signs(pd.Series(values.dropna().unique()).astype(str)))


def unit_in(values: pd.Series) -> str:
    """The unit behind the number in every text; nothing where there is no such unit.

    Examples
    --------
    >>> unit_in(pd.Series(["1.2 kg", "3 kg", None])), unit_in(pd.Series(["1.2 kg", "3 g"]))
    ('kg', '')
    """
    different = pd.Series(values.dropna().unique()).astype(str)
    for texts in (different.head(10), different):  # a look at the first settles most columns
        units = texts.str.extract(_WITH_UNIT, expand=False)
        if len(texts) < 2 or units.isna().any() or units.nunique() > 1:
            return ""
    return str(units.iloc[0])


def _without_signs(texts: pd.Series) -> pd.Series:
    """The texts without a sign that all of them have."""
    for sign in "%$€£¥":
        if texts.str.count(re.escape(sign)).eq(1).all():
            texts = texts.str.replace(sign, "", regex=False).str.strip()
    return texts


def _comma_of(texts: pd.Series) -> str:
    """What a comma is in these texts, where that is sure."""
    if (texts.str.contains(",", regex=False) & texts.str.contains(".", regex=False)).any():
        if texts.str.match(_ENGLISH).all():
            return "thousands"
        return "continental" if texts.str.match(_CONTINENTAL).all() else ""
    return "decimal" if _has_decimal_commas(texts) else ""


def _with_points(texts: pd.Series, comma: str) -> pd.Series:
    """The texts with a point as their decimal mark and no mark of thousands."""
    if comma in ("", "thousands"):
        return texts.str.replace(",", "", regex=False) if comma else texts
    if comma == "continental":
        texts = texts.str.replace(".", "", regex=False)
    return texts.str.replace(",", ".", regex=False)


def _has_decimal_commas(texts: pd.Series) -> bool:
    with_comma = texts[texts.str.contains(",", regex=False)]
    return (
        bool(len(with_comma))
        and bool(texts.str.match(_COMMA).to_numpy()[with_comma.index].all())
        and bool(texts.drop(with_comma.index).str.match(_WHOLE).all())
        and not bool(with_comma.str.match(_THOUSANDS).all())
    )


def dates_in(values: pd.Series) -> pd.Series:
    """Dates and times in UTC; text must be as in 2024-03-31 or 2024-03-31 12:30; NaT otherwise."""
    if values.dtype.kind == "M":
        return pd.to_datetime(values, utc=True)
    texts = values.astype(object).where(values.notna(), None)
    return pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")


def date_parts(values: pd.Series) -> dict[str, Any]:
    """Numbers by which dates can be learned from, NaN where there is none.

    Examples
    --------
    >>> parts = date_parts(pd.Series(["2024-03-31 12:30", None]))
    >>> [float(parts[name][0]) for name in ("month", "weekday", "hour")]
    [3.0, 6.0, 12.5]
    """
    dates = dates_in(values)
    missing = dates.isna().to_numpy()
    stamps = dates.astype("datetime64[ns, UTC]").astype("int64").to_numpy(float)
    parts = {
        "days": stamps / _NANOSECONDS_PER_DAY,
        "month": dates.dt.month.to_numpy(float, na_value=np.nan),
        "weekday": dates.dt.day_of_week.to_numpy(float, na_value=np.nan),
        "hour": (stamps % _NANOSECONDS_PER_DAY) / 3600e9,
    }
    return {name: np.where(missing, np.nan, numbers) for name, numbers in parts.items()}

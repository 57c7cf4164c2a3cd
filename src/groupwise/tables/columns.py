"""Which columns may be features, why the others may not, and tables made to agree with them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from groupwise.inputs.rows import LARGEST_UNSCALED
from groupwise.tables.cells import (
    DATE_PARTS,
    comma_in,
    date_parts,
    dates_in,
    numbers_in_text,
    unit_in,
)
from groupwise.tables.copies import copied_role, counts_up
from groupwise.tables.errors import OptionError, TableError
from groupwise.tables.formats import headerless_hint

__all__ = [
    "MAX_CATEGORIES",
    "SPECIFIED",
    "ColumnUse",
    "Schema",
    "choose_features",
    "column_kind",
    "suggestion",
    "unit_notes",
]

#: More different texts than this are taken for names or free text, not for categories.
MAX_CATEGORIES = 255
#: The reason for a use that the caller has chosen.
SPECIFIED = "as specified"

_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|pk|index|idx|rowid|row)$", re.IGNORECASE)
_ID_CAMEL = re.compile(r"[a-z](Id|ID|Uuid|UUID|Key)$")
_TIME_NAME = re.compile(r"(^|[_\W])(date|datetime|timestamp|ts|time|epoch)$|_at$", re.IGNORECASE)
_DATE_TEXT = re.compile(
    r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?$|^\d{1,2}:\d{2}"
)
_ISO_DATE = re.compile(r"^\s*\d{4}-\d{1,2}-\d{1,2}([ T].*)?$")
_WITH_COMMAS = re.compile(r"^\s*[+-]?\d{1,3}(,\d{3})+\s*$")
_ODD_DATES = "dates or times as text in a form that can be read in two ways; 2024-03-31 cannot"
_FEW_ROWS = 20
# Roles that are names, which a measured number is not.
_IDS = ("group", "domain")


@dataclass(frozen=True)
class ColumnUse:
    """What a column is used for.

    Attributes
    ----------
    name : str
    use : str
        ``"number"``, ``"category"``, ``"date"`` or ``"text"`` for a feature, ``"not used"``, or a
        role such as ``"group"``.
    why : str
    of_group : bool, default=False
        Whether it came from the table of groups.
    comma : str, default=""
        What a comma is in numbers as text; see :func:`~groupwise.tables.cells.comma_in`.
    """

    name: str
    use: str
    why: str
    of_group: bool = False
    comma: str = ""

    @property
    def is_feature(self) -> bool:
        return self.use in ("number", "category", "date", "text")

    @property
    def is_role(self) -> bool:
        return not self.is_feature and self.use != "not used"


def choose_features(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    *,
    name: str,
    wanted: Sequence[str] = (),
    ignored: Sequence[str] = (),
    same_as: Mapping[str, Any] | None = None,
    of_groups: Sequence[str] = (),
) -> list[ColumnUse]:
    """Decide the use of each column.

    Identifiers, time stamps, constant and empty columns and copies of the group or label are not
    used unless ``wanted`` names them. A number that the table of groups has of every group, and
    that differs from group to group, is a feature unless these are equally far apart.

    Parameters
    ----------
    frame : DataFrame
    roles : mapping of str to str
        Columns that have another use: the group, the labels, ...
    name : str
        Of the table, for messages.
    wanted, ignored : sequence of str
        Columns, or patterns such as ``"acc_*"``; ``wanted`` leaves all others out.
    same_as : mapping of str to ids, default=None
        Values by role that a feature must not merely rename; see
        :func:`~groupwise.tables.copies.copied_role`.
    of_groups : sequence of str, default=()
        Columns that came from the table of groups.

    Returns
    -------
    uses : list of ColumnUse
        One per column, in the table's order.
    """
    listed = _matching(frame, wanted, name, "wanted")
    dropped = _matching(frame, ignored, name, "ignored")
    for column in wanted:
        if column in roles:
            raise OptionError(f"`wanted` names {column!r}, which is the {roles[column]}")
    uses = []
    for column in map(str, frame.columns):
        if column in roles:
            uses.append(ColumnUse(column, roles[column], SPECIFIED))
        elif column in dropped or (listed and column not in listed):
            uses.append(ColumnUse(column, "not used", SPECIFIED))
        elif column in listed:
            uses.append(ColumnUse(column, _usable_kind(frame[column], name), SPECIFIED))
        else:
            uses.append(_judge(frame[column], same_as or {}, column in of_groups))
    uses = [replace(use, of_group=use.name in of_groups, comma=_comma(use, frame)) for use in uses]
    if not any(use.is_feature for use in uses):
        reasons = "; ".join(f"{u.name}: {u.why}" for u in uses if u.use == "not used")
        raise TableError(
            f"{name} has no column that can be a feature ({reasons or 'none is left'})"
        )
    return uses


def _comma(use: ColumnUse, frame: pd.DataFrame) -> str:
    """What a comma is in a feature of numbers, where they are texts."""
    if use.use != "number" or column_kind(frame[use.name]) == "number":
        return ""
    return comma_in(frame[use.name])


def unit_notes(frame: pd.DataFrame, uses: Sequence[ColumnUse]) -> list[str]:
    """Say which columns hold numbers that a unit behind them makes texts of."""
    found = []
    for use in uses:
        judged = use.use in ("category", "text") or (use.use == "not used" and use.why != SPECIFIED)
        if judged and column_kind(frame[use.name]) == "category":
            unit = unit_in(frame[use.name])
            found += [f"{use.name!r} ({unit})"] if unit else []
    if not found:
        return []
    named = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    return [f"numbers with a unit are read as text: {named}; leave the unit out to have numbers"]


def column_kind(values: pd.Series) -> str:
    """``"number"``, ``"category"`` (text), ``"date"`` or ``"nested"``, by type alone."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return column_kind(pd.Series(dtype.categories)) if len(dtype.categories) else "category"
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if dtype.kind in "Mm":
        return "date"
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("date", "datetime", "time", "timedelta"):
        return "date"
    if kind in ("boolean", "integer", "floating", "decimal", "mixed-integer-float"):
        return "number"
    return "category" if kind in ("string", "empty", "categorical") else "nested"


def _judge(values: pd.Series, same_as: Mapping[str, Any], of_groups: bool) -> ColumnUse:
    name, kind = str(values.name), column_kind(values)
    present = values.dropna()
    if present.empty:
        return ColumnUse(name, "not used", "empty")
    if kind == "date" and dates_in(present).isna().any():
        return ColumnUse(name, "not used", "a time without a date, or a length of time")
    if kind == "nested":
        return ColumnUse(name, "not used", "nested or mixed values")
    if (present.iloc[:100] == present.iloc[0]).all() and (present == present.iloc[0]).all():
        return ColumnUse(name, "not used", "one value only")
    if kind == "category" and not _are_dates(present):
        numbers = numbers_in_text(present)
        if numbers.notna().all():  # judged as numbers are
            kind, present = "number", numbers
    # measured numbers are no ids and need not be counted
    fractions = kind == "number" and not _is_whole(present)
    n_different = 0 if fractions else present.nunique()
    if not (kind == "date" or (kind == "category" and _are_dates(present))):
        # one date, or one measured number, for each group is a feature like any other
        ids = not fractions and not (of_groups and kind == "number" and not counts_up(present))
        reason = _time_stamp(name, present) if kind == "number" else None
        if reason is None and not fractions:
            reason = _identifier(name, kind, present, n_different)
        if reason is None and len(present) == len(values):
            reason = _renamed(present, same_as, ids=ids)
        if reason:
            return ColumnUse(name, "not used", reason)
    missing = len(values) - len(present)
    why = f"{missing} missing" if missing else "no value missing"
    use = _use_of_text(present, n_different) if kind == "category" else kind
    said = {
        "category": f"{n_different} categories, ",
        "text": f"{n_different} different texts, ",
        "date": "by day, month, weekday and hour, ",
    }
    return ColumnUse(name, use, said.get(use, "") + why)


def _use_of_text(present: pd.Series, n_different: int) -> str:
    """What a column of text is learned from as."""
    if _are_dates(present):
        return "date"
    if numbers_in_text(present).notna().all():
        return "number"
    return "text" if _many_different(present, n_different) else "category"


def _are_dates(present: pd.Series) -> bool:
    few = present.head(200).astype(str)
    return bool(few.str.match(_ISO_DATE).all()) and bool(dates_in(present).notna().all())


def _many_different(present: pd.Series, n_different: int) -> bool:
    many = len(present) >= _FEW_ROWS
    return n_different > MAX_CATEGORIES or (many and n_different > len(present) / 2)


def _time_stamp(name: str, present: pd.Series) -> str | None:
    """Why numbers would be seconds (or less) since 1970."""
    if not _TIME_NAME.search(name) or pd.api.types.is_bool_dtype(present.dtype):
        return None
    largest = float(np.abs(present.to_numpy(dtype=float)).max())
    return "a time stamp, by its name and size" if largest >= 1e8 else None


def _identifier(name: str, kind: str, present: pd.Series, n_different: int) -> str | None:
    """Why this would be an identifier, a date or free text."""
    many = len(present) >= _FEW_ROWS
    if kind == "number":
        if _ID_NAME.search(name) or _ID_CAMEL.search(name):
            return "an identifier, by its name"
        if many and n_different == len(present) and counts_up(present):
            return "an identifier: it numbers the rows"
        return None
    if present.head(200).astype(str).str.match(_DATE_TEXT).all():
        return None if _are_dates(present) else _ODD_DATES
    if _ID_NAME.search(name) or _ID_CAMEL.search(name):
        return "an identifier, by its name"
    different = present.drop_duplicates()
    numbers = numbers_in_text(different)
    if numbers.notna().mean() > 0.5 and numbers.isna().any():
        row = numbers.index[numbers.isna()]
        if len(row) <= max(1, 0.1 * len(numbers)):
            return f"numbers as text, but {present[row[0]]!r} in row {row[0]} is none"
    if different.astype(str).str.match(_WITH_COMMAS).all():
        return "numbers with commas, which could mark decimals or thousands"
    unique = len(present) >= _FEW_ROWS and n_different > 0.9 * len(present)
    if unique and _one_word(different):
        return f"an identifier: {n_different} different values in {len(present)} rows"
    return None


def _one_word(different: pd.Series) -> bool:
    """Whether most texts are single words: names or codes, no sentences."""
    return bool((different.head(1000).astype(str).str.count(r"\S+") <= 1).mean() > 0.5)


def _renamed(values: pd.Series, same_as: Mapping[str, Any], *, ids: bool) -> str | None:
    """Whether the column is the label under another name, or (of ``ids``) the group or domain."""
    compared = same_as if ids else {k: v for k, v in same_as.items() if k not in _IDS}
    role = copied_role(values, compared)
    return None if role is None else f"says the same as the {role}"


def _is_whole(present: pd.Series) -> bool:
    if pd.api.types.is_bool_dtype(present.dtype):
        return False
    if pd.api.types.is_integer_dtype(present.dtype):
        return True
    try:
        numbers = present.to_numpy(dtype=float)
    except (TypeError, ValueError):
        return False
    # a look at the first rows settles most columns
    return all(bool((part == np.floor(part)).all()) for part in (numbers[:100], numbers))


def _usable_kind(values: pd.Series, table: str) -> str:
    kind, present = column_kind(values), values.dropna()
    if kind == "nested" or (kind == "date" and dates_in(present).isna().any()):
        what = "times without a date" if kind == "date" else "nested values"
        raise TableError(
            f"{table}: column {values.name!r} holds {what} and cannot be a feature as it is"
        )
    if kind != "category" or present.empty:
        return kind
    return _use_of_text(present, present.nunique())


def _matching(
    frame: pd.DataFrame, patterns: Sequence[str], name: str, argument: str
) -> dict[str, None]:
    found: dict[str, None] = {}
    for pattern in patterns:
        hits = [c for c in map(str, frame.columns) if c == pattern or fnmatchcase(c, pattern)]
        if not hits:
            raise TableError(
                f"{name} has no column {pattern!r} (`{argument}`){suggestion(frame, pattern)}"
            )
        found.update(dict.fromkeys(hits))
    return found


def suggestion(frame: pd.DataFrame, column: str) -> str:
    """What the table does hold, nearest names first."""
    columns = [str(c) for c in frame.columns]
    close = get_close_matches(column, columns, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    names = [repr(c) for c in columns]
    if len(names) > 12:  # groups and labels are often the last ones
        names = [*names[:6], "...", *names[-6:]]
    return f"; its columns are {', '.join(names)}{headerless_hint(columns)}"


@dataclass(frozen=True)
class Schema:
    """Names and kinds of the feature columns, in the order the model knows them.

    Attributes
    ----------
    numbers, categories, dates, texts : tuple of str
    of_groups : tuple of str
        Those that came from the table of groups.
    commas : tuple of (str, str)
        Columns of numbers as text, and what a comma is in them.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema(("x",), ("colour",))
    >>> schema.conform(pd.DataFrame({"colour": ["red", None], "x": [1, 2], "z": 0}), name="t")
         x colour
    0  1.0    red
    1  2.0    NaN
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    dates: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    of_groups: tuple[str, ...] = ()
    commas: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_uses(cls, uses: Sequence[ColumnUse]) -> "Schema":
        """The schema of the columns that were chosen as features."""
        numbers, categories, dates, texts = (
            tuple(use.name for use in uses if use.use == kind)
            for kind in ("number", "category", "date", "text")
        )
        of_groups = tuple(use.name for use in uses if use.is_feature and use.of_group)
        commas = tuple((use.name, use.comma) for use in uses if use.comma)
        return cls(numbers, categories, dates, texts, of_groups, commas)

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a table."""
        return self.numbers + self.categories + self.dates + self.texts

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns of numbers after :meth:`conform`: a date has become several."""
        parts = [f"{date} ({part})" for date in self.dates for part in DATE_PARTS]
        return (*self.numbers, *parts)

    def conform(self, frame: pd.DataFrame, *, name: str) -> pd.DataFrame:
        """The features of a table: numbers as floats, categories and texts as text, missing as NaN.

        Columns the model does not know are left out.

        Raises
        ------
        TableError
            If columns are missing or of another kind; the message names the table and all of them.
        """
        missing = [column for column in self.columns if column not in frame.columns]
        if missing:
            raise TableError(
                f"{name} does not match the model: it has no column {', '.join(map(repr, missing))}"
                f"{self._of_groups_hint(missing)}"
            )
        commas = dict(self.commas)
        floats = [_numbers(frame[c], name, commas.get(c, "")) for c in self.numbers]
        floats += [part for column in self.dates for part in _dates(frame[column], name)]
        # one block in memory, which folds take their rows from at once
        kind = np.result_type(np.float32, *floats)
        block = np.empty((len(frame), len(floats)), kind, order="F")
        for position, values in enumerate(floats):
            block[:, position] = values
        made = pd.DataFrame(block, index=frame.index, columns=list(self.numeric), copy=False)
        others = self.categories + self.texts
        for column in others:  # not by keywords: a column may be called self
            made[column] = _categories(frame[column], name)
        return made

    def _of_groups_hint(self, missing: Sequence[str]) -> str:
        told = [column for column in missing if column in self.of_groups]
        if not told:
            return ""
        which = "these" if len(told) == len(missing) else ", ".join(map(repr, told))
        return f"; {which} came with the table of groups, to be given as well (`groups_table`)"


def _numbers(values: pd.Series, table: str, comma: str) -> Any:
    if values.dtype in (np.dtype("float64"), np.dtype("float32")):
        number = values.to_numpy()
    elif column_kind(values) == "number":
        number = values.to_numpy(dtype=float, na_value=np.nan)
    elif values.isna().all():
        number = np.full(len(values), np.nan)
    else:
        number = _parsed(values, table, comma)
    largest = min(LARGEST_UNSCALED, float(np.finfo(number.dtype).max))  # of 32 bits it is less
    wrong = np.abs(number) > number.dtype.type(largest)
    if wrong.any():
        row = int(np.argmax(wrong))
        held = f"holds {number[row]:g} (up to {LARGEST_UNSCALED:g} can be computed with)"
        held = "is infinite" if np.isinf(number[row]) else held
        raise TableError(f"{table}: column {values.name!r} {held} in row {row}")
    return number


def _parsed(values: pd.Series, table: str, comma: str) -> Any:
    number = numbers_in_text(values.astype(object), comma)
    wrong = (number.isna() & values.notna()).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{table} does not match the model: column {values.name!r} must hold numbers, row "
            f"{row} holds {str(values.iloc[row])!r}"
        )
    return number.to_numpy(dtype=float)


def _dates(values: pd.Series, table: str) -> list[Any]:
    if column_kind(values) not in ("date", "category") and values.notna().any():
        raise TableError(
            f"{table} does not match the model: column {values.name!r} must hold dates"
        )
    wrong = (dates_in(values).isna() & values.notna()).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{table} does not match the model: column {values.name!r} must hold dates, row {row} "
            f"holds {str(values.iloc[row])!r}"
        )
    return list(date_parts(values).values())


def _categories(values: pd.Series, table: str) -> Any:
    kind = column_kind(values)
    if kind in ("date", "nested"):
        raise TableError(
            f"{table} does not match the model: column {values.name!r} must hold categories, it "
            f"holds {'dates' if kind == 'date' else 'nested values'}"
        )
    out = np.empty(len(values), dtype=object)
    missing = values.isna().to_numpy()
    out[missing] = np.nan
    codes, different = pd.factorize(values[~missing])
    if kind == "number" and not pd.api.types.is_bool_dtype(values.dtype):
        texts = [str(int(v)) if float(v) == int(v) else str(v) for v in different]
    else:
        texts = [str(v) for v in different]
    out[~missing] = np.array(texts, dtype=object)[codes]
    return out

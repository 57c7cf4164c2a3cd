"""The features a model was trained on, and tables made to agree with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from groupwise.tables.columns import ColumnUse, column_kind
from groupwise.tables.errors import TableError

__all__ = ["Schema"]


@dataclass(frozen=True)
class Schema:
    """Names and kinds of the feature columns, in the order the model knows them.

    Attributes
    ----------
    numbers, categories : tuple of str

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

    @classmethod
    def from_uses(cls, uses: Sequence[ColumnUse]) -> "Schema":
        """The schema of the columns that were chosen as features."""
        return cls(
            tuple(use.name for use in uses if use.use == "number"),
            tuple(use.name for use in uses if use.use == "category"),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.numbers + self.categories

    def conform(self, frame: pd.DataFrame, *, name: str) -> pd.DataFrame:
        """The features of a table: numbers as floats, categories as text, missing as NaN.

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
            )
        floats = [_numbers(frame[column], name) for column in self.numbers]
        # one block in memory, which folds take their rows from at once
        kind = np.result_type(np.float32, *floats)
        block = np.empty((len(frame), len(floats)), kind, order="F")
        for position, values in enumerate(floats):
            block[:, position] = values
        made = pd.DataFrame(block, index=frame.index, columns=list(self.numbers), copy=False)
        return made.assign(**{c: _categories(frame[c], name) for c in self.categories})


def _numbers(values: pd.Series, table: str) -> Any:
    if values.dtype in (np.dtype("float64"), np.dtype("float32")):
        number = values.to_numpy()
    elif column_kind(values) == "number":
        number = values.to_numpy(dtype=float, na_value=np.nan)
    elif values.isna().all():
        number = np.full(len(values), np.nan)
    else:
        number = _parsed(values, table)
    if np.isinf(number).any():
        row = int(np.argmax(np.isinf(number)))
        raise TableError(f"{table}: column {values.name!r} is infinite in row {row}")
    return number


def _parsed(values: pd.Series, table: str) -> Any:
    number = pd.to_numeric(values.astype(object), errors="coerce")
    wrong = (number.isna() & values.notna()).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{table} does not match the model: column {values.name!r} must hold numbers, row "
            f"{row} holds {str(values.iloc[row])!r}"
        )
    return number.to_numpy(dtype=float)


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

"""Counts as they were reported: what was done to them in words, and the columns that hold them."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.jobs.targets import about_columns, get_column
from groupwise.losses import Reported, ReportedCountLoss
from groupwise.losses.reported import NOISES
from groupwise.tables import OptionError, TableError
from groupwise.targets import check_reports

__all__ = ["parse_reported", "reported_shares", "reports_of"]

_WORDS = {"rounded": "rounding", "below": "suppressed_below", "sample": "sampled"}


def parse_reported(words: str) -> Reported:
    """What was done to counts, from words with commas between.

    Parameters
    ----------
    words : str
        ``exact``, or any of ``laplace 2`` (``geometric``, ``gaussian``: noise of that scale),
        ``rounded 5``, ``below 5`` (left out) and ``sample 0.1`` (the share of a group's rows that
        are in the table).

    Examples
    --------
    >>> parse_reported("laplace 2, rounded 5, below 5")
    Reported(noise='laplace', rounding=5.0, scale=2.0, suppressed_below=5.0)
    >>> parse_reported("exact")
    Reported()
    """
    given: dict[str, str | float] = {}
    for part in words.split(","):
        word, *numbers = part.split()[:3] or [""]
        if word == "exact" and not numbers and words.strip() == "exact":
            continue
        name = "scale" if word in NOISES else _WORDS.get(word)
        try:
            (number,) = map(float, numbers)
        except ValueError:
            name = None
        if name is None or name in given:
            raise OptionError(
                f"`reported` must be 'exact', or any of 'laplace 2' (geometric, gaussian), "
                f"'rounded 5', 'below 5' and 'sample 0.1' with commas between; got {words!r}"
            )
        given[name] = number
        if name == "scale":
            given["noise"] = word
    reported = Reported(**given)  # type: ignore[arg-type]  # by name: numbers, and one word
    try:
        reported.check()
    except ValueError as error:
        raise OptionError(f"`reported`: {error}") from error
    return reported


def reports_of(
    frame: pd.DataFrame, columns: tuple[str, ...], name: str, groups: Groups
) -> NDArray[np.float64]:
    """The ends of what is reported, or a number of each of three or more classes, on each row."""
    table = {}
    for column in columns:
        values = get_column(frame, column, name, "label")
        if not pd.api.types.is_numeric_dtype(values.dtype):
            raise TableError(f"{name}: column {column!r} must hold reported counts, numbers")
        table[column] = values.to_numpy(dtype=float, na_value=np.nan)
    with about_columns(name, *columns):
        return check_reports(np.column_stack(list(table.values())), groups)


def reported_shares(
    told: NDArray[np.float64], groups: Groups, reported: Reported
) -> NDArray[np.float64]:
    """Shares of the classes on each row, NaN where they are not known.

    Of three or more classes one that is not reported has what the others leave.
    """
    shares = ReportedCountLoss(reported).shares(told[groups.first_rows], groups)
    unknown = np.isnan(shares)
    left = np.clip(1.0 - np.nansum(shares, axis=1), 0.0, 1.0)
    alone = unknown & (unknown.sum(axis=1) == 1)[:, None]
    shares = np.where(alone, left[:, None], shares)
    return groups.spread(shares)

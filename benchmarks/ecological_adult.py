"""Do intervals hold where rates go along with row shares? 2 x 2 tables of adult's rows, at 90 %.

Run ``python benchmarks/ecological_adult.py`` with ``GROUPWISE_DATA`` set. Units are cells of
occupation, education, age or work class with 40 people and more; rows and columns of a table are
two yes-or-no attributes that do not define its units. All such tables tell how far rates go along
with the row shares; fourteen, drawn once at random, are fitted.
"""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pandas as pd
from ecological_own import coverage
from harness import Report

from groupwise.datasets.loaders import data_folder

N_FITTED, LEAST = 14, 40


def tables() -> Iterator[tuple[str, np.ndarray]]:
    """Names and cells, (n_units, 2, 2)."""
    people = pd.read_csv(data_folder("llp", "adult.csv.gz"))
    attributes = {
        "female": people["gender"] == "Female",
        "not white": people["race"] != "White",
        "over 50K": people["income"].str.startswith(">50K"),
        "married": people["marital_status"] == "Married-civ-spouse",
        "over 40 hours": people["hours_per_week"] > 40,
        "college": people["educational_num"] >= 13,
        "private": people["workclass"] == "Private",
        "born abroad": people["native_country"] != "United-States",
        "under 35": people["age"] < 35,
    }
    job, school = people["occupation"], people["education"]
    units = {
        "occupation, education": (job + school, {"college"}),
        "age, work class": (people["age"].astype(str) + people["workclass"],
                            {"private", "under 35"}),
        "occupation, decade": (job + (people["age"] // 10).astype(str), {"under 35"}),
        "education, five years": (school + (people["age"] // 5).astype(str),
                                  {"college", "under 35"}),
    }  # fmt: skip
    for name, (unit, defining) in units.items():
        code, _ = pd.factorize(unit)
        for row, column in permutations([a for a in attributes if a not in defining], 2):
            cells = np.zeros((code.max() + 1, 2, 2))
            place = ~attributes[row].to_numpy(), ~attributes[column].to_numpy()
            np.add.at(cells, (code, *(each.astype(int) for each in place)), 1)
            yield f"{column} by {row}; {name}", cells[cells.sum(axis=(1, 2)) >= LEAST]


def slopes(cells: np.ndarray) -> Iterator[tuple[float, float]]:
    """Of both rates by the standardised row share, and what they scatter beyond it and chance."""
    rows = cells.sum(axis=2)
    share = rows[:, 0] / rows.sum(axis=1)
    design = np.column_stack([np.ones(len(share)), (share - share.mean()) / share.std()])
    for row in (0, 1):
        some = rows[:, row] >= 5
        people, X = rows[some, row], design[some]
        rate = cells[some, row, 0] / people
        mean = cells[some, row, 0].sum() / people.sum()
        variance = 0.01
        for _ in range(30):  # towards the likelihood equation of the variance
            weight = 1 / (variance + mean * (1 - mean) / people)
            found = np.linalg.solve((X.T * weight) @ X, X.T @ (weight * rate))
            off = rate - X @ found
            variance = max(1e-5, variance * (weight**2 @ off**2) / weight.sum())
        yield float(found[1]), float(np.sqrt(variance))


def main() -> None:
    all_tables = list(tables())
    report = Report("ecological_adult", "Ecological inference on tables of adult's rows, at 90 %")
    slope, scatter = np.array([each for _, cells in all_tables for each in slopes(cells)]).T
    report.add(
        f"how far rates go along with row shares, {len(all_tables)} tables",
        [{"slope per standard deviation, root mean square": f"{np.sqrt((slope**2).mean()):.3f}",
          "median size": f"{np.median(np.abs(slope)):.3f}",
          "scatter of rates, median": f"{np.median(scatter):.3f}",
          "slope over scatter, median size": f"{np.median(np.abs(slope) / scatter):.2f}"}],
    )  # fmt: skip
    lines = []
    for place in np.random.default_rng(0).permutation(len(all_tables))[:N_FITTED]:
        name, cells = all_tables[place]
        rows = cells.sum(axis=2)
        own = np.array([size for size, _ in slopes(cells)])
        of_cells, district = coverage(rows, cells, 0)
        lines.append({"table": name, "units": str(len(cells)),
                      "slopes": f"{own[0]:+.3f}, {own[1]:+.3f}", "coverage": f"{of_cells:.3f}",
                      "of the district": f"{district:.2f}"})  # fmt: skip
        print(lines[-1], flush=True)
    mean = np.mean([float(each["coverage"]) for each in lines])
    lines.append({"table": "mean", "units": "", "slopes": "", "coverage": f"{mean:.3f}",
                  "of the district": ""})  # fmt: skip
    report.add("coverage of cells", lines)


if __name__ == "__main__":
    main()

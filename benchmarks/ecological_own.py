"""Do intervals hold where the model is true? Tables drawn from it, at 90 %.

Run ``python benchmarks/ecological_own.py``. 250 units of 300 to 6,000 people; means, scatter and
correlation of the rates are drawn anew for each set, about as the prior has them. Rates are normal
between 0 and 1, or normal with what lies beyond put on the boundary (two by two). Cells of a set
share its parameters, so that the coverage of one set scatters around that of many.
"""

import numpy as np
from harness import Report

from groupwise.ecological import EcologicalInference

N_UNITS, N_SETS, COVERAGE = 250, 6, 0.9
KINDS = ("2 x 2, rates inside", "2 x 2, some on the boundary", "3 x 3")


def two_by_two(rng: np.random.Generator, inside: bool) -> tuple[np.ndarray, np.ndarray]:
    people = rng.integers(300, 6000, N_UNITS)
    share = rng.beta(1.2, 2.5, N_UNITS)
    mean = np.array([rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7)])
    sd = np.exp(rng.normal(np.log(0.1), 0.5, 2))
    tied = np.tanh(0.5 * rng.normal()) * sd[0] * sd[1]
    cov = np.array([[sd[0] ** 2, tied], [tied, sd[1] ** 2]])
    rates = rng.multivariate_normal(mean, cov, size=N_UNITS)
    while inside and (bad := ((rates < 0) | (rates > 1)).any(1)).any():
        rates[bad] = rng.multivariate_normal(mean, cov, size=bad.sum())
    first = rng.binomial(people, share)
    rows = np.column_stack([first, people - first])
    yes = rng.binomial(rows, np.clip(rates, 0, 1))
    return rows, np.stack([yes, rows - yes], axis=-1)


def three_by_three(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    people = rng.integers(300, 6000, N_UNITS)
    shares = rng.dirichlet([1.5, 1.2, 0.8], N_UNITS)
    rows = np.stack([rng.multinomial(n, s) for n, s in zip(people, shares, strict=True)])
    mean = rng.dirichlet([4, 4, 4], 3)
    basis = np.linalg.qr(np.column_stack([np.ones(3), np.eye(3)[:, :2]]))[0][:, 1:]
    scatter = np.exp(rng.normal(np.log(0.1), 0.5, 3))
    cells = np.zeros((N_UNITS, 3, 3))
    for unit, row in np.ndindex(N_UNITS, 3):
        while (rate := mean[row] + basis @ (scatter[row] * rng.normal(size=2))).min() < 0:
            pass
        cells[unit, row] = rng.multinomial(rows[unit, row], rate / rate.sum())
    return rows, cells


def coverage(kind: str, seed: int) -> tuple[float, float]:
    """Of cells, and of the district."""
    rng = np.random.default_rng(seed)
    rows, cells = three_by_three(rng) if kind == "3 x 3" else two_by_two(rng, kind == KINDS[0])
    ei = EcologicalInference(random_state=seed).fit(rows, cells.sum(axis=1))

    def hits(truth: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return (truth >= ends[..., 0] - 1e-9) & (truth <= ends[..., 1] + 1e-9)

    of_cells = hits(cells / np.maximum(rows, 1)[:, :, None], ei.intervals(COVERAGE))
    district = cells.sum(axis=0) / rows.sum(axis=0)[:, None]
    of_district = hits(district, ei.district_intervals(COVERAGE))
    return float(of_cells[rows > 0].mean()), float(of_district.mean())


def main() -> None:
    report = Report("ecological_own", "Ecological inference where the model is true, at 90 %")
    lines = []
    for kind in KINDS:
        cells, district = np.transpose([coverage(kind, seed) for seed in range(N_SETS)])
        lines.append({"tables": kind, "sets": str(N_SETS), "coverage": f"{cells.mean():.3f}",
                      "of each set": ", ".join(f"{each:.3f}" for each in sorted(cells)),
                      "of the district": f"{district.mean():.3f}"})  # fmt: skip
    report.add("coverage of cells", lines)


if __name__ == "__main__":
    main()

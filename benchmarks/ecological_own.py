"""Do intervals hold where the model is true? Tables drawn from it, at 90 %.

Run ``python benchmarks/ecological_own.py``. 250 units of 300 to 6,000 people; means, scatter and
correlation of the rates are drawn anew for each set, about as the prior has them. Rates are normal
between 0 and 1, or normal with what lies beyond put on the boundary (two by two). Cells of a set
share its parameters, so that the coverage of one set scatters around that of many. With
``GROUPWISE_DATA`` set, also on the counties of ``matproii``: parameters as uncertain as its margins
leave them, tables drawn from these for its own counties.
"""

import numpy as np
from bench_ecological import matproii
from harness import Report

from groupwise.ecological import EcologicalInference
from groupwise.ecological.inference import fitted_model
from groupwise.ecological.margins import check_margins
from groupwise.ecological.model import RateModel
from groupwise.ecological.tables import TableSampler

N_UNITS, N_SETS, COVERAGE = 250, 6, 0.9
KINDS = ("2 x 2, rates inside", "2 x 2, some on the boundary", "3 x 3")
N_COUNTY_SETS = 20


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


def counties() -> tuple[TableSampler, RateModel]:
    """The model that the margins of ``matproii`` make likely."""
    rows, cells = matproii()
    sampler = TableSampler(
        check_margins(rows, cells.sum(axis=1), None), 20, np.random.default_rng(0)
    )
    return sampler, fitted_model(sampler, np.empty((len(rows), 0)))


def from_counties(
    rng: np.random.Generator, sampler: TableSampler, model: RateModel
) -> tuple[np.ndarray, np.ndarray]:
    """Tables of the same counties: rates, then finitely many people, then the boundary."""
    mean, sigma, log_kappa = (each[0] for each in model.draws(1, rng))
    rows, one = np.rint(sampler.rows), float(sampler.noise_root.ravel()[0] ** 2)
    accepted = np.exp([-max(log_kappa, 0.0), min(log_kappa, 0.0)])  # inside, outside
    shares, left = np.empty(rows.shape), np.ones(len(rows), bool)
    while left.any():
        z = mean + rng.multivariate_normal(np.zeros(2), sigma, len(rows))
        y = z + np.sqrt(one / np.maximum(rows, 1)) * rng.normal(size=rows.shape)
        drawn = 0.5 + y * sampler.contrasts[0, 0]
        outside = (((drawn < 0) | (drawn > 1)) & (rows > 0)).any(axis=1)
        taken = left & (rng.random(len(rows)) < accepted[outside.astype(int)])
        shares[taken] = np.clip(drawn[taken], 0, 1)
        left &= ~taken
    yes = np.rint(rows * shares)
    return rows, np.stack([yes, rows - yes], axis=-1)


def coverage(rows: np.ndarray, cells: np.ndarray, seed: int) -> tuple[float, float]:
    """Of cells, and of the district."""
    ei = EcologicalInference(random_state=seed).fit(rows, cells.sum(axis=1))

    def hits(truth: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return (truth >= ends[..., 0] - 1e-9) & (truth <= ends[..., 1] + 1e-9)

    of_cells = hits(cells / np.maximum(rows, 1)[:, :, None], ei.intervals(COVERAGE))
    district = cells.sum(axis=0) / rows.sum(axis=0)[:, None]
    of_district = hits(district, ei.district_intervals(COVERAGE))
    return float(of_cells[rows > 0].mean()), float(of_district.mean())


def drawn(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return three_by_three(rng) if kind == "3 x 3" else two_by_two(rng, kind == KINDS[0])


def line(kind: str, tables: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, str]:
    cells, district = np.transpose([coverage(*each, seed) for seed, each in enumerate(tables)])
    print(kind, cells.round(3).tolist(), flush=True)
    return {"tables": kind, "sets": str(len(tables)), "coverage": f"{cells.mean():.3f}",
            "of each set": ", ".join(f"{each:.3f}" for each in sorted(cells)),
            "of the district": f"{district.mean():.3f}"}  # fmt: skip


def main() -> None:
    report = Report("ecological_own", "Ecological inference where the model is true, at 90 %")
    lines = [line(kind, [drawn(kind, seed) for seed in range(N_SETS)]) for kind in KINDS]
    fitted = counties()
    own = [from_counties(np.random.default_rng(seed), *fitted) for seed in range(N_COUNTY_SETS)]
    lines.append(line("matproii's counties, tables from its fitted model", own))
    report.add("coverage of cells", lines)


if __name__ == "__main__":
    main()

"""PyEI on the margins of a file, in an environment of its own: python ecological_pyei.py IN OUT.

IN holds ``rows`` and ``columns`` (counts per unit); OUT gets means, quantiles and CPU seconds.
"""

import sys
import time
from importlib import metadata

import numpy as np
from pyei.r_by_c import RowByColumnEI
from pyei.two_by_two import TwoByTwoEI

SHORT = {"tune": 500, "draws": 500, "chains": 2, "cores": 1, "progressbar": False,
         "random_seed": 0}  # fmt: skip


def main(source: str, target: str) -> None:
    """Fit and store."""
    margins = np.load(source)
    rows, columns = margins["rows"], margins["columns"]
    size = columns.sum(axis=1)
    x, t = rows / rows.sum(axis=1, keepdims=True), columns / size[:, None]
    start = time.process_time()
    if rows.shape[1] == columns.shape[1] == 2:
        model = TwoByTwoEI("king99", lmbda=0.5)  # as King, Rosen and Tanner 1999
        model.fit(x[:, 0], t[:, 0], size, **SHORT)
        posterior = model.sim_trace["posterior"]
        first = np.stack([posterior["b_1"].values, posterior["b_2"].values], axis=-1)
        first = first.reshape(-1, *first.shape[2:])
        draws = np.stack([first, 1 - first], axis=-1)
    else:
        model = RowByColumnEI("multinomial-dirichlet")
        model.fit(x.T, t.T, size, **SHORT)
        values = model.sim_trace["posterior"]["b"].values
        draws = values.reshape(-1, *values.shape[2:])
    seconds = time.process_time() - start
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    people = rows[:, :, None]
    district = (draws * people).sum(axis=1) / people.sum(axis=0)
    np.savez(target, cells=draws.mean(axis=0), intervals=np.stack([low, high], axis=-1),
             district=district.mean(axis=0), seconds=seconds, version=metadata.version("pyei"),
             district_intervals=np.moveaxis(np.quantile(district, [0.05, 0.95], axis=0), 0, -1),
             )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])

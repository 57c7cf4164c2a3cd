"""Proportions: times against scikit-learn on the same rows, and a million rows.

Run ``python benchmarks/bench_proportions.py [ratios|million]``; without a word, ``ratios``.
"""

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from harness import Report, own_peak, take_turns
from sklearn.datasets import make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from groupwise import Groups
from groupwise.datasets.aggregates import make_aggregates
from groupwise.kernels import fit_kernel
from groupwise.proportions import (
    GraphAOCClassifier,
    ManifoldAOCClassifier,
    ManifoldAOCClassifierCV,
    SVMAOCClassifier,
)
from groupwise.solvers import solve_l1


def data(n_rows: int, size: int = 10, n_features: int = 20, seed: int = 0) -> Any:
    X, y = make_classification(
        n_rows, n_features, n_informative=8, class_sep=1.5, random_state=seed
    )
    return make_aggregates(X, y, size=size, random_state=seed)


def selection_against_one_kernel_ridge() -> list[dict[str, Any]]:
    """The whole selection at one width against one fit of the parent.

    Points along gamma1 are nearly free; every rho costs a factorisation.
    """
    d = data(2000)
    gamma = 0.5 / fit_kernel("rbf", 1.0, d.X).sigma ** 2
    target = np.where(d.y_row == 1, 1.0, -1.0)
    model = ManifoldAOCClassifierCV(goal="transduction", widths=(1.0,), random_state=0)
    fewer = ManifoldAOCClassifierCV(
        goal="transduction",
        widths=(1.0,),
        rhos=(0.0, 1.0, 100.0),
        lambdas=tuple(np.geomspace(1e-6, 1e2, 100)),
    )
    timings = take_turns(
        {
            "KernelRidge, one fit": lambda: KernelRidge(alpha=1.0, kernel="rbf", gamma=gamma).fit(
                d.X, target
            ),
            "il-L2, 6 rhos x 17 gammas and the fit": lambda: model.fit(d.X, d.y, groups=d.groups),
            "il-L2, 3 rhos x 100 gammas and the fit": lambda: fewer.fit(d.X, d.y, groups=d.groups),
        },
        5,
    )
    base = timings["KernelRidge, one fit"]
    return [{"case": "n = 2000", **timing.row(base)} for timing in timings.values()]


def selection_at_351() -> list[dict[str, Any]]:
    d = data(351, n_features=34)
    model = ManifoldAOCClassifierCV(goal="transduction", random_state=0)
    timings = take_turns(
        {"il-L2, 714 grid points and the fit": lambda: model.fit(d.X, d.y, groups=d.groups)}, 5
    )
    return [{"case": "n = 351", **timing.row(timing)} for timing in timings.values()]


def l1_against_svr(n_groups: int) -> list[dict[str, Any]]:
    """The L1 solution of m groups, and the whole fit, against SVR on m groups."""
    d = data(10 * n_groups)
    gram = (
        ManifoldAOCClassifier()
        .fit(d.X, d.y, groups=d.groups)
        .function_.kernel.group_gram(d.X, Groups(d.groups))
    )
    gamma1 = 0.1 * float(np.diag(gram).mean())
    counts = d.y.to_numpy()[np.unique(d.groups, return_index=True)[1]]
    b = (counts[:, 1] - counts[:, 0]).astype(float)
    sizes = counts.sum(axis=1).astype(float)
    whole = ManifoldAOCClassifier("row", "l1", gamma1=gamma1)
    timings = take_turns(
        {
            "SVR, Gram matrix given": lambda: SVR(
                kernel="precomputed", C=0.5 / gamma1, epsilon=0.1
            ).fit(gram, b),
            "L1 solution, Gram matrix given": lambda: solve_l1(gram, b, gamma1, sizes, 0.1),
            "il-L1 without graph, kernel of all rows included": lambda: whole.fit(
                d.X, d.y, groups=d.groups
            ),
        },
        5,
    )
    base = timings["SVR, Gram matrix given"]
    return [{"case": f"{n_groups} groups", **timing.row(base)} for timing in timings.values()]


def svm_at_351() -> list[dict[str, Any]]:
    d = data(351, n_features=34)
    timings = take_turns(
        {
            "AOC-SVM by alternation, 4 starts": lambda: SVMAOCClassifier(random_state=0).fit(
                d.X, d.y, groups=d.groups
            )
        },
        3,
    )
    return [{"case": "n = 351", **timing.row(timing)} for timing in timings.values()]


def blobs_in_groups(n_rows: int) -> Any:
    """Rows of a fixed mixture, so that 10 thousand and a million are the same problem."""
    rng = np.random.RandomState(7)
    centres, label = 3 * rng.normal(size=(20, 8)), rng.permutation(np.arange(20) % 2)
    part = np.random.RandomState(n_rows).randint(20, size=n_rows)
    X = centres[part] + 1.3 * np.random.RandomState(n_rows + 1).normal(size=(n_rows, 8))
    return make_aggregates(X, label[part], size=10, random_state=0)


def million_rows(n_rows: int = 1_000_000, which: str = "landmarks") -> dict[str, Any]:
    d = blobs_in_groups(n_rows)
    models = {
        "landmarks": ManifoldAOCClassifierCV(
            widths=(0.5, 1.0), rhos=(0.0,), n_components=500, random_state=0
        ),
        "graph": GraphAOCClassifier(random_state=0),
        "exact": ManifoldAOCClassifierCV(
            goal="transduction", widths=(0.5,), rhos=(0.0, 10.0), random_state=0
        ),
    }
    before, clock = time.process_time(), time.perf_counter()
    model = models[which].fit(d.X, d.y, groups=d.groups)
    return {
        "method": which,
        "rows": n_rows,
        "cpu s": round(time.process_time() - before, 1),
        "wall s": round(time.perf_counter() - clock, 1),
        "error % (rows)": round(100 * float(np.mean(model.transduction_ != d.y_row)), 2),
        "error % (with counts)": round(
            100 * float(np.mean(model.predict_transductive() != d.y_row)), 2
        ),
        "peak MiB": round(own_peak()),
    }


def in_its_own_process(n_rows: int, which: str) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(million_rows, n_rows, which).result()


def main(what: str) -> None:
    if what == "million":
        report = Report("proportions_million", "Proportions: a million rows in groups of 10")
        small = [in_its_own_process(10_000, which) for which in ("exact", "landmarks", "graph")]
        report.add("The same problem at 10 thousand rows", small)
        report.add("A million rows", [in_its_own_process(1_000_000, "landmarks")])
        return
    report = Report("proportions", "Proportions: times against scikit-learn")
    with threadpool_limits(1):
        rows = selection_against_one_kernel_ridge()
        report.add("Selection against one fit of the parent, one thread", rows)
        report.add("At the size of ionosphere, one thread", [*selection_at_351(), *svm_at_351()])
        rows = [row for n_groups in (35, 200, 1000) for row in l1_against_svr(n_groups)]
    report.add("L1 forms against SVR on as many rows as groups, one thread", rows)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ratios")

"""Grades and survival times of groups of real rows, against the classical models on group means.

Run ``python benchmarks/bench_grades_times.py`` with ``GROUPWISE_DATA`` set, in an environment that
also has lifelines and statsmodels. Labelled rows are put into groups at random. A group's grade is
the quarter in which the share of one class falls, with a little noise; its time is exponential with
a hazard of exp(6 share), and a third of the groups or so are last seen before it. No method sees a
row's label. Half of the groups are held out; means and standard deviations of ten draws, and the
difference to the classical model in the same draw with its standard error. All settings are
defaults but lifelines' penalty (0.1 for all sets, not searched: without one it does not converge;
a second line has 1, better on the development tables of survival_trees.py), and in a line of its
own the depth of our trees, 1, 2 or 3, by five folds of whole groups of the training half
(concordance, share of right grades). That the depth is the thing to choose was seen on other draws:
of breast cancer, and of 142 groups of spam and adult. The default trees of times were chosen on
other rows only (survival_trees.py), after these draws had been judged with those of all other
losses: .691 on breast cancer, .666 on spam, .610 on adult.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from bench_reported import rows as adult
from harness import Report
from lifelines import CoxPHFitter
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from statsmodels.miscmodels.ordinal_model import OrderedModel

from groupwise import Groups
from groupwise.boosting import HistTrees
from groupwise.datasets.loaders import load_uci
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.metrics.survival import concordance
from groupwise.model_selection import WholeGroupKFold

N_DRAWS = 10


def breast_cancer() -> tuple[np.ndarray, np.ndarray, int]:
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, 4


def spam() -> tuple[np.ndarray, np.ndarray, int]:
    data = load_uci("spam")
    _, y = np.unique(data.y, return_inverse=True)
    return np.asarray(data.X, float), y, 8


def adult_sample() -> tuple[np.ndarray, np.ndarray, int]:
    X, y = adult()
    some = np.random.default_rng(0).permutation(len(X))[:8000]
    return X.to_numpy(float)[some], y[some], 8


def draw(
    X: np.ndarray, y: np.ndarray, size: int, seed: int, *, n_groups: int = 2**31, power: float = 6.0
) -> dict[str, np.ndarray]:
    """Rows, groups, grades and signed times; as many groups as the rows make, ``n_groups`` at most.

    ``power`` is the log hazard of a group of one class over that of the other.
    """
    rng = np.random.default_rng(seed)
    n_groups = min(n_groups, len(X) // size)
    order = rng.permutation(len(X))[: n_groups * size]
    groups = Groups(np.repeat(np.arange(n_groups), size))
    share = groups.mean(y[order].astype(float))
    noisy = share + 0.05 * rng.normal(size=n_groups)
    grade = np.digitize(noisy, np.quantile(noisy, [0.25, 0.5, 0.75]))
    log_hazard = power * (share - share.mean())
    time = rng.exponential(np.exp(-log_hazard))
    seen = rng.exponential(2 * np.median(time) / np.log(2), n_groups)
    signed = np.where(time <= seen, time, -seen)
    return {"X": X[order], "groups": groups.codes, "grade": grade, "time": signed,
            "log_hazard": log_hazard, "mean": groups.mean(X[order]),
            "test": np.arange(n_groups) % 2 == 1}  # fmt: skip


def standardised(mean: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Group means, by the training groups' mean and spread; constant columns are left out."""
    centre, spread = mean[train].mean(axis=0), mean[train].std(axis=0)
    kept = spread > 1e-12
    return (mean[:, kept] - centre[kept]) / spread[kept]


def told(
    model: Any, trees: HistTrees, data: dict[str, np.ndarray], y_group: np.ndarray
) -> list[np.ndarray]:
    """Of held-out groups: by the model as it is, and by trees of the depth that folds choose."""
    inside, groups = ~data["test"][data["groups"]], data["groups"]
    learnt = {"X": data["X"][inside], "y": y_group[groups][inside], "groups": groups[inside]}
    folds = WholeGroupKFold(5, stratify=False, random_state=0)
    other = clone(model).set_params(trees=trees)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(other, {"trees__max_depth": [1, 2, 3]}, cv=folds).fit(**learnt)
    fitted = [model.fit(**learnt), search.best_estimator_]
    return [each.predict_groups(data["X"][~inside], groups=groups[~inside]) for each in fitted]


def cox_on_means(data: dict[str, np.ndarray], penalizer: float = 0.1) -> np.ndarray:
    """Risks of held-out groups by lifelines."""
    test, time = data["test"], data["time"]
    Z = standardised(data["mean"], ~test)
    table = pd.DataFrame(Z[~test]).assign(time=np.abs(time[~test]), event=time[~test] > 0)
    cox = CoxPHFitter(penalizer=penalizer).fit(table, "time", "event")
    return cox.predict_log_partial_hazard(pd.DataFrame(Z[test])).to_numpy()


def times(data: dict[str, np.ndarray]) -> dict[str, tuple[float, ...]]:
    """Concordance of held-out groups."""
    test, time = data["test"], data["time"]
    light, heavy = cox_on_means(data), cox_on_means(data, penalizer=1.0)
    model = GroupBoostRegressor(loss="cox", random_state=0)
    plain, searched = told(model, HistTrees(subsample=0.5), data, time)
    return {
        "Cox on group means (lifelines)": (concordance(time[test], light),),
        "the same, ten times the penalty": (concordance(time[test], heavy),),
        'GroupBoostRegressor(loss="cox")': (concordance(time[test], plain),),
        "the same, depth by folds": (concordance(time[test], searched),),
    }


def grades(data: dict[str, np.ndarray]) -> dict[str, tuple[float, ...]]:
    """Mean distance of the grade, and share of wrong grades, of held-out groups."""
    test, grade = data["test"], data["grade"]
    Z = standardised(data["mean"], ~test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that end before the gradient is zero
        fitted = OrderedModel(grade[~test], Z[~test], distr="logit").fit(
            method="bfgs", maxiter=500, disp=False
        )
        classical = fitted.model.predict(fitted.params, exog=Z[test]).argmax(axis=1)
    model = GroupBoostClassifier("ordinal", random_state=0)
    plain, searched = told(model, HistTrees(), data, grade)

    def judged(found: np.ndarray) -> tuple[float, float]:
        return float(np.abs(found - grade[test]).mean()), float((found != grade[test]).mean())

    return {
        "proportional odds on group means (statsmodels)": judged(classical),
        'GroupBoostClassifier("ordinal")': judged(plain),
        "the same, depth by folds": judged(searched),
    }


def compared(
    found: list[dict[str, tuple[float, ...]]], method: str, measures: tuple[str, ...]
) -> dict[str, str]:
    """Mean and standard deviation; difference to the first method and its standard error."""
    values = np.array([each[method] for each in found])
    less = values - np.array([next(iter(each.values())) for each in found])
    line = {}
    for k, measure in enumerate(measures):
        error = less[:, k].std(ddof=1) / np.sqrt(len(found))
        line[measure] = f"{values[:, k].mean():.3f} ± {values[:, k].std(ddof=1):.3f}"
        line[f"{measure}, difference"] = f"{less[:, k].mean():+.3f} ± {error:.3f}" if error else ""
    return line


def main() -> None:
    report = Report("grades_times", "Grades and survival times of groups of real rows")
    sets = {"breast cancer": breast_cancer, "spam": spam, "adult": adult_sample}
    for name, load in sets.items():
        X, y, size = load()
        draws = [draw(X, y, size, seed) for seed in range(N_DRAWS)]
        n_groups = len(draws[0]["test"])
        for what, measures, judge in (
            ("survival times", ("concordance",), times),
            ("four grades", ("grades off", "wrong"), grades),
        ):
            found = [judge(each) for each in draws]
            lines = []
            for method in found[0]:
                line = compared(found, method, measures)
                lines.append({"method": method, **line})
                print(name, what, method, line, flush=True)
            report.add(f"{name}, {n_groups} groups of {size}, {what}", lines)


if __name__ == "__main__":
    main()

"""How well rows' probabilities can be calibrated from noisy counts: made-up rows, and an oracle.

Run ``python benchmarks/bench_calibration.py``. 12,000 rows in groups, Laplace noise on the groups'
counts, as in ``bench_reported.py``; the calibration error is that of 8,000 other rows. The oracle
knows the true log-odds of every row up to a slope and a shift, and takes these from the reports by
their likelihood: what noise leaves open even then. It is no bound, as a score that tells rows less
well apart has less to be wrong about. "labels" is the error of the true probabilities, from the
chance of 8,000 labels. Boosting has the settings of ``bench_reported.py``; its slope is that of the
labels by its log-odds (above 1: probabilities too near each other, below 1: too far apart). "Slope
and shift of held-out scores" are those that five models of other groups and the likelihood of the
reports make of the first.
"""

import numpy as np
from harness import Report
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from groupwise import Groups
from groupwise.boosting import HistTrees
from groupwise.gbdt import GroupBoostClassifier
from groupwise.losses import BoundLoss, Reported, ReportedCountLoss

N_TRAIN, N_TEST = 12_000, 8_000
DRAWS, BOOSTED = 24, 3
SETTINGS = [(8, 0.0), (8, 2.0), (8, 4.0), (20, 8.0)]  # size of a group, scale of the noise
ROUNDS, N_FOLDS = (100, 200), 5


def calibration_error(y: np.ndarray, proba: np.ndarray) -> float:
    parts = np.array_split(np.argsort(proba), 10)
    return float(np.mean([abs(y[part].mean() - proba[part].mean()) for part in parts]))


def slope_and_shift(bound: BoundLoss, score: np.ndarray) -> np.ndarray:
    """Of the score, by the likelihood of the reports."""

    def loss(found: np.ndarray) -> tuple[float, np.ndarray]:
        moved = found[0] * score + found[1]
        gradient = bound.gradient(moved)
        return bound.value(moved), np.array([gradient @ score, gradient.sum()])

    return np.asarray(minimize(loss, [1.0, 0.0], jac=True, method="BFGS").x)


def one_draw(size: int, scale: float, seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TRAIN + N_TEST, 6))
    score = -1.8 + 1.5 * X[:, 0] + X[:, 1] + 1.2 * np.sin(2 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0)
    y = (rng.random(len(X)) < expit(score)).astype(float)
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    groups = np.repeat(np.arange(N_TRAIN // size), size)
    encoded = Groups(groups)
    told = encoded.sum(y[train])
    reported = Reported()
    if scale:
        told, reported = told + rng.laplace(0.0, scale, len(told)), Reported("laplace", scale)
    bound = ReportedCountLoss(reported).bind(np.column_stack([told, told]), encoded)
    slope, shift = slope_and_shift(bound, score[train])
    found = {"oracle": {
        "ECE": calibration_error(y[test], expit(slope * score[test] + shift)),
        "labels": calibration_error(y[test], expit(score[test])),
        "slope": slope,
    }}  # fmt: skip
    if seed >= BOOSTED:
        return found
    row = encoded.spread(told)
    for rounds in ROUNDS:
        score_test = boosted(reported, rounds, X[train], row, groups).decision_function(X[test])
        found[f"boosting, {rounds} rounds"] = judged(y[test], score_test)
        if rounds == ROUNDS[0]:
            held_out, fold = np.empty(N_TRAIN), rng.permutation(len(told))[groups] % N_FOLDS
            for k in range(N_FOLDS):
                inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
                clf = boosted(reported, rounds, X[inside], row[inside], groups[inside])
                held_out[outside] = clf.decision_function(X[outside])
            slope, shift = slope_and_shift(bound, held_out)
            found["the same, slope and shift of held-out scores"] = judged(
                y[test], slope * score_test + shift
            )
    return found


def boosted(
    reported: Reported, rounds: int, X: np.ndarray, told: np.ndarray, groups: np.ndarray
) -> GroupBoostClassifier:
    clf = GroupBoostClassifier(
        ReportedCountLoss(reported), n_estimators=rounds, learning_rate=1.0,
        trees=HistTrees(n_jobs=1), random_state=0,
    )  # fmt: skip
    return clf.fit(X, told, groups=groups)


def judged(y: np.ndarray, score: np.ndarray) -> dict[str, float]:
    odds = np.clip(score, -20.0, 20.0)[:, None]
    return {
        "ECE": calibration_error(y, expit(score)),
        "slope": LogisticRegression(C=np.inf).fit(odds, y).coef_[0, 0],
        "AUC": roc_auc_score(y, score),
    }


def main() -> None:
    report = Report("calibration", "Calibration from noisy counts, made-up rows")
    for size, scale in SETTINGS:
        draws = [one_draw(size, scale, seed) for seed in range(DRAWS)]
        lines = []
        for name in draws[0]:
            of_draws = [draw[name] for draw in draws if name in draw]
            ece = [each["ECE"] for each in of_draws]
            slope = np.quantile([each["slope"] for each in of_draws], [0.1, 0.5, 0.9])
            line = {"method": name, "draws": str(len(ece)), "ECE": f"{np.mean(ece):.4f}",
                    "ECE, median": f"{np.median(ece):.4f}",
                    "slope (10-90 %)": f"{slope[1]:.2f} ({slope[0]:.2f}-{slope[2]:.2f})",
                    }  # fmt: skip
            for more in ("AUC", "labels"):
                values = [each[more] for each in of_draws if more in each]
                line[more] = f"{np.mean(values):.4f}" if values else ""
            lines.append(line)
        report.add(f"groups of {size}, Laplace noise of scale {scale:g}", lines)


if __name__ == "__main__":
    main()

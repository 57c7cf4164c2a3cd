"""How well rows' probabilities can be calibrated from noisy counts: made-up rows, and an oracle.

Run ``python benchmarks/bench_calibration.py``. 12,000 rows in groups, Laplace noise on the groups'
counts, as in ``bench_reported.py``; the calibration error is that of 8,000 other rows. The oracle
knows the true log-odds of every row up to a slope and a shift, and takes these from the reports by
their likelihood: what it lacks is in the noise, and no method that learns from the reports alone
has it. "labels" is the error of the true probabilities, from the chance of 8,000 labels. Boosting
has the settings of ``bench_reported.py``; its slope is that of the labels by its log-odds (above 1:
probabilities too near each other).
"""

import numpy as np
from harness import Report
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from groupwise import Groups
from groupwise.boosting import HistTrees
from groupwise.gbdt import GroupBoostClassifier
from groupwise.losses import BoundLoss, Reported, ReportedCountLoss

N_TRAIN, N_TEST = 12_000, 8_000
DRAWS, BOOSTED = 24, 3
SETTINGS = [(8, 0.0), (8, 2.0), (8, 4.0), (20, 8.0)]  # size of a group, scale of the noise
ROUNDS = (100, 200)


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
    for rounds in ROUNDS if seed < BOOSTED else ():
        clf = GroupBoostClassifier(
            ReportedCountLoss(reported), n_estimators=rounds, learning_rate=1.0,
            trees=HistTrees(n_jobs=1), random_state=0,
        )  # fmt: skip
        clf.fit(X[train], encoded.spread(told), groups=groups)
        proba = clf.predict_proba(X[test])[:, 1]
        odds = logit(np.clip(proba, 1e-9, 1 - 1e-9))[:, None]
        found[f"boosting, {rounds} rounds"] = {
            "ECE": calibration_error(y[test], proba),
            "slope": LogisticRegression(C=np.inf).fit(odds, y[test]).coef_[0, 0],
            "AUC": roc_auc_score(y[test], proba),
        }
    return found


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

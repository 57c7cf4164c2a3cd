"""``groupwise demo``: the main job on data that scikit-learn ships."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from groupwise.datasets import GroupedData, make_sessions
from groupwise.groups import Groups
from groupwise.io import save_model
from groupwise.majority import NaiveGroupClassifier, SBoostClassifier
from groupwise.metrics import bootstrap_interval
from groupwise.model_selection import WholeGroupKFold
from groupwise.plotting import RoundsDisplay

ROUNDS = 30


def _methods(seed: int) -> dict[str, Any]:
    tree = DecisionTreeClassifier(max_depth=3)
    return {
        "naive tree": NaiveGroupClassifier(tree, random_state=seed),
        "naive AdaBoost": NaiveGroupClassifier(
            AdaBoostClassifier(tree, n_estimators=ROUNDS), random_state=seed
        ),
        "naive gradient boosting": NaiveGroupClassifier(random_state=seed),
        "SBoost": SBoostClassifier(n_estimators=ROUNDS, random_state=seed),
    }


def _digit_sessions(seed: int) -> GroupedData:
    """Sessions of ten handwritten digits, mostly even or mostly odd."""
    X, digit = load_digits(return_X_y=True)
    parity = np.array(["even", "odd"])[digit % 2]
    return make_sessions(X, parity, n_other=(2, 4), random_state=seed)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the model.")] = Path(
        "groupwise-demo"
    ),
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of 5-fold cross-validation.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the sessions, folds and models.")] = 0,
) -> None:
    """Learn which sessions of digits are mostly odd, from the sessions' labels alone.

    Each session holds ten handwritten digits; two to four of them are of the other kind, and
    nobody says which. Compares the naive approach (every digit gets its session's label) with
    SBoost, by cross-validation over whole sessions.

    Example: groupwise demo --out my-demo
    """
    console = Console()
    data = _digit_sessions(seed)
    methods = _methods(seed)
    splits = list(WholeGroupKFold(5, n_repeats=repeats, random_state=seed).split(*data[:3]))
    sessions = Groups(data.groups)
    truth = sessions.one_per_group(data.y)
    n_wrong = {name: np.zeros(sessions.n_groups) for name in methods}
    curves: dict[str, Any] = {"SBoost": [], "naive AdaBoost": []}
    steps = [(name, split) for split in splits for name in methods]
    # small fits: more threads would only wait for each other
    threadpool_limits(1)
    for name, (train, test) in track(steps, "Cross-validation", console=console, transient=True):
        model = methods[name].fit(data.X[train], data.y[train], groups=data.groups[train])
        tested = np.unique(data.groups[test])
        found = model.predict_groups(data.X[test], groups=data.groups[test])
        n_wrong[name][tested] += found != truth[tested]
        if name == "SBoost":
            curves[name].append(_error_by_round(model, data, test))
            plain = SBoostClassifier(n_estimators=ROUNDS, gamma=0.0, random_state=seed)
            plain.fit(data.X[train], data.y[train], groups=data.groups[train])
            curves["naive AdaBoost"].append(_error_by_round(plain, data, test))

    wrong = {name: count / repeats for name, count in n_wrong.items()}
    console.print(_table(wrong, f"{len(sessions)} sessions of 10 digits, 5-fold x {repeats}"))
    out.mkdir(parents=True, exist_ok=True)
    display = RoundsDisplay.from_predictions(curves)
    display.ax_.set_title("Sessions of digits: error on held-out sessions")
    display.figure_.savefig(out / "demo.png", dpi=150)
    final = methods["SBoost"].fit(data.X, data.y, groups=data.groups)
    save_model(final, out / "demo.skops")
    console.print(f"Picture: {out / 'demo.png'}\nModel:   {out / 'demo.skops'}", soft_wrap=True)


def _error_by_round(model: SBoostClassifier, data: GroupedData, test: np.ndarray) -> list[float]:
    scores = list(model.staged_score(data.X[test], data.y[test], groups=data.groups[test]))
    return [1.0 - score for score in scores + scores[-1:] * (ROUNDS - len(scores))]


def _table(wrong: dict[str, np.ndarray], caption: str) -> Table:
    """Error of each method; the interval is over sessions, however often each was tested."""
    table = Table(title="Share of sessions predicted wrong", caption=caption)
    table.add_column("method")
    table.add_column("error", justify="right")
    table.add_column("95 % interval", justify="right")
    for name, share in wrong.items():
        low, high = bootstrap_interval(share)
        table.add_row(name, f"{share.mean():.3f}", f"{low:.3f} to {high:.3f}")
    return table

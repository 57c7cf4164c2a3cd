"""Our methods by their names in the table of methods, the automatic choice, and plain baselines.

Run by ``worker.py`` in the arena's own environment; ``METHODS`` is keyed by room and name.
"""

import importlib.util
import itertools
import warnings
from functools import partial
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from worker import bags, inner_folds, one_per_group, part_of

import groupwise.auto
import groupwise.gbdt
import groupwise.incontext
import groupwise.measures
import groupwise.presence
import groupwise.proportions
import groupwise.transfer
from groupwise.auto import AutoGroupClassifier
from groupwise.methods import METHODS as TABLE
from groupwise.methods import Method

if importlib.util.find_spec("torch") is not None:  # before the forks, which would load it each
    import groupwise.nets  # noqa: F401

#: Seconds on the clock that the automatic choice has for a fit.
AUTO_SECONDS = 60.0
TARGET = 1


def _ids(task: dict[str, Any]) -> dict[str, Any]:
    """What ``fit`` takes beside rows and labels."""
    return {"domains": task["domains"]} if "domains" in task else {"groups": task["groups"]}


def _fixed(task: dict[str, Any]) -> dict[str, Any]:
    return {"measure": "f1", "target_domain": TARGET}


def _fitted(model: Any, task: dict[str, Any], **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(task["X"], task["y"], **_ids(task), **more)


def _answer(model: Any, task: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if task["room"] == "transfer":
            return {"label": model.predict(task["X_asked"])}
        said = model.predictions(task["X_asked"], task["groups_asked"])
    if task["room"] in ("presence", "majority"):
        proba = np.zeros((said.groups.n_groups, task["n_classes"]))
        proba[:, np.asarray(said.classes, int)] = said.proba_group
        return {"proba": proba, "label": proba.argmax(axis=1)}
    return {"label": np.asarray(said.classes, int)[said.code_row]}


def _inner_score(model: Any, part: dict[str, Any], y: Any) -> float:
    """The score on held-out groups times their number; groups of a class not seen are wrong."""
    groups = part["groups_asked"]
    if part["room"] in ("presence", "majority"):
        return float(np.sum(_answer(model, part)["label"] == one_per_group(y, groups)))
    return float(model.score(part["X_asked"], y, groups=groups)) * len(np.unique(groups))


def of_table(method: Method, task: dict[str, Any]) -> dict[str, Any]:
    """A method with its small search, on inner folds of whole groups; the first of equals wins."""
    grid = [
        dict(zip(method.search, values, strict=True))
        for values in itertools.product(*method.search.values())
    ]
    score = np.zeros(len(grid))
    for train, held in inner_folds(task) if len(grid) > 1 else ():
        part = part_of(task, train, held)
        for place, params in enumerate(grid):
            model = _fitted(method.build(_fixed(task), params, task["seed"]), part)
            score[place] += _inner_score(model, part, task["y"][held])
    best = grid[int(score.argmax())]
    return _answer(_fitted(method.build(_fixed(task), best, task["seed"]), task), task)


def auto(task: dict[str, Any]) -> dict[str, Any]:
    """The automatic choice, which has inner folds of its own; and what it promises."""
    model = AutoGroupClassifier(
        task["room"], time_limit=AUTO_SECONDS, random_state=task["seed"], **_fixed(task)
    )
    _fitted(model, task, keep_whole=task.get("keep_whole"))
    promised = model.estimate_
    answer = _answer(model, task)
    return {**answer, "estimate": [promised.score, promised.low, promised.high]}


# --- baselines: no groupwise in them --------------------------------------------------------------


def _trees(seed: int) -> Any:
    return LGBMClassifier(n_jobs=1, verbosity=-1, random_state=seed)


def _logistic(seed: int) -> Any:
    return LogisticRegression(max_iter=1000)


def _means(X: Any, groups: Any) -> Any:
    codes = np.unique(groups, return_inverse=True)[1]
    total = np.zeros((codes.max() + 1, X.shape[1]))
    np.add.at(total, codes, X)
    return total / np.bincount(codes)[:, None]


def _proba(model: Any, X: Any, n_classes: int) -> Any:
    """Columns of all classes, seen or not."""
    proba = np.zeros((len(X), n_classes))
    proba[:, model.classes_] = model.predict_proba(X)
    return proba


def rows_then_mean(make: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Rows take their group's label; the mean of their probabilities is the group's."""
    model = make(task["seed"]).fit(task["X"], task["y"])
    row = _proba(model, task["X_asked"], task["n_classes"])
    proba = _means(row, task["groups_asked"])
    return {"proba": proba, "label": proba.argmax(axis=1)}


def on_means(make: Any, task: dict[str, Any]) -> dict[str, Any]:
    """A group is its mean row."""
    y = one_per_group(task["y"], task["groups"])
    model = make(task["seed"]).fit(_means(task["X"], task["groups"]), y)
    asked = _means(task["X_asked"], task["groups_asked"])
    proba = _proba(model, asked, task["n_classes"])
    return {"proba": proba, "label": proba.argmax(axis=1)}


def on_shares(make: Any, of_groups: bool, task: dict[str, Any]) -> dict[str, Any]:
    """Every row (or mean row) once per class, weighing the class's share in its group."""
    shares = task["y"] / task["y"].sum(axis=1, keepdims=True)
    X = task["X"]
    if of_groups:
        X, shares = _means(X, task["groups"]), one_per_group(shares, task["groups"])
    n_classes = shares.shape[1]
    label, weight = np.tile(np.arange(n_classes), len(X)), shares.ravel()
    model = make(task["seed"]).fit(np.repeat(X, n_classes, axis=0), label, sample_weight=weight)
    return {"label": model.predict(task["X_asked"])}


def on_rows(make: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Groups and domains play no part."""
    return {"label": make(task["seed"]).fit(task["X"], task["y"]).predict(task["X_asked"])}


def on_target(make: Any, task: dict[str, Any]) -> dict[str, Any]:
    """The target's few rows alone."""
    mine = task["domains"] == TARGET
    model = make(task["seed"]).fit(task["X"][mine], task["y"][mine])
    return {"label": model.predict(task["X_asked"])}


# --- for the audit --------------------------------------------------------------------------------


def attention_every_epoch(task: dict[str, Any]) -> dict[str, Any]:
    """One network with gated attention, as torchmil's are trained; its scores after each epoch.

    A layer of 128 units, 30 epochs, Adam with a rate of 1e-3, four groups a step.
    """
    import torch

    from groupwise.nets.losses import PooledLoss
    from groupwise.nets.network import GroupNet
    from groupwise.nets.packed import Packed
    from groupwise.nets.steps import train_step

    torch.set_num_threads(1)
    rng = np.random.default_rng(task["seed"])
    known = [torch.as_tensor(rows).float() for rows in bags(task["X"], task["groups"])]
    asked = [torch.as_tensor(rows).float() for rows in bags(task["X_asked"], task["groups_asked"])]
    y = torch.as_tensor(one_per_group(task["y"], task["groups"]))
    n_features = task["X"].shape[1]
    network = GroupNet(n_features, encoder=(128,), pooling="attention", seed=task["seed"])
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    loss, scores = PooledLoss("label"), []
    everything = torch.cat(asked), Packed([len(rows) for rows in asked])
    for _ in range(30):
        network.train()
        order = rng.permutation(len(known))
        for part in np.split(order, range(4, len(order), 4)):
            packed = Packed([len(known[place]) for place in part])
            rows = torch.cat([known[place] for place in part])
            train_step(network, loss, optimiser, rows, packed, y[part])
        network.eval()
        with torch.no_grad():
            scores.append(torch.sigmoid(network(*everything)).reshape(-1).numpy())
    return {"scores": scores}


METHODS: dict[str, Any] = {f"{m.kind}/{m.name}": partial(of_table, m) for m in TABLE}
for _room in ("presence", "majority", "proportions", "measure", "transfer"):
    METHODS[f"{_room}/auto"] = auto
for _room in ("presence", "majority"):
    METHODS[f"{_room}/LightGBM, mean of rows"] = partial(rows_then_mean, _trees)
    METHODS[f"{_room}/logistic on means"] = partial(on_means, _logistic)
METHODS["proportions/LightGBM on shares"] = partial(on_shares, _trees, False)
METHODS["proportions/logistic on means"] = partial(on_shares, _logistic, True)
METHODS["measure/LightGBM on rows"] = partial(on_rows, _trees)
METHODS["measure/logistic on rows"] = partial(on_rows, _logistic)
METHODS["attention, every epoch"] = attention_every_epoch
METHODS["transfer/LightGBM, all rows"] = partial(on_rows, _trees)
METHODS["transfer/logistic, all rows"] = partial(on_rows, _logistic)
METHODS["transfer/logistic, target only"] = partial(on_target, _logistic)

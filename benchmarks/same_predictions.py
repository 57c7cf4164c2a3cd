"""Do all estimators still predict what they did? Store their predictions, compare them later.

Run ``python benchmarks/same_predictions.py store FILE.npz`` with the code before a change and
``python benchmarks/same_predictions.py compare FILE.npz`` with the code after it, on the same
machine and with the same libraries (half a minute each; words after the file choose the cases
whose names hold one of them). ``compare`` ends with status 1 if a prediction differs, is missing
or raises, and is not in ``INTENDED``; quantities and cases that are new are only listed.

Every constructor call is in the tables below, behind a lambda: a parameter that has another name
now fails in the cases that use it, and is one line to edit.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from groupwise import (
    Groups,
    boosting,
    gbdt,
    losses,
    majority,
    measures,
    metrics,
    model_selection,
    presence,
    proportions,
    relative,
    transfer,
    uncertainty,
)
from groupwise.kernels import NeighbourGraph

TOLERANCE = 1e-12  # of values up to 1, and of the ratio above

#: Cases, or ``case | quantity``, that a change was meant to change, each with the reason.
INTENDED: dict[str, str] = {
    **dict.fromkeys(
        ("statistics default", "statistics, means"),
        "forests draw groups in an order of their own, not by their names",
    ),
    "boosted rows, balanced": "weights have the mean 1, and other rounding",
    "naive, differences": "the rounding of means is mended, and trees split ties otherwise",
    **{
        f"expected {case} | {quantity}": why
        for case in ("default", "trees", "logistic", "strength", "accuracy")
        for quantity, why in {
            "predict": "rows are labelled in view of their group, and not without it",
            "decision_function": "as predict",
            "predict_groups": "rows vote with the labels they are given in view of their group",
            "predict_groups_proba": "as predict_groups",
        }.items()
    },
    **{
        f"tradaboost safe | {quantity}": "rounds and weights are the chosen model's"
        for quantity in ("staged_decision_function", "estimator_weights_", "row_weights_")
    },
    **dict.fromkeys(
        ("tradaboost share", "tradaboost all vote", "tradaboost balanced",
         "tradaboost logistic, sparse", "task"),
        "weak hypotheses with an error of 1/2 up to rounding have no vote",
    ),
    "tradaboost validated": "rows are held out by what they hold, not by position",
    "balanced, 3 classes": "folds go by what rows hold, not by position",
    **dict.fromkeys(
        ("mean map", "mean map, 3 classes", "laplacian mean map", "laplacian mean map, 3 classes",
         "easy llp", "easy llp, 3 classes"),
        "another solver of the same problem, to the same tolerance",
    ),
    **dict.fromkeys(("weighting kmm", "weighting kmm, unlabelled", "weighting own kmm"),
                    "steps end at the noise of the target's mean; single precision"),
    **dict.fromkeys(("fisher", "fisher, energy"),
                    "classifiers of groups that their density has not seen, scaled held out"),
    **dict.fromkeys(
        (*(f"weighting {name} | decision_function" for name in (
            "target_only", "union", "equal_mass", "aux", "logistic", "kliep",
            "logistic, unlabelled", "kliep, unlabelled", "share", "ratio", "target only", "all",
            "own logistic", "own kliep", "transductive")),
         "weighting, sparse | decision_function", "balanced | decision_function",
         "augmentation | decision_function", "augmentation, 3 classes | decision_function",
         "tradaboost safe | decision_function", "tradaboost safe | predict_proba"),
        "the learner's probabilities in the place of its vote; labels are the same",
    ),
    **dict.fromkeys(("groupboost proportions, xgboost", "kernel counts"),
                    "the likelihood of counts adds up in another order"),
    **dict.fromkeys(
        (*(f"groupboost {case}, lightgbm" for case in (
            "majority", "majority, 3 classes", "weights", "early stopping", "codes", "monotone",
            "sampled", "leaves", "steps", "sparse", "missing", "table", "rule any",
            "rule majority", "rule mean")), "groupboost continued"),
        "exponentials in the precision of the gradient that LightGBM is given: 1e-8 (three "
        "classes: equal splits, .07)",
    ),
    **dict.fromkeys(("network", "network squared, 3 classes"),
                    "steps add up in another order, in single precision"),
}  # fmt: skip

ROW_METHODS = ("predict", "predict_proba", "decision_function", "soft_labels", "shap_values")
GROUP_METHODS = ("predict_groups", "predict_groups_proba", "predict_group_counts")
ATTRIBUTES = ("estimator_weights_", "row_weights_", "lower_bound_", "upper_bound_")

Arrays = dict[str, np.ndarray]


# Data: rows in groups or domains, of which some are held out


class Data(NamedTuple):
    """Keyword arguments of ``fit``, and of ``score`` on held-out rows."""

    train: dict[str, Any]
    test: dict[str, Any]

    def fit_with(self, **more: Any) -> "Data":
        """The same with more arguments of ``fit``."""
        return Data({**self.train, **more}, self.test)

    def each(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> "Data":
        """The same with some arguments of both replaced by ``change``."""
        return Data(*({**part, **change(part)} for part in self))


class Rows(NamedTuple):
    """Rows with their classes, groups in which a class leads, and that class by row."""

    X: np.ndarray
    y_row: np.ndarray
    groups: np.ndarray
    lead: np.ndarray

    def every(self, step: int) -> "Rows":
        """The rows of every so many groups, for methods that search."""
        return Rows(*(column[self.groups % step == 0] for column in self))

    def split(self, y: np.ndarray, n_train: int = 40) -> Data:
        """The first groups to train on, the others held out."""
        ids = np.array([f"g{code:02d}" for code in self.groups])
        train = self.groups < n_train
        return Data(
            *({"X": self.X[rows], "y": y[rows], "groups": ids[rows]} for rows in (train, ~train))
        )


def make_rows(seed: int, n_classes: int, own: float, *, background: bool = False) -> Rows:
    """Overlapping classes in 60 interleaved groups of 3 to 9 rows; feature 4 holds the codes 0-3.

    A row has the class that leads its group with probability ``own`` (and the first row has), else
    any class, or with ``background`` class 0.
    """
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(60), rng.integers(3, 10, 60))
    lead = rng.integers(n_classes, size=60)[groups]
    others = 0 if background else rng.integers(n_classes, size=len(groups))
    first = np.diff(groups, prepend=-1) > 0
    y_row = np.where(first | (rng.random(len(groups)) < own), lead, others)
    X = rng.normal(size=(len(groups), 5)) + 1.5 * np.eye(n_classes, 5)[y_row]
    X[:, 4] = (2 * y_row + rng.choice([0, 0, 0, 1, 2, 3], size=len(groups))) % 4
    order = rng.permutation(len(groups))
    return Rows(X[order], y_row[order], groups[order], lead[order])


def make_domains(seed: int, n_classes: int) -> Data:
    """Two large sources, the first further from the target than the second, and a small target."""
    rng = np.random.default_rng(seed)
    domains = np.repeat(["far", "near", "target"], [90, 90, 90])
    X = rng.normal(size=(len(domains), 5))
    score = X @ rng.normal(size=(5, n_classes)) + 2 * rng.normal(size=(len(domains), n_classes))
    for name, turn in (("far", 1.0), ("near", 0.4)):
        score[domains == name] += turn * X[domains == name] @ rng.normal(size=(5, n_classes))
    y = NAMES[score.argmax(axis=1)]
    place = np.arange(len(domains)) % 90
    train = place < np.where(domains == "target", 40, 70)
    return Data(
        *({"X": X[rows], "y": y[rows], "domains": domains[rows]} for rows in (train, ~train))
    )


def shares(part: dict[str, Any]) -> dict[str, Any]:
    """The labels of rows as a table of each group's shares of the classes."""
    table = pd.crosstab(part["groups"], part["y"], normalize="index")
    return {"y": proportions.broadcast(table, part["groups"])}


def totals(part: dict[str, Any]) -> dict[str, Any]:
    """The groups' totals instead of their means."""
    groups = Groups(part["groups"])
    return {"y": part["y"] * groups.spread(groups.sizes)}


def sparse(part: dict[str, Any]) -> dict[str, Any]:
    """Sparse rows: what is below zero is not stored."""
    return {"X": csr_matrix(np.maximum(part["X"], 0.0))}


def some_missing(part: dict[str, Any]) -> dict[str, Any]:
    return {"X": np.where(part["X"] > 1.5, np.nan, part["X"])}


def in_a_table(part: dict[str, Any]) -> dict[str, Any]:
    """The groups as a column of a table."""
    table = pd.DataFrame(part["X"], columns=list("abcde")).assign(session=part["groups"])
    return {"X": table, "groups": None}


def values_of(rows: Rows) -> np.ndarray:
    """Numbers of rows for regression, replaced by their groups' means."""
    groups = Groups(rows.groups)
    return groups.spread(groups.mean(np.sin(rows.X[:, 0]) + rows.X[:, 1] + rows.y_row))


NAMES = np.array(["cat", "dog", "emu"])
LED2, LED3 = make_rows(1, 2, 0.6), make_rows(2, 3, 0.7)
SESSIONS, SESSIONS3 = (rows.split(NAMES[rows.lead]) for rows in (LED2, LED3))
FOUND2, FOUND3 = (make_rows(n + 1, n, 0.5, background=True) for n in (2, 3))
BAGS, BAGS3 = FOUND2.split(FOUND2.lead), FOUND3.split(NAMES[FOUND3.lead])
NAMED_BAGS = BAGS.each(lambda part: {"y": NAMES[part["y"]]})
COUNTS, COUNTS3 = LED2.split(LED2.y_row), LED3.split(NAMES[LED3.y_row])  # labels of rows
USERS = FOUND2.split(NAMES[FOUND2.y_row])
FEW_COUNTS = LED2.every(5).split(LED2.every(5).y_row)
FEW_BAGS = FOUND2.every(3).split(FOUND2.every(3).lead)
MEANS = LED3.split(values_of(LED3))
TOTALS = MEANS.each(totals)
DOMAINS, DOMAINS3 = make_domains(5, 2), make_domains(6, 3)
WEIGHT = np.random.default_rng(7).choice([0.0, 0.5, 1.0, 3.0], size=1000)


def weighted(data: Data) -> Data:
    return data.fit_with(sample_weight=WEIGHT[: len(data.train["y"])])


def weighted_groups(data: Data) -> Data:
    """The same weight on all rows of a group."""
    return data.fit_with(sample_weight=WEIGHT[Groups(data.train["groups"]).codes])


def with_unlabeled(data: Data) -> Data:
    """Half of the held-out rows of the target, without their labels, in training."""
    return data.fit_with(X_unlabeled=data.test["X"][data.test["domains"] == "target"][:25])


def to_numbers(part: dict[str, Any]) -> dict[str, Any]:
    """Numbers to predict, which in other domains than the target are others."""
    X, shift = part["X"], 0.5 * (part["domains"] == "far")
    return {"y": X[:, 0] + np.abs(X[:, 1]) * (1.0 + shift) - shift * X[:, 2]}


# Estimators: (name, how it is made, data)


def trees(depth: int = 2, **settings: Any) -> Any:
    return boosting.HistTrees(depth, n_jobs=1, **settings)


def stump() -> Any:
    return DecisionTreeClassifier(max_depth=1)


def sboost(estimator: Any, **settings: Any) -> Any:
    settings = {"n_estimators": 12, "random_state": 0, **settings}
    return majority.SBoostClassifier(estimator, **settings)


MAJORITY = [
    ("sboost default", lambda: majority.SBoostClassifier(random_state=0), SESSIONS),
    ("sboost trees", lambda: sboost(trees()), SESSIONS),
    ("sboost trees, leaves", lambda: sboost(trees(5, max_leaf_nodes=4, max_bins=15)), SESSIONS),
    ("sboost trees, codes", lambda: sboost(trees(categorical_features=[4])), SESSIONS),
    ("sboost trees, monotone", lambda: sboost(trees(monotonic_cst=[-1, 1, 0, 0, 0])),
     SESSIONS),
    ("sboost trees, sparse", lambda: sboost(trees()), SESSIONS.each(sparse)),
    ("sboost trees, table",
     lambda: sboost(trees(), group_column="session"), SESSIONS.each(in_a_table)),
    ("sboost trees, 3 classes", lambda: sboost(trees()), SESSIONS3),
    ("sboost trees, resample", lambda: sboost(trees(), resample=True), SESSIONS),
    ("sboost stump", lambda: sboost(stump()), SESSIONS),
    ("sboost stump, resample", lambda: sboost(stump(), resample=True), SESSIONS),
    ("sboost stump, ovr", lambda: sboost(stump(), multiclass="ovr"), SESSIONS3),
    ("sboost stump, samme", lambda: sboost(stump(), multiclass="samme"), SESSIONS3),
    ("sboost gamma 0", lambda: sboost(trees(), gamma=0.0), SESSIONS),
    ("sboost gamma 16", lambda: sboost(trees(), gamma=16.0), SESSIONS),
    *((f"sboost {vote} vote", partial(sboost, trees(), rule=vote), SESSIONS)
      for vote in ("mean", "score", "any")),
    ("naive default", lambda: majority.NaiveGroupClassifier(random_state=0), SESSIONS),
    ("naive, differences", lambda: relative.RelativeFeaturesClassifier(
        majority.NaiveGroupClassifier(random_state=0)), SESSIONS),
    ("naive logistic, 3 classes",
     lambda: majority.NaiveGroupClassifier(LogisticRegression(), rule="mean"), SESSIONS3),
    ("statistics default", lambda: majority.GroupStatisticsClassifier(random_state=0), SESSIONS3),
    ("statistics logistic", lambda: majority.GroupStatisticsClassifier(
        LogisticRegression(), statistics=("mean", "max")), SESSIONS),
    ("select_gamma", lambda: majority.SBoostClassifierCV(
        trees(), n_estimators=12, gammas=(0.0, 4.0, 16.0), random_state=0), SESSIONS),
    ("select_gamma paper", lambda: majority.SBoostClassifierCV(
        stump(), n_estimators=12, cv=model_selection.paper_split(0), tune_rounds=False,
        random_state=0), SESSIONS3),
]  # fmt: skip


def boosted_trees(**settings: Any) -> Any:
    """The trees that gradient boosting grew by default."""
    return boosting.HistTrees(**{"n_jobs": 1, **settings})


def boosted(loss: Any, **settings: Any) -> Any:
    settings = {"n_estimators": 15, "learning_rate": 0.3, "trees": boosted_trees(), **settings}
    return gbdt.GroupBoostClassifier(loss, random_state=0, **settings)


def boosted_means(target: str = "mean", **settings: Any) -> Any:
    settings = {
        "n_estimators": 15, "trees": boosted_trees(), "random_state": 0, **settings
    }  # fmt: skip
    return gbdt.GroupBoostRegressor(target, **settings)


def for_engine(engine: str) -> list[Any]:
    """The cases of gradient boosting inside LightGBM or XGBoost."""
    kinds = [
        ("majority", "", SESSIONS),
        ("majority", ", 3 classes", SESSIONS3),
        ("majority_softmax", "", SESSIONS),
        ("majority_softmax", ", 3 classes", SESSIONS3),
        ("presence", "", NAMED_BAGS),
        ("presence", ", weights", weighted(BAGS)),
        ("presence_lse", "", BAGS),
        ("proportions", "", COUNTS),
        ("proportions", ", 3 classes", COUNTS3),
        ("proportions", ", weights", weighted_groups(COUNTS3)),
        ("proportions_squared", "", COUNTS.each(shares)),
        ("proportions_squared", ", 3 classes", weighted(COUNTS3)),
    ]
    sampled = boosted_trees(subsample=0.7, max_features=0.6, max_bins=31)
    leaves = boosted_trees(max_depth=6, max_leaf_nodes=5, min_leaf_weight=0.3)
    settings: list[tuple[str, dict[str, Any], Data]] = [
        ("weights", {}, weighted(SESSIONS)),
        ("early stopping", {"early_stopping": True, "n_iter_no_change": 2}, SESSIONS),
        ("codes", {"trees": boosted_trees(categorical_features=[4])}, SESSIONS),
        ("monotone", {"trees": boosted_trees(monotonic_cst=[-1, 1, 0, 0, 0])}, SESSIONS),
        ("sampled", {"trees": sampled}, SESSIONS),
        ("leaves", {"trees": leaves}, SESSIONS),
        (
            "steps",
            {
                "loss": losses.MajorityLoss(gamma=1.0),
                "learning_rate": 0.1,
                "trees": boosted_trees(l2_regularization=5.0),
            },
            SESSIONS,
        ),
        ("sparse", {}, SESSIONS.each(sparse)),
        ("missing", {}, SESSIONS.each(some_missing)),
        ("table", {"group_column": "session"}, SESSIONS.each(in_a_table)),
        *((f"rule {rule}", {"rule": rule}, SESSIONS) for rule in ("any", "majority", "mean")),
    ]
    held = {f"{key}_val": value for key, value in SESSIONS3.test.items()}
    make, make_means = partial(boosted, engine=engine), partial(boosted_means, engine=engine)
    return [
        *((f"groupboost {loss}{kind}, {engine}", partial(make, loss), data)
          for loss, kind, data in kinds),
        *((f"groupboost {what}, {engine}", partial(make, **{"loss": "majority", **chosen}), data)
          for what, chosen, data in settings),
        (f"groupboost given validation, {engine}",
         lambda: make("majority_softmax", early_stopping=True, n_estimators=60),
         SESSIONS3.fit_with(**held)),
        (f"groupboost presence, any, {engine}", lambda: make("presence", rule="any"), BAGS),
        (f"groupboost means, {engine}", make_means, MEANS),
        (f"groupboost weighted means, {engine}", make_means, weighted(MEANS)),
        (f"groupboost totals, {engine}", lambda: make_means("total"), TOTALS),
        (f"groupboost huber, {engine}", lambda: make_means(
            loss=losses.GroupMeanLoss(delta=0.3)), MEANS),
        (f"groupboost means, early stopping, {engine}",
         lambda: make_means(early_stopping=True, n_iter_no_change=2), MEANS),
    ]  # fmt: skip


def manifold(level: str, loss: str, **settings: Any) -> Any:
    settings = {"gamma1": 0.3, "random_state": 0, **settings}
    return proportions.ManifoldAOCClassifier(level, loss, **settings)


def manifold_values(level: str, loss: str, **settings: Any) -> Any:
    settings = {"gamma1": 0.3, "random_state": 0, **settings}
    return proportions.ManifoldAOCRegressor(level, loss, **settings)


def manifold_cv(level: str = "row", loss: str = "l2", **settings: Any) -> Any:
    settings = {"widths": (0.5, 1.0), "rhos": (0.0, 10.0), "random_state": 0, **settings}
    return proportions.ManifoldAOCClassifierCV(level, loss, **settings)


def kernel_counts(**settings: Any) -> Any:
    settings = {"widths": (1.0,), "rhos": (0.0, 1.0), "alphas": (0.01, 0.1), **settings}
    return proportions.KernelCountClassifier(random_state=0, **settings)


def network(**settings: Any) -> Any:
    settings = {"epochs": 15, "device": "cpu", "random_state": 0, **settings}
    return proportions.MLPAOCClassifier((8,), **settings)


def group_net(loss: str = "majority_softmax", **settings: Any) -> Any:
    from groupwise.nets import GroupNetClassifier

    settings = {"encoder": (8,), "epochs": 15, "device": "cpu", "random_state": 0, **settings}
    return GroupNetClassifier(loss, **settings)


def aoc_svm(method: str = "alternate", **settings: Any) -> Any:
    return proportions.SVMAOCClassifier(method, random_state=0, **settings)


LEVELS = [(level, loss) for level in ("row", "group") for loss in ("l2", "l1")]
GRAPH = NeighbourGraph(5)
PROPORTIONS = [
    *((f"manifold {level} {loss}{name}", partial(manifold, level, loss, gamma2=1.0), data)
      for level, loss in LEVELS for name, data in (("", COUNTS), (", 3 classes", COUNTS3))),
    *((f"manifold {level} {loss}, no bias",
       partial(manifold, level, loss, gamma2=1.0, fit_intercept=False), COUNTS)
      for level, loss in LEVELS),
    *((f"manifold {level} {loss}, landmarks",
       partial(manifold, level, loss, gamma2=1.0, n_components=40), COUNTS)
      for level, loss in LEVELS),
    ("manifold no graph", lambda: manifold("row", "l2"), COUNTS3),
    ("manifold own graph", lambda: manifold("row", "l2", gamma2=1.0, graph=GRAPH), COUNTS),
    ("manifold linear", lambda: manifold("row", "l2", kernel="linear"), COUNTS),
    ("manifold shares", lambda: manifold("row", "l2", gamma2=1.0), COUNTS3.each(shares)),
    ("manifold sparse", lambda: manifold("row", "l2", gamma2=1.0), COUNTS.each(sparse)),
    ("manifold classes",
     lambda: manifold("row", "l2", gamma2=1.0, classes=["cat", "dog", "emu", "fox"]), COUNTS3),
    *((f"manifold values {level} {loss}", partial(manifold_values, level, loss, gamma2=1.0), MEANS)
      for level, loss in LEVELS),
    ("manifold totals", lambda: manifold_values("row", "l2", target="total"), TOTALS),
    ("manifold values, landmarks", lambda: manifold_values("row", "l2", n_components=40), MEANS),
    ("manifold cv", manifold_cv, COUNTS),
    ("manifold cv, 3 classes", lambda: manifold_cv("group"), COUNTS3),
    ("manifold cv, l1", lambda: manifold_cv(
        "row", "l1", widths=(1.0,), lambdas=(0.01, 1.0), cv=3), COUNTS),
    ("manifold cv, transduction", lambda: manifold_cv(
        goal="transduction", fit_intercept=False), COUNTS),
    ("manifold cv, landmarks", lambda: manifold_cv(n_components=40), COUNTS),
    ("graph", lambda: proportions.GraphAOCClassifier(random_state=0), COUNTS),
    ("graph, 3 classes", lambda: proportions.GraphAOCClassifier(
        (0.1, 1.0), graph=GRAPH, n_neighbors=3, random_state=0), COUNTS3),
    ("knn", lambda: proportions.KNNAOCClassifier(), COUNTS),
    ("knn, 3 classes", lambda: proportions.KNNAOCClassifier(9), COUNTS3),
    ("aoc svm", aoc_svm, COUNTS),
    ("aoc svm, 3 classes", aoc_svm, COUNTS3),
    ("aoc svm, linear", lambda: aoc_svm(kernel="linear", C=0.1, n_restarts=1), COUNTS),
    ("aoc svm, exact", lambda: aoc_svm("exact", n_restarts=1), FEW_COUNTS),
    ("network", network, COUNTS),
    ("network squared, 3 classes", lambda: network(loss="squared", batch_groups=8), COUNTS3),
    ("group net counts", lambda: group_net("proportions"), COUNTS),
    ("group net sessions, 3 classes", group_net, SESSIONS3),
    ("kernel counts", kernel_counts, COUNTS),
    ("kernel counts, 3 classes", lambda: kernel_counts(goal="transduction", cv=3), COUNTS3),
    ("mean map", lambda: proportions.MeanMapClassifier(), COUNTS),
    ("mean map, 3 classes", lambda: proportions.MeanMapClassifier(kernel="linear"), COUNTS3),
    ("laplacian mean map", lambda: proportions.LaplacianMeanMapClassifier(), COUNTS),
    ("laplacian mean map, 3 classes", lambda: proportions.LaplacianMeanMapClassifier(
        graph_weight=10.0, n_components=40, random_state=0), COUNTS3),
    ("linear counts", lambda: proportions.LinearCountClassifier(random_state=0), COUNTS),
    ("linear counts, 3 classes", lambda: proportions.LinearCountClassifier((1.0,)), COUNTS3),
    ("decode and refit", lambda: proportions.DecodeRefitClassifier(random_state=0), COUNTS),
    ("easy llp", lambda: proportions.EasyLLPClassifier(), COUNTS),
    ("naive shares", lambda: proportions.NaiveSharesClassifier(random_state=0), COUNTS),
    ("naive shares, 3 classes", lambda: proportions.NaiveSharesClassifier(
        LogisticRegression()), COUNTS3.each(shares)),
    ("naive means", lambda: proportions.NaiveGroupRegressor(random_state=0), MEANS),
    ("naive totals", lambda: proportions.NaiveGroupRegressor(target="total", random_state=0),
     TOTALS),
    ("statistics, means", lambda: proportions.GroupStatisticsRegressor(random_state=0), MEANS),
    ("statistics, totals", lambda: proportions.GroupStatisticsRegressor(
        LinearRegression(), statistics=("mean", "std"), target="total"), TOTALS),
    ("easy llp, 3 classes", lambda: proportions.EasyLLPClassifier(0.1, width=0.5), COUNTS3),
]  # fmt: skip


def lpboost(estimator: Any = None, **settings: Any) -> Any:
    settings = {"C": 1.0, "random_state": 0, **settings}  # costly slack: many hypotheses
    return presence.LPBoostClassifier(estimator, **settings)


def dpboost(estimator: Any = None, **settings: Any) -> Any:
    settings = {"C": 3.0, "max_effort": 2e6, "cut_rounds": 3, "random_state": 0, **settings}
    return presence.DPBoostClassifier(estimator, **settings)


def fixed_pool() -> Any:
    """Trees of depth 1 and 2 on one feature each."""
    X, y, _ = BAGS.train.values()
    trees = (DecisionTreeClassifier(max_depth=depth) for depth in (1, 2) for _ in range(5))
    return presence.FixedPool(
        [tree.fit(X * (np.arange(5) == number % 5), y) for number, tree in enumerate(trees)]
    )


PRESENCE = [
    ("lpboost default", lambda: presence.LPBoostClassifier(), NAMED_BAGS),
    ("lpboost, 3 classes", lambda: lpboost(presence.Stumps(8)), BAGS3),
    ("lpboost, background", lambda: lpboost(presence.Stumps(8), background="cat"), BAGS3),
    ("lpboost stumps", lambda: lpboost(presence.Stumps(), C=0.3), BAGS),
    ("lpboost balls", lambda: lpboost(presence.Balls(20, max_radii=8)), BAGS),
    ("lpboost pool", lambda: lpboost(fixed_pool()), BAGS),
    ("lpboost trees", lambda: lpboost(trees(), max_queries=20), BAGS),
    ("lpboost tree", lambda: lpboost(
        DecisionTreeClassifier(max_depth=2), C=None, nu=0.01, max_queries=20), NAMED_BAGS),
    ("lpboost sparse", lambda: lpboost(presence.Stumps(8)), BAGS.each(sparse)),
    ("dpboost cuts", lambda: dpboost(presence.Stumps(8)), NAMED_BAGS),
    ("dpboost lifted", lambda: dpboost(
        presence.Stumps(4), relaxation="lifted"), FEW_BAGS),
    ("dpboost embedding", lambda: dpboost(
        presence.Stumps(8), relaxation="embedding", n_restarts=2), BAGS),
    ("dpboost exact", lambda: dpboost(presence.Stumps(4), exact=True), FEW_BAGS),
    ("dpboost pool", lambda: dpboost(fixed_pool()), BAGS),
    ("dpboost balls", lambda: dpboost(presence.Balls(20, max_radii=8)), BAGS),
    ("dpboost trees", lambda: dpboost(trees(), C=None, nu=0.01, max_queries=15), BAGS),
    ("dpboost, 3 classes", lambda: dpboost(presence.Stumps(4)), BAGS3),
    ("dpboost, background", lambda: dpboost(
        presence.Stumps(4), background="cat"), BAGS3),
    ("mi-svm", lambda: presence.MISVMClassifier(), NAMED_BAGS),
    ("MI-SVM", lambda: presence.MISVMClassifier("witness"), BAGS),
    ("mi-svm linear", lambda: presence.MISVMClassifier(kernel="linear", class_weight=None), BAGS),
    ("MI-SVM landmarks", lambda: presence.MISVMClassifier(
        "witness", n_components=30, random_state=0), BAGS),
    ("miles", lambda: presence.MILESClassifier(), NAMED_BAGS),
    ("miles, few rows", lambda: presence.MILESClassifier(C=5.0, width=1.0, n_rows=50), BAGS),
    ("dissimilarity", lambda: presence.DissimilarityClassifier(), NAMED_BAGS),
    ("fisher", lambda: presence.FisherVectorClassifier(random_state=0), NAMED_BAGS),
    ("fisher, energy", lambda: presence.FisherVectorClassifier(
        3, energy=0.8, random_state=0), BAGS),
    ("set kernel", lambda: presence.SetKernelClassifier(), NAMED_BAGS),
    ("set kernel linear", lambda: presence.SetKernelClassifier(kernel="linear"), BAGS),
    ("set kernel statistic", lambda: presence.SetKernelClassifier("statistic", C=1.0), BAGS),
    ("citation knn", lambda: presence.CitationKNNClassifier(), NAMED_BAGS),
    ("citation knn, many", lambda: presence.CitationKNNClassifier(5, n_citers=7), BAGS),
    ("em-dd", lambda: presence.EMDDClassifier(4, random_state=0), NAMED_BAGS),
    ("apr", lambda: presence.APRClassifier(), NAMED_BAGS),
    ("apr, tight", lambda: presence.APRClassifier(margin=0.5, epsilon=0.1), BAGS),
    ("group vote", lambda: presence.GroupVoteClassifier(random_state=0), NAMED_BAGS),
    ("group vote, own", lambda: presence.GroupVoteClassifier(
        [("lp", lpboost(presence.Stumps(8))), ("naive", majority.NaiveGroupClassifier(stump()))],
        scale=False, random_state=0), BAGS3),
]  # fmt: skip


def row_trees(loss: str = "logistic", **settings: Any) -> Any:
    settings = {"n_estimators": 20, "min_samples_leaf": 5, "n_jobs": 1, **settings}
    return measures.BoostedRowsClassifier(loss, random_state=0, **settings)


def group_adaboost(estimator: Any, **settings: Any) -> Any:
    settings = {"n_estimators": 12, "random_state": 0, **settings}
    return measures.GroupAdaBoostClassifier(estimator, **settings)


def focused(estimator: Any, **settings: Any) -> Any:
    settings = {"n_estimators": 12, "random_state": 0, **settings}
    return measures.FocusedAdaBoostClassifier(estimator, **settings)


def expected(estimator: Any, **settings: Any) -> Any:
    return measures.ExpectedMeasureClassifier(estimator, random_state=0, **settings)


def tuned(estimator: Any, **settings: Any) -> Any:
    return measures.ThresholdTunedClassifier(estimator, cv=3, random_state=0, **settings)


MEASURES = [
    ("group adaboost default", lambda: measures.GroupAdaBoostClassifier(
        measure="accuracy", random_state=0), COUNTS),
    *((f"group adaboost {measure}", partial(group_adaboost, trees(), measure=measure), USERS)
      for measure in ("f1", "balanced_accuracy", "matthews", "ndcg", "roc_area")),
    ("group adaboost stumps", lambda: group_adaboost(
        measures.MeasureStumps(), measure="f1"), USERS),
    ("group adaboost few stumps", lambda: group_adaboost(
        measures.MeasureStumps(4), measure=metrics.FBeta(beta=2.0)), COUNTS),
    ("group adaboost, 3 classes", lambda: group_adaboost(
        stump(), measure="accuracy"), COUNTS3),
    ("focused default", lambda: measures.FocusedAdaBoostClassifier(random_state=0), USERS),
    ("focused 3, cost 4", lambda: focused(trees(), focus=3.0, cost=4.0), USERS),
    ("focused 0, unbalanced", lambda: focused(
        stump(), focus=0.0, balance_groups=False, measure="accuracy"), COUNTS),
    ("focused confident trees", lambda: focused(trees(), hypotheses="soft"), USERS),
    ("focused confident classifier", lambda: focused(
        GaussianNB(), hypotheses="soft", measure="accuracy"), COUNTS3),
    ("focused validated", lambda: focused(
        trees(), early_stopping=True, validation_fraction=0.3), USERS),
    ("focused, 3 classes", lambda: focused(stump(), measure="accuracy"), COUNTS3),
    ("focused own measure", lambda: focused(trees(), measure=lambda y, score, groups:
        groups.mean((y == (score > 0)) * 1.0)), COUNTS),
    ("boosted rows", row_trees, USERS),
    ("boosted rows, relative", lambda: relative.RelativeFeaturesClassifier(
        row_trees(), relative=("difference", "mean", "score")), USERS),
    ("boosted rows, balanced", lambda: row_trees(balance_groups=True, max_leaf_nodes=5), COUNTS),
    ("boosted rows, lambdarank", lambda: row_trees("lambdarank", measure="ndcg"), USERS),
    ("boosted rows, 3 classes", lambda: row_trees(measure="accuracy"), COUNTS3),
    ("boosted rows, sparse", row_trees, USERS.each(sparse)),
    ("expected default", lambda: measures.ExpectedMeasureClassifier(random_state=0), USERS),
    ("expected trees", lambda: expected(row_trees()), USERS),
    ("expected logistic", lambda: expected(
        LogisticRegression(), strength=np.inf, measure=metrics.FBeta(beta=2.0)), COUNTS),
    ("expected strength", lambda: expected(LogisticRegression(), strength=30.0), USERS),
    ("expected accuracy", lambda: expected(
        LogisticRegression(), measure="accuracy", cv=4), USERS),
    ("tuned default", lambda: measures.ThresholdTunedClassifier(random_state=0), USERS),
    ("tuned trees", lambda: tuned(row_trees()), USERS),
    ("tuned lambdarank", lambda: tuned(row_trees("lambdarank")), USERS),
    ("tuned bayes", lambda: tuned(GaussianNB(), measure="balanced_accuracy"), USERS),
    *((f"svm perf {measure}", partial(measures.SVMPerfClassifier, measure), COUNTS)
      for measure in ("accuracy", "f1", "group_f1", "precision_at_k")),
    ("svm perf rocarea", lambda: measures.SVMPerfClassifier("roc_area"), COUNTS),
    ("svm perf, k", lambda: measures.SVMPerfClassifier("precision_at_k", C=1.0, k=30), USERS),
    ("svm perf, sparse", lambda: measures.SVMPerfClassifier(C=1.0), USERS.each(sparse)),
]  # fmt: skip


def to_target(kind: Any, estimator: Any = None, **settings: Any) -> Any:
    return kind(estimator, target_domain="target", random_state=0, **settings)


def tradaboost(estimator: Any = None, **settings: Any) -> Any:
    settings = {"n_estimators": 15, **settings}
    return to_target(transfer.TrAdaBoostClassifier, estimator, **settings)


def weighting(name: Any, estimator: Any = None, **settings: Any) -> Any:
    settings = {"weighting": name, **settings}
    return to_target(
        transfer.WeightedTransferClassifier, estimator or boosting.LinearLearner(), **settings
    )


def linear(loss: str = "squared_hinge") -> Any:
    return boosting.LinearLearner(loss)


def transductive(**settings: Any) -> Any:
    return transfer.TransductiveSVC(target_domain="target", **settings)


def regression_tree() -> Any:
    return DecisionTreeRegressor(max_depth=3)


VALUES = DOMAINS.each(to_numbers)
UNLABELED = with_unlabeled(DOMAINS)
TRANSFER = [
    ("tradaboost default", tradaboost, DOMAINS),
    ("tradaboost trees", lambda: tradaboost(trees()), weighted(DOMAINS)),
    ("tradaboost, 3 classes", lambda: tradaboost(stump()), DOMAINS3),
    ("tradaboost linear, 3 classes", lambda: tradaboost(linear()), DOMAINS3),
    ("tradaboost equal mass", lambda: tradaboost(stump(), initial="equal_mass"), DOMAINS),
    ("tradaboost share", lambda: tradaboost(stump(), initial=0.2), DOMAINS),
    ("tradaboost all vote", lambda: tradaboost(stump(), vote="all"), DOMAINS),
    ("tradaboost confidence", lambda: tradaboost(stump(), hypotheses="soft"), DOMAINS),
    ("tradaboost confident trees", lambda: tradaboost(trees(), hypotheses="soft"), DOMAINS),
    ("tradaboost kept", lambda: tradaboost(linear(), source_mass="kept"), DOMAINS),
    ("tradaboost dynamic", lambda: tradaboost(linear(), source_mass="dynamic"), DOMAINS),
    ("tradaboost balanced", lambda: tradaboost(linear(), class_weight="balanced"), DOMAINS),
    ("tradaboost validated", lambda: tradaboost(
        linear(), early_stopping=True, validation_fraction=0.3), DOMAINS),
    ("tradaboost safe", lambda: transfer.SafeTrAdaBoostClassifier(
        transfer.TrAdaBoostClassifier(trees(), n_estimators=6), target_domain="target",
        random_state=0), DOMAINS),
    ("tradaboost linear", lambda: tradaboost(linear()), DOMAINS),
    ("tradaboost logistic, sparse", lambda: tradaboost(linear("logistic")), DOMAINS.each(sparse)),
    ("tradaboost transductive", lambda: tradaboost(
        transfer.TransductiveSVC(), n_estimators=6), UNLABELED),
    *((f"fading {name}", partial(lambda estimator: transfer.TrAdaBoostClassifier.fading(
        estimator, n_estimators=15, target_domain="target", random_state=0), estimator), data)
      for name, estimator, data in (
          ("linear", linear(), DOMAINS), ("trees", trees(), DOMAINS),
          ("3 classes", linear("logistic"), DOMAINS3))),
    *((f"weighting {name}", partial(weighting, name), DOMAINS)
      for name in ("target_only", "union", "equal_mass", "aux", "logistic", "kliep", "kmm")),
    *((f"weighting {name}, unlabelled", partial(weighting, name), UNLABELED)
      for name in ("logistic", "kliep", "kmm")),
    ("weighting share", lambda: weighting(transfer.TargetShare(0.8), trees()), DOMAINS),
    ("weighting ratio", lambda: weighting(transfer.AuxiliaryRatio(2.0), stump()), DOMAINS3),
    ("weighting target only", lambda: weighting(transfer.TargetOnly(), GaussianNB()), DOMAINS3),
    ("weighting all", lambda: weighting(
        transfer.PooledRows(), class_weight="balanced"), weighted(DOMAINS)),
    ("weighting own logistic", lambda: weighting(transfer.LogisticRatio(C=0.1)), DOMAINS3),
    ("weighting own kliep", lambda: weighting(transfer.KLIEP(gamma=0.5, n_centers=20)), DOMAINS),
    ("weighting own kmm", lambda: weighting(
        transfer.KernelMeanMatching(gamma=0.5, bound=10.0)), DOMAINS),
    ("weighting, sparse", lambda: weighting("equal_mass", linear("logistic")),
     DOMAINS.each(sparse)),
    ("weighting transductive", lambda: weighting("union", transfer.TransductiveSVC()), UNLABELED),
    ("balanced", lambda: to_target(transfer.BalancedTransferClassifier, linear()), DOMAINS),
    ("source prior", lambda: to_target(transfer.SourcePriorClassifier), DOMAINS),
    ("source scores", lambda: to_target(transfer.SourceScoresClassifier), DOMAINS),
    ("balanced, 3 classes", lambda: to_target(
        transfer.BalancedTransferClassifier, stump(), shares=(0.5, 0.8), cv=5), DOMAINS3),
    ("augmentation", lambda: to_target(transfer.FeatureAugmentationClassifier), DOMAINS),
    ("augmentation, 3 classes", lambda: to_target(
        transfer.FeatureAugmentationClassifier, linear(), weighting="union"), DOMAINS3),
    ("multisource", lambda: to_target(
        transfer.MultiSourceTrAdaBoostClassifier, stump(), n_estimators=15), DOMAINS),
    ("multisource trees", lambda: to_target(
        transfer.MultiSourceTrAdaBoostClassifier, n_estimators=8, initial="equal_mass"), DOMAINS),
    ("multisource, 3 classes", lambda: to_target(
        transfer.MultiSourceTrAdaBoostClassifier, linear(), n_estimators=8), DOMAINS3),
    ("task", lambda: to_target(
        transfer.TaskTrAdaBoostClassifier, stump(), n_estimators=15), DOMAINS),
    ("task trees", lambda: to_target(
        transfer.TaskTrAdaBoostClassifier, n_estimators=8, min_vote=0.1), DOMAINS),
    ("task, 3 classes", lambda: to_target(
        transfer.TaskTrAdaBoostClassifier, stump(), n_estimators=15), DOMAINS3),
    ("tsvm labelled", transductive, DOMAINS),
    ("tsvm switching", transductive, UNLABELED),
    ("tsvm annealing", lambda: transductive(method="annealing"), UNLABELED),
    ("tsvm estimate", lambda: transductive(positive_fraction="estimate", C=1.0), UNLABELED),
    ("tsvm fraction", lambda: transductive(
        positive_fraction=0.4, unlabeled_cost=0.02), weighted(UNLABELED)),
    ("tsvm, sparse", transductive, with_unlabeled(DOMAINS.each(sparse))),
    ("regressor default", lambda: to_target(
        transfer.TrAdaBoostRegressor, n_estimators=10), weighted(VALUES)),
    *((f"regressor {loss}", partial(to_target, transfer.TrAdaBoostRegressor, regression_tree(),
                                    n_estimators=10, loss=loss), VALUES)
      for loss in ("linear", "square", "exponential")),
    ("regressor all vote", lambda: to_target(
        transfer.TrAdaBoostRegressor, regression_tree(), n_estimators=10, vote="all"), VALUES),
    ("two-stage regressor", lambda: to_target(
        transfer.TwoStageTrAdaBoostRegressor, regression_tree(), n_estimators=5, n_steps=4,
        cv=3), VALUES),
    ("two-stage regressor, default", lambda: to_target(
        transfer.TwoStageTrAdaBoostRegressor, n_estimators=4, n_steps=3, cv=3),
     weighted(VALUES)),
]  # fmt: skip

UNCERTAINTY = [
    ("calibrated", lambda: uncertainty.CalibratedGroupClassifier(
        boosted("presence"), cv=3, random_state=0), NAMED_BAGS),
    ("calibrated, isotonic", lambda: uncertainty.CalibratedGroupClassifier(
        majority.NaiveGroupClassifier(GaussianNB()), method="isotonic", cv=3, random_state=0),
     SESSIONS),
    ("conformal", lambda: uncertainty.ConformalGroupClassifier(
        boosted("majority"), cv=3, random_state=0), SESSIONS),
    ("conformal means", lambda: uncertainty.ConformalGroupRegressor(
        boosted_means(), cv=3, random_state=0), MEANS),
]  # fmt: skip

ESTIMATORS = [
    *MAJORITY, *for_engine("lightgbm"), *for_engine("xgboost"),
    *PROPORTIONS, *PRESENCE, *MEASURES, *TRANSFER, *UNCERTAINTY,
]  # fmt: skip


# Asked with groups only.
NEED_GROUPS = (measures.ExpectedMeasureClassifier, relative.RelativeFeaturesClassifier)


def predictions(make: Callable[[], Any], data: Data) -> Arrays:
    """Everything a fitted estimator says of held-out rows and their groups."""
    model = make().fit(**data.train)
    X, y, *_ = data.test.values()
    where = {key: data.test[key] for key in ("groups", "domains") if key in data.test}
    found = {}
    for name in ROW_METHODS:
        if hasattr(model, name):
            method = getattr(model, name)
            if not isinstance(model, NEED_GROUPS):
                found[name] = method(X)
            elif name == "predict_proba":  # which never depended on them
                found[name] = method(X, **where)
            if "groups" in where and "groups" in signature(method).parameters:
                found[f"{name}, groups"] = method(X, **where)
    for name in GROUP_METHODS:
        if "groups" in where and hasattr(model, name):
            found[name] = getattr(model, name)(X, **where)
    if hasattr(model, "predict_transductive"):
        found["predict_transductive"] = model.predict_transductive()
    inner = getattr(model, "best_estimator_", model)
    if hasattr(inner, "staged_decision_function"):
        found["staged_decision_function"] = list(inner.staged_decision_function(X))
    if hasattr(inner, "staged_score"):
        found["staged_score"] = list(inner.staged_score(X, y, **where))
    for name in ATTRIBUTES:
        if hasattr(inner, name):
            value = getattr(inner, name)
            # one line per run
            found[name] = (
                np.hstack(value) if isinstance(inner, majority.SBoostClassifier) else value
            )
    ensemble = getattr(inner, "ensemble_", None)
    ensemble = getattr(ensemble, "voters", ensemble)  # of TrAdaBoost: the last half of the rounds
    if hasattr(ensemble, "coef"):
        found["ensemble_.coef"] = ensemble.coef
    found["score"] = model.score(X, y, **where)
    return found


# Functions: how their results are computed


def continued() -> Arrays:
    first = boosted("majority").fit(**SESSIONS.train)
    longer = boosted("majority", n_estimators=5)
    return predictions(lambda: longer, SESSIONS.fit_with(init_model=first))


def promises() -> Arrays:
    """Sets of classes and intervals of means."""
    sets = uncertainty.ConformalGroupClassifier(boosted("majority"), cv=3, random_state=0)
    means = uncertainty.ConformalGroupRegressor(boosted_means(), cv=3, random_state=0)
    asked = {"X": SESSIONS.test["X"], "groups": SESSIONS.test["groups"]}
    numbers = {"X": MEANS.test["X"], "groups": MEANS.test["groups"]}
    return {
        "sets": sets.fit(**SESSIONS.train).predict_group_sets(**asked) * 1.0,
        "intervals": means.fit(**MEANS.train).predict_group_intervals(**numbers),
    }


def gammas() -> Arrays:
    found = majority.SBoostClassifierCV(
        trees(), n_estimators=12, gammas=(0.0, 4.0), random_state=0
    ).fit(**SESSIONS.train)
    table = found.cv_results_
    # standard errors over 25 splits, from deviations
    spread = table["std_test_score"] * np.sqrt(25 / 24) / 5
    error = 1.0 - table["mean_test_score"]
    return {"table": np.column_stack([table["gamma"], table["n_estimators"], error, spread])}


def group_measures() -> Arrays:
    """Each measure and each aggregate, with ties and groups without positives."""
    X, y, groups = USERS.test.values()
    given = {"y": y, "score_row": X[:, 1].round(1), "groups": groups, "classes": NAMES[:2]}
    judged = {
        f"{measure}, {aggregate}": metrics.score_groups(
            **given, measure=measure, aggregate=aggregate
        )
        for measure in ("accuracy", "balanced_accuracy", "f1", "matthews", "precision_at_k",
                        "average_precision", "ndcg", "roc_area")
        for aggregate in ("mean", "worst", metrics.GroupQuantile(0.2))
    }  # fmt: skip
    return {name: np.array([found.value, *found.interval]) for name, found in judged.items()}


def relative_features() -> Arrays:
    told = USERS.test["X"], USERS.test["groups"]
    every = relative.add_relative_features(*told, ("difference", "mean", "score"))
    return {"rows": relative.add_relative_features(*told), "every": every}


def splits() -> Arrays:
    """The rows that the splitters hold out."""
    splitters: dict[str, tuple[Any, Data]] = {
        "whole groups": (model_selection.WholeGroupKFold(3, random_state=0), SESSIONS3),
        "some groups": (model_selection.WholeGroupShuffleSplit(3, random_state=0), SESSIONS3),
        "target": (transfer.TargetKFold(3, target_domain="target", random_state=0), DOMAINS),
        "some of target": (
            transfer.TargetShuffleSplit(3, target_domain="target", random_state=0), DOMAINS),
    }  # fmt: skip
    return {
        name: np.concatenate([test for _, test in splitter.split(*data.train.values())])
        for name, (splitter, data) in splitters.items()
    }


FUNCTIONS = {
    "promises": promises,
    "groupboost continued": continued,
    "select_gamma table": gammas,
    "group measures": group_measures,
    "relative features": relative_features,
    "splits": splits,
}

CASES: dict[str, Callable[[], Arrays]] = {
    **{name: partial(predictions, make, data) for name, make, data in ESTIMATORS},
    **FUNCTIONS,
}


# The command


def chosen(words: list[str]) -> list[str]:
    return [name for name in CASES if not words or any(word in name for word in words)]


def compute(name: str) -> Arrays:
    """The arrays of one case, by ``case | quantity``."""
    found = {key: np.asarray(value) for key, value in CASES[name]().items()}
    return {
        f"{name} | {key}": value.astype(str) if value.dtype == object else value
        for key, value in found.items()
    }


def difference(before: np.ndarray, now: np.ndarray) -> float:
    """Largest difference of numbers, over the number where it exceeds 1; share of other labels."""
    if before.shape != now.shape:
        return np.inf
    if before.dtype.kind not in "fiub" or now.dtype.kind not in "fiub":
        return float(np.mean(before.astype(str) != now.astype(str)))
    before, now = before.astype(float), now.astype(float)
    same = (before == now) | (np.isnan(before) & np.isnan(now))
    with np.errstate(invalid="ignore"):
        apart = np.abs(before - now) / np.maximum(1.0, np.abs(before))
    return float(np.max(np.where(same, 0.0, np.nan_to_num(apart, nan=np.inf)), initial=0.0))


def compare_case(name: str, before: Arrays) -> Iterator[tuple[str, float, str]]:
    """Quantity, difference and a remark, for all that was stored of a case and all that is new."""
    stored = [key for key in before if key.startswith(f"{name} | ")]
    try:
        now = compute(name)
    except Exception as error:
        yield "all", np.inf if stored else 0.0, f"{type(error).__name__}: {error}"
        return
    for key in stored:
        quantity = key.removeprefix(f"{name} | ")
        if key in now:
            yield quantity, difference(before[key], now[key]), ""
        else:
            yield quantity, np.inf, "missing"
    for key in (key for key in now if key not in before):
        yield key.removeprefix(f"{name} | "), 0.0, "new"


def compare(before: Arrays, names: list[str], *, whole: bool) -> int:
    """Print the table and return the number of differences that were not intended."""
    found = {name: list(compare_case(name, before)) for name in names}
    if whole:
        gone = dict.fromkeys(key.split(" | ")[0] for key in before)
        found |= {name: [("all", np.inf, "missing")] for name in gone if name not in CASES}
    n_bad = n_intended = 0
    print("| case | quantities | largest difference | remark |\n| --- | --- | --- | --- |")
    for name, lines in found.items():
        same = [line for line in lines if line[1] <= TOLERANCE]
        n_new = sum(remark == "new" for *_, remark in same)
        if same:
            largest = max(apart for _, apart, _ in same)
            print(f"| {name} | {len(same)} | {largest:.1e} | {f'{n_new} new' if n_new else ''} |")
        for quantity, apart, remark in lines:
            if apart <= TOLERANCE:
                continue
            reason = INTENDED.get(name) or INTENDED.get(f"{name} | {quantity}")
            n_intended, n_bad = n_intended + bool(reason), n_bad + (not reason)
            told = f"intended: {reason}" if reason else f"**differs** {remark}".strip()
            print(f"| {name} | {quantity} | {apart:.1e} | {told} |")
    n_lines = sum(map(len, found.values()))
    print(
        f"\n{n_lines} quantities of {len(found)} cases: {n_intended} differ as intended, "
        f"{n_bad} without intention"
    )
    return n_bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["store", "compare"])
    parser.add_argument("file", help="of predictions (.npz)")
    parser.add_argument("words", nargs="*", help="only cases whose name holds one of them")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # the order of sums, and so their last digits, depends on the threads
    with threadpool_limits(1):
        if given.what == "compare":
            with np.load(given.file) as stored:
                before = dict(stored)
            return int(compare(before, chosen(given.words), whole=not given.words) > 0)
        start = time.perf_counter()
        found: Arrays = {}
        for name in chosen(given.words):
            found |= compute(name)
        np.savez_compressed(given.file, **found)
        print(f"{len(found)} quantities in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

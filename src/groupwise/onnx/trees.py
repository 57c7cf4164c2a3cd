"""Trees of LightGBM and XGBoost as one ``TreeEnsemble`` node, in the engine's own precision.

LightGBM computes in float64 and sends ``x <= threshold`` to the left; XGBoost computes in float32
and asks ``x < threshold``. ``TreeEnsemble`` (ai.onnx.ml, version 5) knows both types and both
comparisons, sets of categories, and where missing values go.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.onnx.nodes import GraphBuilder

__all__ = ["FlatTrees", "flat_trees"]

_LEQ, _LT, _MEMBER = 0, 1, 6  # of TreeEnsemble's nodes_modes
_ML = "ai.onnx.ml"


@dataclass
class FlatTrees:
    """Nodes and leaves of all trees, in lists, as ``TreeEnsemble`` takes them.

    Attributes
    ----------
    n_targets : int
        Scores per row.
    single : bool
        Whether values, thresholds and sums are float32, else float64.
    """

    n_targets: int
    single: bool
    roots: list[int] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    if_true: list[tuple[int, int]] = field(default_factory=list)  # place, whether it is a leaf
    if_false: list[tuple[int, int]] = field(default_factory=list)
    missing_is_true: list[int] = field(default_factory=list)
    members: list[list[float]] = field(default_factory=list)
    leaf_value: list[float] = field(default_factory=list)
    leaf_target: list[int] = field(default_factory=list)
    categorical: set[int] = field(default_factory=set)

    def node(self, feature: int, mode: int, split: float, missing_is_true: bool) -> int:
        """A node whose branches are set later; its place."""
        self.mode.append(mode)
        self.feature.append(feature)
        self.split.append(split)
        self.if_true.append((0, 0))
        self.if_false.append((0, 0))
        self.missing_is_true.append(int(missing_is_true))
        return len(self.mode) - 1

    def set_node(self, feature: int, members: list[float], missing_is_true: bool) -> int:
        """A node that asks whether a category is one of ``members``."""
        self.members.append(members)
        self.categorical.add(feature)
        return self.node(feature, _MEMBER, 0.0, missing_is_true)

    def leaf(self, value: float, target: int) -> tuple[int, int]:
        """A leaf, as a branch of a node."""
        self.leaf_value.append(value)
        self.leaf_target.append(target)
        return len(self.leaf_value) - 1, 1

    def root(self, branch: tuple[int, int]) -> None:
        """End a tree; one that is a leaf gets a node with this leaf on either side."""
        place, is_leaf = branch
        if is_leaf:  # two leaves: onnxruntime up to 1.24 miscounts one that is shared
            other = self.leaf(self.leaf_value[place], self.leaf_target[place])
            place = self.node(0, _LEQ, 0.0, False)
            self.if_true[place], self.if_false[place] = branch, other
        self.roots.append(place)

    def take(self, other: "FlatTrees", target: int) -> None:
        """Add another's trees, all for one score."""
        n_nodes, n_leaves = len(self.mode), len(self.leaf_value)

        def moved(branch: tuple[int, int]) -> tuple[int, int]:
            place, is_leaf = branch
            return place + (n_leaves if is_leaf else n_nodes), is_leaf

        self.roots += [root + n_nodes for root in other.roots]
        self.if_true += map(moved, other.if_true)
        self.if_false += map(moved, other.if_false)
        self.mode += other.mode
        self.feature += other.feature
        self.split += other.split
        self.missing_is_true += other.missing_is_true
        self.members += other.members
        self.leaf_value += other.leaf_value
        self.leaf_target += [target] * len(other.leaf_value)
        self.categorical |= other.categorical

    def scores(self, graph: GraphBuilder, X: str, n_features: int) -> str:
        """Nodes that score rows, (n_rows, n_targets)."""
        if self.categorical:
            X = self._whole_categories(graph, X, n_features)
        if self.single:
            X = graph.cast(X, "FLOAT")
        kind = np.float32 if self.single else np.float64
        tensor = graph.onnx.numpy_helper.from_array
        options: dict[str, Any] = {
            "nodes_modes": tensor(np.array(self.mode, dtype=np.uint8)),
            "nodes_splits": tensor(np.array(self.split, dtype=kind)),
            "leaf_weights": tensor(np.array(self.leaf_value, dtype=kind)),
        }
        if self.members:
            ended = [value for each in self.members for value in (*each, np.nan)]
            options["membership_values"] = tensor(np.array(ended, dtype=kind))
        score = graph.add(
            "TreeEnsemble",
            X,
            domain=_ML,
            n_targets=self.n_targets,
            aggregate_function=1,  # sum
            post_transform=0,
            tree_roots=self.roots,
            nodes_featureids=self.feature,
            nodes_truenodeids=[place for place, _ in self.if_true],
            nodes_trueleafs=[leaf for _, leaf in self.if_true],
            nodes_falsenodeids=[place for place, _ in self.if_false],
            nodes_falseleafs=[leaf for _, leaf in self.if_false],
            nodes_missing_value_tracks_true=self.missing_is_true,
            leaf_targetids=self.leaf_target,
            **options,
        )
        return graph.cast(score) if self.single else score

    def _whole_categories(self, graph: GraphBuilder, X: str, n_features: int) -> str:
        """Both engines cut a category code down to a whole number before they look it up."""
        is_code = np.isin(np.arange(n_features), list(self.categorical))[None]
        cut = graph.add("Mul", graph.add("Sign", X), graph.add("Floor", graph.add("Abs", X)))
        return graph.add("Where", is_code, cut, X)


def flat_trees(part: Any) -> FlatTrees:
    """The trees of an engine's model, or of a :class:`~groupwise.boosting.HistTrees` booster.

    Raises
    ------
    ValueError
        Where a tree does what ``TreeEnsemble`` cannot.
    """
    text: str = part.text
    return _of_xgboost(json.loads(text)) if text.startswith("{") else _of_lightgbm(part.booster)


def _of_lightgbm(booster: Any) -> FlatTrees:
    model = booster.dump_model()
    if model.get("average_output"):
        raise ValueError("a random forest of LightGBM (boosting='rf') cannot be exported")
    n_targets = model["num_tree_per_iteration"]
    flat = FlatTrees(n_targets, single=False)
    for tree in model["tree_info"]:
        target = tree["tree_index"] % n_targets
        flat.root(_lightgbm_branch(flat, tree["tree_structure"], target))
    return flat


def _lightgbm_branch(flat: FlatTrees, node: dict[str, Any], target: int) -> tuple[int, int]:
    if "split_feature" not in node:
        if "leaf_coeff" in node:
            raise ValueError("linear trees of LightGBM (linear_tree=True) cannot be exported")
        return flat.leaf(node["leaf_value"], target)
    place = _lightgbm_node(flat, node)
    flat.if_true[place] = _lightgbm_branch(flat, node["left_child"], target)
    flat.if_false[place] = _lightgbm_branch(flat, node["right_child"], target)
    return place, 0


def _lightgbm_node(flat: FlatTrees, node: dict[str, Any]) -> int:
    feature, missing = node["split_feature"], node["missing_type"]
    if missing == "Zero":
        raise ValueError("trees to which zero is missing (zero_as_missing=True) are not exported")
    if node["decision_type"] == "==":  # what is no category of the list goes to the right
        return flat.set_node(feature, [float(c) for c in node["threshold"].split("||")], False)
    split = float(node["threshold"])
    # a feature that had no gap in training takes a gap for zero
    missing_is_true = node["default_left"] if missing == "NaN" else split >= 0.0
    return flat.node(feature, _LEQ, split, missing_is_true)


def _of_xgboost(model: dict[str, Any]) -> FlatTrees:
    learner = model["learner"]
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise ValueError(f"a booster of XGBoost must be 'gbtree', not {booster['name']!r}")
    if np.any(np.array(json.loads(learner["learner_model_param"]["base_score"])) != 0.0):
        raise ValueError("a base_score of XGBoost other than 0 cannot be exported")
    trees = booster["model"]
    flat = FlatTrees(max(trees["tree_info"], default=0) + 1, single=True)
    for tree, target in zip(trees["trees"], trees["tree_info"], strict=True):
        flat.root(_xgboost_tree(flat, tree, target))
    return flat


def _xgboost_tree(flat: FlatTrees, tree: dict[str, Any], target: int) -> tuple[int, int]:
    members = _xgboost_members(tree)
    value: NDArray[Any] = np.array(tree["split_conditions"], dtype=np.float32).astype(float)
    branches: list[tuple[int, int]] = []
    for index, (left, feature) in enumerate(
        zip(tree["left_children"], tree["split_indices"], strict=True)
    ):
        if left == -1:
            branches.append(flat.leaf(float(value[index]), target))
        elif index in members:  # categories of the list go to the right
            to_right = not tree["default_left"][index]
            branches.append((flat.set_node(feature, members[index], to_right), 0))
        else:
            to_left = bool(tree["default_left"][index])
            branches.append((flat.node(feature, _LT, float(value[index]), to_left), 0))
    for index, (place, is_leaf) in enumerate(branches):
        if not is_leaf:
            left, right = tree["left_children"][index], tree["right_children"][index]
            first, second = (right, left) if index in members else (left, right)
            flat.if_true[place], flat.if_false[place] = branches[first], branches[second]
    return branches[0]


def _xgboost_members(tree: dict[str, Any]) -> dict[int, list[float]]:
    """The categories of each node that asks for some."""
    places = zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )
    codes = [float(code) for code in tree["categories"]]
    return {node: codes[start : start + size] for node, start, size in places}

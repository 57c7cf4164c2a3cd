"""From a fitted model to an ONNX graph."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from groupwise.boosting import OneVsRest
from groupwise.boosting.hist_tree_runs import HistTreeEnsemble
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.inputs import known_categories
from groupwise.majority import SBoostClassifier, SBoostClassifierCV
from groupwise.onnx.answers import (
    group_numbers,
    group_proba,
    row_numbers,
    row_proba,
    vote_proba,
)
from groupwise.onnx.nodes import GraphBuilder, GroupNodes, need_onnx
from groupwise.onnx.trees import FlatTrees, flat_trees

__all__ = ["to_onnx"]

# TreeEnsemble is of ai.onnx.ml 5; sums and maxima by ScatterElements are of 18.
_OPSETS = {"": 18, "ai.onnx.ml": 5}
_IR_VERSION = 9


def to_onnx(model: Any) -> Any:
    """Write a boosted model as an ONNX graph: trees, link, and the decision for groups.

    The graph takes two tensors:

    - ``X``, float64 (n_rows, n_features): the features as in ``fit``, NaN where a value is
      missing. A category column of a DataFrame is given by its codes, the places of its values in
      the lists that ``metadata_props`` holds under ``"categories"``; unknown ones are NaN.
    - ``group``, int64 (n_rows,): which group each row is in, counted from 0 without gaps, as
      ``np.unique(groups, return_inverse=True)[1]`` gives it. The groups of the outputs are in
      this order.

    A classifier's graph returns ``label_row``, ``score_row``, ``proba_row``, ``label_group`` and
    ``proba_group``, shaped like the parts of :meth:`predictions`; a regressor's ``y_row`` and
    ``y_group``. All numbers are float64.

    Parameters
    ----------
    model : estimator
        A fitted GroupBoostClassifier or GroupBoostRegressor of either engine, or a
        SBoostClassifier (SBoostClassifierCV) of histogram trees.

    Returns
    -------
    graph : onnx.ModelProto
        ``graph.SerializeToString()`` is what ``onnxruntime.InferenceSession`` takes, ``onnx.save``
        writes it to a file.

    Raises
    ------
    ValueError
        For what cannot be exported: other estimators, losses and rules of one's own, hypotheses
        that are no histogram trees, linear trees, forests, trees to which zero is missing, and
        classes that are neither numbers nor texts.
    ImportError
        Without the extra ``onnx``.

    Notes
    -----
    Run it with onnxruntime 1.24 or newer: 1.20 and older do not know the node for trees, and 1.21
    to 1.23 leave out trees of some models in silence.

    Trees are evaluated in the engine's own precision, LightGBM's in float64 and XGBoost's in
    float32, so that every row falls into the same leaves. A runtime with several threads may add
    XGBoost's leaves in another order, which moves a score by its rounding (relative to the largest
    score 4e-7 with 200 trees). To XGBoost, entries that a sparse matrix does not store are missing:
    NaN in ``X``.
    """
    need_onnx()
    if isinstance(model, GroupBoostClassifier):
        return _boosted_classifier(model)
    if isinstance(model, GroupBoostRegressor):
        return _boosted_regressor(model)
    if isinstance(model, SBoostClassifierCV):
        check_is_fitted(model)
        return _sboost(model.best_estimator_, model)
    if isinstance(model, SBoostClassifier):
        return _sboost(model, model)
    raise ValueError(
        f"a {type(model).__name__} cannot be exported: to_onnx takes GroupBoostClassifier, "
        "GroupBoostRegressor and SBoostClassifier"
    )


def _boosted_classifier(model: GroupBoostClassifier) -> Any:
    check_is_fitted(model)
    graph, loss, start = GraphBuilder(), model.loss_, model.ensemble_.init_score
    parts = [flat_trees(part) for part in model.ensemble_.parts]
    score = _scores(graph, start, parts, model.n_features_in_)
    proba = row_proba(graph, loss, score, len(start))
    groups, n_classes = GroupNodes(graph, "group"), len(model.classes_)
    of_group = group_proba(graph, groups, loss, model.rule_, score, proba, n_classes)
    return _classifier(graph, model, score, proba, of_group, len(start))


def _sboost(fitted: SBoostClassifier, model: Any) -> Any:
    """``fitted`` has the hypotheses, ``model`` is what the user asked for."""
    check_is_fitted(fitted)
    graph, ensemble = GraphBuilder(), fitted.ensemble_
    runs: Sequence[Any] = ensemble.runs if isinstance(ensemble, OneVsRest) else [ensemble]
    if not all(isinstance(run, HistTreeEnsemble) for run in runs):
        raise ValueError(
            f"SBoost of {fitted.estimator!r} cannot be exported: only histogram trees (HistTrees) "
            "can"
        )
    trees = [run.trees for run in runs]
    parts = [] if trees.count(None) == len(trees) else [_side_by_side(trees)]
    score = _scores(graph, np.array([run.bias for run in runs]), parts, model.n_features_in_)
    proba = vote_proba(graph, score, 1.0 + fitted.gamma_, len(runs))
    groups, n_classes = GroupNodes(graph, "group"), len(model.classes_)
    of_group = group_proba(graph, groups, None, fitted.rule_, score, proba, n_classes)
    return _classifier(graph, model, score, proba, of_group, len(runs))


def _boosted_regressor(model: GroupBoostRegressor) -> Any:
    check_is_fitted(model)
    graph, loss, start = GraphBuilder(), model.loss_, model.ensemble_.init_score
    parts = [flat_trees(part) for part in model.ensemble_.parts]
    score = _scores(graph, start, parts, model.n_features_in_)
    y_row = row_numbers(graph, loss, score)
    y_group = group_numbers(graph, GroupNodes(graph, "group"), loss, y_row, model.target_)
    for tensor, name in ((y_row, "y_row"), (y_group, "y_group")):
        graph.add("Squeeze", tensor, np.array([1], dtype=np.int64), name=name)
    return _model(graph, model, {"y_row": ("DOUBLE", 1), "y_group": ("DOUBLE", 1)})


def _side_by_side(boosters: Sequence[Any]) -> FlatTrees:
    """One ensemble of trees whose run k adds to score k."""
    joined = FlatTrees(len(boosters), single=False)
    for target, booster in enumerate(boosters):
        if booster is not None:
            joined.take(flat_trees(booster), target)
    return joined


def _scores(
    graph: GraphBuilder, start: NDArray[Any], parts: Sequence[FlatTrees], n_features: int
) -> str:
    """Scores of rows, (n_rows, n_scores)."""
    n_rows = graph.add("Gather", graph.add("Shape", "X"), np.array([0], dtype=np.int64))
    shape = graph.add("Concat", n_rows, np.array([len(start)], dtype=np.int64), axis=0)
    score = graph.add("Expand", np.asarray(start, dtype=float)[None], shape)
    for part in parts:
        score = graph.add("Add", score, part.scores(graph, "X", n_features))
    return score


def _classifier(
    graph: GraphBuilder, model: Any, score: str, proba: str, of_group: str, n_scores: int
) -> Any:
    classes, kind = _class_tensor(np.asarray(model.classes_))
    if n_scores == 1:
        graph.add("Squeeze", score, np.array([1], dtype=np.int64), name="score_row")
    else:
        graph.add("Identity", score, name="score_row")
    for tensor, level in ((proba, "row"), (of_group, "group")):
        graph.add("Identity", tensor, name=f"proba_{level}")
        code = graph.add("ArgMax", tensor, axis=1, keepdims=0)
        graph.add("Gather", classes, code, axis=0, name=f"label_{level}")
    return _model(
        graph,
        model,
        {
            "label_row": (kind, 1),
            "score_row": ("DOUBLE", 1 if n_scores == 1 else 2),
            "proba_row": ("DOUBLE", 2),
            "label_group": (kind, 1),
            "proba_group": ("DOUBLE", 2),
        },
    )


def _class_tensor(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The classes as ONNX can hold them, and the name of their type."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64), "INT64"
    if classes.dtype.kind == "f":
        return classes.astype(float), "DOUBLE"
    if classes.dtype.kind == "b":
        return classes, "BOOL"
    if all(isinstance(name, str) for name in classes.tolist()):
        return classes.astype(object), "STRING"
    raise ValueError(f"classes must be numbers or texts to be exported, got {classes.tolist()}")


def _model(graph: GraphBuilder, model: Any, outputs: dict[str, tuple[str, int]]) -> Any:
    helper, kinds = graph.onnx.helper, graph.onnx.TensorProto.DataType
    inputs = [
        helper.make_tensor_value_info("X", kinds.Value("DOUBLE"), ["rows", model.n_features_in_]),
        helper.make_tensor_value_info("group", kinds.Value("INT64"), ["rows"]),
    ]
    described = []
    for name, (kind, n_axes) in outputs.items():
        first = "rows" if name.endswith("row") else "groups"
        shape = [first, len(model.classes_)][:n_axes] if n_axes == 2 else [first]
        described.append(helper.make_tensor_value_info(name, kinds.Value(kind), shape))
    made = helper.make_model(
        helper.make_graph(
            graph.nodes, type(model).__name__, inputs, described, initializer=graph.constants
        ),
        opset_imports=[helper.make_opsetid(name, number) for name, number in _OPSETS.items()],
        ir_version=_IR_VERSION,
        producer_name="groupwise",
    )
    helper.set_model_props(made, _metadata(model))
    graph.onnx.checker.check_model(made, full_check=True)
    return made


def _metadata(model: Any) -> dict[str, str]:
    """What who runs the graph has to know, as JSON."""
    names = getattr(model, "feature_names_in_", None)
    known = known_categories(model)
    categories: dict[str, list[str]] = {}
    if known is not None:
        for place, values in zip(known.positions, known.categories, strict=True):
            name = place if names is None else names[place]
            categories[str(name)] = [str(value) for value in values]
    return {
        "feature_names": json.dumps(None if names is None else list(names)),
        "categories": json.dumps(categories),
    }

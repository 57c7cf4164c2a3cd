"""An ONNX graph in the making: nodes by what they compute, sums and maxima of groups."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GraphBuilder", "GroupNodes", "need_onnx"]

#: What is known of an operand: the name of a tensor, or the value itself.
Operand = str | float | NDArray[Any]


def need_onnx() -> Any:
    """The module, or an error that says which extra is missing."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: install groupwise[onnx]") from error
    return onnx


class GraphBuilder:
    """Collects nodes; every method adds some and returns the name of what they compute.

    Tensors are float64 with two axes, rows or groups first, unless said otherwise.
    """

    def __init__(self) -> None:
        self.onnx = need_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: Operand, name: str | None = None, **attributes: Any) -> str:
        """One node; ``name`` is that of its output."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [output], **attributes))
        return output

    def constant(self, value: float | NDArray[Any]) -> str:
        """A number or an array; floats become float64."""
        array = np.asarray(value, dtype=float) if isinstance(value, float) else np.asarray(value)
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, tensor: str, kind: str = "DOUBLE") -> str:
        """To another type, by ONNX's name for it."""
        kinds = self.onnx.TensorProto.DataType
        return self.add("Cast", tensor, to=kinds.Value(kind))

    def columns(self, *tensors: str) -> str:
        """Side by side."""
        return self.add("Concat", *tensors, axis=1)

    def softplus(self, score: str) -> str:
        """log(1 + exp(score)), without overflow."""
        tail = self.add("Exp", self.add("Neg", self.add("Abs", score)))
        return self.add(
            "Add", self.add("Max", score, 0.0), self.add("Log", self.add("Add", tail, 1.0))
        )

    def sigmoid(self, score: str) -> str:
        """Small probabilities keep their digits, which runtimes' own Sigmoid loses."""
        return self.add("Exp", self.add("Neg", self.softplus(self.add("Neg", score))))

    def softmax(self, score: str) -> str:
        """Over the columns."""
        return self.add("Softmax", score, axis=1)

    def two_columns(self, positive: str) -> str:
        """Probabilities of two classes from that of the second."""
        return self.columns(self.add("Sub", 1.0, positive), positive)

    def column(self, table: str, place: int) -> str:
        """One column, which stays a column."""
        return self.add("Gather", table, np.array([place], dtype=np.int64), axis=1)


class GroupNodes:
    """Sums, means and maxima of rows' values within groups.

    Parameters
    ----------
    graph : GraphBuilder
    codes : str
        The tensor of group codes, int64, (n_rows,).
    """

    def __init__(self, graph: GraphBuilder, codes: str):
        self.graph = graph
        self.codes = graph.add("Unsqueeze", codes, np.array([1], dtype=np.int64))
        last = graph.add("ReduceMax", codes, keepdims=1)  # (1,)
        self.n_groups = graph.add("Add", last, np.array([1], dtype=np.int64))
        ones = graph.add("Mul", graph.cast(self.codes), 0.0)
        self.sizes = self.sum(graph.add("Add", ones, 1.0))

    def sum(self, values: str) -> str:
        """Sum of each column within each group, (n_groups, n_columns)."""
        return self._scatter(values, 0.0, "add")

    def mean(self, values: str) -> str:
        """Mean of each column within each group."""
        return self.graph.add("Div", self.sum(values), self.sizes)

    def max(self, values: str) -> str:
        """Largest value of each column within each group."""
        return self._scatter(values, -np.inf, "max")

    def logsumexp(self, values: str) -> str:
        """Logarithm of the sum of exponentials, of one column."""
        add = self.graph.add
        top = self.max(values)
        of_row = add("GatherElements", top, self.codes, axis=0)
        total = self.sum(add("Exp", add("Sub", values, of_row)))
        return add("Add", add("Log", total), top)

    def _scatter(self, values: str, start: float, reduction: str) -> str:
        add = self.graph.add
        shape = add("Shape", values)
        n_columns = add("Gather", shape, np.array([1], dtype=np.int64))
        empty = add("Expand", float(start), add("Concat", self.n_groups, n_columns, axis=0))
        places = add("Expand", self.codes, shape)
        return add("ScatterElements", empty, places, values, axis=0, reduction=reduction)

"""Alternating mean map: labels that agree with the counts, and logistic regression, in turn."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from groupwise._typing import RandomState
from groupwise.inputs import ShareRows, check_number, whole_counts
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.decode import decode_counts
from groupwise.proportions.kernel_space import KernelSpace, kernel_space
from groupwise.proportions.laplacian_mean_map import weights_of_local_means
from groupwise.proportions.mean_operator import MeanOperatorMixin, fit_logistic
from groupwise.proportions.probabilities import RowProba

__all__ = ["AlternatingMeanMapClassifier"]


class AlternatingMeanMapClassifier(MeanOperatorMixin, BaseProportionsClassifier):
    r"""Logistic regression on the labels it finds most likely itself, started by the mean map.

    .. math:: \min_{y, w} \sum_i \log \sum_c e^{s_{ic}} - s_{i y_i} + \tfrac{1}{2C} \sum_c |w_c|^2
              \quad\text{so that group g has } n_{gc} \text{ rows of class } c .

    The scores of :class:`LaplacianMeanMapClassifier` come first. Then labels and scores in turn,
    each the best for the other, until the labels stay: the value never rises, and as there are
    finitely many labels it ends.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty, as in scikit-learn's ``LogisticRegression``.
    graph_weight : float, default=1.0
        As in :class:`LaplacianMeanMapClassifier`.
    max_iter : int, default=50
        Largest number of turns.
    kernel, width, n_components, classes, group_column, random_state
        As in :class:`MeanMapClassifier`.

    Attributes
    ----------
    n_iter_ : int
        Turns.
    history_ : dict
        ``"value"`` of the formula after each turn, over the rows.
    classes_, transduction_, transduction_proba_, function_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` this is multinomial logistic regression on kernel features. Probabilities
    are those of a model that takes its own labels for true, so they are too sure of themselves.

    References
    ----------
    G. Patrini, R. Nock, P. Rivera and T. Caetano (2014). (Almost) no label no cry. NeurIPS; their
    AMM with the best labels (not the worst).

    Examples
    --------
    >>> from groupwise.proportions import AlternatingMeanMapClassifier
    >>> X = [[0.0], [0.2], [5.0], [0.1], [5.1], [5.2]]
    >>> clf = AlternatingMeanMapClassifier(C=100)
    >>> clf.fit(X, list("aabbba"), groups=[0, 0, 0, 1, 1, 1]).predict([[0.3], [4.8]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        graph_weight: float = 1.0,
        max_iter: int = 50,
        kernel: str = "rbf",
        width: float = 1.0,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.C = C
        self.graph_weight = graph_weight
        self.max_iter = max_iter
        self.kernel = kernel
        self.width = width
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("graph_weight", self.graph_weight, "(0, inf)")
        check_number("max_iter", self.max_iter, "[1, inf)", whole=True)

    def _weights_of_rows(self, data: ShareRows, space: KernelSpace) -> NDArray[np.float64]:
        laplacian = space.laplacian(NeighbourGraph(normalised=False), data.groups)
        return weights_of_local_means(data, laplacian, self.graph_weight)

    def _learn(self, data: ShareRows) -> RowProba:
        space = kernel_space(self.kernel, self.width, data.X, self.n_components, self.random_state)
        counts = whole_counts(data.counts_group)
        total = counts.sum(axis=0).astype(float)
        start = self._weights_of_rows(data, space)
        weights, bias, score = fit_logistic(space.times, start, total, self.C)
        codes, values = np.full(len(score), -1), []
        for _ in range(self.max_iter):
            found = decode_counts(score, counts, data.groups)
            if np.array_equal(found, codes):
                break
            codes = found
            labels = np.eye(len(total))[codes]
            weights, bias, score = fit_logistic(space.times, labels, total, self.C)
            values.append(self._value(score, codes, weights, bias))
        self.n_iter_ = len(values)
        self.history_ = {"value": values}
        self.function_ = space.function(weights, bias)
        return RowProba.of_scores(score)

    def _value(
        self, score: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any], bias: Any
    ) -> float:
        """The formula, over the rows."""
        cost = logsumexp(score, axis=1) - score[np.arange(len(codes)), codes]
        return float(cost.mean() + 0.5 / self.C * (weights * (score - bias)).sum() / len(codes))

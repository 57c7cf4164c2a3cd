"""The likelihood of the groups' counts, on kernel features."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.kernels import NeighbourGraph
from groupwise.losses.base import link
from groupwise.proportions._base import BaseAggregateClassifier
from groupwise.proportions._count_likelihood import CountProblem, choose_penalty, fit_counts
from groupwise.proportions._input import AggregateRows
from groupwise.proportions._manifold import FeatureModel, Settings
from groupwise.proportions._selection import Grid, chosen, draw_folds, select
from groupwise.proportions.manifold import aggregate_targets
from groupwise.proportions.manifold_cv import default_widths

__all__ = ["KernelCountClassifier"]


class KernelCountClassifier(BaseAggregateClassifier):
    r"""Kernel logistic regression fitted to the likelihood of the groups' class counts.

    .. math:: \min_{f, c} -\sum_g \log P\Big(\sum_{i \in g} y_i = n_g^+ \,\Big|\,
              P(y_i = 1) = \sigma(f(x_i) + c)\Big) + \tfrac\lambda2 |f|^2_{\tilde K}

    The count of a group is a sum of independent rows with different probabilities, which has a
    Poisson-binomial distribution; :mod:`groupwise.losses` computes it with its gradient. It is the
    statistically right loss for known counts: a group of which the model is unsure weighs less, as
    in logistic regression, while squared errors weigh all groups alike.

    The likelihood is not convex, and zero is a saddle point of it. The start is 2.5 times the
    AOC-manifold least squares solution, which also chooses the width of the kernel and the weight
    of the graph; the penalty is chosen by the likelihood of held-out groups' counts.

    Parameters
    ----------
    goal : {"induction", "transduction"}, default="induction"
        What the model is for: see :class:`ManifoldAOCClassifierCV`.
    kernel : {"rbf", "linear"}, default="rbf"
    widths, rhos : tuple of float
        What the least squares start chooses from: see :class:`ManifoldAOCClassifierCV`.
    penalties : tuple of float, default=(0.003, 0.01, 0.03, 0.1, 0.3, 1)
        Values of lambda to choose from, in units of the mean of the deformed kernel's diagonal.
    cv : int, default=5
    graph : NeighbourGraph, default=None
    n_components : int, default=None
        Number of landmarks; ``None``: all rows, to 12,000.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.proportions.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    width_, rho_, penalty_ : float
        What was chosen.
    held_out_loss_ : ndarray of shape (n_penalties,)
        Negative log-likelihood of held-out groups' counts, per group.
    loss_ : float
        Negative log-likelihood of the training groups' counts at the solution.
    classes_, transduction_, transduction_proba_, model_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` this is kernel logistic regression. For three and more classes the loss is
    the relative entropy that :class:`groupwise.losses.CountLikelihoodLoss` names.

    References
    ----------
    S. X. Chen and J. S. Liu (1997). Statistical applications of the Poisson-binomial and
    conditional Bernoulli distributions. Statistica Sinica 7. The start and the choice of the
    penalty are ours.

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.proportions import KernelCountClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(100, centers=2, random_state=0)
    >>> d = make_aggregates(X, y, size=5, random_state=0)
    >>> clf = KernelCountClassifier(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> bool((clf.predict(X) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        goal: str = "induction",
        kernel: str = "rbf",
        widths: tuple[float, ...] | None = None,
        rhos: tuple[float, ...] = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0),
        penalties: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        cv: int = 5,
        graph: NeighbourGraph | None = None,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.goal = goal
        self.kernel = kernel
        self.widths = widths
        self.rhos = rhos
        self.penalties = penalties
        self.cv = cv
        self.graph = graph
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _settings(self) -> Settings:
        return Settings(
            kernel=self.kernel,
            graph=self.graph,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _grid(self) -> Grid:
        widths = default_widths(self.goal) if self.widths is None else self.widths
        return Grid.of(self.kernel, widths, self.rhos, np.geomspace(1e-6, 1e2, 17))

    def _check_parameters(self) -> None:
        self._grid()
        if self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, got {self.cv!r}")
        if len(self.penalties) == 0 or min(self.penalties) <= 0:
            raise ValueError(f"penalties must be numbers > 0, got {self.penalties!r}")

    def _fit_aggregates(self, data: AggregateRows) -> NDArray[Any]:
        target_group = aggregate_targets(data)
        selection = select(
            self._settings(),
            data.X,
            data.groups,
            target_group,
            self._grid(),
            goal=self.goal,
            n_folds=self.cv,
        )
        settings = chosen(self._settings(), selection)
        problem = CountProblem.build(settings, data)
        folds = draw_folds(data.X, data.groups, target_group, self.cv, self.random_state)
        penalties = np.asarray(self.penalties, dtype=float)
        self.held_out_loss_ = choose_penalty(problem, data, folds, penalties)
        self.penalty_ = float(penalties[self.held_out_loss_.argmin()])
        self.width_, self.rho_ = settings.width, settings.rho
        weights, bias, self.loss_ = fit_counts(
            problem, data, np.arange(data.groups.n_groups), self.penalty_
        )
        self.model_ = FeatureModel(problem.features, problem.whitening.weights(weights), bias)
        return _proba(problem.phi @ weights + bias)

    def _proba(self, X: Any) -> NDArray[Any]:
        return _proba(self.model_.values(X))


def _proba(score_row: NDArray[Any]) -> NDArray[Any]:
    return link(score_row[:, 0] if score_row.shape[1] == 1 else score_row)

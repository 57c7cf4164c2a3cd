"""The likelihood of the groups' counts, on kernel features."""

import numpy as np
from numpy.typing import ArrayLike

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows, check_number
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.count_likelihood import CountProblem, choose_alpha, fit_counts
from groupwise.proportions.folds import Splitter, check_cv, make_folds
from groupwise.proportions.manifold import (
    LAMBDAS,
    RHOS,
    FeatureModel,
    Grid,
    ManifoldSettings,
    chosen,
    select,
)
from groupwise.proportions.probabilities import RowProba
from groupwise.proportions.soft_labels import aggregate_targets

__all__ = ["KernelCountClassifier"]


class KernelCountClassifier(BaseProportionsClassifier):
    r"""Kernel logistic regression fitted to the likelihood of the groups' class counts.

    .. math:: \min_{f, c} -\sum_g \log P\Big(\sum_{i \in g} y_i = n_g^+ \,\Big|\,
              P(y_i = 1) = \sigma(f(x_i) + c)\Big) + \tfrac\alpha2 |f|^2_{\tilde K}

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
    alphas : tuple of float, default=(0.003, 0.01, 0.03, 0.1, 0.3, 1)
        Values of alpha to choose from, in units of the mean of the deformed kernel's diagonal.
    cv : int or splitter, default=5
        Number of folds, or a splitter that keeps groups whole (it is given no y).
    graph : NeighbourGraph, default=None
    n_components : int, default=None
        Number of landmarks; ``None``: all rows, to 12,000.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    width_, rho_, alpha_ : float
        What was chosen.
    held_out_loss_ : ndarray of shape (n_alphas,)
        Negative log-likelihood of held-out groups' counts, per group.
    neg_log_likelihood_ : float
        Of the training groups' counts, at the solution.
    classes_, transduction_, transduction_proba_, function_, prior_, n_groups_
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
        rhos: tuple[float, ...] = RHOS,
        alphas: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        cv: int | Splitter = 5,
        graph: NeighbourGraph | None = None,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.goal = goal
        self.kernel = kernel
        self.widths = widths
        self.rhos = rhos
        self.alphas = alphas
        self.cv = cv
        self.graph = graph
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _settings(self) -> ManifoldSettings:
        return ManifoldSettings.of(self.get_params(deep=False))

    def _grid(self) -> Grid:
        return Grid.for_goal(self.goal, self.kernel, self.widths, self.rhos, LAMBDAS)

    def _check_parameters(self) -> None:
        self._grid()
        self._settings()
        check_cv(self.cv)
        if len(self.alphas) == 0:
            raise ValueError("alphas must hold at least one number, got none")
        for alpha in self.alphas:
            check_number("alphas", alpha, "(0, inf)")

    def _learn(self, data: ShareRows) -> RowProba:
        target_group = aggregate_targets(data)
        selection = select(
            self._settings(),
            data.X,
            data.groups,
            target_group,
            self._grid(),
            goal=self.goal,
            cv=self.cv,
        )
        settings = chosen(self._settings(), selection)
        problem = CountProblem.build(settings, data)
        folds = make_folds(self.cv, data.X, data.groups, target_group, self.random_state)
        alphas = np.asarray(self.alphas, dtype=float)
        self.held_out_loss_ = choose_alpha(problem, data, folds, alphas)
        self.alpha_ = float(alphas[self.held_out_loss_.argmin()])
        self.width_, self.rho_ = settings.width, settings.rho
        weights, bias, self.neg_log_likelihood_ = fit_counts(
            problem, data, np.arange(data.groups.n_groups), self.alpha_
        )
        self.function_ = FeatureModel(problem.features, problem.whitening.weights(weights), bias)
        return RowProba.of_scores(problem.phi @ weights + bias)

    def _proba(self, X: Rows) -> RowProba:
        return RowProba.of_scores(self.function_.values(X))

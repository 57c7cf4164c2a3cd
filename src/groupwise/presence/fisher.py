"""Groups described by how they would change a density of all rows (Wei, Wu and Zhou 2014)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number, dense
from groupwise.kernels.shared import shareable
from groupwise.presence.base import BasePresenceClassifier, GroupScoreMixin

__all__ = ["FisherVectorClassifier"]

_LEAST_SHARE = 1e-10  # of the variance, for a direction to count


class FisherVectorClassifier(GroupScoreMixin, BasePresenceClassifier):
    r"""Logistic regression on Fisher vectors.

    A mixture of K Gaussians with diagonal covariances is fitted to the principal components of all
    rows. A group is described by the mean over its rows of the derivatives of their log-density by
    the mixture's parameters, scaled by their information; with :math:`\gamma_k(x)` the
    responsibility of part k, of weight :math:`\pi_k`, and :math:`u = (x - \mu_k) / \sigma_k`,

    .. math:: \frac{\gamma_k - \pi_k}{\sqrt{\pi_k}}, \qquad \frac{\gamma_k u}{\sqrt{\pi_k}}, \qquad
              \frac{\gamma_k (u^2 - 1)}{\sqrt{2 \pi_k}} .

    Entries are replaced by their signed square roots, vectors scaled to length one. Time is linear
    in the rows, and no row is kept. Sparse rows are made dense.

    Parameters
    ----------
    n_parts : int, default=2
        K; at most the number of different rows.
    energy : float, default=1.0
        Share of the variance that the principal components keep.
    C : float, default=10.0
        Inverse of the penalty on the weights.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Of the mixture's start.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    mean_ : ndarray of shape (n_features,)
    directions_ : ndarray of shape (n_features, n_kept)
        The principal components.
    mixture_ : GaussianMixture
    classifier_ : LogisticRegression

    References
    ----------
    X.-S. Wei, J. Wu and Z.-H. Zhou (2014). Scalable multi-instance learning. ICDM. Their miFV.

    J. Sanchez, F. Perronnin, T. Mensink and J. Verbeek (2013). Image classification with the Fisher
    vector. International Journal of Computer Vision 105.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import FisherVectorClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = FisherVectorClassifier(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> clf.score(d.X, d.y, groups=d.groups) > 0.7
    True
    """

    def __init__(
        self,
        n_parts: int = 2,
        *,
        energy: float = 1.0,
        C: float = 10.0,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.n_parts = n_parts
        self.energy = energy
        self.C = C
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_parts", self.n_parts, "[1, inf)", whole=True)
        check_number("energy", self.energy, "(0, 1]")
        check_number("C", self.C, "(0, inf)")

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        rows = dense(bags.X)
        self.mean_ = rows.mean(axis=0)
        self.directions_ = _principal_directions(rows - self.mean_, self.energy)
        projected = self._project(rows)
        self.mixture_ = GaussianMixture(
            min(self.n_parts, len(np.unique(projected, axis=0))),
            covariance_type="diag",
            reg_covar=1e-6 * float(projected.var(axis=0).mean()) + 1e-12,
            max_iter=500,
            random_state=check_random_state(self.random_state),
        ).fit(projected)
        vectors = self._vectors(bags.X, bags.groups)
        self.classifier_ = LogisticRegression(C=self.C, max_iter=2000).fit(vectors, bags.y_group)

    def _project(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return (rows - self.mean_) @ self.directions_

    def _vectors(self, X: Rows, groups: Groups) -> NDArray[np.float64]:
        vectors = fisher_vectors(self._project(dense(X)), groups, self.mixture_)
        vectors = np.sign(vectors) * np.sqrt(np.abs(vectors))
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(length > 0, length, 1.0)

    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return self.classifier_.decision_function(self._vectors(rows, groups))


def fisher_vectors(
    X: NDArray[np.float64], groups: Groups, mixture: GaussianMixture
) -> NDArray[np.float64]:
    """Mean scaled derivatives of the log-density of each group's rows, (n_groups, K (1 + 2 d))."""
    share = mixture.predict_proba(X)
    found = [groups.mean((share - mixture.weights_) / np.sqrt(mixture.weights_))]
    for k, weight in enumerate(mixture.weights_):
        scaled = (X - mixture.means_[k]) / np.sqrt(mixture.covariances_[k])
        own = share[:, [k]] / np.sqrt(weight)
        found.append(groups.mean(own * scaled))
        found.append(groups.mean(own * (scaled**2 - 1.0) / np.sqrt(2.0)))
    return np.hstack(found)


@shareable
def _principal_directions(X: NDArray[np.float64], energy: float) -> NDArray[np.float64]:
    """As many as hold the energy, none of them without variance, at least one."""
    _, size, directions = np.linalg.svd(X, full_matrices=False)
    share = size**2 / max(float((size**2).sum()), np.finfo(float).tiny)
    before = np.cumsum(share) - share
    n_kept = max(1, int(((before < energy) & (share > _LEAST_SHARE)).sum()))
    return directions[:n_kept].T

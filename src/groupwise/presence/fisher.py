"""Groups described by how they would change a density of all rows (Wei, Wu and Zhou 2014)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.exceptions import solving
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number, dense
from groupwise.kernels.shared import shareable
from groupwise.presence.bags import Bags
from groupwise.presence.base import BasePresenceClassifier, GroupScoreMixin
from groupwise.presence.platt import platt_scaling

__all__ = ["FisherVectorClassifier", "FisherVectors", "fisher_vectors"]

_LEAST_SHARE = 1e-10  # of the variance, for a direction to count
_HALVINGS = 5
_FOLDS, _HALVINGS_OF_FOLD = 5, 2
_FEWEST = 5  # groups of each class, for some to be held out and the others halved


class FisherVectorClassifier(GroupScoreMixin, BasePresenceClassifier):
    r"""Logistic regression on Fisher vectors.

    A mixture of K Gaussians with diagonal covariances is fitted to the principal components of
    rows. A group is described by the mean over its rows of the derivatives of their log-density by
    the mixture's parameters, scaled by their information; with :math:`\gamma_k(x)` the
    responsibility of part k, of weight :math:`\pi_k`, and :math:`u = (x - \mu_k) / \sigma_k`,

    .. math:: \frac{\gamma_k - \pi_k}{\sqrt{\pi_k}}, \qquad \frac{\gamma_k u}{\sqrt{\pi_k}}, \qquad
              \frac{\gamma_k (u^2 - 1)}{\sqrt{2 \pi_k}} .

    Entries are replaced by their signed square roots, vectors scaled to length one.

    The groups are halved five times: the rows of one half make the density, the vectors of the
    other half the classifier, and the other way round. The score is the mean s over these ten, made
    log-odds :math:`a s + b` by Platt's scaling (:func:`~groupwise.presence.platt.platt_scaling`) of
    the scores of groups in turn held out, by five folds with two halvings each: so the threshold
    between the classes, at zero, comes from groups that were not learned from. See the notes. Time
    is linear in the rows, and no row is kept. Sparse rows are made dense.

    Parameters
    ----------
    n_parts : int, default=2
        K; at most the number of different rows.
    energy : float, default=1.0
        Share of the variance that the principal components keep. However large it is, there are no
        more components than groups.
    C : float, default=10.0
        Inverse of the penalty on the weights.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Of the halves and of the mixtures' starts.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    ensemble_ : list of (FisherVectors, LogisticRegression)
        The densities and their classifiers.
    scaling_ : tuple of float
        a and b.

    Notes
    -----
    A density knows its own rows: a direction that only a few groups fill is measured in a standard
    deviation that comes from these groups. New groups have next to nothing there, so that their
    vectors differ from those of the density's groups by much the same vector, and a classifier of
    the latter may put all of the former on one side, however well it ranks them. The vectors of
    groups that the density has not seen are those of new groups.

    A vector has more entries than there are groups of the rarer class, mostly. The classifier
    separates its own groups, but the scores of new ones are drawn together around its intercept,
    on the side of the larger class, and again all may lie there. Scaling the scores of held-out
    groups puts this right, and makes probabilities of them. Folds and halves have the same shares
    of the classes. Where a class has fewer than five groups, there is one density and one
    classifier of all groups, as in the paper, and a = 1, b = 0.

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
        rng = check_random_state(self.random_state)
        every = np.arange(bags.groups.n_groups)
        if np.bincount(bags.y_group).min() < _FEWEST:
            self.ensemble_ = [self._fit_member(bags, every, every, rng)]
            self.scaling_ = (1.0, 0.0)
            return
        self.ensemble_ = self._fit_members(bags, every, _HALVINGS, rng)
        held_out_score = np.empty(len(every))
        for held_out, others in _folds(every, bags.y_group, _FOLDS, rng):
            members = self._fit_members(bags, others, _HALVINGS_OF_FOLD, rng)
            rows = np.isin(bags.groups.codes, held_out)
            groups = Groups(bags.groups.codes[rows])
            held_out_score[held_out] = _mean_score(members, bags.X[rows], groups)
        self.scaling_ = platt_scaling(held_out_score, bags.y_group)

    def _fit_members(
        self, bags: Bags, chosen: NDArray[np.intp], n_halvings: int, rng: np.random.RandomState
    ) -> list[tuple["FisherVectors", LogisticRegression]]:
        return [
            self._fit_member(bags, *halves, rng)
            for _ in range(n_halvings)
            for halves in _folds(chosen, bags.y_group, 2, rng)
        ]

    def _fit_member(
        self,
        bags: Bags,
        of_density: NDArray[np.intp],
        of_classifier: NDArray[np.intp],
        rng: np.random.RandomState,
    ) -> tuple["FisherVectors", LogisticRegression]:
        """A density of some groups' rows, and a classifier of others' vectors."""
        codes = bags.groups.codes
        rows = dense(bags.X[np.isin(codes, of_density)])
        density = FisherVectors.fit(rows, len(of_density), self.n_parts, self.energy, rng)
        chosen = np.isin(codes, of_classifier)
        vectors = density.transform(bags.X[chosen], Groups(codes[chosen]))
        machine = LogisticRegression(C=self.C, max_iter=2000)
        return density, machine.fit(vectors, bags.y_group[of_classifier])

    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        slope, intercept = self.scaling_
        return slope * _mean_score(self.ensemble_, rows, groups) + intercept


def _mean_score(
    members: list[tuple["FisherVectors", LogisticRegression]], rows: Rows, groups: Groups
) -> NDArray[np.float64]:
    scores = [
        machine.decision_function(density.transform(rows, groups)) for density, machine in members
    ]
    return np.mean(scores, axis=0)


def _folds(
    chosen: NDArray[np.intp], y_group: NDArray[np.intp], n_folds: int, rng: np.random.RandomState
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Each fold of some groups and the others of them, with the same shares of the classes."""
    shuffled = rng.permutation(chosen)
    by_class = shuffled[np.argsort(y_group[shuffled], kind="stable")]
    for number in range(n_folds):
        inside = np.arange(len(by_class)) % n_folds == number
        yield np.sort(by_class[inside]), np.sort(by_class[~inside])


@dataclass(frozen=True)
class FisherVectors:
    """A density of rows, and the vectors that describe groups by it.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    directions : ndarray of shape (n_features, n_kept)
        Principal components.
    mixture : GaussianMixture
    """

    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    mixture: GaussianMixture

    @classmethod
    def fit(
        cls,
        rows: NDArray[np.float64],
        n_groups: int,
        n_parts: int,
        energy: float,
        rng: np.random.RandomState,
    ) -> "FisherVectors":
        """The density of given rows, with at most as many directions as groups."""
        mean = rows.mean(axis=0)
        # in one piece, as a copy of the model will have it: products then agree to the last bit
        directions = np.ascontiguousarray(_principal_directions(rows - mean, energy)[:, :n_groups])
        projected = (rows - mean) @ directions
        mixture = GaussianMixture(
            min(n_parts, len(np.unique(projected, axis=0))),
            covariance_type="diag",
            reg_covar=1e-6 * float(projected.var(axis=0).mean()) + 1e-12,
            max_iter=500,
            random_state=rng,
        ).fit(projected)
        return cls(mean, directions, mixture)

    def transform(self, X: Rows, groups: Groups) -> NDArray[np.float64]:
        """Vectors of groups, square-rooted and of length one, (n_groups, K (1 + 2 n_kept))."""
        vectors = fisher_vectors((dense(X) - self.mean) @ self.directions, groups, self.mixture)
        vectors = np.sign(vectors) * np.sqrt(np.abs(vectors))
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(length > 0, length, 1.0)


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
    wide = X.shape[1] > X.shape[0]
    with solving():
        square, found = np.linalg.eigh(X @ X.T if wide else X.T @ X)
    square, found = np.maximum(square[::-1], 0.0), found[:, ::-1]
    share = square / max(float(square.sum()), np.finfo(float).tiny)
    before = np.cumsum(share) - share
    n_kept = max(1, int(((before < energy) & (share > _LEAST_SHARE)).sum()))
    if not wide:
        return found[:, :n_kept]
    size = np.sqrt(np.maximum(square[:n_kept], np.finfo(float).tiny))
    return (X.T @ found[:, :n_kept]) / size

"""Feature augmentation: a copy of the features for all domains and one for each (Daumé 2007)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.sparse import hstack as sparse_hstack

from groupwise._typing import Rows
from groupwise.boosting import Ensemble, LinearLearner
from groupwise.inputs import DomainRows
from groupwise.transfer.learners import Learner
from groupwise.transfer.weighted import WeightedTransferClassifier

__all__ = ["FeatureAugmentationClassifier"]


class FeatureAugmentationClassifier(WeightedTransferClassifier):
    r"""A linear model with a shared part and a part for each domain.

    Rows of domain d become :math:`(x, 0, \dots, x, \dots, 0)`: the features once for all domains
    and once in the block of d. A linear learner then fits
    :math:`(w_0 + w_d)^T x` with a penalty on each part, so that domains share what they can.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`; meant for linear ones. ``None``:
        ``LinearLearner("logistic")``.
    weighting : str or weighting, default="equal_mass"
        As for :class:`WeightedTransferClassifier`.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
        Of augmented rows.
    row_weights_ : ndarray of shape (n_rows,)

    References
    ----------
    H. Daumé III (2007). Frustratingly easy domain adaptation. ACL.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import FeatureAugmentationClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = FeatureAugmentationClassifier(target_domain="target").fit(d.X, d.y, domains=d.domains)
    >>> clf.ensemble_.coef.shape
    (1, 1, 15)
    """

    # whatever the weighting
    _needs_target = True
    _learns_from_domains = True

    def _base(self) -> Learner:
        return LinearLearner("logistic") if self.estimator is None else self.estimator

    def _allows_nan(self) -> bool:
        return False

    def _fit_once(self, data: DomainRows, weight_row: NDArray[np.float64]) -> Ensemble:
        self._n_domains = data.domains.n_groups
        self._target_code = int(data.domains.codes[np.argmax(data.is_target)])
        wide = augment(data.X, data.domains.codes, self._n_domains)
        return super()._fit_once(replace(data, X=wide, X_unlabeled=None), weight_row)

    def _score_rows(self, rows: Rows) -> NDArray[Any]:
        codes = np.full(rows.shape[0], self._target_code)
        return self.ensemble_.score(augment(rows, codes, self._n_domains))


def augment(X: Rows, codes: NDArray[np.intp], n_domains: int) -> Rows:
    """The features, then a block for every domain that only its own rows fill.

    One domain has nothing to share: its rows stay as they are.
    """
    if n_domains == 1:
        return X
    if not issparse(X):
        wide = np.zeros((len(X), (n_domains + 1) * X.shape[1]), dtype=X.dtype)
        wide[:, : X.shape[1]] = X
        for code in range(n_domains):
            rows = codes == code
            start = (code + 1) * X.shape[1]
            wide[rows, start : start + X.shape[1]] = X[rows]
        return wide
    own = csr_matrix(X)
    per_row = np.diff(own.indptr)
    shifted = own.indices.astype(np.int64) + np.repeat(codes, per_row) * X.shape[1]
    blocks = csr_matrix((own.data, shifted, own.indptr), shape=(X.shape[0], n_domains * X.shape[1]))
    return sparse_hstack([own, blocks], format="csr")

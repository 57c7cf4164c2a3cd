"""One fit of any learner to the rows of all domains, weighted: the baselines that often win."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import Ensemble
from groupwise.boosting.votes import vote_shares
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import ClassWeight, DomainRows, check_class_weight
from groupwise.transfer.base import BaseTransferClassifier, class_weighted
from groupwise.transfer.learners import Learner, UsesUnlabeled
from groupwise.transfer.weighting import DensityRatio, PooledRows, Weighting, get_weighting

__all__ = ["WeightedTransferClassifier", "refuse_missing_class"]


class WeightedTransferClassifier(BaseTransferClassifier):
    r"""One weighted fit to the rows of all domains.

    With weights :math:`d_i` from ``weighting``, the learner is fitted once to all rows of positive
    weight. Target only, union, equal mass, AUX and importance weighting are this, with other
    weights. Equal mass is the baseline to beat: on the paper's text data it is as good as most
    things that boost.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`.
    weighting : str or weighting, default="equal_mass"
        ``"target_only"``, ``"union"``, ``"equal_mass"``, ``"aux"`` (a target row as heavy as four
        source rows), ``"logistic"``, ``"kliep"`` or ``"kmm"`` (importance weighting), or an object
        from :mod:`groupwise.transfer.weighting` and :mod:`groupwise.transfer.density_ratio`.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    class_weight : dict, "balanced" or None, default=None
        ``"balanced"``: scale the weights to the same total in every class; a dict: times a weight
        per class.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
        The one hypothesis.
    row_weights_ : ndarray of shape (n_rows,)
        :math:`d_i`, with sum 1 (rows of ``sample_weight`` 0 left out).

    References
    ----------
    P. Wu and T. Dietterich (2004). Improving SVM accuracy by training on auxiliary data sources.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import WeightedTransferClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = WeightedTransferClassifier(target_domain="target", random_state=0)
    >>> weights = clf.fit(d.X, d.y, domains=d.domains).row_weights_
    >>> round(float(weights[d.domains == "target"].sum()), 3)
    0.5
    """

    @property
    def _needs_target(self) -> bool:  # type: ignore[override]  # of the weighting
        return get_weighting(self.weighting).needs_target

    @property
    def _learns_from_domains(self) -> bool:  # type: ignore[override]  # of the weighting
        return not (self.weighting == "union" or isinstance(self.weighting, PooledRows))

    def __init__(
        self,
        estimator: Learner = None,
        *,
        weighting: str | Weighting | DensityRatio = "equal_mass",
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.weighting = weighting
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.class_weight = class_weight
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_class_weight(self.class_weight)
        get_weighting(self.weighting)

    def _learn(self, data: DomainRows) -> None:
        weight_row = get_weighting(self.weighting).weigh(data)
        self.ensemble_ = self._fit_once(data, weight_row)
        self.row_weights_ = weight_row / weight_row.sum()

    def _fit_once(self, data: DomainRows, weight_row: NDArray[np.float64]) -> Ensemble:
        """One hypothesis on the rows of positive weight, as an ensemble."""
        used = np.flatnonzero(weight_row)
        if len(used) < len(weight_row):
            data, weight_row = data.take(used), weight_row[used]
        refuse_missing_class(data)
        estimator, n_classes = self._base(), len(data.classes)
        if not isinstance(estimator, UsesUnlabeled):  # they have served the weighting
            data = replace(data, X_unlabeled=None)
        learner = self._learner(data, estimator)
        try:
            learner = learner.soft()
            self._is_soft = True
        except ValueError:  # one that only ever names a class
            self._is_soft = False
        rng = check_random_state(self.random_state)
        run = learner.bind(data.X).start(n_classes, rng, resample=False)
        weight_row = class_weighted(weight_row, data.y_row, data.classes, self.class_weight)
        run.fit(data.y_row, weight_row)
        return run.combine([1.0])

    def _base(self) -> Learner:
        return self.estimator

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        if not self._is_soft:
            return super()._answer_rows(rows, groups)
        score_row = self._score_rows(rows)
        return score_row, vote_shares(score_row)


def refuse_missing_class(data: DomainRows) -> None:
    """Refuse rows of the target alone that do not hold every class."""
    missing = np.setdiff1d(np.arange(len(data.classes)), data.y_row)
    if len(missing):
        raise GroupDataError(
            f"the rows of the target domain hold no class {show(data.classes[missing[0]])}, which "
            "the source has; a fit to the target alone would never predict it"
        )

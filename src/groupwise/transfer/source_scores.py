"""A forest on the target's rows, with what models of the source say as further columns."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.sparse import hstack as sparse_hstack
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import BoostedTrees, LinearLearner, forest
from groupwise.groups import Groups
from groupwise.inputs import DomainRows
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.learners import Learner
from groupwise.transfer.source_models import fit_source_models, source_log_odds
from groupwise.transfer.weighted import WeightedTransferClassifier, refuse_missing_class

__all__ = ["SourceScoresClassifier"]

# Probabilities of the source's models are kept this far from 0 and 1: a forest's are often 0, and
# thresholds are drawn evenly between the least and the largest log-odds.
_EDGE = 0.005


class SourceScoresClassifier(BaseTransferClassifier):
    r"""A classifier of the target's rows that is told what models of the source say of them.

    Models :math:`m = 1, \dots, M` are fitted to the source's rows alone. On the target's rows,
    ``estimator`` is fitted to the features and the models' log-odds :math:`s_{mk}(x)` of each
    class: stacking, where the first level is the source. Nothing is assumed of how the domains hang
    together; where the source is turned around, or holds in a part of the target only, trees say
    so. :class:`SourcePriorClassifier` is the same with a logistic regression and a prior.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        Fitted to the target. ``None``: ``ExtraTreesClassifier(100, min_samples_leaf=2)``.
    estimators : sequence of classifiers or weak learners, default=None
        Fitted to the source, each as for :class:`WeightedTransferClassifier`. ``None``:
        ``LinearLearner("logistic")``, ``BoostedTrees()`` and the same forest.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    source_models_ : list of WeightedTransferClassifier
        Of class codes; empty without rows of a source.
    target_model_ : WeightedTransferClassifier
        Of features, followed by the log-odds of each model: all classes of the first, and so on.

    References
    ----------
    D. Wolpert (1992). Stacked generalization. Neural Networks.

    P. Geurts, D. Ernst and L. Wehenkel (2006). Extremely randomized trees. Machine Learning.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import SourceScoresClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = SourceScoresClassifier(target_domain="target", random_state=0)
    >>> clf = clf.fit(d.X, d.y, domains=d.domains)
    >>> clf.n_features_in_, clf.target_model_.n_features_in_
    (5, 11)
    """

    def __init__(
        self,
        estimator: Learner = None,
        *,
        estimators: Sequence[Learner] | None = None,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.estimators = estimators
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if self.estimators is not None and not len(self.estimators):
            raise ValueError("estimators must hold at least one; None: the default ones")

    def _allows_nan(self) -> bool:
        return False

    def _learn(self, data: DomainRows) -> None:
        target = data.take(np.flatnonzero(data.is_target))
        refuse_missing_class(target)
        learners = self.estimators
        if learners is None:
            learners = (LinearLearner("logistic"), BoostedTrees(), forest())
        learners = [self._by_position(learner) for learner in learners]
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        self.source_models_ = fit_source_models(data, learners, seed)
        estimator = forest() if self.estimator is None else self._by_position(self.estimator)
        self.target_model_ = WeightedTransferClassifier(
            estimator, weighting="union", random_state=seed
        ).fit(
            self._with_scores(target.X, len(data.classes)),
            target.y_row,
            sample_weight=target.weight_row,
        )

    def _with_scores(self, X: Rows, n_classes: int) -> Rows:
        """The features, then what the source's models say."""
        score = source_log_odds(self.source_models_, X, n_classes, edge=_EDGE)
        flat = score.reshape(X.shape[0], -1)
        return sparse_hstack([X, csr_matrix(flat)], "csr") if issparse(X) else np.hstack([X, flat])

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self.target_model_.predictions(self._with_scores(rows, len(self.classes_)), groups)
        return found.score_row, found.proba_row

"""AdaBoost.Group, exactly as printed (Ni, Xu, Li and Huang 2008, Figure 1)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import LearnerLike, Rounds, WeakLearner, boost
from groupwise.boosting.learner_mixin import WeakLearnerMixin
from groupwise.boosting.votes import cast
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number
from groupwise.measures.base import BaseMeasureClassifier, StagedMeasureMixin
from groupwise.measures.measure_stumps import MeasureStumps
from groupwise.metrics import GroupMeasure, MeasureLike
from groupwise.rules import two_columns

__all__ = ["GroupAdaBoostClassifier"]

# A hypothesis that is perfect on every group would get an infinite weight; its measure counts as
# this much less than one.
_LEAST_LOSS = 1e-10


class _Figure1(Rounds):
    """The state of the rounds, in the paper's symbols."""

    values = ("hypothesis_measure", "measure", "bound")

    def __init__(
        self, measure: GroupMeasure, y_row: NDArray[np.intp], groups: Groups, n_classes: int
    ):
        super().__init__()
        self.measure, self.y_row, self.groups, self.n_classes = measure, y_row, groups, n_classes
        self.f = np.zeros(len(y_row) if n_classes == 2 else (len(y_row), n_classes))
        # groups that the measure leaves out have no part in the sums: their weight is zero
        self.counts = ~np.isnan(measure.of(y_row, self.f, groups))
        if not self.counts.any():
            raise ValueError(f"{measure!r} leaves out every group of the training data")
        self.D = self.counts / self.counts.sum()
        self.E_f = np.zeros(len(groups))  # of f_0, which D_1 = 1/n implies
        self.log_bound = 0.0
        self.outputs_seen: set[int] = set()

    @property
    def weight_row(self) -> NDArray[Any]:  # type: ignore[override]  # an attribute in other methods
        return (self.D / self.groups.sizes)[self.groups.codes]

    def _E(self, score_row: NDArray[Any]) -> NDArray[Any]:
        return np.where(self.counts, self.measure.of(self.y_row, score_row, self.groups), 0.0)

    def update(self, output: NDArray[Any]) -> bool:
        """One pass of Figure 1's loop after h_t is trained; ends if h_t is perfect."""
        h = cast(output, self.n_classes)
        E_h = self._E(h)
        phi = float(self.D @ E_h)
        capped = min(phi, 1.0 - _LEAST_LOSS)
        alpha = 0.5 * float(np.log1p(capped) - np.log1p(-capped))
        self.f = self.f + alpha * h
        before, self.E_f = self.E_f, self._E(self.f)
        zeta = (self.E_f - before - alpha * E_h)[self.counts].min()
        # the factor of Theorem 1 for this alpha; sqrt(1 - phi^2) where phi was not capped
        factor = 0.5 * ((1.0 + phi) * np.exp(-alpha) + (1.0 - phi) * np.exp(alpha))
        self.log_bound += float(np.log(factor) - zeta)
        self.D = np.where(self.counts, np.exp(-self.E_f), 0.0)
        self.D /= self.D.sum()
        self.record(
            alpha,
            hypothesis_measure=phi,
            measure=float(self.E_f[self.counts].mean()),
            bound=1.0 - float(np.exp(min(self.log_bound, 700.0))),
        )
        self.outputs_seen.add(hash(output.tobytes()))
        return phi >= 1.0 - _LEAST_LOSS


class GroupAdaBoostClassifier(StagedMeasureMixin, WeakLearnerMixin, BaseMeasureClassifier):
    r"""AdaBoost.Group: boosting with weights over groups, for any measure of a group.

    .. math:: D_1(i) = \frac1n, \quad
              \alpha_t = \tfrac12 \ln
              \frac{\sum_i D_t(i)(1 + E_i(h_t))}{\sum_i D_t(i)(1 - E_i(h_t))}, \quad
              f_t = \sum_{k \le t} \alpha_k h_k, \quad
              D_{t+1}(i) \propto e^{-E_i(f_t)}

    with :math:`E_i \in [0, 1]` the measure of group i. The hypothesis :math:`h_t` is trained with
    the row weights :math:`D_t(i) / m(g_i)`.

    This is Figure 1 to the letter. As :math:`E` lies in [0, 1], weights of groups differ by a
    factor of e at most, rows inside a group are never re-weighted, and with a deterministic weak
    learner most rounds repeat the same hypothesis (``n_distinct_``): the method hardly boosts.
    :class:`FocusedAdaBoostClassifier` and :class:`ExpectedMeasureClassifier` are what to use.

    Parameters
    ----------
    estimator : classifier, weak learner or MeasureStumps, default=None
        Any scikit-learn classifier that takes ``sample_weight``, :class:`groupwise.HistTrees`, or
        :class:`MeasureStumps`, which maximise the D-weighted measure itself. ``None``:
        ``HistTrees(max_depth=3)`` for two classes, scikit-learn's tree of depth 3 for more.
    measure : str, GroupMeasure or callable, default="f1"
        See :func:`get_measure`. A measure of labels judges the sign of f (for more classes the
        largest score), one of an order judges f itself.
    n_estimators : int, default=50
        Rounds T. Fewer if a hypothesis is perfect on every group.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    measure_ : GroupMeasure
    ensemble_ : Ensemble
        The weighted hypotheses.
    n_iter_ : int
        Rounds kept.
    estimator_weights_ : ndarray of shape (n_iter,)
        The :math:`\alpha_t`.
    history_ : dict of str to ndarray of shape (n_iter,)
        ``"hypothesis_measure"``: :math:`\varphi_t = \sum_i D_t(i) E_i(h_t)`. ``"measure"``: mean
        measure of :math:`f_t` on the training groups. ``"bound"``: Theorem 1, below which the
        measure never is; vacuous (negative) from about the second round, since
        :math:`\zeta^{\min}_t` is negative as soon as f gains less than :math:`\alpha_t E_i(h_t)`
        on one group.
    group_weights_ : ndarray of shape (n_groups,)
        The final D, in the order of ``np.unique(groups)``.
    n_distinct_ : int
        How many of the hypotheses differ on the training rows.
    n_groups_ : int

    Notes
    -----
    The paper is binary; for more classes hypotheses vote with the code of SAMME. Groups that the
    measure leaves out (``without_positives="skip"``) have weight zero. ``predict_proba`` is the
    share of the weighted vote for each class: right in order, not calibrated.

    References
    ----------
    W. Ni, J. Xu, H. Li and Y. Huang (2008). Group-based learning: a boosting approach. CIKM.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.measures import GroupAdaBoostClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, user = rng.normal(size=(300, 3)), rng.integers(20, size=300)
    >>> y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0.8).astype(int)
    >>> clf = GroupAdaBoostClassifier(n_estimators=5).fit(X, y, groups=user)
    >>> bool((clf.history_["measure"] >= clf.history_["bound"]).all())
    True
    """

    def __init__(
        self,
        estimator: LearnerLike | MeasureStumps = None,
        *,
        measure: MeasureLike = "f1",
        n_estimators: int = 50,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.n_estimators = n_estimators
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)

    def _learn(self, data: GroupedRows) -> None:
        n_classes = len(data.classes)
        rng = check_random_state(self.random_state)
        run = self._learner(data).bind(data.X).start(n_classes, rng, resample=False)
        rounds = _Figure1(self.measure_, data.y_row, data.groups, n_classes)
        boost(run, data.y_row, rounds, self.n_estimators)
        self.ensemble_ = run.combine(rounds.alphas)
        self.n_iter_ = len(rounds.alphas)
        self.estimator_weights_ = np.array(rounds.alphas)
        self.history_ = {name: rounds.history(name) for name in rounds.values}
        self.group_weights_ = rounds.D
        self.n_distinct_ = len(rounds.outputs_seen)

    def _learner(self, data: GroupedRows) -> WeakLearner:
        if isinstance(self.estimator, MeasureStumps):
            return self.estimator.for_groups(self.measure_, data.y_row, data.groups)
        return self._weak_learner(len(data.classes))

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self.ensemble_.score(rows)
        return score_row, self._vote_shares(score_row)

    def _vote_shares(self, score: NDArray[Any]) -> NDArray[Any]:
        total = max(float(self.estimator_weights_.sum()), np.finfo(float).tiny)
        if score.ndim == 1:
            positive = np.clip(0.5 + 0.5 * score / total, 0.0, 1.0)
            return two_columns(positive)
        rest = 1.0 / (len(self.classes_) - 1)
        share = np.clip((score / total + rest) / (1.0 + rest), 0.0, None)
        if not self.estimator_weights_.any():  # every round's measure was zero: nobody votes
            share = np.ones_like(share)
        return share / share.sum(axis=1, keepdims=True)

"""AdaBoost on rows, steered by the measure of their groups."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import LearnerLike, Rounds, boost
from groupwise.boosting.learner_mixin import WeakLearnerMixin
from groupwise.boosting.rounds import LEAST_ERROR, row_loss, step_size
from groupwise.boosting.votes import cast, vote_proba
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_choice, check_flag, check_number
from groupwise.measures.base import BaseMeasureClassifier, StagedMeasureMixin
from groupwise.metrics import GroupMean, GroupMeasure, MeasureLike
from groupwise.model_selection import WholeGroupShuffleSplit

__all__ = ["FocusedAdaBoostClassifier"]


class _FocusedRounds(Rounds):
    """AdaBoost in terms of margins (y f for two classes), and the groups' factor on the weights."""

    values = ("measure",)

    def __init__(
        self,
        measure: GroupMeasure,
        y_row: NDArray[np.intp],
        groups: Groups,
        n_classes: int,
        log_cost: NDArray[np.float64],
        focus: float,
    ):
        super().__init__()
        self.measure, self.y_row, self.groups, self.n_classes = measure, y_row, groups, n_classes
        self.focus = focus
        self.right, self.wrong = 1.0 / (n_classes - 1), -1.0 / (n_classes - 1) ** 2
        self.f = np.zeros(len(y_row) if n_classes == 2 else (len(y_row), n_classes))
        self.log_weight = log_cost  # of AdaBoost, without the groups' factor
        self._weigh(log_cost)

    def _weigh(self, log_weight: NDArray[Any]) -> None:
        self.weight = np.exp(log_weight - log_weight.max())
        self.weight_row = self.weight / self.weight.sum()

    def update(self, output: NDArray[Any]) -> bool:
        loss = row_loss(output, self.y_row)
        error = float(self.weight @ loss / self.weight.sum())
        alpha = step_size(error, self.n_classes)
        if alpha <= 0:  # no better than a coin
            return True
        self.f = self.f + alpha * cast(output, self.n_classes)
        self.log_weight = self.log_weight - alpha * (self.right * (1.0 - loss) + self.wrong * loss)
        E = self.measure.of(self.y_row, self.f, self.groups)
        # a group that the measure leaves out gets no extra focus
        factor = self.focus * np.where(np.isnan(E), 1.0, E)
        self._weigh(self.log_weight - factor[self.groups.codes])
        self.record(alpha, measure=GroupMean()(E))
        return error <= LEAST_ERROR


class FocusedAdaBoostClassifier(StagedMeasureMixin, WeakLearnerMixin, BaseMeasureClassifier):
    r"""AdaBoost whose rows weigh by their group: the named improvement of AdaBoost.Group.

    .. math:: w_{ij} \propto \frac{c(y_{ij})}{m_i}\; e^{-\lambda E_i(f_t)}\;
              e^{-y_{ij} f_t(x_{ij})}, \; \alpha_t = \tfrac12 \ln\frac{1 - \epsilon_t}{\epsilon_t}

    AdaBoost.Group weighs groups only, so its hypotheses repeat. Here rows are re-weighted inside
    their group as in AdaBoost, every group counts once whatever its size, and groups that the
    measure calls bad count more: the factor :math:`e^{-\lambda E_i}` is the worst case of the mean
    loss over group weights near uniform (:math:`\max_D \sum_i D_i (1 - E_i) -
    \frac1\lambda \mathrm{KL}(D \| \text{uniform})`), distributionally robust training in closed
    form. Large :math:`\lambda` is worst-group training, :math:`\lambda = 0` weighs by 1/m alone.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As in :class:`GroupAdaBoostClassifier`.
    measure : str, GroupMeasure or callable, default="f1"
    n_estimators : int, default=100
        Largest number of rounds.
    focus : float, default=1.0
        :math:`\lambda \ge 0`.
    cost : float, default=1.0
        Cost c of the last class's rows (of two: the positive ones) against 1 for the others:
        cost-sensitive AdaBoost.
    balance_groups : bool, default=True
        ``False`` leaves the factor 1/m out: with ``focus=0`` and ``cost=1`` this is AdaBoost.
    hypotheses : {"hard", "soft"}, default="hard"
        ``"soft"``: a hypothesis votes with its probabilities, so that each leaf of a tree has
        a step of its own; :math:`\epsilon_t` is then the mean probability of the wrong classes,
        whose :math:`\alpha_t` minimises a bound on the loss (Schapire and Singer 1999).
    early_stopping : bool, default=False
        Hold groups out, and keep the rounds up to their best mean measure.
    validation_fraction : float, default=0.2
        Share of the groups to hold out.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    measure_ : GroupMeasure
    ensemble_ : Ensemble
    n_iter_ : int
        Rounds kept.
    estimator_weights_ : ndarray of shape (n_iter,)
        The :math:`\alpha_t`.
    history_ : dict of str to ndarray
        Of each round grown: ``"measure"``, the mean measure of the training groups; with
        ``early_stopping`` also ``"validation_measure"``, that of the groups held out.
    n_groups_ : int

    Notes
    -----
    ``predict_proba`` is AdaBoost's estimate, for two classes :math:`1 / (1 + e^{-2f(x)})`: of the
    weighted rows it was trained on, that is; costs and focus move it.

    References
    ----------
    Y. Freund and R. Schapire (1997); R. Schapire and Y. Singer (1999), Improved boosting algorithms
    using confidence-rated predictions; for more classes J. Zhu et al. (2009), SAMME.
    S. Sagawa et al. (2020). Distributionally robust neural networks for group shifts. ICLR.

    Examples
    --------
    >>> from groupwise.measures import FocusedAdaBoostClassifier
    >>> from groupwise.datasets.users import make_users
    >>> u = make_users(n_users=30, random_state=0)
    >>> clf = FocusedAdaBoostClassifier(n_estimators=10).fit(u.X, u.y, groups=u.groups)
    >>> clf.history_["measure"].shape
    (10,)
    """

    def __init__(
        self,
        estimator: LearnerLike = None,
        *,
        measure: MeasureLike = "f1",
        n_estimators: int = 100,
        focus: float = 1.0,
        cost: float = 1.0,
        balance_groups: bool = True,
        hypotheses: str = "hard",
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.n_estimators = n_estimators
        self.focus = focus
        self.cost = cost
        self.balance_groups = balance_groups
        self.hypotheses = hypotheses
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.group_column = group_column
        self.random_state = random_state

    def _learn(self, data: GroupedRows) -> None:
        n_classes, measure = len(data.classes), self.measure_
        rng = check_random_state(self.random_state)
        train, held_out = self._parts(data, rng)
        learner = self._weak_learner(n_classes, hypotheses=self.hypotheses)
        run = learner.bind(train.X).start(n_classes, rng, resample=False)
        log_cost = self._log_cost(train, n_classes)
        rounds = _FocusedRounds(measure, train.y_row, train.groups, n_classes, log_cost, self.focus)
        boost(run, train.y_row, rounds, self.n_estimators)
        self.history_ = {"measure": rounds.history("measure")}
        self.n_iter_ = len(rounds.alphas)
        if held_out is not None:
            stages = run.combine(rounds.alphas).staged_score(held_out.X)
            values = [GroupMean()(measure.of(held_out.y_row, f, held_out.groups)) for f in stages]
            self.history_["validation_measure"] = np.array(values)
            self.n_iter_ = int(np.argmax(values)) + 1 if values else 0
        self.estimator_weights_ = np.array(rounds.alphas[: self.n_iter_])
        self.ensemble_ = run.combine(rounds.alphas[: self.n_iter_])

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_number("focus", self.focus, "[0, inf)")
        check_number("cost", self.cost, "(0, inf)")
        check_choice("hypotheses", self.hypotheses, ("hard", "soft"))
        check_flag("balance_groups", self.balance_groups)
        check_flag("early_stopping", self.early_stopping)
        check_number("validation_fraction", self.validation_fraction, "(0, 1)")

    def _log_cost(self, data: GroupedRows, n_classes: int) -> NDArray[np.float64]:
        """Logarithms of the first weights: c / m."""
        log_cost = np.where(data.y_row == n_classes - 1, np.log(self.cost), 0.0)
        if self.balance_groups:
            log_cost = log_cost - np.log(data.groups.sizes)[data.groups.codes]
        return log_cost

    def _parts(
        self, data: GroupedRows, rng: np.random.RandomState
    ) -> tuple[GroupedRows, GroupedRows | None]:
        """The rows to train on, and those of the groups held out, if any."""
        if not self.early_stopping:
            return data, None
        split = WholeGroupShuffleSplit(
            1, test_size=self.validation_fraction, stratify=False, random_state=rng
        )
        train, test = next(split.split(data.groups.codes, groups=data.groups.codes))
        return _take(data, train), _take(data, test)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self.ensemble_.score(rows)
        return score_row, vote_proba(score_row, 1.0 / (len(self.classes_) - 1))


def _take(data: GroupedRows, rows: NDArray[np.intp]) -> GroupedRows:
    groups = Groups(data.groups.codes[rows])
    return GroupedRows(data.X[rows], data.y_row[rows], groups, data.classes)

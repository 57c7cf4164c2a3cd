"""AdaBoost on rows, steered by the measure of their groups."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state

from groupwise.boosting import Run, WeakLearner
from groupwise.boosting.classifiers import vote_coding
from groupwise.boosting.confidence import confident_learner, row_loss
from groupwise.groups import Groups
from groupwise.majority.sboost import step_size
from groupwise.measures.boosted import BoostedMeasureClassifier
from groupwise.metrics.aggregate import GroupMean
from groupwise.metrics.measure import GroupMeasure
from groupwise.model_selection import WholeGroupShuffleSplit
from groupwise.validation import GroupedRows

__all__ = ["FocusedAdaBoostClassifier"]

# A hypothesis without error would get an infinite weight; this is the smallest error it counts as.
_LEAST_ERROR = 5e-11


class FocusedAdaBoostClassifier(BoostedMeasureClassifier):
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
    hypotheses : {"hard", "confident"}, default="hard"
        ``"confident"``: a hypothesis votes with its probabilities, so that each leaf of a tree has
        a step of its own; :math:`\epsilon_t` is then the mean probability of the wrong classes,
        whose :math:`\alpha_t` minimises a bound on the loss (Schapire and Singer 1999).
    validation_fraction : float, default=None
        Share of the groups to hold out; the rounds up to their best mean measure are kept.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : object
    estimator_weights_ : ndarray of shape (n_rounds,)
    measure_ : ndarray
        Mean measure of the training groups after each round grown.
    validation_measure_ : ndarray or None
        The same of the held-out groups.
    n_groups_ : int

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
    >>> clf.measure_.shape
    (10,)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        measure: Any = "f1",
        n_estimators: int = 100,
        focus: float = 1.0,
        cost: float = 1.0,
        balance_groups: bool = True,
        hypotheses: str = "hard",
        validation_fraction: float | None = None,
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.n_estimators = n_estimators
        self.focus = focus
        self.cost = cost
        self.balance_groups = balance_groups
        self.hypotheses = hypotheses
        self.validation_fraction = validation_fraction
        self.group_column = group_column
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None
    ) -> "FocusedAdaBoostClassifier":
        """Fit to labelled rows in groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The rows' labels.
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is a group.

        Returns
        -------
        self : FocusedAdaBoostClassifier
        """
        self._check_parameters()
        data = self._check_training(X, y, groups)
        n_classes = len(data.classes)
        measure = self._measure(n_classes)
        rng = check_random_state(self.random_state)
        parts = self._parts(data.groups, rng)
        X_train, y_train, groups_train = _take(data, parts[0])
        run = self._learner(n_classes).bind(X_train).start(n_classes, rng, resample=False)
        alphas, self.measure_ = self._boost(run, measure, y_train, groups_train, n_classes)
        self.validation_measure_: NDArray[Any] | None = None
        keep = len(alphas)
        if len(parts) == 2 and keep:
            X_held, y_held, groups_held = _take(data, parts[1])
            stages = run.combine(alphas).staged_score(X_held)
            values = [GroupMean()(measure.of(y_held, score, groups_held)) for score in stages]
            self.validation_measure_ = np.array(values)
            keep = int(np.argmax(values)) + 1
        self.ensemble_ = run.combine(alphas[:keep])
        self.estimator_weights_ = np.array(alphas[:keep])
        return self

    def _check_parameters(self) -> None:
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators must be at least 1, got {self.n_estimators!r}")
        if not (np.isfinite(self.focus) and self.focus >= 0):
            raise ValueError(f"focus must be a finite number >= 0, got {self.focus!r}")
        if self.hypotheses not in ("hard", "confident"):
            raise ValueError(f"hypotheses must be 'hard' or 'confident', got {self.hypotheses!r}")
        if not (np.isfinite(self.cost) and self.cost > 0):
            raise ValueError(f"cost must be a positive number, got {self.cost!r}")

    def _learner(self, n_classes: int) -> WeakLearner:
        if self.hypotheses == "hard":
            return super()._learner(n_classes)
        return confident_learner(self._estimator(n_classes))

    def _parts(self, groups: Groups, rng: np.random.RandomState) -> list[Any]:
        """Rows to train on, and those of the groups held out, if any."""
        if self.validation_fraction is None:
            return [slice(None)]
        split = WholeGroupShuffleSplit(
            1, test_size=self.validation_fraction, stratify=False, random_state=rng
        )
        return list(next(split.split(groups.codes, groups=groups.codes)))

    def _boost(
        self,
        run: Run,
        measure: GroupMeasure,
        y_row: NDArray[np.intp],
        groups: Groups,
        n_classes: int,
    ) -> tuple[list[float], NDArray[Any]]:
        """The rounds, in terms of margins (y f for two classes)."""
        right, wrong = 1.0 / (n_classes - 1), -1.0 / (n_classes - 1) ** 2
        coding = vote_coding(n_classes)
        start = np.where(y_row == n_classes - 1, np.log(self.cost), 0.0)
        if self.balance_groups:
            start = start - np.log(groups.sizes)[groups.codes]
        log_weight = start
        score = np.zeros(len(y_row) if n_classes == 2 else (len(y_row), n_classes))
        alphas: list[float] = []
        means: list[float] = []
        for _ in range(self.n_estimators):
            weight = np.exp(log_weight - log_weight.max())
            output = run.fit(y_row, weight / weight.sum())
            loss = row_loss(output, y_row)
            error = float(weight @ loss / weight.sum())
            alpha = step_size(error, n_classes, 0.0)
            if alpha <= 0:  # no better than chance
                break
            score = score + alpha * (coding[output] if output.ndim == 1 else output @ coding)
            start = start - alpha * (right * (1.0 - loss) + wrong * loss)
            E = measure.of(y_row, score, groups)
            # a group that the measure leaves out gets no extra focus
            log_weight = start - self.focus * np.where(np.isnan(E), 1.0, E)[groups.codes]
            alphas.append(alpha)
            means.append(GroupMean()(E))
            if error <= _LEAST_ERROR:
                break
        return alphas, np.array(means)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        r"""AdaBoost's estimate: for two classes :math:`1 / (1 + e^{-2f(x)})`.

        Of the weighted rows it was trained on, that is: costs and focus move it.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        score = self.decision_function(X)
        if score.ndim == 1:
            score = np.column_stack([-score, score])
        return softmax(score / (len(self.classes_) - 1), axis=1)


def _take(data: GroupedRows, rows: Any) -> tuple[Any, NDArray[np.intp], Groups]:
    groups = data.groups if isinstance(rows, slice) else Groups(data.groups.codes[rows])
    return data.X[rows], data.y_row[rows], groups

"""SBoost: boosting for sessions (Jin and Liu 2005)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.boosting import Ensemble, LearnerLike, OneVsRest, Rounds, boost
from groupwise.boosting.learner_mixin import WeakLearnerMixin
from groupwise.boosting.rounds import LEAST_ERROR, step_size
from groupwise.boosting.staged import StagedMixin
from groupwise.boosting.votes import vote_proba
from groupwise.groups import Groups
from groupwise.inputs import (
    GroupedRows,
    check_choice,
    check_flag,
    check_known_classes,
    check_number,
)
from groupwise.losses import SessionLoss
from groupwise.rules import Rule, get_rule

__all__ = ["SBoostClassifier", "SBoostLearnerMixin"]


class _Figure3(Rounds):
    """Figure 3 for one coding of the classes, in terms of margins (y H for two classes).

    A hypothesis no better than a coin ends the run where rows are weighted: the next one would be
    the same. Where they are drawn it is kept with its alpha, which is negative or zero, as printed.
    """

    values = ("error", "log_loss")

    def __init__(
        self,
        loss: SessionLoss,
        target: NDArray[np.intp],
        n_classes: int,
        gamma: float,
        *,
        resample: bool,
    ):
        super().__init__()
        self.loss, self.target, self.n_classes, self.gamma = loss, target, n_classes, gamma
        self.resample = resample
        self.right, self.wrong = 1.0 / (n_classes - 1), -1.0 / (n_classes - 1) ** 2
        self.margin_row = np.zeros(len(target))
        self.first_log_loss, self.weight_row = loss.log_value_and_weights(self.margin_row)

    def update(self, output: NDArray[Any]) -> bool:
        correct = output == self.target
        error = float(self.weight_row[~correct].sum())
        alpha = step_size(error, self.n_classes, self.gamma)
        if alpha <= 0 and not self.resample:
            return True
        self.margin_row += alpha * np.where(correct, self.right, self.wrong)
        log_loss, self.weight_row = self.loss.log_value_and_weights(self.margin_row)
        self.record(alpha, error=error, log_loss=log_loss)
        return min(error, 1.0 - error) <= LEAST_ERROR  # every row is told apart: nothing to learn

    @property
    def log_losses(self) -> NDArray[Any]:
        """Before the first and after every round."""
        return np.append(self.first_log_loss, self.history("log_loss"))


class SBoostLearnerMixin(WeakLearnerMixin):
    """The weak learner of SBoost: for ``"samme"`` the default is scikit-learn's tree."""

    multiclass: str

    @property
    def _boosts_hist_trees(self) -> bool:
        own_tree = self.estimator is None and self.multiclass == "samme"
        return super()._boosts_hist_trees and not own_tree


class SBoostClassifier(StagedMixin, SBoostLearnerMixin, BaseGroupClassifier):
    r"""SBoost: a boosted classifier for rows, trained on the labels of sessions.

    A session's label is the class most of its rows have; which rows those are is not known. With
    row scores :math:`H(x) = \sum_t \alpha_t h_t(x)`, SBoost minimises

    .. math:: \sum_i \exp\Big(-\frac{\gamma y_i}{m_i} \sum_j H(x_{ij})\Big)
              \sum_j \exp(-y_i H(x_{ij}))

    by rounds of weighted classification: a row weighs much only while its session is wrong.
    Sessions are the ``groups`` of :meth:`fit`; with each row a session this is AdaBoost.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        Any scikit-learn classifier that takes ``sample_weight``, or :class:`HistTrees`. ``None``:
        ``HistTrees(max_depth=3)`` (scikit-learn's tree of that depth for ``"samme"`` with three
        classes or more).
    n_estimators : int, default=30
        Largest number of rounds T. Fewer if a hypothesis is perfect or, where rows are weighted, no
        better than a coin.
    gamma : float, default=4.0
        Weight of the session's error against the rows' errors; 0 is AdaBoost on the naive labels.
    resample : bool, default=False
        Draw the rows by weight, as the paper does, instead of weighting them. Like the paper's
        Figure 3 it then goes on after a hypothesis no better than a coin, whose alpha is negative
        or zero.
    rule : {"majority", "mean", "score", "any"} or rule, default="majority"
        How rows decide for their session: see :mod:`groupwise.rules`.
    multiclass : {"ovr", "samme"}, default="ovr"
        The paper is binary. ``"ovr"`` boosts each class against the rest; ``"samme"`` is one
        run with the multi-class code of Zhu et al. (2009) put into the same loss, and needs a
        scikit-learn classifier as ``estimator``. For two classes both are the paper's algorithm.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
        The weighted hypotheses; :class:`~groupwise.boosting.OneVsRest` of one run per class for
        ``"ovr"`` with three classes or more.
    n_iter_ : int
        Rounds kept (of the longest run).
    estimator_weights_ : ndarray of shape (n_runs, n_iter)
        The :math:`\alpha_t`. There is one run, or one per class for ``"ovr"`` with three classes or
        more; a run that ended early is filled up with zeros.
    estimator_errors_ : ndarray of shape (n_runs, n_iter)
        D-weighted error of each hypothesis, filled up alike.
    history_ : dict of str to ndarray
        ``"log_loss"``, (n_runs, n_iter + 1): the logarithm of eq. (4) before the first and after
        every round; a run that ended early keeps its last one.
    row_weights_ : ndarray of shape (n_runs, n_rows)
        The final D: which rows still carry their session's label.
    gamma_ : float
    rule_ : Rule
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in what the hypotheses split on (gain, or the estimators' own
        importances), weighted by :math:`|\alpha_t|`, over all runs; as scikit-learn's AdaBoost has
        it.
    n_groups_ : int
        Number of sessions seen in ``fit``.

    Notes
    -----
    Figure 3 of the paper computes D_t from H_{t-1}; it must be H_t, or the first round is wasted.
    As D sums to (1 + gamma) L, eq. (9) is AdaBoost's weight over (1 + gamma).

    ``decision_function`` is H, and ``predict_proba`` AdaBoost's estimate: for two classes
    :math:`P(y = 1 | x) = 1 / (1 + e^{-2(1+\gamma)H(x)})`.

    References
    ----------
    R. Jin and H. Liu (2005). Learning with labeled sessions. IJCAI.

    Examples
    --------
    >>> from groupwise import SBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=80, random_state=0)
    >>> clf = SBoostClassifier(random_state=0).fit(s.X, s.y, groups=s.groups)
    >>> clf.predict_groups(s.X, groups=s.groups).shape
    (80,)
    """

    def __init__(
        self,
        estimator: LearnerLike = None,
        *,
        n_estimators: int = 30,
        gamma: float = 4.0,
        resample: bool = False,
        rule: str | Rule = "majority",
        multiclass: str = "ovr",
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.resample = resample
        self.rule = rule
        self.multiclass = multiclass
        self.group_column = group_column
        self.random_state = random_state

    def _learn(self, data: GroupedRows) -> None:
        one_run = len(data.classes) == 2 or self.multiclass == "samme"
        codes = range(len(data.classes))
        targets = [data.y_row] if one_run else [(data.y_row == k).astype(np.intp) for k in codes]
        n_targets = len(data.classes) if one_run else 2
        self.gamma_, self.rule_ = float(self.gamma), get_rule(self.rule)
        self._proba_scale = (1.0 + self.gamma_) / (n_targets - 1)
        bound = self._weak_learner(n_targets).bind(data.X)
        loss = SessionLoss(data.groups, self.gamma_)
        rng = check_random_state(self.random_state)
        ensembles, boosted = [], []
        for target in targets:
            run = bound.start(n_targets, rng, resample=self.resample)
            rounds = _Figure3(loss, target, n_targets, self.gamma_, resample=self.resample)
            boost(run, target, rounds, self.n_estimators)
            ensembles.append(run.combine(rounds.alphas))
            boosted.append(rounds)
        self._store(ensembles, boosted)

    def _store(self, ensembles: list[Ensemble], boosted: list[_Figure3]) -> None:
        self.ensemble_ = ensembles[0] if len(ensembles) == 1 else OneVsRest(ensembles)
        self.n_iter_ = max(len(rounds.alphas) for rounds in boosted)
        self.estimator_weights_ = _filled([np.array(r.alphas) for r in boosted], self.n_iter_)
        self.estimator_errors_ = _filled([r.history("error") for r in boosted], self.n_iter_)
        losses = [rounds.log_losses for rounds in boosted]
        self.history_ = {
            "log_loss": np.array([_filled([x], self.n_iter_ + 1, x[-1])[0] for x in losses])
        }
        self.row_weights_ = np.array([rounds.weight_row for rounds in boosted])

    def _check_parameters(self) -> None:
        check_number("gamma", self.gamma, "[0, inf)")
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_choice("multiclass", self.multiclass, ("ovr", "samme"))
        check_flag("resample", self.resample)
        get_rule(self.rule)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self.ensemble_.score(rows)
        return score_row, vote_proba(score_row, self._proba_scale)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importances of the features to the hypotheses, weighted by their alphas; sum to one."""
        check_is_fitted(self)
        ensemble: Any = self.ensemble_
        runs = ensemble.runs if isinstance(ensemble, OneVsRest) else [ensemble]
        total = np.zeros(self.n_features_in_)
        for run, alphas in zip(runs, self.estimator_weights_, strict=True):
            if not hasattr(run, "importances"):
                raise AttributeError(f"{self.estimator!r} has no feature importances")
            shares = run.importances(self.n_features_in_)
            total += np.abs(alphas[: len(shares)]) @ shares
        return total / max(total.sum(), np.finfo(float).tiny)

    def staged_score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> Iterator[float]:
        """Share of sessions predicted right after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The session's label, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None

        Yields
        ------
        accuracy : float
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        y_group = encoded.one_per_group(check_known_classes(y, self.classes_, encoded))
        for score_row in self.ensemble_.staged_score(rows):
            proba_group = self.rule_.combine(vote_proba(score_row, self._proba_scale), encoded)
            yield float(np.mean(self.classes_[proba_group.argmax(axis=1)] == y_group))


def _filled(per_run: list[NDArray[Any]], length: int, value: float = 0.0) -> NDArray[Any]:
    """One line per run, the short ones filled up."""
    lines = np.full((len(per_run), length), value)
    for line, values in zip(lines, per_run, strict=True):
        line[: len(values)] = values
    return lines

"""SBoost: boosting for sessions (Jin and Liu 2005)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise.base import BaseGroupClassifier
from groupwise.boosting import Ensemble, HistTrees, Run, VoteEnsemble, get_weak_learner
from groupwise.losses import SessionLoss
from groupwise.rules import Rule, get_rule
from groupwise.validation import check_known_classes, check_rows

__all__ = ["SBoostClassifier"]

# A hypothesis without error would get an infinite weight; this is the smallest error it counts as.
_LEAST_ERROR = 5e-11


@dataclass(frozen=True)
class _Boosted:
    """One boosting run, finished."""

    ensemble: Ensemble
    alphas: NDArray[Any]
    errors: NDArray[Any]
    log_losses: NDArray[Any]
    weight_row: NDArray[Any]


def step_size(error: float, n_classes: int, gamma: float) -> float:
    r"""The weight of a hypothesis with D-weighted error :math:`\epsilon`.

    Two classes, eq. (9):
    :math:`\alpha = \frac{1}{2(1+\gamma)} \ln\frac{1-\epsilon}{\epsilon}`; more classes, the same
    minimisation for the SAMME code:
    :math:`\frac{(K-1)^2}{K(1+\gamma)} [\ln\frac{1-\epsilon}{\epsilon} + \ln(K-1)]`.
    """
    error = min(max(error, _LEAST_ERROR), 1.0 - _LEAST_ERROR)
    log_odds = np.log1p(-error) - np.log(error) + np.log(n_classes - 1)
    return float((n_classes - 1) ** 2 / (n_classes * (1.0 + gamma)) * log_odds)


class SBoostClassifier(BaseGroupClassifier):
    r"""SBoost: a boosted classifier for rows, trained on the labels of sessions.

    A session's label is the class most of its rows have; which rows those are is not known. With
    row scores :math:`H(x) = \sum_t \alpha_t h_t(x)`, SBoost minimises

    .. math:: \sum_i \exp\Big(-\frac{\gamma y_i}{m_i} \sum_j H(x_{ij})\Big)
              \sum_j \exp(-y_i H(x_{ij}))

    by rounds of weighted classification: a row weighs much only while its session is wrong.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        Any scikit-learn classifier that takes ``sample_weight``, or :class:`HistTrees`. ``None``:
        ``HistTrees(max_depth=3)``.
    n_estimators : int, default=30
        Largest number of rounds T. Fewer if a hypothesis is perfect or no better than chance.
    gamma : float, default=4.0
        Weight of the session's error against the rows' errors; 0 is AdaBoost on the naive labels.
    resample : bool, default=False
        Draw the rows by weight, as the paper does, instead of weighting them.
    vote : {"majority", "mean", "score", "any"} or rule, default="majority"
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
    ensembles_ : list
        The weighted hypotheses; one ensemble, or one per class for ``"ovr"`` with three or more.
    estimator_weights_ : ndarray of shape (n_rounds,)
        The :math:`\alpha_t`. Like the next three, a list with one array per class for ``"ovr"``
        with three or more classes.
    estimator_errors_ : ndarray of shape (n_rounds,)
        D-weighted error of each hypothesis.
    loss_ : ndarray of shape (n_rounds + 1,)
        Logarithm of eq. (4) before the first and after every round.
    row_weights_ : ndarray of shape (n_rows,)
        The final D: which rows still carry their session's label.
    n_groups_ : int
        Number of sessions seen in ``fit``.

    Notes
    -----
    Figure 3 of the paper computes D_t from H_{t-1}; it must be H_t, or the first round is wasted.
    As D sums to (1 + gamma) L, eq. (9) is AdaBoost's weight over (1 + gamma).

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
        estimator: Any = None,
        *,
        n_estimators: int = 30,
        gamma: float = 4.0,
        resample: bool = False,
        vote: str | Rule = "majority",
        multiclass: str = "ovr",
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.resample = resample
        self.vote = vote
        self.multiclass = multiclass
        self.group_column = group_column
        self.random_state = random_state

    def _rule(self) -> Rule:
        return get_rule(self.vote)

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> "SBoostClassifier":
        """Fit to rows and their sessions' labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The session's label, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None
            Session ids. ``None``: each row is a session, which is AdaBoost.

        Returns
        -------
        self : SBoostClassifier
        """
        self._check_parameters()
        data = self._check_training(X, y, groups)
        n_classes = len(data.classes)
        rng = check_random_state(self.random_state)
        bound = get_weak_learner(self.estimator).bind(data.X)
        loss = SessionLoss(data.groups, self.gamma)
        if n_classes == 2 or self.multiclass == "samme":
            targets, self._n_targets = [data.y_row], n_classes
        else:
            targets = [(data.y_row == code).astype(np.intp) for code in range(n_classes)]
            self._n_targets = 2
        boosted = [
            self._boost(bound.start(self._n_targets, rng, resample=self.resample), loss, target)
            for target in targets
        ]
        self.ensembles_: list[Any] = [run.ensemble for run in boosted]
        one = len(boosted) == 1
        self.estimator_weights_ = _one_or_list([run.alphas for run in boosted], one)
        self.estimator_errors_ = _one_or_list([run.errors for run in boosted], one)
        self.loss_ = _one_or_list([run.log_losses for run in boosted], one)
        self.row_weights_ = _one_or_list([run.weight_row for run in boosted], one)
        return self

    def _check_parameters(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma >= 0):
            raise ValueError(f"gamma must be a finite number >= 0, got {self.gamma!r}")
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators must be at least 1, got {self.n_estimators!r}")
        if self.multiclass not in ("ovr", "samme"):
            raise ValueError(f"multiclass must be 'ovr' or 'samme', got {self.multiclass!r}")
        self._rule()

    def _boost(self, run: Run, loss: SessionLoss, target: NDArray[np.intp]) -> _Boosted:
        """Figure 3 for one coding of the classes, in terms of margins (y H for two classes)."""
        right, wrong = 1.0 / (self._n_targets - 1), -1.0 / (self._n_targets - 1) ** 2
        margin_row = np.zeros(len(target))
        log_loss, weight = loss.log_value_and_weights(margin_row)
        alphas, errors, log_losses = [], [], [log_loss]
        for _ in range(self.n_estimators):
            correct = run.fit(target, weight) == target
            error = float(weight[~correct].sum())
            alpha = step_size(error, self._n_targets, self.gamma)
            if alpha <= 0:  # no better than chance: the bound cannot fall any more
                break
            margin_row += alpha * np.where(correct, right, wrong)
            log_loss, weight = loss.log_value_and_weights(margin_row)
            alphas.append(alpha)
            errors.append(error)
            log_losses.append(log_loss)
            if error <= _LEAST_ERROR:  # every row has its session's class: nothing left to learn
                break
        return _Boosted(
            run.combine(alphas), np.array(alphas), np.array(errors), np.array(log_losses), weight
        )

    @property
    def estimators_(self) -> list[Any]:
        """The hypotheses, where they are separate classifiers (one list per run of ``"ovr"``)."""
        check_is_fitted(self)
        if not all(isinstance(ensemble, VoteEnsemble) for ensemble in self.ensembles_):
            raise AttributeError(
                "histogram trees live in one booster per run, not in separate estimators: "
                "see ensembles_[0].booster"
            )
        lists = [ensemble.estimators for ensemble in self.ensembles_]
        return lists[0] if len(lists) == 1 else lists

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score H of each row.

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = check_rows(self, self._features(X))
        scores = [ensemble.score(X) for ensemble in self.ensembles_]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores after each round; a run that stopped early keeps its last one."""
        check_is_fitted(self)
        X = check_rows(self, self._features(X))
        stages = [ensemble.staged_score(X) for ensemble in self.ensembles_]
        current = [np.zeros(X.shape[0]) for _ in stages]
        for _ in range(max(len(run) for run in self._runs(self.estimator_weights_))):
            current = [next(stage, last) for stage, last in zip(stages, current, strict=True)]
            yield current[0] if len(current) == 1 else np.column_stack(current)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        r"""Class probabilities of each row.

        For two classes :math:`P(y = 1 | x) = 1 / (1 + e^{-2(1+\gamma)H(x)})`, AdaBoost's estimate.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        return self._proba(self.decision_function(X))

    def _proba(self, score: NDArray[Any]) -> NDArray[Any]:
        if score.ndim == 1:
            score = np.column_stack([-score, score])
        return softmax(score * ((1.0 + self.gamma) / (self._n_targets - 1)), axis=1)

    def staged_score(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[float]:
        """Share of sessions predicted right after each round."""
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        y_group = encoded.one_per_group(y)
        check_known_classes(np.asarray(y), self.classes_, encoded)
        for score in self.staged_decision_function(X):
            proba_group = self._rule().combine(self._proba(score), encoded)
            yield float(np.mean(self.classes_[proba_group.argmax(axis=1)] == y_group))

    def _runs(self, attribute: Any) -> list[Any]:
        return attribute if isinstance(attribute, list) else [attribute]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or isinstance(self.estimator, HistTrees)
        return tags


def _one_or_list(per_run: list[Any], one: bool) -> Any:
    return per_run[0] if one else per_run

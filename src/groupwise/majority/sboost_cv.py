"""SBoost with gamma and the number of rounds chosen on groups kept whole."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.boosting import LearnerLike, by_position
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_flag, check_number
from groupwise.majority.sboost import SBoostClassifier, SBoostLearnerMixin
from groupwise.model_selection import Splitter, WholeGroupKFold, split_whole_groups
from groupwise.rules import Rule

__all__ = ["SBoostClassifierCV"]

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


class SBoostClassifierCV(SBoostLearnerMixin, BaseGroupClassifier):
    """SBoost with gamma, and the number of rounds, chosen by the error on held-out sessions.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`SBoostClassifier`.
    n_estimators : int, default=30
        Largest number of rounds tried.
    gammas : tuple of float, default=(0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
    cv : int, splitter or iterable of splits, default=None
        Folds of whole groups. ``None``: five, five times over; fewer splits are close to noise on
        a hundred sessions.
    tune_rounds : bool, default=True
        Choose the number of rounds as well; every round's error is known from one fit.
    resample, rule, multiclass, group_column
        As for :class:`SBoostClassifier`.
    n_jobs : int, default=None
        Fits at a time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Of the folds and of the fits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    gamma_ : float
        The best; among equals the smaller one, then the one with fewer rounds.
    n_iter_ : int
        Rounds kept by ``best_estimator_``.
    best_estimator_ : SBoostClassifier
        Fitted to all rows.
    cv_results_ : dict of str to ndarray of shape (n_gammas,)
        ``"gamma"``, ascending; ``"n_estimators"``, the best number of rounds for it;
        ``"mean_test_score"`` and ``"std_test_score"``, the share of held-out sessions predicted
        right, over the splits.
    n_groups_ : int

    Examples
    --------
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.majority import SBoostClassifierCV
    >>> s = make_triangle_sessions(n_sessions=80, random_state=0)
    >>> clf = SBoostClassifierCV(n_estimators=5, gammas=(0.0, 4.0), cv=3, random_state=0)
    >>> clf.fit(s.X, s.y, groups=s.groups).cv_results_["mean_test_score"].shape
    (2,)
    """

    def __init__(
        self,
        estimator: LearnerLike = None,
        *,
        n_estimators: int = 30,
        gammas: tuple[float, ...] = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0),
        cv: int | Splitter | Iterable[Split] | None = None,
        tune_rounds: bool = True,
        resample: bool = False,
        rule: str | Rule = "majority",
        multiclass: str = "ovr",
        group_column: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.gammas = gammas
        self.cv = cv
        self.tune_rounds = tune_rounds
        self.resample = resample
        self.rule = rule
        self.multiclass = multiclass
        self.group_column = group_column
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, data: GroupedRows) -> None:
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31 - 1))
        candidate = self._candidate(seed)
        y_row = data.classes[data.y_row]
        splits = split_whole_groups(
            self._splitter(seed), data.X, y_row, data.groups, random_state=seed
        )
        gammas = np.sort(np.asarray(self.gammas, dtype=float))
        errors = Parallel(n_jobs=self.n_jobs)(
            delayed(_errors_by_round)(
                clone(candidate).set_params(gamma=gamma), data.X, y_row, data.groups.codes, *split
            )
            for gamma in gammas.tolist()
            for split in splits
        )
        self._choose(gammas, np.array(errors).reshape(len(gammas), len(splits), -1))
        self.best_estimator_ = candidate.set_params(
            gamma=self.gamma_, n_estimators=self._n_estimators
        ).fit(data.X, y_row, groups=data.groups.codes)
        self.n_iter_, self.rule_ = self.best_estimator_.n_iter_, self.best_estimator_.rule_

    def _check_parameters(self) -> None:
        check_flag("tune_rounds", self.tune_rounds)
        if not len(self.gammas):
            raise ValueError(f"gammas must hold at least one number, got {self.gammas!r}")
        for gamma in self.gammas:
            check_number("gammas", gamma, "[0, inf)")

    def _candidate(self, seed: int | None) -> SBoostClassifier:
        names = getattr(self, "feature_names_in_", None)
        return SBoostClassifier(
            by_position(self.estimator, names, self._category_columns()),
            n_estimators=self.n_estimators,
            resample=self.resample,
            rule=self.rule,
            multiclass=self.multiclass,
            random_state=seed,
        )

    def _splitter(self, seed: int | None) -> int | Splitter:
        if self.cv is None:
            return WholeGroupKFold(5, n_repeats=5, random_state=seed)
        return self.cv if isinstance(self.cv, int | Integral | Splitter) else check_cv(self.cv)

    def _choose(self, gammas: NDArray[np.float64], error: NDArray[np.float64]) -> None:
        """From errors (n_gammas, n_splits, n_rounds): the best rounds per gamma, the best gamma."""
        mean = error.mean(axis=1)
        if not self.tune_rounds:
            mean[:, :-1] = np.inf
        best_round = mean.argmin(axis=1)
        lines = np.arange(len(gammas))
        best = int(mean[lines, best_round].argmin())
        self.gamma_, self._n_estimators = float(gammas[best]), int(best_round[best]) + 1
        self.cv_results_ = {
            "gamma": gammas,
            "n_estimators": best_round + 1,
            "mean_test_score": 1.0 - mean[lines, best_round],
            "std_test_score": error[lines, :, best_round].std(axis=1),
        }

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.best_estimator_._answer_rows(rows, groups)


def _errors_by_round(
    estimator: SBoostClassifier,
    X: Rows,
    y: NDArray[Any],
    ids: NDArray[np.intp],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Error on the test sessions after each round; a run that ended early keeps its last."""
    estimator.fit(X[train], y[train], groups=ids[train])
    accuracy = list(estimator.staged_score(X[test], y[test], groups=ids[test]))
    if not accuracy:  # no hypothesis was better than a coin
        accuracy = [estimator.score(X[test], y[test], groups=ids[test])]
    missing = estimator.n_estimators - len(accuracy)
    return 1.0 - np.array(accuracy + accuracy[-1:] * missing)

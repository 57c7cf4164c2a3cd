"""The best classifier that the library can make of a table in the time there is."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.auto.base import AutoMixin, with_unprepared, with_whole
from groupwise.auto.ensemble import log_odds
from groupwise.auto.kinds import (
    Kind,
    Labels,
    Measured,
    Shares,
    Transferred,
    labels,
)
from groupwise.auto.problem import Problem
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.exceptions import GroupDataError, GroupsLostWarning, warn_caller
from groupwise.groups import Groups
from groupwise.inputs import (
    check_choice,
    check_groups,
    check_labels,
    check_shares,
    class_codes,
    domain_codes,
    expecting,
    find_target_rows,
    split_column,
)
from groupwise.inputs.labels import one_entry_per_row, refuse_missing
from groupwise.metrics import CallableMeasure, GroupMean, MeasureLike, get_measure, share_error
from groupwise.model_selection import Splitter
from groupwise.preparation import Unprepared
from groupwise.rules import MajorityVote

__all__ = ["AutoGroupClassifier"]

_KINDS = ("majority", "presence", "grade", "proportions", "measure", "transfer")


class AutoGroupClassifier(AutoMixin, BaseGroupClassifier):
    """The best classifier that the library can make of what is known of groups.

    The methods of the library that apply compete on folds of whole groups, cheap and strong ones
    first; those that cannot win are dropped on the way, and those that lead try their few settings.
    The best few are averaged, calibrated on held-out groups and fitted again to all groups.

    Parameters
    ----------
    kind : str, default="majority"
        What ``y`` says: the class that most rows of the group have (``"majority"``); whether at
        least one row has the second class (``"presence"``); the group's grade, classes in their
        sorted order (``"grade"``); the shares of the classes, or rows' labels, of which only the
        number per group is used (``"proportions"``); rows' labels, judged by a measure per group
        (``"measure"``); rows' labels in several domains, one of which counts (``"transfer"``).
    measure : str, GroupMeasure or callable, default="f1"
        For ``kind="measure"``.
    time_limit : float, default=None
        Seconds for the whole of ``fit``; ``None``: until all candidates have been tried.
    n_jobs : int, default=None
        Processes; the model does not depend on it. ``None`` is one.
    cv : int or splitter, default=5
        Number of folds of whole groups, or a splitter that holds every group out once.
    folder : str or path, default=None
        Finished folds are kept there, and a second call with the same data goes on.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    target_domain : domain id, default=None
        For ``kind="transfer"``: the domain that counts.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_ : list of Member
        Those chosen, fitted to all groups, or to as many as there was time for; ``n_groups`` of
        each says to how many.
    estimate_ : Estimate
        The score to expect on new groups, with its interval: cross-fitted, so that choosing and
        calibrating do not flatter it.
    leaderboard_ : DataFrame
        All candidates: method, params, score with its 95 % interval, paired difference to the first
        with its interval, loss, seconds, folds, state and the reason of a failure. The best score
        of many flatters its owner.
    held_out_ : HeldOutGroups
        What the ensemble and each candidate said of every group when it was held out.
    not_tried_ : dict of str to str
        Methods that did not take part, with the reason.
    n_groups_ : int
    n_groups_used_ : int
        Groups that candidates competed on: fewer only where the time limit is short for the table.

    Notes
    -----
    Majority and presence: every candidate's group probabilities are scaled on held-out groups
    (Platt; of three classes and more by one temperature), the eight with the least log-loss (with
    fewer than 60 groups all, with a thousand five) are averaged with weights by what they say of
    held-out groups, and the average is scaled again, cautiously. Proportions: the five with the
    likeliest held-out counts, with weights by that likelihood. Measures: the average of the best
    five, decided for the measure, unless one member's own decision is better by two standard
    errors.
    Transfer: the best five, with weights by what they say of held-out rows of the target.

    Answers about rows have the same weights; for majority, presence and grade they are the mean
    over the members whose rows mean something.

    Examples
    --------
    >>> from groupwise.auto import AutoGroupClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> clf = AutoGroupClassifier(cv=2, random_state=0).fit(s.X, s.y, groups=s.groups)
    >>> clf.predict_groups(s.X, groups=s.groups).shape
    (40,)
    >>> clf.estimate_.low < clf.estimate_.score < clf.estimate_.high
    True
    """

    __metadata_request__fit = {"groups": True, "domains": True, "keep_whole": True}  # noqa: RUF012
    __metadata_request__score = {"groups": True, "domains": True}  # noqa: RUF012

    def __init__(
        self,
        kind: str = "majority",
        *,
        measure: MeasureLike = "f1",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        cv: int | Splitter = 5,
        folder: str | Path | None = None,
        group_column: str | None = None,
        domain_column: str | None = None,
        target_domain: Hashable | None = None,
        random_state: RandomState = None,
    ):
        self.kind = kind
        self.measure = measure
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.cv = cv
        self.folder = folder
        self.group_column = group_column
        self.domain_column = domain_column
        self.target_domain = target_domain
        self.random_state = random_state

    @property
    def _kind_name(self) -> str:
        """Of a fitted model the kind it was fitted to, whatever has been set since."""
        return self.kind_.name if hasattr(self, "kind_") else self.kind

    @property
    def _learns_from_groups(self) -> bool:  # type: ignore[override]  # constant in other classes
        return self._kind_name != "transfer"

    def _check_parameters(self) -> None:
        check_choice("kind", self.kind, _KINDS)
        self._check_effort()

    def _resolve_kind(self) -> Kind:
        if self.kind == "proportions":
            return Shares()
        if self.kind == "measure":
            measure = get_measure(self.measure)
            if self.folder is not None and isinstance(measure, CallableMeasure):
                raise ValueError(
                    "a folder knows measures by name, and another function may have that of this "
                    "one: leave out folder, or measure by one of the library's"
                )
            return Measured(measure, self.measure)
        return Transferred() if self.kind == "transfer" else Labels(self.kind)

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        domains: Ids = None,
        keep_whole: ArrayLike | None = None,
        unprepared: Unprepared | None = None,
    ) -> Self:
        """Choose, fit and calibrate.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            May hold missing values; category columns of a DataFrame are taken as they are.
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            What ``kind`` says.
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).
        domains : array-like of shape (n_rows,), default=None
            For ``kind="transfer"``; may be in ``domain_column``.
        keep_whole : array-like of shape (n_rows,), default=None
            Coarser ids that no fold may divide, for example users who have several sessions each.
        unprepared : Unprepared, default=None
            The rows before a preparation that learns from rows (words of texts, for example): every
            fold learns it from its own training rows. ``X`` is what it makes of all rows, and what
            it makes of new ones is what the fitted model takes.

        Returns
        -------
        self : AutoGroupClassifier
        """
        self._check_parameters()
        budget = self._budget()
        kind = self._resolve_kind()
        trial = self._trial()
        problem = trial._checked_problem(kind, X, y, groups, domains)
        problem = with_unprepared(with_whole(problem, keep_whole), unprepared)
        name = self.measure if isinstance(self.measure, str) else None
        measure = name if self.kind == "measure" else None
        trial._race(kind, problem, budget, measure=measure)
        trial.kind_, trial.target_domain_ = kind, self.target_domain
        return self._take_over(trial)

    def _checked_problem(
        self, kind: Kind, X: MatrixLike, y: ArrayLike, groups: Ids, domains: Ids
    ) -> Problem:
        """Check training data and store what every fitted model knows of them."""
        X, domains = split_column(
            X, self.domain_column, domains, name="domain", required=self.kind == "transfer"
        )
        X, groups = self._groups_to_fit(X, groups)
        if domains is not None and not isinstance(kind, Transferred):
            raise GroupDataError(f"domains are for kind='transfer', and kind is {self.kind!r}")
        if isinstance(kind, Transferred) and domains is None:
            warn_caller(
                "AutoGroupClassifier.fit got no domains and takes every row for one of the target: "
                "were they lost on the way? Pass domains=, or domain_column= with the ids in X",
                GroupsLostWarning,
            )
        codes: NDArray[Any]
        if isinstance(kind, Shares):
            shares = check_shares(self, X, y, groups)
            rows, encoded, classes = shares.X, shares.groups, shares.classes
            codes = encoded.spread(shares.shares_group)
        else:
            alike = isinstance(kind, Labels)
            data = check_labels(self, X, y, groups, one_label_per_group=alike)
            rows, encoded, classes, codes = data.X, data.groups, data.classes, data.y_row
        self._check_classes(kind, len(classes))
        self.classes_ = classes
        self._remember_groups(groups, encoded)
        of_domain = None
        if isinstance(kind, Transferred):
            of_domain = domain_codes(domains, self.target_domain, encoded.n_rows)
        categories = self._category_columns()
        return Problem(rows, codes, encoded, len(classes), categories, of_domain)

    def _check_classes(self, kind: Kind, n_classes: int) -> None:
        if n_classes > 2 and kind.name == "presence":
            raise GroupDataError(
                "Only binary classification is supported. The target has "
                f"{n_classes} classes, kind='presence' is for two"
            )
        if n_classes > 2 and isinstance(kind, Measured) and not kind.measure.multiclass:
            raise GroupDataError(f"{kind.measure!r} is for two classes, y holds {n_classes}")

    @property
    def _decides_per_group(self) -> bool:  # type: ignore[override]  # constant in other classes
        members = getattr(self, "members_", ())
        decided = any(getattr(m.estimator, "_decides_per_group", False) for m in members)
        return decided or getattr(getattr(self, "_ensemble", None), "decision", "") == "expected"

    def _checked(self, X: MatrixLike, groups: Ids, *, about_groups: bool = False) -> Any:
        check_is_fitted(self)
        X, _ = split_column(X, self.domain_column, None, name="domain", required=False)
        return super()._checked(X, groups, about_groups=about_groups)

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        found, said = self._asked(rows, groups)
        proba_row = said.get("proba_row")
        if proba_row is None:
            proba_row = self._rows_of(found)
        score_row = said["score_row"] if "score_row" in said else log_odds(proba_row)
        code_row = labels(score_row)
        proba_group = said.get("proba_group")
        if proba_group is None:
            proba_group = MajorityVote().count(code_row, proba_row, groups)
        return Predictions(self.classes_, groups, score_row, proba_row, proba_group, code_row)

    def _rows_of(self, found: list[Any]) -> NDArray[Any]:
        """The mean over members whose rows mean something; over all, if there are none."""
        telling = [f for f, member in zip(found, self.members_, strict=True) if member.explains]
        return np.mean([f.proba_row for f in telling or found], axis=0)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self._predictions(rows, groups)
        return found.score_row, found.proba_row

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).proba_group

    def _label_rows(self, score_row: NDArray[Any], proba_row: NDArray[Any]) -> NDArray[np.intp]:
        return labels(score_row)

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None, domains: Ids = None) -> float:
        """How well groups are predicted, or rows of the target domain.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            As in ``fit``.
        groups : array-like of shape (n_rows,), default=None
        domains : array-like of shape (n_rows,), default=None
            For transfer: rows of other domains do not count. ``None``: all are of the target.

        Returns
        -------
        score : float
            What ``estimate_`` estimates.
        """
        if not isinstance(getattr(self, "kind_", None), Transferred):
            return super().score(X, y, groups)
        features, domains = split_column(
            X, self.domain_column, domains, name="domain", required=False
        )
        predicted = self.predict(features, groups)
        encoded = None if domains is None else check_groups(domains, len(predicted), name="domains")
        counted = find_target_rows(encoded, self.target_domain_, len(predicted))
        rows = Groups.singletons(len(predicted))
        truth = one_entry_per_row(y, rows)
        refuse_missing(truth, rows)
        with expecting("y", "what fit was given"):
            return float(accuracy_score(truth[counted], predicted[counted]))

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        groups = predictions.groups
        if isinstance(self.kind_, Shares):
            classes = self.classes_
            return 1.0 - share_error(y, predictions.proba_group, groups, classes=classes)
        if isinstance(self.kind_, Measured):
            codes = class_codes(y, self.classes_, groups)
            return GroupMean()(self.kind_.measure(codes, predictions.score_row, groups))
        return super()._judge(predictions, y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._kind_name != "presence"
        return tags

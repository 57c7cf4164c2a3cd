"""Sets of classes and intervals of shares that hold the truth as often as they say."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.exceptions import GroupDataError, GroupsLostWarning, warn_caller
from groupwise.groups import Groups, show
from groupwise.inputs import (
    check_choice,
    check_flag,
    check_groups,
    check_labels,
    check_shares,
    class_codes,
    class_shares,
    find_target_rows,
    split_column,
)
from groupwise.model_selection import Splitter
from groupwise.uncertainty.base import ConformalMixin, as_given
from groupwise.uncertainty.density_ratio import DensityRatio
from groupwise.uncertainty.held_out import TrainingData, training_data
from groupwise.uncertainty.quantiles import (
    CalibrationScores,
    class_scores,
    poisson_binomial_spread,
)

__all__ = ["ConformalGroupClassifier"]

_LABELS = ("majority", "presence")
_ROWS = ("measure", "transfer")


class ConformalGroupClassifier(ConformalMixin, BaseGroupClassifier):
    r"""Conformal prediction over whole groups, around any classifier of the library.

    Rows of a group resemble each other, so that conformal prediction on rows is too sure of new
    groups. Groups are exchangeable: a share :math:`1 - \alpha` of new groups have scores
    :math:`s(x, y)` no larger than the :math:`\lceil (1 - \alpha)(G + 1) \rceil`-th of G groups that
    the model has not seen.

    Parameters
    ----------
    estimator : classifier
        Any of this library's, for the same ``kind``.
    kind : {"majority", "presence", "proportions", "measure", "transfer"}, default="majority"
        What ``y`` says, as in :class:`~groupwise.auto.AutoGroupClassifier`. Labels of groups make
        sets of classes per group (:meth:`predict_group_sets`); shares make intervals of shares and
        counts (:meth:`predict_group_intervals`); labelled rows make sets per row
        (:meth:`predict_row_sets`).
    coverage : float, default=0.9
        1 - alpha: how many sets are to hold the truth.
    method : {"cross", "split", "jackknife+"}, default="cross"
        ``"split"`` keeps ``validation_fraction`` of the groups for calibration. ``"cross"`` holds
        every group out once, in ``cv`` folds, and asks all of their models; ``"jackknife+"`` makes
        a fold of each group. The last two lose no group.
    conformity : {"plain", "adaptive"}, default="plain"
        Sets: one less the probability (smallest sets, some of which may be empty), or the mass of
        the classes up to this one (larger sets where the model is unsure; the predicted class is
        always in). Shares: the error itself, or the error over the Poisson-binomial standard
        deviation, which gives small groups wider intervals.
    per_class : bool, default=False
        Promise the coverage within every class, each calibrated on its own groups.
    weighting : {"density_ratio"}, default=None
        For transfer. ``None``: rows of the target are held out, and nothing is assumed.
        ``"density_ratio"``: rows of all domains are, weighed by how much denser the target is
        there (Tibshirani et al. 2019); this holds as far as the label depends on the features in
        the same way everywhere, and the ratio is right. ``n_effective_`` says what is left.
    cv : int or splitter, default=5
    validation_fraction : float, default=0.2
        Share of the groups to calibrate on, for ``"split"``.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    domain_column : str, default=None
    target_domain : domain id, default=None
        For transfer: the domain that counts.
    random_state : int, RandomState instance or None, default=None
        Of the folds and the estimators.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        Fitted to all groups (``"split"``: to those not held out); it answers everything but sets
        and intervals.
    models_ : list of classifiers
        One per fold.
    calibration_ : CalibrationScores
    guarantee_ : str
        What is promised, in words.
    n_calibration_ : int
    n_effective_ : float
    n_groups_ : int

    Notes
    -----
    The promise is of new groups (rows of new groups) drawn as these were, on average over what
    was drawn: at least 1 - alpha for ``"split"``, at least about 1 - 2 alpha and in practice
    1 - alpha for ``"cross"`` and ``"jackknife+"`` (Barber et al. 2021; Vovk 2015). Where several
    groups belong to one coarser unit (``keep_whole``), units are what is exchangeable: each counts
    once, and the promise is of a group of a new unit; rows in groups are treated in the same way
    (Lee, Barber and Willett 2023; Dunn, Wasserman and Ramdas 2023).

    Nothing can be promised of single rows where only groups have labels:
    :meth:`predict_row_sets` refuses. With fewer groups than 1/alpha only the whole set is honest:
    ``fit`` warns (:class:`~groupwise.exceptions.UnpromisedWarning`), and that is the answer.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer (2005). Algorithmic Learning in a Random World.

    V. Vovk (2015). Cross-conformal predictors. Annals of Mathematics and AI 74.

    R. Barber, E. Candes, A. Ramdas, R. Tibshirani (2021). Predictive inference with the
    jackknife+. Annals of Statistics 49.

    R. Tibshirani, R. Barber, E. Candes, A. Ramdas (2019). Conformal prediction under covariate
    shift. NeurIPS.

    R. Dunn, L. Wasserman, A. Ramdas (2023). Distribution-free prediction sets for two-layer
    hierarchical models. JASA 118.

    Y. Lee, R. Barber, R. Willett (2023). Distribution-free inference with hierarchical data.
    arXiv:2306.06342.

    Examples
    --------
    >>> from groupwise import ConformalGroupClassifier, GroupBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=60, random_state=0)
    >>> clf = ConformalGroupClassifier(GroupBoostClassifier(n_estimators=10), cv=3, random_state=0)
    >>> clf.fit(s.X, s.y, groups=s.groups).predict_group_sets(s.X, groups=s.groups).shape
    (60, 4)
    >>> clf.guarantee_
    'about 90% of new groups drawn as these were; never less than about 80%'
    """

    __metadata_request__fit = {"groups": True, "domains": True, "keep_whole": True}  # noqa: RUF012
    __metadata_request__score = {"groups": True, "domains": True}  # noqa: RUF012

    kind_: str
    target_domain_: Hashable | None
    density_ratio_: DensityRatio | None

    def __init__(
        self,
        estimator: BaseEstimator,
        kind: str = "majority",
        *,
        coverage: float = 0.9,
        method: str = "cross",
        conformity: str = "plain",
        per_class: bool = False,
        weighting: str | None = None,
        cv: int | Splitter = 5,
        validation_fraction: float = 0.2,
        group_column: str | None = None,
        domain_column: str | None = None,
        target_domain: Hashable | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.kind = kind
        self.coverage = coverage
        self.method = method
        self.conformity = conformity
        self.per_class = per_class
        self.weighting = weighting
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.group_column = group_column
        self.domain_column = domain_column
        self.target_domain = target_domain
        self.random_state = random_state

    @property
    def _kind_name(self) -> str:
        """Of a fitted model the kind it was fitted to, whatever has been set since."""
        return self.kind_ if hasattr(self, "kind_") else self.kind

    @property
    def _learns_from_groups(self) -> bool:  # type: ignore[override]  # constant in other classes
        return self._kind_name != "transfer"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("kind", self.kind, (*_LABELS, "proportions", *_ROWS))
        check_flag("per_class", self.per_class)
        check_choice("weighting", self.weighting, ("density_ratio",), none=True)
        if self.per_class and self.kind == "proportions":
            raise ValueError("per_class is for sets of classes; kind='proportions' has intervals")
        if self.weighting is not None and self.kind != "transfer":
            raise ValueError(f"weighting is for kind='transfer', got kind={self.kind!r}")

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        domains: Ids = None,
        keep_whole: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and models of folds to calibrate it.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            What ``kind`` says.
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).
        domains : array-like of shape (n_rows,), default=None
            For transfer; may be in ``domain_column``.
        keep_whole : array-like of shape (n_rows,), default=None
            Coarser ids that no fold may divide, for example users who have several sessions each.

        Returns
        -------
        self : ConformalGroupClassifier
        """
        self._check_parameters()
        trial = type(self)(**self.get_params(deep=False))
        trial._fit_checked(X, y, groups, domains, keep_whole)
        return self._take_over(trial)

    @classmethod
    def from_held_out(
        cls,
        fitted: BaseGroupClassifier,
        kind: str,
        proba_group: ArrayLike,
        y_group: ArrayLike,
        *,
        keep_whole: ArrayLike | None = None,
        coverage: float = 0.9,
    ) -> Self:
        """Calibrate a model on what models like it said of groups they had not seen.

        It costs nothing where folds have been run already. The model that answers has seen all
        groups, so that the promise is of practice, not of theory.

        Parameters
        ----------
        fitted : classifier
            Fitted to all groups, its classes in order.
        kind : {"majority", "presence", "proportions"}
        proba_group : array-like of shape (n_groups, n_classes)
            Probabilities, or shares, of groups while they were held out.
        y_group : array-like of shape (n_groups,) or (n_groups, n_classes)
            Positions of the labels among the classes, or shares.
        keep_whole : array-like of shape (n_groups,), default=None
            Coarser ids that no fold has divided; each counts once.
        coverage : float, default=0.9

        Returns
        -------
        clf : ConformalGroupClassifier
        """
        check_choice("kind", kind, (*_LABELS, "proportions"))
        made = cls(fitted, kind, coverage=coverage)
        made._check_parameters()
        made._adopt(fitted)
        proba, known = np.asarray(proba_group, dtype=float), np.asarray(y_group)
        at, code = np.arange(len(proba)), None
        unit = at if keep_whole is None else check_groups(keep_whole, len(at)).codes
        if kind == "proportions":
            score = np.abs(known - proba).max(axis=1)
        else:
            code = known.astype(np.intp)
            score = class_scores(proba, "plain")[at, code]
        scores = CalibrationScores.of_units(score, unit, code=code, sharp=True)
        made._store([fitted], fitted, scores)
        made.method_ = "held-out"
        return made

    def _adopt(self, fitted: Any) -> None:
        """Know of classes and features what a fitted model knows."""
        self.classes_, self.n_features_in_ = fitted.classes_, fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        self._categories = vars(fitted).get("_categories")
        self.n_groups_, self._fitted_with_groups = fitted.n_groups_, True
        self.kind_, self._per_class = self.kind, False
        self.target_domain_, self.density_ratio_ = None, None

    def _fit_checked(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        domains: Ids,
        keep_whole: ArrayLike | None,
    ) -> None:
        X, domains = split_column(
            X, self.domain_column, domains, name="domain", required=self.kind == "transfer"
        )
        X, groups = self._groups_to_fit(X, groups)
        numbers, codes, encoded, self.classes_ = _checked_labels(self, X, y, groups, self.kind)
        domain_codes = self._domain_codes(domains, encoded.n_rows)
        counted = None
        if domain_codes is not None and self.weighting is None:
            counted = domain_codes == 0
        data = training_data(
            as_given(X, numbers),
            numbers,
            codes,
            encoded,
            keep_whole=keep_whole,
            domains=domain_codes,
            counted=counted,
        )
        self._remember_groups(groups, encoded)
        self.kind_, self._per_class = self.kind, bool(self.per_class)
        self.target_domain_ = self.target_domain
        models, held_out, answering = self._fit_folds(data)
        self.density_ratio_ = None
        if self.weighting is not None and data.domains is not None:
            self.density_ratio_ = DensityRatio.fit(data.X, data.domains == 0)
        scores = self._calibrate(data, models, held_out)
        self._store(models, answering, scores)
        if self.per_class:
            for code, name in enumerate(self.classes_):
                self._warn_if_few(scores.of_class(code), f" of class {show(name)}")

    def _domain_codes(self, domains: Ids, n_rows: int) -> NDArray[np.intp] | None:
        """Codes of the domains, the target's 0; ``None`` where domains play no part."""
        if self.kind != "transfer":
            return None
        if domains is None:
            warn_caller(
                f"{type(self).__name__}.fit got no domains and takes every row for one of the "
                "target: were they lost on the way? Pass domains=, or domain_column= with the ids "
                "in X",
                GroupsLostWarning,
            )
            return np.zeros(n_rows, np.intp)
        encoded = check_groups(domains, n_rows, name="domains")
        return np.where(find_target_rows(encoded, self.target_domain, n_rows), 0, 1 + encoded.codes)

    def _calibrate(
        self, data: TrainingData, models: list[Any], held_out: list[NDArray[np.intp]]
    ) -> CalibrationScores:
        """Scores of what each model has not seen."""
        parts = []
        for fold, (model, rows) in enumerate(zip(models, held_out, strict=True)):
            asked = _safe_indexing(data.X, rows)
            found = self._asked(model, asked, data.groups_of(rows))
            y_row = data.y[rows]
            if self.kind_ in _ROWS:
                items, y_item, proba = rows, y_row, found.proba_row
            else:
                items = rows[found.groups.first_rows]
                y_item, proba = y_row[found.groups.first_rows], found.proba_group
            if self.kind_ == "proportions":
                spread = self._spread(found)
                score = (np.abs(y_item - proba) / spread).max(axis=1)
                y_item = np.zeros(len(items), np.intp)
            else:
                score = class_scores(proba, self.conformity)[np.arange(len(items)), y_item]
            ratio = np.ones(len(items))
            if self.density_ratio_ is not None:
                ratio = self.density_ratio_.weights(asked)
            parts.append((items, score, np.full(len(items), fold), y_item, ratio))
        items, score, fold_item, code, ratio = (
            np.concatenate(each) for each in zip(*parts, strict=True)
        )
        return CalibrationScores.of_units(
            score,
            data.whole.codes[items],
            fold=fold_item,
            code=code,
            ratio=ratio,
            sharp=self.method != "split",
        )

    def _spread(self, found: Predictions) -> NDArray[np.float64]:
        """What errors of shares are measured in."""
        groups = found.groups
        # before fit has stored it, the parameter; afterwards what fit was given
        if getattr(self, "conformity_", self.conformity) == "plain":
            return np.ones((groups.n_groups, len(self.classes_)))
        return poisson_binomial_spread(found.proba_row, groups.codes, groups.sizes)

    def _asked(self, model: Any, X: Any, groups: Groups) -> Predictions:
        found = model.predictions(X, groups).with_classes(np.arange(len(self.classes_)))
        return replace(found, classes=self.classes_)

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        return self._asked(self.estimator_, rows, groups)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self._predictions(rows, groups)
        return found.score_row, found.proba_row

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).proba_group

    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).y_row

    def _promised(self) -> str:
        if self.kind_ == "measure":
            return "rows of new groups drawn as these were"
        if self.kind_ == "transfer":
            where = "" if self.density_ratio_ is None else ", if the density ratio is right"
            return f"new rows of the target domain{where}"
        if self._per_class:
            return "new groups of each class, drawn as these were"
        return super()._promised()

    def predict_group_sets(
        self, X: MatrixLike, groups: Ids = None, *, coverage: float | None = None
    ) -> NDArray[np.bool_]:
        """Which classes each group may have.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.

        Returns
        -------
        inside : ndarray of bool of shape (n_groups, n_classes)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        if self.kind_ not in _LABELS:
            other = "predict_group_intervals" if self.kind_ == "proportions" else "predict_row_sets"
            raise GroupDataError(
                f"kind={self.kind_!r} has no label per group, so there are no sets of them; "
                f"{other} answers for it"
            )
        proba = self._of_folds(rows, encoded, "proba_group")
        return self._sets(proba, self._answer_groups_only(rows, encoded), coverage, None)

    def predict_row_sets(
        self, X: MatrixLike, groups: Ids = None, *, coverage: float | None = None
    ) -> NDArray[np.bool_]:
        """Which classes each row may have, where rows are labelled (measures, transfer).

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.

        Returns
        -------
        inside : ndarray of bool of shape (n_rows, n_classes)

        Raises
        ------
        GroupDataError
            Where only groups have labels: how often a row's set holds its label could not be
            checked on any data, so nothing can be promised.
        """
        rows, encoded = self._checked(X, groups)
        if self.kind_ not in _ROWS:
            raise GroupDataError(
                "nothing can be promised of single rows where only groups have labels: no data "
                "could show how often a row's set holds its label. predict_group_sets and "
                "predict_group_intervals answer for groups; with labelled rows, kind='measure'"
            )
        weight = None if self.density_ratio_ is None else self.density_ratio_.weights(rows)
        proba = self._of_folds(rows, encoded, "proba_row")
        answer = self._predictions(rows, encoded).proba_row
        return self._sets(proba, answer, coverage, weight)

    def predict_group_intervals(
        self,
        X: MatrixLike,
        groups: Ids = None,
        *,
        coverage: float | None = None,
        counts: bool = False,
    ) -> NDArray[np.float64]:
        """Lower and upper bound of each class's share in each group, all classes at once.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.
        counts : bool, default=False
            Numbers of rows instead of shares.

        Returns
        -------
        bounds : ndarray of shape (n_groups, n_classes, 2)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        if self.kind_ != "proportions":
            raise GroupDataError(
                f"intervals are of shares, kind='proportions'; this is kind={self.kind_!r}"
            )
        wanted = self._wanted(coverage)
        found = [self._asked(model, rows, encoded) for model in self.models_]
        bounds = np.empty((encoded.n_groups, len(self.classes_), 2))
        for code in range(len(self.classes_)):
            centre = np.stack([each.proba_group[:, code] for each in found])
            spread = np.stack([self._spread(each)[:, code] for each in found])
            bounds[:, code, 1] = self.calibration_.upper(centre, spread, wanted)
            bounds[:, code, 0] = -self.calibration_.upper(-centre, spread, wanted)
        bounds = np.clip(bounds, 0.0, 1.0)
        return whole_bounds(bounds, encoded.sizes) if counts else bounds

    def _of_folds(self, rows: Rows, groups: Groups, what: str) -> NDArray[np.float64]:
        """Probabilities by the model of each fold, (n_folds, n, n_classes)."""
        return np.stack([getattr(self._asked(model, rows, groups), what) for model in self.models_])

    def _sets(
        self,
        proba: NDArray[Any],
        answer: NDArray[Any],
        coverage: float | None,
        weight: NDArray[Any] | None,
    ) -> NDArray[np.bool_]:
        wanted, scores = self._wanted(coverage), class_scores(proba, self.conformity_)
        inside = np.empty(answer.shape, dtype=bool)
        for code in range(answer.shape[1]):
            known = self.calibration_.of_class(code) if self._per_class else self.calibration_
            inside[:, code] = known.keeps(
                scores[:, :, code], wanted, 1.0 if weight is None else weight
            )
        if self.conformity_ == "adaptive":
            inside[np.arange(len(answer)), answer.argmax(axis=1)] = True
        return inside

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None, domains: Ids = None) -> float:
        """What the estimator's own ``score`` says.

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
        """
        kind, column = self._kind_name, self.domain_column
        features, domains = split_column(X, column, domains, name="domain", required=False)
        rows, encoded = self._checked(features, groups, about_groups=kind != "transfer")
        if self.kind_ == "proportions":
            shares = check_known_shares(y, encoded, self.classes_)
            return float(self.estimator_.score(rows, shares, encoded))
        codes = class_codes(y, self.classes_, encoded)
        if self.kind_ != "transfer":
            return float(self.estimator_.score(rows, codes, encoded))
        known = None if domains is None else check_groups(domains, len(codes), name="domains")
        is_target = find_target_rows(known, self.target_domain_, len(codes))
        return float(self.estimator_.score(rows, codes, domains=np.where(is_target, 0, 1)))


def _checked_labels(
    estimator: Any, X: MatrixLike, y: ArrayLike, groups: Ids, kind: str
) -> tuple[Rows, NDArray[Any], Groups, NDArray[Any]]:
    """Rows as numbers, what the estimator inside is given for y, groups and classes."""
    if kind == "proportions":
        shares = check_shares(estimator, X, y, groups)
        spread = shares.groups.spread(shares.shares_group)
        return shares.X, spread, shares.groups, shares.classes
    data = check_labels(estimator, X, y, groups, one_label_per_group=kind in _LABELS)
    return data.X, data.y_row, data.groups, data.classes


def check_known_shares(y: ArrayLike, groups: Groups, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Shares of the classes of a fitted model, repeated on the rows."""
    return groups.spread(class_shares(y, groups, classes=classes)[0])


def whole_bounds(bounds: NDArray[np.float64], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Counts inside bounds of shares; where there is none, the one nearest their middle.

    Examples
    --------
    >>> whole_bounds(np.array([[[0.21, 0.69]], [[0.21, 0.29]]]), np.array([10, 3])).tolist()
    [[[3.0, 6.0]], [[1.0, 1.0]]]
    """
    of_rows = bounds * sizes[:, None, None]
    low, high = np.ceil(of_rows[..., 0] - 1e-9), np.floor(of_rows[..., 1] + 1e-9)
    middle = np.rint(of_rows.mean(axis=-1))
    empty = low > high
    return np.stack([np.where(empty, middle, low), np.where(empty, middle, high)], axis=-1)

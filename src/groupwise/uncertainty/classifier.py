"""Sets of classes and intervals of shares that hold the truth as often as they say."""

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier
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
    domain_codes,
    find_target_rows,
    split_column,
)
from groupwise.model_selection import Splitter
from groupwise.uncertainty.base import as_given
from groupwise.uncertainty.density_ratio import DensityRatio
from groupwise.uncertainty.held_out import TrainingData, training_data
from groupwise.uncertainty.quantiles import (
    CalibrationScores,
    class_scores,
)
from groupwise.uncertainty.sets import LABELS, ROWS, SetsMixin
from groupwise.uncertainty.share_intervals import ShareIntervalsMixin

__all__ = ["ConformalGroupClassifier"]


class ConformalGroupClassifier(SetsMixin, ShareIntervalsMixin, BaseGroupClassifier):
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
    (Lee, Barber and Willett 2023; Dunn, Wasserman and Ramdas 2023). ``"split"`` does what is proved
    of them, which with few units holds far more than it says; the others estimate how alike the
    items of a unit are.

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
        check_choice("kind", self.kind, (*LABELS, "proportions", *ROWS))
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
        return self._fit_trial(X, y, groups, keep_whole, domains)

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
        check_choice("kind", kind, (*LABELS, "proportions"))
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
        super()._adopt(fitted)
        self.classes_ = fitted.classes_
        self.kind_, self._per_class = self.kind, False
        self.target_domain_, self.density_ratio_ = None, None

    def _fit_checked(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        keep_whole: ArrayLike | None,
        domains: Ids,
    ) -> None:
        X, domains = split_column(
            X, self.domain_column, domains, name="domain", required=self.kind == "transfer"
        )
        X, groups = self._groups_to_fit(X, groups)
        numbers, codes, encoded, self.classes_ = _checked_labels(self, X, y, groups, self.kind)
        of_domain = self._domain_codes(domains, encoded.n_rows)
        counted = None
        if of_domain is not None and self.weighting is None:
            counted = of_domain == 0
        data = training_data(
            as_given(X, numbers),
            numbers,
            codes,
            encoded,
            keep_whole=keep_whole,
            domains=of_domain,
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
            if domains is not None:
                raise GroupDataError(f"domains are for kind='transfer', and kind is {self.kind!r}")
            return None
        if domains is None:
            warn_caller(
                f"{type(self).__name__}.fit got no domains and takes every row for one of the "
                "target: were they lost on the way? Pass domains=, or domain_column= with the ids "
                "in X",
                GroupsLostWarning,
            )
        return domain_codes(domains, self.target_domain, n_rows)

    def _calibrate(
        self, data: TrainingData, models: list[Any], held_out: list[NDArray[np.intp]]
    ) -> CalibrationScores:
        """Scores of what each model has not seen."""
        parts = []
        for fold, (model, rows) in enumerate(zip(models, held_out, strict=True)):
            asked = data.rows(rows)
            found = self._asked(model, asked, data.groups_of(rows))
            y_row = data.y[rows]
            if self.kind_ in ROWS:
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

    def _promised(self) -> str:
        if self.kind_ == "measure":
            return "rows of new groups drawn as these were"
        if self.kind_ == "transfer":
            where = "" if self.density_ratio_ is None else ", if the density ratio is right"
            return f"new rows of the target domain{where}"
        if self._per_class:
            return "new groups of each class, drawn as these were"
        return super()._promised()

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
            shares, _ = class_shares(y, encoded, classes=self.classes_)
            return float(self.estimator_.score(rows, encoded.spread(shares), encoded))
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
    data = check_labels(estimator, X, y, groups, one_label_per_group=kind in LABELS)
    return data.X, data.y_row, data.groups, data.classes

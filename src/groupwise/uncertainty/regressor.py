"""Intervals of groups' means and totals that hold the truth as often as they say."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.groups import Groups
from groupwise.inputs import check_groups, check_totals, group_means, group_totals
from groupwise.model_selection import Splitter
from groupwise.uncertainty.base import ConformalMixin, as_given
from groupwise.uncertainty.held_out import TrainingData, training_data
from groupwise.uncertainty.quantiles import CalibrationScores

__all__ = ["ConformalGroupRegressor"]


class ConformalGroupRegressor(ConformalMixin, BaseGroupRegressor):
    r"""Conformal intervals over whole groups, around any regressor of the library.

    An interval is :math:`\hat y \pm q \sigma_g`, where q is the
    :math:`\lceil (1 - \alpha)(G + 1) \rceil`-th smallest of the errors :math:`|y - \hat y| /
    \sigma_g` of G groups that the model has not seen; under ``"cross"`` and ``"jackknife+"`` each
    of these errors is put around the prediction of the model that made it (Barber et al. 2021).

    Parameters
    ----------
    estimator : regressor
        Any of this library's; its ``target`` says whether ``y`` is a mean or a total.
    coverage : float, default=0.9
    method : {"cross", "split", "jackknife+"}, default="cross"
    conformity : {"adaptive", "plain"}, default="adaptive"
        What errors are measured in: the standard deviation of independent rows'
        (:math:`\sqrt{n_g}` for totals, its inverse for means), or nothing.
    cv : int or splitter, default=5
    validation_fraction : float, default=0.2
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
        All as in :class:`ConformalGroupClassifier`, which tells what is promised.

    Attributes
    ----------
    estimator_ : regressor
    models_ : list of regressors
    calibration_ : CalibrationScores
    target_ : str
    guarantee_ : str
    n_calibration_ : int
    n_effective_ : float
    n_groups_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import ConformalGroupRegressor, GroupBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(300, 2)), np.repeat(np.arange(100), 3)
    >>> y = X[:, 0] + rng.normal(size=300)
    >>> reg = ConformalGroupRegressor(GroupBoostRegressor(n_estimators=10), cv=3, random_state=0)
    >>> reg.fit(X, y, groups=groups).predict_group_intervals(X, groups=groups).shape
    (100, 2)
    """

    __metadata_request__fit = {"groups": True, "keep_whole": True}  # noqa: RUF012

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        coverage: float = 0.9,
        method: str = "cross",
        conformity: str = "adaptive",
        cv: int | Splitter = 5,
        validation_fraction: float = 0.2,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.conformity = conformity
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.group_column = group_column
        self.random_state = random_state

    @classmethod
    def from_held_out(
        cls,
        fitted: BaseGroupRegressor,
        y_predicted: ArrayLike,
        y_group: ArrayLike,
        sizes: ArrayLike,
        *,
        keep_whole: ArrayLike | None = None,
        coverage: float = 0.9,
    ) -> Self:
        """Calibrate a model on what models like it said of groups they had not seen.

        As :meth:`ConformalGroupClassifier.from_held_out`.

        Parameters
        ----------
        fitted : regressor
            Fitted to all groups.
        y_predicted, y_group : array-like of shape (n_groups,)
            Means or totals: said of groups while they were held out, and known.
        sizes : array-like of shape (n_groups,)
            Rows of the groups.
        keep_whole : array-like of shape (n_groups,), default=None
            Coarser ids that no fold has divided; each counts once.
        coverage : float, default=0.9

        Returns
        -------
        reg : ConformalGroupRegressor
        """
        made = cls(fitted, coverage=coverage)
        made._check_parameters()
        made._adopt(fitted)
        made.target_ = fitted.target_
        error = np.abs(np.asarray(y_group, dtype=float) - np.asarray(y_predicted, dtype=float))
        at = np.arange(len(error))
        unit = at if keep_whole is None else check_groups(keep_whole, len(at)).codes
        score = error / made._spread(np.asarray(sizes), made.conformity)
        made._store([fitted], fitted, CalibrationScores.of_units(score, unit, sharp=True))
        made.method_ = "held-out"
        return made

    def _fit_checked(
        self, X: MatrixLike, y: ArrayLike, groups: Ids, keep_whole: ArrayLike | None
    ) -> None:
        X, groups = self._groups_to_fit(X, groups)
        self.target_ = str(getattr(self.estimator, "target", "mean"))
        checked = check_totals(self, X, y, groups, target=self.target_)
        data = training_data(
            as_given(X, checked.X), checked.X, checked.y_row, checked.groups, keep_whole=keep_whole
        )
        self._remember_groups(groups, checked.groups)
        models, held_out, answering = self._fit_folds(data)
        self._store(models, answering, self._calibrate(data, models, held_out))

    def _calibrate(
        self, data: TrainingData, models: list[Any], held_out: list[NDArray[np.intp]]
    ) -> CalibrationScores:
        known = group_totals if self.target_ == "total" else group_means
        y_group = known(data.y, data.groups, target=self.target_)
        score, fold_group = np.empty(data.groups.n_groups), np.full(data.groups.n_groups, -1)
        for fold, (model, rows) in enumerate(zip(models, held_out, strict=True)):
            groups = data.groups_of(rows)
            inside = data.groups.codes[rows[groups.first_rows]]
            found = model.predictions(data.rows(rows), groups)
            error = np.abs(y_group[inside] - found.y_group)
            score[inside] = error / self._spread(groups.sizes, self.conformity)
            fold_group[inside] = fold
        items = np.flatnonzero(fold_group >= 0)
        unit = data.whole.codes[data.groups.first_rows[items]]
        return CalibrationScores.of_units(
            score[items], unit, fold=fold_group[items], sharp=self.method != "split"
        )

    def _spread(self, sizes: NDArray[Any], conformity: str) -> NDArray[np.float64]:
        if conformity == "plain":
            return np.ones(len(sizes))
        root = np.sqrt(sizes)
        return root if self.target_ == "total" else 1.0 / root

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        return self.estimator_.predictions(rows, groups)

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).y_row

    def predict_group_intervals(
        self, X: MatrixLike, groups: Ids = None, *, coverage: float | None = None
    ) -> NDArray[np.float64]:
        """Lower and upper bound of each group's mean or total.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.

        Returns
        -------
        bounds : ndarray of shape (n_groups, 2)
            In the order of ``np.unique(groups)``; infinite where nothing can be promised.
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        wanted = self._wanted(coverage)
        centre = np.stack([model.predictions(rows, encoded).y_group for model in self.models_])
        spread = np.tile(self._spread(encoded.sizes, self.conformity_), (len(centre), 1))
        low = -self.calibration_.upper(-centre, spread, wanted)
        return np.column_stack([low, self.calibration_.upper(centre, spread, wanted)])

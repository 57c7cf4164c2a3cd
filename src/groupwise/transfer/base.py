"""What every transfer estimator shares: rows, their domains, and which domain counts."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.boosting import accepts_nan
from groupwise.boosting.protocol import Scores
from groupwise.boosting.votes import decide
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.parameters import check_choice, check_number
from groupwise.validation import check_grouped_rows, check_groups, check_rows

__all__ = [
    "BaseTransferClassifier",
    "BaseTransferRegressor",
    "TransferMixin",
    "TransferRows",
    "check_class_weight",
    "class_weighted",
    "domain_shares",
    "find_target_rows",
]


@dataclass(frozen=True)
class TransferRows:
    """Checked training data: rows, labels, domains, and which rows are of the target.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    y_row : ndarray of shape (n_rows,)
        Class codes, or values for regression.
    domains : Groups
        One domain if none were given.
    is_target : ndarray of bool of shape (n_rows,)
    weight_row : ndarray of shape (n_rows,)
        The caller's ``sample_weight``, all of it positive.
    classes : ndarray of shape (n_classes,)
        Empty for regression.
    X_unlabeled : {ndarray, sparse matrix} or None
    """

    X: Rows
    y_row: NDArray[Any]
    domains: Groups
    is_target: NDArray[np.bool_]
    weight_row: NDArray[np.float64]
    classes: NDArray[Any]
    X_unlabeled: "Rows | None" = None

    @property
    def n_source(self) -> int:
        return int(np.count_nonzero(~self.is_target))

    def for_fit(self) -> dict[str, Any]:
        """The arguments of the ``fit`` of another transfer classifier."""
        unlabeled = {} if self.X_unlabeled is None else {"X_unlabeled": self.X_unlabeled}
        return {
            "X": self.X,
            "y": self.classes[self.y_row],
            "domains": self.domains.spread(self.domains.names) if self.n_source else None,
            "sample_weight": self.weight_row,
            **unlabeled,
        }

    def take(self, rows: NDArray[Any]) -> "TransferRows":
        """The same for some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y_row=self.y_row[rows],
            domains=Groups(self.domains.spread(self.domains.names)[rows]),
            is_target=self.is_target[rows],
            weight_row=self.weight_row[rows],
        )


def find_target_rows(
    domains: Groups | None, target_domain: Hashable | None, n_rows: int
) -> NDArray[np.bool_]:
    """Which rows are of the target domain; without domains, all of them.

    Raises
    ------
    GroupDataError
        If ``target_domain`` does not say which of several domains is meant, or names none of them.
    """
    if domains is None:
        return np.ones(n_rows, dtype=bool)
    if target_domain is None:
        if domains.n_groups > 1:
            raise GroupDataError(
                f"target_domain must name one of the domains {_listed(domains)}, got None"
            )
        return np.ones(n_rows, dtype=bool)
    position = [code for code, name in enumerate(domains.names) if name == target_domain]
    if not position:
        raise GroupDataError(
            f"there is no row of the target domain {show(target_domain)}; domains holds "
            f"{_listed(domains)}"
        )
    return domains.codes == position[0]


def domain_shares(weight_row: NDArray[Any], is_target: NDArray[np.bool_], share: float) -> NDArray:
    """Scale weights so that the target has this share of a total of 1; all of it if it is alone."""
    if is_target.all():
        return weight_row / weight_row.sum()
    mass = np.where(is_target, share, 1.0 - share)
    total = np.where(is_target, weight_row[is_target].sum(), weight_row[~is_target].sum())
    return weight_row * mass / total


def _listed(domains: Groups) -> str:
    names = [show(name) for name in domains.names[:8]]
    return "[" + ", ".join(names) + (", ..." if domains.n_groups > 8 else "") + "]"


class TransferMixin:
    """Domains in and target rows out, for classifiers and regressors alike."""

    __metadata_request__fit = {"domains": True, "X_unlabeled": True}  # noqa: RUF012
    __metadata_request__score = {"domains": True}  # noqa: RUF012

    target_domain: Hashable | None

    def _target_rows(self, domains: Ids, n_rows: int) -> NDArray[np.bool_]:
        encoded = None if domains is None else check_groups(domains, n_rows, name="domains")
        return find_target_rows(encoded, self.target_domain, n_rows)

    def _features(self, X: MatrixLike) -> MatrixLike:
        return X

    def _with_domains(
        self,
        rows: tuple[Rows, NDArray[Any], NDArray[Any]],
        domains: Ids,
        sample_weight: ArrayLike | None,
        X_unlabeled: "MatrixLike | None",
        need_target: bool,
    ) -> TransferRows:
        """Add to checked (X, y, classes) what transfer knows beyond them."""
        X, y_row, classes = rows
        n_rows = _num_samples(X)
        weight_row = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        encoded = (
            Groups(np.zeros(n_rows, dtype=int))
            if domains is None
            else check_groups(domains, n_rows, name="domains")
        )
        given, target = None if domains is None else encoded, self.target_domain
        if need_target or target is None or target in encoded.names.tolist():
            is_target = find_target_rows(given, target, n_rows)
        else:
            is_target = np.zeros(n_rows, dtype=bool)
        if X_unlabeled is not None:
            X_unlabeled = check_rows(self, X_unlabeled)
        data = TransferRows(X, y_row, encoded, is_target, weight_row, classes, X_unlabeled)
        if not weight_row.all():  # a row of weight zero is no row
            data = data.take(np.flatnonzero(weight_row))
            if need_target and not data.is_target.any():
                raise GroupDataError("every row of the target domain has sample_weight 0")
        return data

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


ClassWeight = str | Mapping[Any, float] | None


def check_class_weight(class_weight: ClassWeight) -> None:
    """Refuse what is neither ``None``, ``"balanced"`` nor a positive weight per class."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            check_number(f"class_weight of {show(label)}", weight, "(0, inf)")
    else:
        check_choice("class_weight", class_weight, ("balanced",), none=True)


def class_weighted(
    weight_row: NDArray[Any],
    y_row: NDArray[np.intp],
    classes: NDArray[Any],
    class_weight: ClassWeight,
) -> NDArray[Any]:
    """Weights with the same total in every class (``"balanced"``), or times those of a dict."""
    if class_weight is None:
        return weight_row
    if isinstance(class_weight, str):
        return weight_row / np.bincount(y_row, weights=weight_row)[y_row]
    return weight_row * np.array([class_weight.get(c, 1.0) for c in classes.tolist()])[y_row]


class BaseTransferClassifier(TransferMixin, ClassifierMixin, BaseEstimator):
    """Base of the transfer classifiers.

    A subclass has a constructor parameter ``target_domain``, writes ``fit`` (through
    :meth:`_check_training`) and stores ``ensemble_`` or writes ``decision_function``. ``domains``
    is requested by default in scikit-learn's metadata routing, in ``fit`` and ``score``.
    """

    estimator: Any
    classes_: NDArray[Any]
    ensemble_: Scores

    def _check_training(
        self,
        X: MatrixLike,
        y: ArrayLike,
        domains: Ids,
        sample_weight: ArrayLike | None = None,
        X_unlabeled: "MatrixLike | None" = None,
        *,
        need_target: bool = True,
    ) -> TransferRows:
        """Check the data and store what every fitted model knows of it."""
        rows = check_grouped_rows(self, X, y, None)  # domains are checked under their own name
        data = self._with_domains(
            (rows.X, rows.y_row, rows.classes), domains, sample_weight, X_unlabeled, need_target
        )
        self.classes_ = rows.classes
        if len(np.unique(data.y_row)) < 2:
            raise GroupDataError(
                "the rows with sample_weight above 0 hold one class only; "
                "a classifier needs at least two"
            )
        return data

    def _allows_nan(self) -> bool:
        return accepts_nan(self.estimator)

    def decision_function(self, X: MatrixLike) -> NDArray[Any]:
        """Score of each row, taken for a row of the target domain.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.ensemble_.score(check_rows(self, self._features(X)))

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Predict the class of each row; a tie of two classes goes to the second.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.classes_[decide(self.decision_function(X))]

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        domains: Ids = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Share of the target domain's rows that are predicted right.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            Rows of other domains do not count. ``None``: all rows are of the target.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        accuracy : float
        """
        rows = self._target_rows(domains, _num_samples(X))
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(
            accuracy_score(np.asarray(y)[rows], self.predict(X)[rows], sample_weight=weight)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_nan()
        return tags


class BaseTransferRegressor(TransferMixin, RegressorMixin, BaseEstimator):
    """Base of the transfer regressors; the same contract as the classifiers'."""

    __metadata_request__fit = {"domains": True}  # noqa: RUF012

    def _check_training(
        self, X: MatrixLike, y: ArrayLike, domains: Ids, sample_weight: ArrayLike | None = None
    ) -> TransferRows:
        """Check the data."""
        rows, y_row = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True
        )
        known = rows, np.asarray(y_row, dtype=float), np.empty(0)
        return self._with_domains(known, domains, sample_weight, None, True)

    @abstractmethod
    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Predict the value of each row."""

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        domains: Ids = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Coefficient of determination on the target domain's rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            Rows of other domains do not count. ``None``: all rows are of the target.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        r2 : float
        """
        rows = self._target_rows(domains, _num_samples(X))
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(r2_score(np.asarray(y)[rows], self.predict(X)[rows], sample_weight=weight))

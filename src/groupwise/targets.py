"""Checked training data of boosters and networks: rows and what a loss is told of groups."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import (
    ClassWeight,
    check_groups,
    check_known_classes,
    check_labels,
    check_rows,
    check_shares,
    check_totals,
    check_weights,
    class_codes,
    class_shares,
    group_means,
    group_numbers,
    is_table,
)
from groupwise.inputs.labels import require_y
from groupwise.inputs.rows import check_features, expecting, remember_features
from groupwise.losses import BoundLoss, GroupLoss, ReportedCountLoss
from groupwise.metrics import concordance
from groupwise.rules import Rule, get_rule

__all__ = [
    "GroupTargets",
    "check_class_targets",
    "check_known_targets",
    "check_number_targets",
    "check_reports",
    "codes_and_classes",
    "combine_scores",
    "group_target",
    "group_truth",
    "known_codes",
    "mean_of_known",
    "mean_of_rows",
    "report_classes",
    "resolve_rule",
    "score_by_group",
    "score_of_times",
]


@dataclass(frozen=True)
class GroupTargets:
    """Checked rows with what is known of their groups: what a loss is bound to.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    y_row : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class codes, numbers, or shares, as far as the rows know them.
    groups : Groups
    weight_row : ndarray of shape (n_rows,), default=None
    classes : ndarray of shape (n_classes,), default=None
        ``None`` for numbers.
    exposure_row : ndarray of shape (n_rows,), default=None
        What multiplies the rows' rates.
    """

    X: Rows
    y_row: NDArray[Any]
    groups: Groups
    weight_row: NDArray[Any] | None = None
    classes: NDArray[Any] | None = None
    exposure_row: NDArray[Any] | None = None

    @property
    def n_classes(self) -> int:
        """How many classes; 2 for numbers, which have one score as two classes do."""
        return 2 if self.classes is None else len(self.classes)

    @property
    def n_groups(self) -> int:
        """Groups that something is known of."""
        return self.groups.n_groups

    def take(self, rows: NDArray[np.intp]) -> "GroupTargets":
        """Some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y_row=self.y_row[rows],
            groups=Groups(self.groups.names[self.groups.codes[rows]]),
            weight_row=None if self.weight_row is None else self.weight_row[rows],
            exposure_row=None if self.exposure_row is None else self.exposure_row[rows],
        )

    def exposed(self, exposure: ArrayLike | None, loss: GroupLoss) -> "GroupTargets":
        """The same with exposures of the rows, where there are any."""
        if exposure is None:
            return self
        if not getattr(loss, "takes_exposure", False):
            raise ValueError(f"exposure is for losses of counts ('poisson'), not for {loss!r}")
        return replace(self, exposure_row=check_exposure(exposure, self.groups))

    def class_weighted(self, class_weight: ClassWeight) -> "GroupTargets":
        """Groups weighed by their class: ``"balanced"`` gives all classes the same total."""
        if class_weight is None or self.classes is None:
            return self
        code_group = self.y_row[self.groups.first_rows]
        if isinstance(class_weight, str):
            n_of_class = np.bincount(code_group, minlength=self.n_classes)
            of_class = self.groups.n_groups / (self.n_classes * np.maximum(n_of_class, 1))
        else:
            of_class = np.array([class_weight.get(label, 1.0) for label in self.classes.tolist()])
        weight_row = of_class[self.y_row]
        return replace(
            self, weight_row=weight_row if self.weight_row is None else self.weight_row * weight_row
        )

    def with_weight(self) -> "GroupTargets":
        """Rows of weight zero left out, as if they were not there."""
        kept = self
        if self.weight_row is not None and not (self.weight_row > 0).all():
            rows = np.flatnonzero(self.weight_row > 0)
            if len(rows) == 0:
                raise GroupDataError("sample_weight must be positive on some row")
            kept = self.take(rows)
        one_class = self.classes is not None and kept.y_row.ndim == 1
        if one_class and (kept.y_row == kept.y_row[0]).all():
            raise GroupDataError(
                "only one class is left after rows of weight 0 are left out; "
                "a classifier needs at least two"
            )
        return kept

    def strata(self, loss: GroupLoss) -> tuple[NDArray[np.intp], list[str]] | None:
        """What groups held out must have some of: a code per group, and each code in words.

        The classes of groups that have one, the events of survival times; else ``None``.
        """
        known = self.y_row[self.groups.first_rows]
        if loss.target_kind == "label" and self.classes is not None:
            return known, [f"group of class {show(label)}" for label in self.classes]
        if loss.target_kind == "time" and (known < 0).sum() > 1:
            return (known > 0).astype(np.intp), ["group without the event", "group with the event"]
        return None

    def bind(self, loss: GroupLoss) -> BoundLoss:
        """The loss of these rows' scores."""
        target = group_target(loss, self.y_row, self.groups, self.n_classes)
        bound = loss.bind(target, self.groups, n_classes=self.n_classes, weight_row=self.weight_row)
        if self.exposure_row is None:
            return bound
        return bound.with_offset(np.log(self.exposure_row))


def check_exposure(exposure: ArrayLike, groups: Groups) -> NDArray[np.float64]:
    """One positive number per row.

    Raises
    ------
    GroupDataError
        For a number that is not positive; the message names the group.
    """
    found = np.asarray(exposure, dtype=float)
    if found.shape != (groups.n_rows,):
        raise GroupDataError(
            f"exposure must hold one number per row: got shape {found.shape} for "
            f"{groups.n_rows} rows"
        )
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise GroupDataError(
            "exposure must hold a positive number on every row; group "
            f"{show(groups.names[groups.codes[row]])} holds {show(found[row])}"
        )
    return found


def check_class_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: Ids,
    sample_weight: ArrayLike | None,
    loss: GroupLoss,
) -> GroupTargets:
    """Check training data of a classifier.

    Raises
    ------
    GroupDataError
        For labels that differ inside a group where they may not, shares that do not add up, or
        fewer than two classes.
    """
    y_row: NDArray[Any]
    _refuse_several(loss)
    if loss.target_kind in ("report", "labels"):
        require_y(estimator, y)
        rows = check_features(estimator, X)
        encoded = check_groups(groups, _num_samples(rows))
        y_row, classes = codes_and_classes(y, encoded, loss)
        if np.isnan(group_truth(loss, y_row, encoded, len(classes))).all():
            raise GroupDataError(f"y holds no {loss.target_kind.rstrip('s')} of any group")
        remember_features(estimator, X)
    elif loss.target_kind == "share" and is_table(y):
        shares = check_shares(estimator, X, y, groups)
        rows, encoded, classes = shares.X, shares.groups, shares.classes
        y_row = encoded.spread(class_shares(y, encoded)[0])
    else:
        data = check_labels(
            estimator, X, y, groups, one_label_per_group=loss.target_kind == "label"
        )
        rows, y_row, encoded, classes = data.X, data.y_row, data.groups, data.classes
    if loss.binary and len(classes) != 2:
        raise ValueError(
            f"Only binary classification is supported by {loss!r}, which knows groups with and "
            f"without a positive row; y holds {len(classes)} classes"
        )
    return GroupTargets(rows, y_row, encoded, check_weights(sample_weight, rows), classes)


def _refuse_several(loss: GroupLoss) -> None:
    if loss.target_kind == "several":
        raise ValueError(f"{loss!r} is for GroupBoostClassifier and GroupBoostRegressor")


def check_reports(
    y: ArrayLike, groups: Groups, classes: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """What is reported of each row's group, NaN where nothing is.

    Parameters
    ----------
    y : array-like of shape (n_rows,), (n_rows, 2), (n_rows, n_classes) or (n_rows, n_classes, 2)
        A number, the ends of a range, or either of each of three or more classes, repeated on
        the group's rows. A DataFrame of ranges has columns of two levels, the class and its ends.
    groups : Groups
    classes : ndarray, default=None
        Those of a fitted model, to be found in ``y``.

    Returns
    -------
    told : ndarray of shape (n_rows, 2), (n_rows, n_classes) or (n_rows, n_classes, 2)
        The ends of a range (equal for a number), or numbers or ranges of each class.

    Raises
    ------
    GroupDataError
        Where the rows of a group do not agree, or it is neither.
    """
    table: Any = y
    columns = getattr(y, "columns", None)
    of_ranges = getattr(columns, "nlevels", 1) > 1
    if classes is not None and len(classes) > 2 and columns is not None:
        absent = [name for name in classes.tolist() if name not in columns]
        if absent:
            raise GroupDataError(f"y has no column for the classes {absent}: {list(columns)}")
        table = table[classes.tolist()]
    with expecting("y", "reported counts"):
        told = np.asarray(table, dtype=float)
    if of_ranges:
        _check_two_ends(table.columns)
        told = told.reshape(len(told), -1, 2)
    of_each = told.ndim == 3 and told.shape[1] > 2 and told.shape[2] == 2
    if len(told) != groups.n_rows or (told.ndim > 2 and not of_each):
        raise GroupDataError(
            f"y must hold a reported count per row, the ends of its range, or one of these of each "
            f"of three or more classes: got shape {told.shape} for {groups.n_rows} rows"
        )
    told = told[:, 0] if told.ndim == 2 and told.shape[1] == 1 else told
    told = np.column_stack([told, told]) if told.ndim == 1 else told
    if classes is not None and told.shape[1] != len(classes):
        raise GroupDataError(
            f"y must hold what is reported of the classes {classes.tolist()}: got shape "
            f"{told.shape}"
        )
    return _same_on_rows(told, groups)


def _check_two_ends(columns: Any) -> None:
    """Of each class one after the other, the ends of its range; of three classes and more."""
    classes = list(columns.get_level_values(0))
    side_by_side = classes[::2] == classes[1::2] and 2 * len(set(classes)) == len(classes)
    if columns.nlevels != 2 or not side_by_side:
        raise GroupDataError(
            "y must have two columns per class side by side, the ends of its range; its columns "
            f"are {list(columns)}"
        )
    if len(columns) < 6:
        raise GroupDataError(
            "y must have two columns, the ends of the range of the second of two classes; ranges "
            "of each class are for three and more"
        )


def report_classes(y: ArrayLike) -> NDArray[Any]:
    """The classes that reports are of: 0 and 1, or a table's columns where there are more."""
    columns = getattr(y, "columns", None)
    if getattr(columns, "nlevels", 1) > 1:
        # ignored: only an index has levels
        return np.asarray(columns.get_level_values(0)[::2])  # type: ignore[union-attr]
    shape = np.asarray(y).shape
    if len(shape) < 2 or shape[1] <= 2:
        return np.array([0, 1])
    return np.arange(shape[1]) if columns is None else np.asarray(columns)


def _same_on_rows(told: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """A table of numbers, NaN among them, that all rows of a group agree on."""
    first = told[groups.first_rows][groups.codes]
    differs = ~((told == first) | (np.isnan(told) & np.isnan(first)))
    if differs.any():
        row, *place = np.argwhere(differs)[0]
        raise GroupDataError(
            f"y must be the same on every row of a group; group "
            f"{show(groups.names[groups.codes[row]])} holds {show(first[(row, *place)])} and "
            f"{show(told[(row, *place)])}"
        )
    return told


def check_number_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: Ids,
    sample_weight: ArrayLike | None,
    target: str,
    loss: GroupLoss,
) -> GroupTargets:
    """Check training data of a regressor; ``y_row`` holds the groups' means, or their times."""
    _refuse_several(loss)
    data = check_totals(estimator, X, y, groups, target=target)
    if loss.target_kind == "time":
        data.groups.one_per_group(data.y_row)
    mean_row = data.groups.spread(data.mean_group)
    return GroupTargets(data.X, mean_row, data.groups, check_weights(sample_weight, data.X))


def check_known_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None,
    groups: Ids,
    loss: GroupLoss,
    *,
    classes: NDArray[Any] | None = None,
    target: str = "mean",
) -> GroupTargets:
    """Check rows that are looked at, not trained on: of known classes, or with numbers."""
    if y is None:
        raise ValueError("X_val needs y_val")
    rows = check_rows(estimator, X)
    encoded = check_groups(groups, _num_samples(rows), name="groups_val")
    if classes is None:
        if loss.target_kind == "time":
            encoded.one_per_group(np.asarray(y))
        return GroupTargets(rows, mean_of_rows(y, encoded, target), encoded)
    return GroupTargets(rows, known_codes(y, encoded, loss, classes), encoded, classes=classes)


def codes_and_classes(
    y: ArrayLike, groups: Groups, loss: GroupLoss
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Class codes of the rows (or a table of shares, or of reports) and the classes.

    For labels that belong to groups the group's rows must agree.
    """
    if loss.target_kind == "report":
        return check_reports(y, groups), report_classes(y)
    if loss.target_kind == "labels":
        with expecting("y", "a table of labels that are 0, 1 or missing"):
            table = np.asarray(y, dtype=float).reshape(groups.n_rows, -1)
        columns = getattr(y, "columns", None)
        names = np.arange(table.shape[1]) if columns is None else np.asarray(columns)
        return _same_on_rows(table, groups), names
    if loss.target_kind == "share" and is_table(y):
        shares_group, classes = class_shares(y, groups)
        return groups.spread(shares_group), classes
    labels = np.asarray(y)
    if loss.target_kind == "label":
        groups.one_per_group(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return codes, classes


def known_codes(
    y: ArrayLike, groups: Groups, loss: GroupLoss, classes: NDArray[Any]
) -> NDArray[Any]:
    """Class codes of the rows (or a table of them) for data other than the training data."""
    if loss.target_kind == "report":
        return check_reports(y, groups, classes)
    if loss.target_kind == "labels":
        return _known_labels(y, groups, loss, classes)
    if loss.target_kind == "share" and is_table(y):
        return groups.spread(class_shares(y, groups, classes=classes)[0])
    if loss.target_kind == "label":
        groups.one_per_group(check_known_classes(y, classes, groups))
    return class_codes(y, classes, groups)


def _known_labels(
    y: Any, groups: Groups, loss: GroupLoss, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Which of these labels each row's group has, NaN where that is not known."""
    table = y if getattr(y, "columns", None) is None else y[classes.tolist()]
    y_row = codes_and_classes(table, groups, loss)[0]
    if y_row.shape[1] != len(classes):
        raise GroupDataError(
            f"y must have a column for each of {len(classes)} labels, got {y_row.shape[1]}"
        )
    return y_row


def mean_of_rows(y: ArrayLike, groups: Groups, target: str) -> NDArray[Any]:
    """The group's mean on each of its rows, from its mean or (``target="total"``) its total."""
    y_row = group_numbers(y, groups, target=target)
    return groups.spread(group_means(y_row, groups, target=target))


def group_truth(
    loss: GroupLoss, y_row: NDArray[Any], groups: Groups, n_classes: int
) -> NDArray[Any]:
    """What predictions of groups are compared with: class codes or shares, NaN where unknown."""
    target = group_target(loss, y_row, groups, n_classes)
    return loss.shares(target, groups) if isinstance(loss, ReportedCountLoss) else target


def group_target(
    loss: GroupLoss, y_row: NDArray[Any], groups: Groups, n_classes: int
) -> NDArray[Any]:
    """The target of each group, in the order of ``groups.names``."""
    if loss.target_kind == "share" and y_row.ndim == 1:
        cell = groups.codes * n_classes + y_row
        counts = np.bincount(cell, minlength=groups.n_groups * n_classes)
        return counts.reshape(-1, n_classes) / groups.sizes[:, None]
    return y_row[groups.first_rows]


def resolve_rule(rule: str | Rule | None, loss: GroupLoss) -> Rule | None:
    """The rule by which rows decide for their group; ``None`` where the loss does."""
    return loss.default_rule if rule is None else get_rule(rule)


def combine_scores(
    score_row: NDArray[Any], groups: Groups, loss: GroupLoss, rule: Rule | None
) -> NDArray[Any]:
    """Probability of each class for each group, (n_groups, n_classes), from scores of rows."""
    if rule is None:
        return loss.proba_groups(score_row, groups)
    return rule.combine(loss.proba(score_row), groups)


def score_by_group(proba_group: NDArray[Any], target_group: NDArray[Any]) -> NDArray[Any]:
    """How well each group is predicted.

    Parameters
    ----------
    proba_group : ndarray of shape (n_groups, n_classes)
    target_group : ndarray of shape (n_groups,) or (n_groups, n_classes)
        Class codes or shares.

    Returns
    -------
    score : ndarray of shape (n_groups,)
        1 where the class is right, else 0; for shares 1 less the total variation distance, of the
        classes whose share is known, NaN where none is.
    """
    if target_group.ndim == 2:
        gap = np.abs(proba_group - target_group)
        unknown = np.isnan(gap)
        score = 1.0 - 0.5 * np.where(unknown, 0.0, gap).sum(axis=1)
        return np.where(unknown.all(axis=1), np.nan, score)
    return (proba_group.argmax(axis=1) == target_group).astype(float)


def mean_of_known(score_group: NDArray[Any]) -> float:
    """Over groups of which something is reported."""
    return float(score_group[~np.isnan(score_group)].mean())


def score_of_times(y: ArrayLike, groups: Groups, risk_group: NDArray[Any]) -> float:
    """The concordance of groups' survival times, the same on all of a group's rows."""
    y_row = group_numbers(y, groups, target="total")
    return concordance(y_row[groups.first_rows], risk_group)

"""Domains of rows, and which of them is the target."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from groupwise._typing import Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.rows import check_groups, check_weights

__all__ = ["DomainRows", "check_domains", "domain_codes", "domain_shares", "find_target_rows"]


@dataclass(frozen=True)
class DomainRows:
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
    X_unlabeled: Rows | None = None

    @property
    def n_source(self) -> int:
        return int(np.count_nonzero(~self.is_target))

    def take(self, rows: NDArray[Any]) -> "DomainRows":
        """The same for some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y_row=self.y_row[rows],
            domains=Groups(self.domains.spread(self.domains.names)[rows]),
            is_target=self.is_target[rows],
            weight_row=self.weight_row[rows],
        )


def check_domains(
    X: Rows,
    y_row: NDArray[Any],
    classes: NDArray[Any],
    domains: ArrayLike | Groups | None,
    *,
    target_domain: Any,
    sample_weight: ArrayLike | None = None,
    X_unlabeled: Rows | None = None,
    need_target: bool = True,
) -> DomainRows:
    """Add to checked rows and labels what transfer knows beyond them.

    Rows of weight zero are left out. With ``need_target`` at least one row of the target domain
    has to remain.
    """
    n_rows = _num_samples(X)
    given_weight = check_weights(sample_weight, X)
    weight_row = np.ones(n_rows) if given_weight is None else given_weight
    encoded = (
        Groups(np.zeros(n_rows, dtype=int))
        if domains is None
        else check_groups(domains, n_rows, name="domains")
    )
    given = None if domains is None else encoded
    if need_target or given is None or target_domain in (None, *given.names.tolist()):
        is_target = find_target_rows(given, target_domain, n_rows)
    else:
        is_target = np.zeros(n_rows, dtype=bool)
    data = DomainRows(X, y_row, encoded, is_target, weight_row, classes, X_unlabeled)
    if not weight_row.all():  # a row of weight zero is no row
        data = data.take(np.flatnonzero(weight_row))
        if need_target and not data.is_target.any():
            raise GroupDataError("every row of the target domain has sample_weight 0")
    return data


def find_target_rows(domains: Groups | None, target_domain: Any, n_rows: int) -> NDArray[np.bool_]:
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


def domain_codes(
    domains: ArrayLike | Groups | None, target_domain: Any, n_rows: int
) -> NDArray[np.intp]:
    """Codes of the rows' domains, 0 for the target's; without domains, 0 for all.

    Examples
    --------
    >>> domain_codes(["b", "a", "b"], "b", 3).tolist()
    [0, 1, 0]
    """
    if domains is None:
        return np.zeros(n_rows, np.intp)
    encoded = check_groups(domains, n_rows, name="domains")
    return np.where(find_target_rows(encoded, target_domain, n_rows), 0, 1 + encoded.codes)


def domain_shares(
    weight_row: NDArray[np.float64], is_target: NDArray[np.bool_], share: float
) -> NDArray[np.float64]:
    """Scale weights so that the target has this share of a total of 1; all of it if it is alone."""
    if is_target.all():
        return weight_row / weight_row.sum()
    mass = np.where(is_target, share, 1.0 - share)
    total = np.where(is_target, weight_row[is_target].sum(), weight_row[~is_target].sum())
    return weight_row * mass / total


def _listed(domains: Groups) -> str:
    names = [show(name) for name in domains.names[:8]]
    return "[" + ", ".join(names) + (", ..." if domains.n_groups > 8 else "") + "]"

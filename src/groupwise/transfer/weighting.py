"""How much the rows of source and target weigh in one joint fit: small printable values."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from groupwise._typing import Rows
from groupwise.exceptions import GroupDataError
from groupwise.inputs import LARGEST_VALUE, DomainRows, check_number, domain_shares, refuse_size
from groupwise.transfer.density_ratio import KLIEP, KernelMeanMatching, LogisticRatio, stack

__all__ = [
    "AuxiliaryRatio",
    "DensityRatio",
    "PooledRows",
    "TargetOnly",
    "TargetShare",
    "Weighting",
    "get_weighting",
]


@runtime_checkable
class Weighting(Protocol):
    """What a weighting has to offer."""

    #: Whether labelled rows of the target are needed.
    needs_target: bool

    def weigh(self, data: DomainRows) -> NDArray[np.float64]:
        """A weight for every row, zero where a row is left out; a fresh array."""
        ...


@dataclass(frozen=True)
class TargetOnly:
    """The target's rows alone: the baseline that says what transfer is worth."""

    needs_target = True

    def weigh(self, data: DomainRows) -> NDArray[np.float64]:
        return np.where(data.is_target, data.weight_row, 0.0)


@dataclass(frozen=True)
class PooledRows:
    """All rows alike, whatever their domain (the paper's SVMt)."""

    needs_target = False

    def weigh(self, data: DomainRows) -> NDArray[np.float64]:
        return data.weight_row.copy()


@dataclass(frozen=True)
class TargetShare:
    """The target's rows together have this share of all weight; 0.5 is equal mass."""

    share: float = 0.5
    needs_target = True

    def __post_init__(self) -> None:
        check_number("share", self.share, "(0, 1)")

    def weigh(self, data: DomainRows) -> NDArray[np.float64]:
        return domain_shares(data.weight_row, data.is_target, self.share)


@dataclass(frozen=True)
class AuxiliaryRatio:
    """A target row weighs ``ratio`` times a source row.

    AUX: the costs :math:`C_p` of primary and :math:`C_a` of auxiliary rows of Wu and Dietterich
    (2004), :math:`C_p / C_a` = ``ratio``. Dai et al. (2007) use 4.
    """

    ratio: float = 4.0
    needs_target = True

    def __post_init__(self) -> None:
        check_number("ratio", self.ratio, "(0, inf)")

    def weigh(self, data: DomainRows) -> NDArray[np.float64]:
        return data.weight_row * np.where(data.is_target, self.ratio, 1.0)


@runtime_checkable
class DensityRatio(Protocol):
    """An estimate of :math:`p_{target}(x) / p_{source}(x)` on the source's rows."""

    def ratio(self, X_source: Rows, X_target: Rows) -> NDArray[np.float64]:
        """One value >= 0 per source row."""
        ...


@dataclass(frozen=True)
class Importance:
    """Source rows weigh as their density in the target says; labels of the target are optional.

    The target's sample is its labelled rows and ``X_unlabeled`` together. Source weights are scaled
    to mean 1, labelled rows of the target keep theirs.
    """

    density_ratio: DensityRatio
    needs_target = False

    def weigh(self, data: DomainRows) -> NDArray[np.float64]:
        X_target = stack(data.X[data.is_target], data.X_unlabeled)
        if X_target.shape[0] == 0:
            raise GroupDataError(
                "importance weighting needs rows of the target: labelled ones among the training "
                "rows, or X_unlabeled"
            )
        weight = data.weight_row.copy()
        source = ~data.is_target
        if source.any():
            for rows in (data.X, X_target):  # which the learner may take as they are
                values: Any = rows.data if issparse(rows) else rows
                if np.isnan(values).any():
                    raise GroupDataError("importance weighting needs X without missing values")
                refuse_size("X", rows, LARGEST_VALUE, name="importance weighting")
            ratio = self.density_ratio.ratio(data.X[source], X_target)
            total = ratio.sum()
            if not 0 < total < np.inf:
                raise GroupDataError(
                    f"importance weighting finds no row of the source near the target (weights "
                    f"sum to {total:g}); scale X"
                )
            weight[source] *= ratio * (len(ratio) / total)
        return weight


def get_weighting(weighting: str | Weighting | DensityRatio) -> Weighting:
    """Look a weighting up by name, or take the object as it is."""
    named: dict[str, Weighting] = {
        "target_only": TargetOnly(),
        "union": PooledRows(),
        "equal_mass": TargetShare(0.5),
        "aux": AuxiliaryRatio(4.0),
        "logistic": Importance(LogisticRatio()),
        "kliep": Importance(KLIEP()),
        "kmm": Importance(KernelMeanMatching()),
    }
    if isinstance(weighting, str) and weighting in named:
        return named[weighting]
    if isinstance(weighting, Weighting):
        return weighting
    if isinstance(weighting, DensityRatio):
        return Importance(weighting)
    raise ValueError(
        f"weighting must be one of {sorted(named)} or an object with weigh() or ratio(), "
        f"got {weighting!r}"
    )

"""The rounds of boosting: one loop, which every method drives by its own update."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_ERROR", "Learns", "Rounds", "boost", "row_loss", "step_size"]

#: A hypothesis without error would get an infinite weight; this is the smallest error it counts as.
LEAST_ERROR = 5e-11


class Learns(Protocol):
    """What gives a hypothesis for weights: a run of a weak learner, of a regressor, a pool."""

    def fit(self, target: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
        """Add the hypothesis for these targets and weights; what it says of the same rows."""
        ...


class Rounds(ABC):
    """The state of a boosting method between rounds, in its paper's symbols.

    A method stores ``weight_row`` and writes :meth:`update`.

    Attributes
    ----------
    weight_row : ndarray of shape (n_rows,)
        The weights that the next hypothesis is fitted with.
    alphas : list of float
        The weights of the hypotheses kept.
    """

    #: Names of the values that every round records.
    values: ClassVar[tuple[str, ...]] = ()

    weight_row: NDArray[Any]

    def __init__(self) -> None:
        self.alphas: list[float] = []
        self._recorded: dict[str, list[Any]] = {name: [] for name in self.values}

    @abstractmethod
    def update(self, output: NDArray[Any]) -> bool:
        """Take the new hypothesis's output on the training rows; whether boosting ends here.

        A hypothesis that is not recorded (:meth:`record`) has no part in the ensemble.
        """

    def record(self, alpha: float, **values: Any) -> None:
        """Keep the hypothesis with this weight, and the values of its round."""
        self.alphas.append(alpha)
        for name in self.values:
            self._recorded[name].append(values[name])

    def history(self, name: str) -> NDArray[Any]:
        """A recorded value, one entry per round."""
        return np.array(self._recorded[name])


def boost(run: Learns, target: NDArray[Any], rounds: Rounds, n_rounds: int) -> None:
    """Fit, weigh, fit again: up to ``n_rounds`` hypotheses, fewer if the method ends earlier."""
    for _ in range(n_rounds):
        if rounds.update(run.fit(target, rounds.weight_row)):
            break


def step_size(error: float, n_classes: int = 2, gamma: float = 0.0) -> float:
    r"""The weight of a hypothesis with weighted error :math:`\epsilon`.

    Two classes: :math:`\alpha = \frac{1}{2(1+\gamma)} \ln\frac{1-\epsilon}{\epsilon}`, AdaBoost's
    for :math:`\gamma = 0` (Jin and Liu 2005, eq. 9, for any other); more classes, the same
    minimisation for the SAMME code:
    :math:`\frac{(K-1)^2}{K(1+\gamma)} [\ln\frac{1-\epsilon}{\epsilon} + \ln(K-1)]`.
    """
    error = min(max(error, LEAST_ERROR), 1.0 - LEAST_ERROR)
    log_odds = np.log1p(-error) - np.log(error) + np.log(n_classes - 1)
    return float((n_classes - 1) ** 2 / (n_classes * (1.0 + gamma)) * log_odds)


def row_loss(output: NDArray[Any], target: NDArray[np.intp]) -> NDArray[np.float64]:
    r"""The loss :math:`|h(x_i) - c(x_i)|` of each row, in [0, 1].

    ``output`` holds class codes (loss 0 or 1) or probabilities of the classes, (n_rows, n_classes),
    whose loss is 1 minus that of the true class.
    """
    if output.ndim == 2:
        return 1.0 - output[np.arange(len(target)), target]
    return (output != target).astype(float)

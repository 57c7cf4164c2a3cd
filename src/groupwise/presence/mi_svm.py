"""mi-SVM and MI-SVM (Andrews, Tsochantaridis and Hofmann 2002)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.inputs import GroupedRows, check_choice, check_number
from groupwise.presence.bags import Bags
from groupwise.presence.base import BasePresenceClassifier
from groupwise.presence.repeated_svm import KernelPlane, RepeatedSVM, make_repeated_svm

__all__ = ["MISVMClassifier"]


class MISVMClassifier(BasePresenceClassifier):
    r"""Support vector machines for presence: labels of rows, or witnesses, chosen in turn.

    ``variant="rows"`` is mi-SVM, which seeks labels for the rows of positive groups, at least one
    of them positive; ``"witness"`` is MI-SVM, in which one row stands for each positive group:

    .. math:: \min_w \tfrac12 |w|^2 + C \sum_j \xi_j, \qquad
              \max_{x \in X_i} w'x + b \ge 1 - \xi_i \ (y_i = 1)

    Both alternate: train a machine, then choose labels (or witnesses) by its scores, until they
    repeat. The rows are the same in all rounds, so their kernel matrix is computed once. With each
    row a group this is a plain support vector machine.

    Parameters
    ----------
    variant : {"rows", "witness"}, default="rows"
    C : float, default=1.0
    kernel : {"rbf", "linear"}, default="rbf"
        The linear machine is scikit-learn's ``LinearSVC``, the other ``SVC``.
    width : float, default=1.0
        The Gaussian's standard deviation over the median distance between rows.
    n_components : int, default=None
        Approximate the Gaussian by so many landmark features, with a linear machine: for tens of
        thousands of rows.
    class_weight : {"balanced", None} or dict, default="balanced"
        ``"balanced"``: positive and negative rows weigh the same in all, in every round. A dict has
        the weight of each class; classes it does not name weigh 1. ``None``:
        every row weighs the same, as in the paper.
    max_iter : int, default=30
        Rounds at most.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    classifier_ : KernelPlane
        The machine of the last round.
    n_iter_ : int
        Rounds made.

    References
    ----------
    S. Andrews, I. Tsochantaridis and T. Hofmann (2002). Support vector machines for
    multiple-instance learning. NIPS.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import MISVMClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = MISVMClassifier("witness").fit(d.X, d.y, groups=d.groups)
    >>> clf.predict(d.X).shape == d.y.shape
    True
    """

    def __init__(
        self,
        variant: str = "rows",
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        width: float = 1.0,
        n_components: int | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        max_iter: int = 30,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.variant = variant
        self.C = C
        self.kernel = kernel
        self.width = width
        self.n_components = n_components
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice("variant", self.variant, ("rows", "witness"))
        check_number("C", self.C, "(0, inf)")
        check_number("n_components", self.n_components, "[1, inf)", whole=True, none=True)
        if not isinstance(self.class_weight, Mapping):
            check_choice("class_weight", self.class_weight, ("balanced",), none=True)
        check_number("max_iter", self.max_iter, "[1, inf)", whole=True)

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        rows = bags.X if self.variant == "rows" else _with_means(bags)
        machine = make_repeated_svm(
            rows,
            C=self.C,
            kernel=self.kernel,
            width=self.width,
            n_components=self.n_components,
            rng=check_random_state(self.random_state),
        )
        choose = _choose_labels if self.variant == "rows" else _choose_witnesses
        weight = _class_weight(self.class_weight, self.classes_)
        self.classifier_, self.n_iter_ = choose(machine, bags, self.max_iter, weight)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        return self.classifier_.score(rows)


def _class_weight(
    class_weight: str | Mapping[Any, float] | None, classes: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Weight of a row of each class; ``None`` where it depends on how many there are."""
    if class_weight == "balanced":
        return None
    given = class_weight if isinstance(class_weight, Mapping) else {}
    return np.array([given.get(name, 1.0) for name in classes.tolist()])


def _train(
    machine: RepeatedSVM,
    rows: NDArray[np.intp],
    target: NDArray[np.intp],
    class_weight: NDArray[np.float64] | None,
) -> tuple[KernelPlane, NDArray[np.float64]]:
    """Train with the weights of the classes; balanced ones have a mean of one."""
    if class_weight is None:
        class_weight = len(target) / 2.0 / np.bincount(target, minlength=2)
    return machine.fit(rows, target, class_weight[target])


def _best_rows(score: NDArray[np.float64], bags: Bags) -> NDArray[np.intp]:
    """The first of the best rows of each group."""
    top = bags.groups.spread(bags.groups.max(score)) == score
    rows = np.flatnonzero(top)
    return rows[np.unique(bags.groups.codes[rows], return_index=True)[1]]


def _choose_labels(
    machine: RepeatedSVM, bags: Bags, max_iter: int, class_weight: NDArray[np.float64] | None
) -> tuple[KernelPlane, int]:
    """mi-SVM: the rows of positive groups take the label of their score, the best one +1."""
    positive = bags.positive_row
    every = np.arange(len(positive))
    target = positive.astype(np.intp)
    seen: set[bytes] = set()
    while target.tobytes() not in seen and len(seen) < max_iter:  # new labels, not a circle
        seen.add(target.tobytes())
        plane, score = _train(machine, every, target, class_weight)
        target = ((score > 0) & positive).astype(np.intp)
        target[_best_rows(score, bags)[bags.y_group == 1]] = 1
    return plane, len(seen)


def _with_means(bags: Bags) -> Rows:
    """The rows, and the mean of each positive group behind them."""
    sizes = bags.groups.sizes
    codes = bags.groups.codes
    average = csr_array(
        (1.0 / sizes[codes], (codes, np.arange(len(codes)))), shape=(len(sizes), len(codes))
    )
    means = (average @ bags.X)[np.flatnonzero(bags.y_group == 1)]
    if issparse(bags.X):
        rows = vstack([bags.X, means], format="csr")
        # liblinear reads 32-bit indices only
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        return rows
    return np.concatenate([bags.X, np.asarray(means)])


def _choose_witnesses(
    machine: RepeatedSVM, bags: Bags, max_iter: int, class_weight: NDArray[np.float64] | None
) -> tuple[KernelPlane, int]:
    """MI-SVM: rows of negative groups, and of each positive group its mean, then its best row."""
    n_rows = bags.groups.n_rows
    negative = np.flatnonzero(~bags.positive_row)
    witness = n_rows + np.arange(int((bags.y_group == 1).sum()))
    target = np.repeat([0, 1], [len(negative), len(witness)])
    seen: set[bytes] = set()
    while witness.tobytes() not in seen and len(seen) < max_iter:
        seen.add(witness.tobytes())
        rows = np.concatenate([negative, witness])
        plane, score = _train(machine, rows, target, class_weight)
        witness = _best_rows(score[:n_rows], bags)[bags.y_group == 1]
    return plane, len(seen)

"""AOC-ANN: a neural network whose summed outputs are fitted to what is known of groups."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows, check_choice, check_number, dense
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.probabilities import RowProba

__all__ = ["MLPAOCClassifier"]

Layers = list[tuple[NDArray[Any], NDArray[Any]]]


class MLPAOCClassifier(BaseProportionsClassifier):
    r"""A multi-layer network trained on the class shares of groups.

    With :math:`\bar p_g` the mean of the softmax *probabilities* of group g's rows (not of their
    logarithms: the logarithm of a mean is what the shares speak about) and n its size,

    .. math:: \ell = -\sum_g n_g \sum_c \pi_{gc} \log \bar p_{gc} \quad\text{or}\quad
              \ell = \sum_g \sum_c \big(n_g \bar p_{gc} - n_{gc}\big)^2 / n_g .

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(64,)
        Rectified linear units of each layer.
    loss : {"cross_entropy", "squared"}, default="cross_entropy"
        ``"squared"`` compares sums with counts, as Musicant et al. do.
    epochs : int, default=200
    batch_groups : int, default=32
        Groups of one step; all their rows are in it.
    learning_rate : float, default=0.01
        Of Adam.
    alpha : float, default=1e-4
        L2 penalty on the weights.
    device : str, default=None
        Where to train: ``"cpu"``, ``"cuda"``, ...; ``None``: a GPU if there is one.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    layers_ : list of (weights, bias)
        NumPy arrays: predicting needs no torch.
    n_iter_ : int
        Epochs.
    history_ : dict
        ``"loss"``: loss per row over each epoch, an array of shape (n_iter,).
    classes_, transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    Needs torch (the extra ``groupwise[torch]``) to fit. With ``groups=None`` the cross-entropy is
    that of an ordinary classifier. Rows are standardised inside. On a GPU the steps are replayed
    from a recorded graph. :class:`~groupwise.nets.GroupNetClassifier` is the larger relative, with
    ensembles, poolings and other losses.

    References
    ----------
    D. Musicant, J. Christensen and J. Olson (2007). Supervised learning by training on aggregate
    outputs. ICDM. E. M. Ardehaly and A. Culotta (2017) for the cross-entropy of mean probabilities.

    Examples
    --------
    >>> from groupwise.proportions import MLPAOCClassifier
    >>> X = [[0.0], [0.2], [5.0], [0.1], [5.1], [5.2]]
    >>> clf = MLPAOCClassifier((8,), random_state=0)
    >>> clf = clf.fit(X, list("aabbba"), groups=[0, 0, 0, 1, 1, 1])
    >>> clf.predict_proba([[0.3], [4.8]]).shape
    (2, 2)
    """

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (64,),
        *,
        loss: str = "cross_entropy",
        epochs: int = 200,
        batch_groups: int = 32,
        learning_rate: float = 0.01,
        alpha: float = 1e-4,
        device: str | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.loss = loss
        self.epochs = epochs
        self.batch_groups = batch_groups
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.device = device
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, ("cross_entropy", "squared"))
        check_number("epochs", self.epochs, "[1, inf)", whole=True)
        check_number("batch_groups", self.batch_groups, "[1, inf)", whole=True)
        check_number("learning_rate", self.learning_rate, "(0, inf)")
        check_number("alpha", self.alpha, "[0, inf)")
        for size in self.hidden_layer_sizes:
            check_number("hidden_layer_sizes", size, "[1, inf)", whole=True)

    def _learn(self, data: ShareRows) -> RowProba:
        from groupwise.nets.mean_outputs import group_batches, initial_layers, train_mean_outputs

        rng = check_random_state(self.random_state)
        rows = dense(data.X)
        self._centre = rows.mean(axis=0)
        self._scale = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
        sizes = [rows.shape[1], *self.hidden_layer_sizes, data.n_classes]
        layers = initial_layers(sizes, rng)
        epochs = (group_batches(data.groups, self.batch_groups, rng) for _ in range(self.epochs))
        self.layers_, loss = train_mean_outputs(
            (rows - self._centre) / self._scale,
            data.groups,
            data.counts_group,
            layers,
            loss=self.loss,
            batches=epochs,
            learning_rate=self.learning_rate,
            alpha=self.alpha,
            device=self.device,
        )
        self.n_iter_, self.history_ = len(loss), {"loss": loss}
        return self._proba(data.X)

    def _proba(self, X: Rows) -> RowProba:
        return RowProba.of_scores(forward(self.layers_, (dense(X) - self._centre) / self._scale))


def forward(layers: Layers, X: NDArray[Any]) -> NDArray[Any]:
    """Scores before the softmax."""
    hidden = X
    for weights, bias in layers[:-1]:
        hidden = np.maximum(hidden @ weights + bias, 0.0)
    weights, bias = layers[-1]
    return hidden @ weights + bias

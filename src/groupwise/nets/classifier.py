"""Networks trained on what is known of groups."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.groups import Groups
from groupwise.inputs import dense
from groupwise.losses import LOSSES, GroupLoss, get_loss
from groupwise.losses.base import link
from groupwise.nets.answers import less_the_others
from groupwise.nets.base import GroupNetMixin, Prepared
from groupwise.nets.progress import Callback
from groupwise.nets.rows import is_raw
from groupwise.rules import Rule
from groupwise.targets import (
    GroupTargets,
    check_class_targets,
    combine_scores,
    group_truth,
    known_codes,
    mean_of_known,
    resolve_rule,
    score_by_group,
)

__all__ = ["GroupNetClassifier"]


class GroupNetClassifier(GroupNetMixin, BaseGroupClassifier):
    r"""An ensemble of networks trained on a group loss.

    An encoder makes a vector of every row. Without ``pooling`` a last layer scores the vectors, and
    the loss sees the scores group by group, as in :class:`~groupwise.gbdt.GroupBoostClassifier`.
    With one, the vectors of a group become one vector, and the last layer scores the group.

    Parameters
    ----------
    loss : str or GroupLoss, default="majority_softmax"
        What ``y`` says of a group, as in :class:`~groupwise.gbdt.GroupBoostClassifier`. With a
        ``pooling`` groups have scores of their own, and labels and counts cost their cross-entropy,
        shares by ``"proportions_squared"`` their squared error, grades their proportional odds;
        reported counts are of rows and take none. ``"ordinal"`` fits thresholds to all groups in
        every step: ``batch_groups`` must be ``None``.
    pooling : {"mean", "max", "mean_max", "attention", "set_transformer"}, default=None
        How the vectors of a group's rows become one: their mean, their largest values, both,
        their mean weighted by gated attention (Ilse et al. 2018), or a set transformer with eight
        induced points and four heads (Lee et al. 2019). ``None``: rows are scored.
    encoder : tuple of int or torch.nn.Module, default=(64, 64)
        Sizes of the hidden layers (rectified linear units; features are standardised inside), or
        any module from rows to vectors, which is trained along: a copy per member.
    n_bins : int, default=None
        Features of a table become piecewise linear in so many bins between quantiles (Gorishniy et
        al. 2022), so that the network can bend where trees would split; it takes about so many
        times as long. On tables of images and molecules 8 bins came level with trees; with few
        groups and many smooth features (musk1) they overfit. ``None``: features as they are.
    n_members : int, default=5
        Networks whose scores are averaged. They are trained in one batched product.
    epochs : int, default=200
    batch_groups : int or float, default=None
        Groups per step, with all their rows; below 1, their share of all groups. ``None``: so many
        that a step has about 20 thousand rows; one step per epoch on small tables. A tenth with a
        fifth of the epochs takes less time and, on texts, predicts better.
    learning_rate : float, default=2e-3
        Largest rate of AdamW; it rises for three tenths of the steps and falls to zero.
    alpha : float, default=1e-2
        Decoupled decay of the weights per step, in units of the rate.
    dropout : float, default=0.25
        After each hidden layer and the pooling, but for the layer before a maximum, which noise
        would raise. Features that are zero in nine of ten training rows (counts of words) are left
        out of a step as often as if they were dropped twice, 0.44, by all rows of a member.
    max_norm : float, default=None
        Longest gradient of a member; longer ones are shortened to it.
    rule : {"majority", "mean", "score", "any"} or rule, default=None
        How rows decide for their group, without ``pooling``; as in
        :class:`~groupwise.gbdt.GroupBoostClassifier`.
    early_stopping : bool, default=False
        Hold groups out; each member keeps the weights of its best epoch on them. Otherwise the last
        epoch counts.
    n_iter_no_change : int, default=10
        Epochs without gain of any member before it stops.
    validation_fraction : float, default=0.2
        Share of the groups to hold out.
    half_precision : bool, default=False
        On a GPU: products in bfloat16.
    device : str, default=None
        ``"cpu"``, ``"cuda"``, ``"mps"``; ``None``: a GPU if there is one.
    checkpoint : str, default=None
        File that holds the training's state, written twenty times in its course. Where it exists,
        training goes on from it, on the CPU to the same model to the last bit.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Log every so many epochs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    loss_ : GroupLoss
    rule_ : rule or None
        ``None`` where the loss or the pooling decides.
    ensemble_ : NetEnsemble
        The weights as arrays; predicting needs no torch on the CPU. (With a module as encoder it
        holds that, and the model cannot be written to a model file.)
    history_ : dict
        Loss over weight of each epoch, averaged over the members: ``"train"`` and, with early
        stopping, ``"valid"``.
    n_iter_ : int
        Epochs kept; of the member that kept most.
    device_ : str
    row_shape_ : tuple of int
        Of a row of ``X``.
    n_groups_ : int

    Notes
    -----
    Needs torch to fit (the extra ``groupwise[nets]``). ``X`` may have any shape with rows first
    (images), be memory-mapped, or be a :class:`~groupwise.nets.FolderRows` of embeddings; the
    last two are read in whole groups ahead of the device.

    With a pooling a row's score is what it adds to its group's: the group's score less its score
    without the row (0 for a row that is alone). That is exact and costs one pass, but for the set
    transformer, which looks at the group once per row. Attention weights are no such answer. Of
    grades it is :math:`m f(G) - (m - 1) f(G \setminus j)`, as in :class:`GroupNetRegressor`: a
    score that the thresholds of groups apply to.

    References
    ----------
    M. Ilse, J. Tomczak and M. Welling (2018). Attention-based deep multiple instance learning.
    ICML. J. Lee et al. (2019). Set transformer. ICML. M. Zaheer et al. (2017). Deep sets. NIPS.
    Y. Gorishniy, I. Rubachev and A. Babenko (2022). On embeddings for numerical features in tabular
    deep learning. NeurIPS.

    Examples
    --------
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.nets import GroupNetClassifier
    >>> s = make_triangle_sessions(n_sessions=30, random_state=0)
    >>> clf = GroupNetClassifier(epochs=20, n_members=2, random_state=0)
    >>> clf = clf.fit(s.X, s.y, groups=s.groups)
    >>> clf.predict_groups(s.X, groups=s.groups).shape
    (30,)
    """

    rule_: Rule | None  # type: ignore[assignment]  # None: the loss or the pooling decides

    def __init__(
        self,
        loss: str | GroupLoss = "majority_softmax",
        *,
        pooling: str | None = None,
        encoder: Any = (64, 64),
        n_bins: int | None = None,
        n_members: int = 5,
        epochs: int = 200,
        batch_groups: float | None = None,
        learning_rate: float = 2e-3,
        alpha: float = 1e-2,
        dropout: float = 0.25,
        max_norm: float | None = None,
        rule: str | Rule | None = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.2,
        half_precision: bool = False,
        device: str | None = None,
        checkpoint: str | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        super().__init__(
            pooling=pooling,
            encoder=encoder,
            n_bins=n_bins,
            n_members=n_members,
            epochs=epochs,
            batch_groups=batch_groups,
            learning_rate=learning_rate,
            alpha=alpha,
            dropout=dropout,
            max_norm=max_norm,
            early_stopping=early_stopping,
            n_iter_no_change=n_iter_no_change,
            validation_fraction=validation_fraction,
            half_precision=half_precision,
            device=device,
            checkpoint=checkpoint,
            group_column=group_column,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss
        self.rule = rule

    def _learn(self, data: Any) -> Any:  # pragma: no cover - the base asks for it
        raise NotImplementedError("networks have a fit of their own, which prepares torch's data")

    def _resolve_loss(self) -> GroupLoss:
        loss = copy(get_loss(self.loss))
        if loss.target_kind == "labels":
            raise ValueError(
                f"{loss!r} is of several labels per group: use GroupBoostMultilabelClassifier"
            )
        loss.check_parameters()
        resolve_rule(self.rule, loss)
        if loss.target_kind == "report" and self.pooling is not None:
            raise ValueError(
                f"{loss!r} is of counts of rows, and a pooling scores groups: pooling must be None"
            )
        return loss

    def _targets(
        self, X: Any, y: ArrayLike, groups: Ids, sample_weight: ArrayLike | None, loss: GroupLoss
    ) -> GroupTargets:
        data = check_class_targets(self, X, y, groups, sample_weight, loss)
        if self.pooling is None:
            data.with_weight().bind(loss)  # what the loss cannot take it says now
        return data

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        sample_weight: ArrayLike | None = None,
        callbacks: Sequence[Callback] | None = None,
        X_unlabeled: MatrixLike | None = None,
    ) -> "GroupNetClassifier":
        """Fit to rows and what is known of their groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame, FolderRows} of shape (n_rows, ...)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            As in :meth:`groupwise.gbdt.GroupBoostClassifier.fit`. Rows that have labels of their
            own: ``groups=np.arange(len(X))``.
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is a group, which makes this a classical network.
        sample_weight : array-like of shape (n_rows,), default=None
            Its mean over a group weighs the group; without ``pooling`` its ratio to that mean
            weighs a row inside the group.
        callbacks : list of callables, default=None
            Each gets a :class:`~groupwise.nets.NetProgress` after each epoch; ``True`` stops.
        X_unlabeled : {array-like, sparse matrix, DataFrame, FolderRows}, default=None
            Rows of groups without a label, of those to be asked about for example: features are
            standardised by them, too. It matters where features are rare, as words are.

        Returns
        -------
        self : GroupNetClassifier
        """
        self._fit(X, y, groups, sample_weight, callbacks, X_unlabeled)
        return self

    def _store(self, prepared: Prepared, found: Any) -> None:
        super()._store(prepared, found)
        self.rule_ = None if self.pooling is not None else resolve_rule(self.rule, prepared.loss)

    def _answers(
        self, rows: Rows, groups: Groups
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Scores and probabilities of rows, probabilities of groups."""
        found, of_groups = self._scores(rows, groups)
        assert found is not None  # rows were asked about
        loss = self.loss_
        if of_groups is None:
            score_row = _decision(found)
            proba_group = combine_scores(score_row, groups, loss, self.rule_)
            return score_row, loss.proba(score_row), proba_group
        if loss.one_score:  # thresholds apply to scores of groups, not to what a row adds
            score_row = less_the_others(of_groups[:, 0], found[:, 0], groups)
        else:
            score_row = _decision(groups.spread(of_groups) - found)
        return score_row, self._pooled_proba(score_row), self._pooled_proba(_decision(of_groups))

    def _pooled_proba(self, score: NDArray[Any]) -> NDArray[Any]:
        return self.loss_.proba(score) if self.loss_.one_score else link(score)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row, proba_row, _ = self._answers(rows, groups)
        return score_row, proba_row

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        if not self._decides_per_group:
            return self._answers(rows, groups)[2]
        _, of_groups = self._scores(rows, groups, asked=False)
        assert of_groups is not None  # there is a pooling
        return self._pooled_proba(_decision(of_groups))

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        score_row, proba_row, proba_group = self._answers(rows, groups)
        return Predictions(
            classes=self.classes_,
            groups=groups,
            score_row=score_row,
            proba_row=proba_row,
            proba_group=proba_group,
            code_row=self._label_rows(score_row, proba_row),
        )

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
        """How well groups are predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame, FolderRows} of shape (n_rows, ...)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            As in ``fit``.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
            As :meth:`groupwise.gbdt.GroupBoostClassifier.score`.
        """
        return super().score(X, y, groups)

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        groups = predictions.groups
        y_row = known_codes(y, groups, self.loss_, self.classes_)
        truth = group_truth(self.loss_, y_row, groups, len(self.classes_))
        return mean_of_known(score_by_group(predictions.proba_group, truth))

    def attention(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """Share of each row in its group's attention, averaged over the members.

        Where a network looks is not why it decides: a row may be looked at and count for nothing,
        or against the label. What rows add to their group's score is :meth:`decision_function`.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame, FolderRows} of shape (n_rows, ...)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        share : ndarray of shape (n_rows,)
            Sums to one over each group.
        """
        rows, encoded = self._checked(X, groups)
        if self.ensemble_.pooling != "attention":
            raise ValueError("only pooling='attention' has attention of rows")
        table: Any = rows if is_raw(rows) else dense(rows)
        share: NDArray[np.float64] = self.ensemble_.attention(table, encoded)
        return share

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        tags.classifier_tags.multi_class = not getattr(loss, "binary", False)
        return tags


def _decision(score: NDArray[Any]) -> NDArray[Any]:
    """Scores as estimators give them: one number for two classes."""
    return score[:, 0] if score.shape[1] == 1 else score

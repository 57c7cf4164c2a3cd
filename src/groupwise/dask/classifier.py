"""Gradient-boosted trees trained on what is known of groups, on a Dask cluster."""

from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from groupwise.dask.base import BaseDaskGroupBoost, TargetReader, on_machines
from groupwise.dask.inputs import DelayedRows
from groupwise.dask.predict import by_group, by_row
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier
from groupwise.groups import Groups, show
from groupwise.inputs import class_codes, class_shares
from groupwise.losses import GroupLoss, get_loss
from groupwise.targets import (
    check_reports,
    combine_scores,
    group_target,
    group_truth,
    known_codes,
    resolve_rule,
    score_by_group,
)

__all__ = ["DaskGroupBoostClassifier"]


class DaskGroupBoostClassifier(ClassifierMixin, BaseDaskGroupBoost):
    """A :class:`~groupwise.gbdt.GroupBoostClassifier` fitted to rows on a Dask cluster.

    Every worker holds whole groups and computes the loss of these; XGBoost adds the histograms of
    all workers up, and the few numbers a loss needs of all groups (two per round for
    ``"majority"``, none for the others) are agreed on in the same way. On features with no more
    distinct values than bins the model is the one a single machine would find.

    Parameters
    ----------
    estimator : GroupBoostClassifier, default=None
        The settings, with ``engine="xgboost"``; ``None`` for the default ones.
    client : distributed.Client, default=None
        ``None``: the current one.
    repartition : bool, default=True
        Bring groups that cross partitions together by a shuffle; ``False`` raises an error that
        names one.
    on_disk : bool, default=False
        Leave the binned rows, two bytes per number, on the workers' disks and read them in every
        round (XGBoost's external memory): some 20 % slower, and then memory holds little more
        than scores, gradients and loss, some 100 to 200 bytes per row.
    checkpoint : str or Path, default=None
        File that is written every ``checkpoint_every`` rounds, on a disk that you and the workers
        share. If it is there when ``fit`` begins, and of the same settings and data, the fit goes
        on from it, to the same model.
    checkpoint_every : int, default=10

    Attributes
    ----------
    estimator_ : GroupBoostClassifier
        The fitted model of one machine: predicts arrays, is saved by
        :func:`groupwise.io.save_model`.
    classes_ : ndarray of shape (n_classes,)
    seconds_ : dict
        How long it took on the first worker: ``"binning"``, ``"boosting"`` and
        ``"boosting_cpu"``; and ``"all"``, reading and checking included.

    See Also
    --------
    groupwise.gbdt.GroupBoostClassifier : The same on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.gbdt import GroupBoostClassifier
    >>> s = make_triangle_sessions(n_sessions=80, random_state=0)
    >>> X, y, groups = (da.from_array(part, chunks=400) for part in (s.X, s.y, s.groups))
    >>> clf = DaskGroupBoostClassifier(GroupBoostClassifier(engine="xgboost"))
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     clf.fit(X, y, groups=groups).predict_groups(X, groups=groups).compute()
    """

    def __init__(
        self,
        estimator: GroupBoostClassifier | None = None,
        *,
        client: Client | None = None,
        repartition: bool = True,
        on_disk: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 10,
    ):
        self.estimator = estimator
        self.client = client
        self.repartition = repartition
        self.on_disk = on_disk
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def _default(self) -> GroupBoostClassifier:
        return GroupBoostClassifier(engine="xgboost")

    def _resolve_loss(self, model: GroupBoostClassifier) -> GroupLoss:
        loss = clone(get_loss(model.loss))
        loss.check_parameters()
        resolve_rule(model.rule, loss)
        return on_machines(loss)

    def _n_classes(self, model: GroupBoostClassifier) -> int:
        return len(model.classes_)

    def _learn_targets(
        self, client: Client, model: GroupBoostClassifier, rows: DelayedRows, loss: GroupLoss
    ) -> TargetReader:
        """Find the classes, and how rows are read."""
        if loss.target_kind == "report":
            names = rows.y_columns or []
            if any(isinstance(name, tuple) for name in names):
                raise GroupDataError("ranges of three and more classes are not for Dask")
            model.classes_ = np.asarray(names) if len(names) > 2 else np.array([0, 1])
        elif rows.y_columns is not None:
            if loss.target_kind != "share":
                raise GroupDataError(f"y must hold one label per row for {loss!r}, it is a table")
            model.classes_ = np.asarray(rows.y_columns)
        else:
            found = client.gather(client.compute([dask.delayed(_labels)(part) for part in rows.y]))
            model.classes_ = np.unique(np.concatenate([part for part in found if len(part)]))
        if len(model.classes_) < 2:
            raise GroupDataError(
                f"y holds one class only ({show(model.classes_[0])}); a classifier needs at least "
                "two"
            )
        if loss.binary and len(model.classes_) != 2:
            raise ValueError(
                f"Only binary classification is supported by {loss!r}; y holds "
                f"{len(model.classes_)} classes"
            )
        return partial(known_codes, loss=loss, classes=model.classes_)

    @property
    def classes_(self) -> Any:
        """The classes, sorted."""
        return self._fitted().classes_

    def decision_function(self, X: Any) -> Any:
        """Scores of rows, lazy: log-odds for two classes, softmax scores for more."""
        model = self._fitted()
        two = len(model.classes_) == 2
        meta = np.empty((0,) if two else (0, len(model.classes_)))
        return by_row(X, model.decision_function, None if two else list(model.classes_), meta)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of rows, lazy; a frame's columns are the classes."""
        model = self._fitted()
        meta = np.empty((0, len(model.classes_)))
        return by_row(X, model.predict_proba, list(model.classes_), meta)

    def predict(self, X: Any) -> Any:
        """Classes of rows, lazy: a Dask Series for a DataFrame, an array for an array."""
        model = self._fitted()
        return by_row(X, model.predict, None, model.classes_[:0])

    def predict_groups_proba(self, X: Any, groups: Any = None) -> Any:
        """Probability of each class for each group (for proportions the shares), lazy.

        Parameters
        ----------
        X : Dask DataFrame or array
        groups : Dask Series, array or str

        Returns
        -------
        proba : Dask DataFrame
            One line per group, indexed by its id, in no particular order.
        """
        model = self._fitted()
        meta = pd.DataFrame(np.empty((0, len(model.classes_))), columns=list(model.classes_))
        return self._on_groups(X, None, groups, partial(_proba_lines, model), meta)

    def predict_groups(self, X: Any, groups: Any = None) -> Any:
        """Class of each group, lazy: a Dask Series indexed by the group's id."""
        model = self._fitted()
        meta = pd.Series(model.classes_[:0], name="predicted")
        return self._on_groups(X, None, groups, partial(_class_lines, model), meta)

    def evaluate_groups(self, X: Any, y: Any, groups: Any = None) -> Any:
        """How each group is predicted, lazy.

        Returns
        -------
        lines : Dask DataFrame
            Indexed by the group's id: ``rows``, ``predicted`` (the class) and ``score`` (1 where
            the class is right, else 0; for proportions 1 less the total variation distance
            between predicted and true shares).
        """
        model = self._fitted()
        meta = pd.DataFrame(
            {"rows": np.empty(0, np.intp), "predicted": model.classes_[:0], "score": np.empty(0)}
        )
        return self._on_groups(X, y, groups, partial(_score_lines, model), meta)

    def score(self, X: Any, y: Any, groups: Any = None) -> Any:
        """The score of one machine as a lazy scalar: ``clf.score(X, y, g).compute()``."""
        return self.evaluate_groups(X, y, groups)["score"].mean()

    def _on_groups(self, X: Any, y: Any, groups: Any, conclude: Any, meta: Any) -> Any:
        model = self._fitted()
        n_targets = 0
        if y is not None:
            n_targets = len(y) if isinstance(y, list) else 1
            n_targets = y.shape[1] if getattr(y, "ndim", 1) == 2 else n_targets
            if model.loss_.target_kind == "report":
                n_targets = max(n_targets, 2)
        return by_group(
            self._client(),
            X,
            y,
            model.group_column if groups is None else groups,
            partial(_scores_and_targets, model),
            conclude,
            meta,
            n_numbers=_n_scores(model) + n_targets,
            repartition=self.repartition,
        )


def _labels(part: Any) -> NDArray[Any]:
    """The distinct labels of a partition."""
    missing = np.asarray(pd.isna(part))
    if missing.any():
        raise GroupDataError(
            f"y must hold a label on every row; {int(missing.sum())} are missing in a partition, "
            f"the first on its row {int(np.argmax(missing))}"
        )
    return np.unique(np.asarray(part))


def _n_scores(model: GroupBoostClassifier) -> int:
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def _scores_and_targets(model: GroupBoostClassifier, X: Any, y: Any) -> NDArray[Any]:
    score = model.decision_function(X)
    if y is None:
        return score.reshape(len(score), -1)
    if model.loss_.target_kind == "report":
        told = check_reports(y, Groups.singletons(len(y)), model.classes_)
        return np.column_stack([score, told])
    target = np.asarray(y)
    if target.ndim == 1:
        target = class_codes(target, model.classes_, Groups.singletons(len(target)))
    return np.column_stack([score, target])


def _group_proba(
    model: GroupBoostClassifier, numbers: NDArray[Any], groups: Groups
) -> NDArray[Any]:
    score = numbers[:, : _n_scores(model)]
    score_row = score[:, 0] if _n_scores(model) == 1 else score
    return combine_scores(score_row, groups, model.loss_, model.rule_)


def _proba_lines(
    model: GroupBoostClassifier, numbers: NDArray[Any], groups: Groups
) -> pd.DataFrame:
    return pd.DataFrame(_group_proba(model, numbers, groups), columns=list(model.classes_))


def _class_lines(model: GroupBoostClassifier, numbers: NDArray[Any], groups: Groups) -> pd.Series:
    code = _group_proba(model, numbers, groups).argmax(axis=1)
    return pd.Series(model.classes_[code], name="predicted")


def _score_lines(
    model: GroupBoostClassifier, numbers: NDArray[Any], groups: Groups
) -> pd.DataFrame:
    proba = _group_proba(model, numbers, groups)
    y = numbers[:, _n_scores(model) :]
    loss = model.loss_
    if loss.target_kind == "report":
        target = group_truth(loss, check_reports(y, groups), groups, len(model.classes_))
    elif y.shape[1] > 1:
        target = class_shares(y, groups)[0]
    else:
        code_row = y[:, 0].astype(np.intp)
        if loss.target_kind == "label":
            groups.one_per_group(code_row)
        target = group_target(loss, code_row, groups, len(model.classes_))
    return pd.DataFrame(
        {
            "rows": groups.sizes,
            "predicted": model.classes_[proba.argmax(axis=1)],
            "score": score_by_group(proba, target),
        }
    )

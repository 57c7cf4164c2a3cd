"""An answer without fitting: a network that has learned to learn from group labels."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.incontext.columns import Context
from groupwise.incontext.members import MAX_GROUPS, MAX_ROWS, canonical_order, make_members
from groupwise.incontext.network import KINDS, MAX_CLASSES, Network, load_network
from groupwise.incontext.passes import Asked, ask_members, by_reader, columns_of, softmax
from groupwise.inputs import (
    check_choice,
    check_groups,
    check_labels,
    check_number,
    check_rows,
    check_shares,
    dense,
    split_column,
)
from groupwise.metrics import share_error

__all__ = ["InContextClassifier", "LongContextWarning"]

#: Rows times members below which one thread is enough.
_SMALL = 1000

Array = NDArray[np.float64]


class LongContextWarning(UserWarning):
    """The training table is longer than one pass reads: members read bags of its groups."""


class InContextClassifier(BaseGroupClassifier):
    """A network trained once, on made-up tables, that reads yours and answers.

    ``fit`` keeps the rows, their groups and what is known of them: the context. At prediction the
    network reads the context and the rows that are asked about, and gives class probabilities of
    rows and groups in one pass. There is nothing to tune. The weights come with the package; see
    ``card.md`` beside them for how they were made.

    It is for small tables: a context of up to 5,000 rows and 1,000 groups is read as it is, of
    longer ones each member reads a bag of groups.

    Parameters
    ----------
    kind : {"majority", "proportions", "presence"}, default="majority"
        What ``y`` says of a group: the class most rows have, how many rows each class has, or
        whether at least one row is of the second class.
    n_members : int, default=8
        Passes whose probabilities are averaged: standard scores and normal quantiles, classes and
        features in different orders, and above 48 features different choices and sums of them.
    n_jobs : int, default=None
        Threads at prediction. ``None``: one for small tables, else all; -1: all.
    device : str, default=None
        ``None``: numpy computes. ``"cpu"``, ``"cuda"``, ...: torch does, there (extra ``torch``).
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Orders of features (from the fifth member on) and of more than two classes; choice of
        features above 48; bags of long contexts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kind_ : str
    n_groups_ : int
        Groups with a label.
    in_bags_ : bool
        Whether the context was too long for one pass.
    weights_ : str
        Digest of the network's weights.

    Notes
    -----
    Features are read as standard scores or quantiles over the context, so their units do not
    matter; missing values are read as the mean. More than ten classes are answered in parts of up
    to nine, each part against the rest, a pass for each; more than two under presence one by one.

    A group of one row has the row's probabilities; others have those of the network's head for
    groups, which under proportions are the predicted shares.

    References
    ----------
    S. Mueller, N. Hollmann, S. Pineda Arango, J. Grabocka and F. Hutter (2022), Transformers can do
    Bayesian inference. N. Hollmann, S. Mueller, K. Eggensperger and F. Hutter (2023), TabPFN.

    Examples
    --------
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.incontext import InContextClassifier
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> clf = InContextClassifier(n_members=1).fit(s.X, s.y, groups=s.groups)
    >>> clf.predict_groups(s.X, groups=s.groups).shape
    (40,)
    """

    __metadata_request__fit = {"X_unlabeled": True, "groups_unlabeled": True}  # noqa: RUF012

    _decides_per_group = True

    def __init__(
        self,
        kind: str = "majority",
        *,
        n_members: int = 8,
        n_jobs: int | None = None,
        device: str | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.kind = kind
        self.n_members = n_members
        self.n_jobs = n_jobs
        self.device = device
        self.group_column = group_column
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        X_unlabeled: MatrixLike | None = None,
        groups_unlabeled: Ids = None,
    ) -> Self:
        """Keep the context.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            Majority and presence: the group's label on each of its rows. Proportions: labels of
            rows, of which only the number per group is used; or a table of the classes' shares or
            counts in the group, repeated on its rows (a DataFrame names the classes).
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is a group.
        X_unlabeled : {array-like, sparse matrix, DataFrame}, default=None
            Rows of further groups, of which nothing is known; they are part of the context.
        groups_unlabeled : array-like, default=None
            Their ids, apart from those of ``groups``. ``None``: each row is a group.

        Returns
        -------
        self : InContextClassifier
        """
        check_choice("kind", self.kind, KINDS)
        check_number("n_members", self.n_members, "[1, inf)", whole=True)
        check_number("n_jobs", self.n_jobs, "[-1, inf)", whole=True, none=True)
        X, groups = self._groups_to_fit(X, groups)
        rows, encoded, label, classes = self._check_context(X, y, groups)
        x, codes = self._with_unlabeled(dense(rows), encoded, X_unlabeled, groups_unlabeled)
        self.classes_ = classes
        self.kind_ = self.kind
        self._n_jobs, self._device = self.n_jobs, self.device
        self._remember_groups(groups, encoded)
        self.weights_ = load_network(self.device).digest
        self.in_bags_ = len(x) > MAX_ROWS or len(label) > MAX_GROUPS
        if self.in_bags_:
            warnings.warn(
                f"the context has {len(x):,} rows, {len(label):,} groups with a label; each of "
                f"{self.n_members} members reads a bag of groups, at most {MAX_ROWS:,} rows and "
                f"{MAX_GROUPS:,} groups (more members read more)",
                LongContextWarning,
                stacklevel=2,
            )
        some = np.flatnonzero(label.sum(axis=0) > 0)
        self._present = some if len(some) > 1 else np.arange(label.shape[1])
        self._encoded, self._label = encoded, label
        self._order, order_groups = canonical_order(x, codes, label)
        sizes = np.bincount(codes)[order_groups]
        ordered = label[order_groups[: len(label)]][:, self._present]
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        self._members = [
            make_members(
                Context(x[self._order], sizes, table, self.kind),
                self.n_members,
                np.random.RandomState(seed),
            )
            for table in _problems(ordered, self.kind)
        ]
        return self

    def _check_context(
        self, X: MatrixLike, y: ArrayLike, groups: Ids
    ) -> tuple[Rows, Groups, Array, NDArray[Any]]:
        """Rows, groups, what is known of groups as (n_groups, n_classes), and the classes."""
        if self.kind == "proportions":
            shares = check_shares(self, X, y, groups)
            return shares.X, shares.groups, shares.shares_group, shares.classes
        data = check_labels(self, X, y, groups)
        label = (data.y_group[:, None] == np.arange(len(data.classes))).astype(float)
        return data.X, data.groups, label, data.classes

    def _with_unlabeled(
        self, x: Array, groups: Groups, X_unlabeled: MatrixLike | None, groups_unlabeled: Ids
    ) -> tuple[Array, NDArray[np.intp]]:
        """Rows and groups of the whole context, those without a label last."""
        if X_unlabeled is None:
            return x, groups.codes
        X_unlabeled, groups_unlabeled = split_column(
            X_unlabeled, self.group_column, groups_unlabeled
        )
        more = dense(check_rows(self, X_unlabeled))
        encoded = check_groups(groups_unlabeled, len(more), name="groups_unlabeled")
        codes = np.concatenate([groups.codes, groups.n_groups + encoded.codes])
        return np.concatenate([x, more]), codes

    def transductive_predictions(self) -> Predictions:
        """What the network says of the training rows, in view of what is known of their groups.

        Returns
        -------
        predictions : Predictions
            Rows as in ``fit``; ``proba_group`` is what was known. Labels of rows that keep known
            counts: :func:`groupwise.proportions.decode_counts` on the logarithm of ``proba_row``.

        Raises
        ------
        GroupDataError
            If the context was too long for one pass.
        """
        check_is_fitted(self)
        if self.in_bags_:
            raise GroupDataError(
                f"the context is longer than one pass reads ({MAX_ROWS:,} rows, {MAX_GROUPS:,} "
                "groups): ask for its rows by predict"
            )
        network = self._network()
        found = []
        for members in self._members:
            proba = np.zeros((len(self._order), members[0].reader.context.label.shape[1]))
            for same in by_reader(members, 1):
                reader = same[0].reader
                rows, codes = reader.read_context(), reader.context.codes
                for member in same:
                    logits, _ = network.answer_context(columns_of(member, rows), codes)
                    proba += softmax(logits[:, member.place]) / len(members)
            found.append(proba)
        proba_row = np.empty((len(self._order), len(self.classes_)))
        proba_row[self._order] = self._all_classes(found)
        proba_row = proba_row[: self._encoded.n_rows]
        return Predictions(
            classes=self.classes_,
            groups=self._encoded,
            score_row=_scores(proba_row),
            proba_row=proba_row,
            proba_group=self._label,
            code_row=proba_row.argmax(axis=1),
        )

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        proba_row = self._ask(rows, groups)[0]
        return _scores(proba_row), proba_row

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        return self._answer_groups_only(rows, groups)

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._ask(rows, groups)[1]

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        proba_row, proba_group = self._ask(rows, groups)
        return Predictions(
            classes=self.classes_,
            groups=groups,
            score_row=_scores(proba_row),
            proba_row=proba_row,
            proba_group=proba_group,
            code_row=proba_row.argmax(axis=1),
        )

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        if self.kind_ != "proportions":
            return super()._judge(predictions, y)
        groups = predictions.groups
        return 1.0 - share_error(y, predictions.proba_group, groups, classes=self.classes_)

    def _network(self) -> Network:
        network = load_network(self._device)
        if network.digest != self.weights_:
            raise ValueError(
                f"the model was made with the weights {self.weights_}, this version of groupwise "
                f"has {network.digest}: fit it again"
            )
        return network

    def _ask(self, rows: Rows, groups: Groups) -> tuple[Array, Array]:
        """Class probabilities of rows and of groups, in one pass per member."""
        network = self._network()
        asked = Asked.of(rows, groups)
        n_threads = self._n_threads(groups.n_rows)
        found: list[tuple[Array, Array]] = []
        # One thread per member rather than per product: the products are small.
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
            for members in self._members:
                parts = by_reader(members, n_threads)
                answers = list(pool.map(lambda held: ask_members(network, held, asked), parts))
                rows_sum, parts_sum = (sum(values) for values in zip(*answers, strict=True))
                found.append((rows_sum / len(members), parts_sum / len(members)))
        proba_row = np.empty((groups.n_rows, len(self.classes_)))
        proba_row[asked.order] = self._all_classes([of_row for of_row, _ in found])
        proba_part = self._all_classes([of_part for _, of_part in found])
        return proba_row, asked.by_group(proba_row, proba_part)

    def _n_threads(self, n_rows: int) -> int:
        if self._device is not None:  # torch has threads of its own
            return 1
        if self._n_jobs is None and n_rows * len(self._members[0]) < _SMALL:
            return 1
        return effective_n_jobs(-1 if self._n_jobs is None else self._n_jobs)

    def _all_classes(self, found: list[Array]) -> Array:
        """Probabilities of all classes from the answers of one or many problems."""
        if len(found) == 1:
            proba = found[0]
        else:
            proba = np.column_stack([answer[:, 1:] for answer in found]) + 1e-12
            proba /= proba.sum(axis=1, keepdims=True)
        full = np.zeros((len(proba), len(self.classes_)))
        full[:, self._present] = proba
        return full

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _problems(label: Array, kind: str) -> list[Array]:
    """The labels themselves, or tables of as many classes as fit, each against the rest."""
    n_classes, most = label.shape[1], 2 if kind == "presence" else MAX_CLASSES
    if n_classes <= most:
        return [label]
    parts = np.array_split(np.arange(n_classes), -(-n_classes // (most - 1)))
    return [np.column_stack([1 - label[:, part].sum(axis=1), label[:, part]]) for part in parts]


def _scores(proba: Array) -> Array:
    """Log-odds of the second of two classes, else log-probabilities."""
    log = np.log(np.maximum(proba, 1e-300))
    return log[:, 1] - log[:, 0] if proba.shape[1] == 2 else log

"""The job of ``groupwise fit --dask``: a folder of Parquet parts in, a model of tables out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask.delayed import Delayed
from distributed import Client
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OrdinalEncoder

from groupwise.dask.classifier import DaskGroupBoostClassifier
from groupwise.dask.ids import hash_ids, held_out
from groupwise.gbdt import GroupBoostClassifier
from groupwise.groups import Groups
from groupwise.jobs.evaluate import evaluate_fold
from groupwise.jobs.fold_result import FoldResult
from groupwise.jobs.model import TableModel
from groupwise.jobs.parquet_folder import ParquetFolder, Piece
from groupwise.jobs.reports import Reports, reports_of
from groupwise.jobs.result import Result, RunInfo
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import class_codes, ids_of, labels_of
from groupwise.methods import Method
from groupwise.preparation import Preparation
from groupwise.tables import ColumnUse, OptionError, Schema, TableError

__all__ = ["FolderJob"]

_JUDGED_ROWS = 100_000  # of held-out groups that are brought to one machine to be judged


@dataclass
class FolderJob:
    """A folder with its question, and the cluster to answer it.

    Attributes
    ----------
    client : Client
    folder : ParquetFolder
    supervision : Supervision
    uses : list of ColumnUse
        Chosen on the first rows of the folder.
    seed : int
    """

    client: Client
    folder: ParquetFolder
    supervision: Supervision
    uses: Sequence[ColumnUse]
    seed: int

    @property
    def schema(self) -> Schema:
        return Schema.from_uses(self.uses)

    @property
    def cluster_params(self) -> dict[str, Any]:
        """What trees on a cluster are told: the engine, and the columns of categories' codes."""
        first, total = len(self.schema.numbers), len(self.schema.columns)
        params: dict[str, Any] = {"engine": "xgboost"}
        if first < total:
            params["trees__categorical_features"] = list(range(first, total))
        return params

    def settings(self, method: Method, params: dict[str, Any]) -> GroupBoostClassifier:
        """The estimator of a method that boosts a group loss, not fitted."""
        fixed = self.supervision.constructor()
        estimator: GroupBoostClassifier = method.build(
            fixed, self.cluster_params | params, self.seed
        )
        if estimator.engine != "xgboost":
            raise OptionError("on a cluster the engine is xgboost; `params` name another")
        return estimator

    def _each(self, function: Callable[..., object], *arguments: object) -> list[Delayed]:
        """One delayed call per piece."""
        return [dask.delayed(function)(piece, *arguments) for piece in self.folder.pieces]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Of all pieces."""
        label = self.supervision.label
        if isinstance(self.supervision, Reports):
            return self.supervision.classes
        if len(label) > 1:
            return tuple(label)
        found = self.client.compute(self._each(_labels_in, self.supervision))
        labels = np.unique(np.concatenate(self.client.gather(found)))
        nobody = Groups.singletons(max(len(labels), 50))  # far from one label per group
        classes = class_codes(labels, None, nobody, self.folder.name, label[0])[1]
        positive = getattr(self.supervision, "positive", None)
        if self.supervision.kind == "presence" and len(classes) != 2:
            raise TableError(
                f"{self.folder.name}: column {label[0]!r} must hold two classes for `kind` "
                f"presence, it holds {len(classes)}"
            )
        if positive is not None and positive not in classes:
            raise TableError(
                f"{self.folder.name}: column {label[0]!r} never holds {positive!r} (`positive`)"
            )
        return classes[::-1] if positive == classes[0] and len(classes) == 2 else classes

    def preparation(self) -> ColumnTransformer:
        """What turns features into numbers: categories into codes, those of all pieces."""
        schema = self.schema
        every = pd.DataFrame(index=range(1), columns=list(schema.columns), dtype=object)
        if schema.categories:
            found = self.client.compute(self._each(_categories_in, schema.categories))
            every = pd.concat(self.client.gather(found), ignore_index=True)
            every = every.reindex(columns=list(schema.columns))
        every = every.astype(dict.fromkeys(schema.numbers, float))
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
        )
        steps = [
            ("numbers", "passthrough", list(schema.numbers)),
            ("categories", codes, list(schema.categories)),
        ]
        used = [step for step in steps if step[2]]
        return ColumnTransformer(used, sparse_threshold=0.0).fit(every)

    def boost(
        self,
        settings: GroupBoostClassifier,
        preparation: ColumnTransformer,
        *,
        without: float = 0.0,
    ) -> GroupBoostClassifier:
        """Fit to all groups, or without the share of them that is to judge the model."""
        n_targets = _n_targets(self.supervision)
        question = dask.delayed(
            _Reader(self.supervision, self.schema, self.classes, preparation, without, self.seed)
        )
        X, y, groups = [], [], []
        for piece in self.folder.pieces:
            parts = dask.delayed(_read, nout=3)(question, piece)
            shape = (np.nan, len(self.schema.columns))
            X.append(da.from_delayed(parts[0], shape, dtype=np.float32))
            shape_y = (np.nan,) if n_targets == 1 else (np.nan, n_targets)
            y.append(da.from_delayed(parts[1], shape_y, dtype=np.float64))
            groups.append(da.from_delayed(parts[2], (np.nan,), dtype=object))
        many = DaskGroupBoostClassifier(settings, client=self.client)
        joined = [
            da.concatenate(column, allow_unknown_chunksizes=True) for column in (X, y, groups)
        ]
        many.fit(joined[0], joined[1], groups=joined[2])
        return many.estimator_

    def fit(
        self,
        method: Method,
        params: dict[str, Any],
        preparation: ColumnTransformer,
        *,
        without: float = 0.0,
    ) -> TableModel:
        """The model of one method; see :meth:`boost`."""
        return TableModel(
            supervision=self.supervision,
            method=method.name,
            schema=self.schema,
            classes=self.classes,
            explains=self.supervision.explains and method.explains,
            preparation=Preparation(preparation),
            estimator=self.boost(self.settings(method, params), preparation, without=without),
        )

    def count_groups(self) -> int:
        """How many groups the folder holds."""
        found = self.client.gather(
            self.client.compute(self._each(_group_hashes, _group_column(self.supervision)))
        )
        return len(np.unique(np.concatenate(found)))

    def sample(self, fraction: float) -> pd.DataFrame:
        """All rows of a share of the groups, which ids and seed choose, on this machine."""
        columns = [*self.schema.columns, *self.supervision.label]
        calls = self._each(_sampled, _group_column(self.supervision), columns, fraction, self.seed)
        frames = self.client.gather(self.client.compute(calls))
        frames = [frame for frame in frames if len(frame)] or frames[:1]
        return pd.concat(frames, ignore_index=True)

    def judge(self, model: TableModel, fraction: float) -> FoldResult:
        """What a model is worth on groups it has not seen, of which some are brought here."""
        started = time.perf_counter()
        counts = self.client.gather(
            self.client.compute(self._each(_held_rows, self.supervision, fraction, self.seed, True))
        )
        share = min(1.0, _JUDGED_ROWS / max(1, sum(counts)))
        frames = self.client.gather(
            self.client.compute(
                self._each(_held_rows, self.supervision, fraction * share, self.seed, False)
            )
        )
        frame = pd.concat(frames, ignore_index=True)
        targets = self.supervision.targets_in(frame, self.folder.name, self.classes)
        features = self.schema.conform(frame, name=self.folder.name)
        rows = self.supervision.judged_rows(targets)
        found = evaluate_fold(
            model, features.iloc[rows], targets.take(rows), np.arange(len(frame))[rows]
        )
        return replace(
            found,
            seconds_predict=time.perf_counter() - started,
            n_train=self.folder.n_rows - sum(counts),
        )

    def about(self, command: str, n_groups: int, params: dict[str, str]) -> RunInfo:
        """Everything it takes to repeat the job."""
        return RunInfo(
            table=self.folder.name,
            fingerprint=self.folder.fingerprint,
            n_rows=self.folder.n_rows,
            n_groups=n_groups,
            supervision=self.supervision,
            classes=self.classes,
            columns=tuple(self.uses),
            command=command,
            seed=self.seed,
            n_splits=1,
            params=params,
        )

    def run(
        self, method: Method, params: dict[str, Any], command: str, folds: int
    ) -> tuple[TableModel, Result]:
        """Judge the method on one fold's share of the groups, then fit to all of them."""
        self.settings(method, params)  # a wrong parameter is told before the work
        preparation = self.preparation()
        started = time.perf_counter()
        first = self.fit(method, params, preparation, without=1.0 / folds)
        seconds = time.perf_counter() - started
        told = {name: repr(value) for name, value in params.items()}
        found = replace(self.judge(first, 1.0 / folds), params=told, seconds_fit=seconds)
        model = self.fit(method, params, preparation)
        about = self.about(command, model.estimator.n_groups_, told)
        return model, Result(about, {method.name: [found]})


@dataclass(frozen=True)
class _Reader:
    """From a piece to the numbers, targets and ids of its rows."""

    supervision: Supervision
    schema: Schema
    classes: tuple[str, ...]
    preparation: ColumnTransformer
    without: float
    seed: int

    def read(self, piece: Piece) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        label, group = self.supervision.label, _group_column(self.supervision)
        frame = piece.read([*self.schema.columns, *label, group])
        ids = ids_of(frame, group, piece.path, "group")
        if self.without:
            kept = ~held_out(hash_ids(ids), self.without, self.seed)
            frame, ids = frame[kept].reset_index(drop=True), ids[kept]
        if not len(frame):
            n_targets = _n_targets(self.supervision)
            none = np.empty((0, n_targets)) if n_targets > 1 else np.empty(0, np.intp)
            return np.empty((0, len(self.schema.columns)), np.float32), none, ids
        X = self.preparation.transform(self.schema.conform(frame, name=piece.path))
        return np.asarray(X, np.float32), self._targets(frame, ids, piece.path), ids

    def _targets(self, frame: pd.DataFrame, ids: NDArray[Any], name: str) -> NDArray[Any]:
        label = self.supervision.label
        if isinstance(self.supervision, Reports):
            return reports_of(frame, label, name, Groups.singletons(len(frame)))
        if len(label) > 1:  # shares or counts: checked with the rest of the group
            return frame[list(label)].to_numpy(dtype=np.float64, na_value=np.nan)
        groups = Groups(ids)
        labels = labels_of(frame, label[0], name, groups)
        return class_codes(labels, self.classes, groups, name, label[0])[0]


def _n_targets(supervision: Supervision) -> int:
    """Columns of what is known: ends of a report, or one per class."""
    n_labels = len(supervision.label)
    return max(n_labels, 2) if isinstance(supervision, Reports) else n_labels


def _read(reader: _Reader, piece: Piece) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return reader.read(piece)


def _group_column(supervision: Supervision) -> str:
    assert supervision.group is not None  # the kinds that boosting serves have one
    return supervision.group


def _labels_in(piece: Piece, supervision: Supervision) -> NDArray[Any]:
    group = _group_column(supervision)
    frame = piece.read([supervision.label[0], group])
    if not len(frame):
        return np.empty(0, dtype="U1")
    groups = Groups(ids_of(frame, group, piece.path, "group"))
    return np.unique(labels_of(frame, supervision.label[0], piece.path, groups))


def _categories_in(piece: Piece, columns: tuple[str, ...]) -> pd.DataFrame:
    """A short table that holds every category of the piece."""
    frame = Schema((), columns).conform(piece.read(list(columns)), name=piece.path)
    return pd.DataFrame({column: pd.Series(frame[column].unique()) for column in columns})


def _held_rows(
    piece: Piece, supervision: Supervision, fraction: float, seed: int, count: bool
) -> Any:
    """Rows of held-out groups, or how many there are."""
    group = _group_column(supervision)
    frame = piece.read([group] if count else None)
    held = held_out(hash_ids(ids_of(frame, group, piece.path, "group")), fraction, seed)
    return int(held.sum()) if count else frame[held]


def _group_hashes(piece: Piece, group: str) -> NDArray[np.uint64]:
    return np.unique(hash_ids(ids_of(piece.read([group]), group, piece.path, "group")))


def _sampled(
    piece: Piece, group: str, columns: list[str], fraction: float, seed: int
) -> pd.DataFrame:
    """Rows of the sampled groups."""
    frame = piece.read([*columns, group])
    if fraction >= 1.0:
        return frame
    return frame[held_out(hash_ids(ids_of(frame, group, piece.path, "group")), fraction, seed)]

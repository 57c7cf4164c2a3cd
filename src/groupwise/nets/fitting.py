"""From checked data to fitted ensembles: one training for all members and all folds."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from groupwise.exceptions import GroupDataError
from groupwise.losses import BoundLoss, GroupMeanLoss, ShareLoss
from groupwise.nets.answers import NetEnsemble
from groupwise.nets.base import GroupNetMixin, Prepared
from groupwise.nets.batches import GroupRows
from groupwise.nets.losses import GroupMean, PackedLoss, PooledLoss, torch_loss
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import choose_device
from groupwise.nets.piecewise import PiecewiseLinear
from groupwise.nets.progress import Callback
from groupwise.nets.rows import is_raw, moments
from groupwise.nets.task import Settings, Task
from groupwise.nets.torch_answers import EncoderEnsemble
from groupwise.nets.training import train

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Fitted", "fit_networks"]

_RARE = 0.9  # share of rows that have a zero, from which a feature is a rare one


@dataclass(frozen=True)
class Fitted:
    """What a training leaves of one fold: the averaged members, and how it went."""

    ensemble: NetEnsemble | EncoderEnsemble
    device: str
    history: dict[str, list[float]]
    n_iter: int
    train_group: NDArray[Any]


def fit_networks(
    model: GroupNetMixin,
    prepared: Prepared,
    train_group: NDArray[Any],
    valid_group: NDArray[Any] | None,
    rng: np.random.RandomState,
    callbacks: Sequence[Callback] = (),
    known_group: NDArray[Any] | None = None,
) -> list[Fitted]:
    """Train ``model.n_members`` networks for each line of ``train_group``, all at once.

    Parameters
    ----------
    model : GroupNetClassifier or GroupNetRegressor
    prepared : Prepared
    train_group : ndarray of shape (n_folds, n_groups)
        1 for the groups a fold learns from, else 0.
    valid_group : ndarray of shape (n_folds, n_groups) or None
        1 for the groups that decide when to stop.
    rng : RandomState
    callbacks : sequence of callables, default=()
    known_group : ndarray of shape (n_folds, n_groups) or None
        1 for the groups whose rows features are standardised by (and their bins found). ``None``:
        those of ``train_group``.

    Returns
    -------
    fitted : list of Fitted
        One per fold.
    """
    n_folds, n_members = len(train_group), model.n_members
    device = choose_device(model.device)
    own = isinstance(model.encoder, torch.nn.Module)
    if not own and not isinstance(model.encoder, tuple | list):
        raise ValueError(
            f"encoder must be a tuple of sizes or a torch.nn.Module, got {model.encoder!r}"
        )
    if own and n_folds > 1:
        raise ValueError("folds are trained at once where encoder gives sizes, not with a module")
    if not own and prepared.X.ndim != 2:
        raise ValueError(
            f"rows of shape {prepared.X.shape[1:]} need a torch module as encoder; sizes are for "
            "tables (n_rows, n_features)"
        )
    known = train_group if known_group is None else known_group
    tables = _tables(model, prepared, known)
    members = np.repeat(np.arange(n_folds), n_members)
    seeds = rng.randint(2**31 - 1, size=n_folds * n_members).tolist()
    folds = [
        moments(table.X, _rows_of(prepared, line), table.X_unlabeled)
        for table, line in zip(tables, known, strict=True)
    ]
    rare = _padded([fold.rare(_RARE) for fold in folds], False)
    folds = [fold.as_if_seen_once(_RARE) for fold in folds]
    widths = [len(fold.mean) for fold in folds]
    network = GroupNet(
        _width(model, prepared, device) if own else [widths[fold] for fold in members],
        prepared.n_outputs,
        encoder=model.encoder,
        pooling=model.pooling,
        n_members=len(members),
        dropout=model.dropout,
        rare=None if own or not rare.any() else rare[members],
        seed=seeds,
    )
    _check_grades(prepared, train_group)
    bound = _bound(model, prepared, train_group)
    loss = _loss(model, prepared, [bound[fold] for fold in members])
    start = [_start(prepared, *each) for each in zip(train_group, bound, strict=True)]
    with torch.no_grad():
        bias = torch.as_tensor(np.stack(start)[members], dtype=torch.float32)
        network.weights["head_bias"].copy_(bias[:, None, :])
    # a constant changes nothing where groups are compared: its gradient is rounding noise
    network.weights["head_bias"].requires_grad_(not loss.needs_all_groups)
    centre = _padded([fold.mean for fold in folds], 0.0)[:, None]
    scale = _padded([fold.deviation for fold in folds], 1.0)[:, None]
    if n_folds == 1:
        centre, scale = centre[0, 0], scale[0, 0]
    rows = GroupRows(_rows_first(tables), prepared.data.groups)
    weight_row = prepared.data.weight_row
    target, offset = _target_and_offset(model, prepared)
    task = Task(
        rows,
        loss.encode(target, prepared.data.groups.sizes),
        loss,
        model.pooling is not None,
        train_group[members],
        None if valid_group is None else valid_group[members],
        None if weight_row is None else weight_row[prepared.data.groups.order],
        offset,
        None if own else centre,
        None if own else scale,
    )
    settings = Settings(
        epochs=model.epochs,
        batch_groups=model.batch_groups,
        learning_rate=model.learning_rate,
        alpha=model.alpha,
        max_norm=model.max_norm,
        n_iter_no_change=model.n_iter_no_change if model.early_stopping else None,
        half_precision=model.half_precision,
        device=device,
        seed=int(rng.randint(2**31 - 1)),
        checkpoint=model.checkpoint,
        verbose=int(model.verbose),
    )
    history, n_epochs = train(network, task, settings, callbacks)
    if own:
        ensemble = EncoderEnsemble(network, device)
        return [Fitted(ensemble, device, history, int(n_epochs.max()), train_group[0])]
    weights = network.arrays()
    fitted = []
    for fold in range(n_folds):
        mine = members == fold
        of_fold = {name: value[mine] for name, value in weights.items()}
        if "encoder_0_weight" in of_fold:
            of_fold["encoder_0_weight"] = of_fold["encoder_0_weight"][:, : widths[fold]]
        ensemble_of_fold = NetEnsemble(
            of_fold,
            model.pooling,
            folds[fold].mean,
            folds[fold].deviation,
            tables[fold].bins,
        )
        n_kept = int(n_epochs[mine].max())
        fitted.append(Fitted(ensemble_of_fold, device, history, n_kept, train_group[fold]))
    return fitted


@dataclass(frozen=True)
class _Table:
    """Rows as a fold sees them, not yet standardised."""

    X: Any
    X_unlabeled: Any
    bins: PiecewiseLinear | None = None


def _tables(model: GroupNetMixin, prepared: Prepared, known: NDArray[Any]) -> list[_Table]:
    """The rows of every fold: one table for all, or over bins of the rows that each knows."""
    rows, more = prepared.X, prepared.X_unlabeled
    if model.n_bins is None:
        return [_Table(rows, more)] * len(known)
    if is_raw(rows) or is_raw(more) or isinstance(model.encoder, torch.nn.Module):
        raise ValueError(
            "n_bins is for tables in memory and an encoder of sizes; images, memory-mapped arrays, "
            "folders and modules take rows as they are"
        )
    found: list[_Table] = []
    for line in known:
        if found and (line == known[0]).all():
            found.append(found[0])
            continue
        chosen = _rows_of(prepared, line)
        seen = rows if chosen is None else rows[chosen]
        bins = PiecewiseLinear.fit(seen if more is None else np.vstack([seen, more]), model.n_bins)
        found.append(_Table(bins.encode(rows), None if more is None else bins.encode(more), bins))
    return found


def _rows_first(tables: list[_Table]) -> Any:
    """One table (n_rows, ...) for all folds, or (n_rows, n_folds, width) where theirs differ."""
    if all(table is tables[0] for table in tables):
        return tables[0].X
    width = max(table.X.shape[1] for table in tables)
    out = np.zeros((len(tables[0].X), len(tables), width))
    for fold, table in enumerate(tables):
        out[:, fold, : table.X.shape[1]] = table.X
    return out


def _padded(of_folds: list[NDArray[Any]], value: float) -> NDArray[Any]:
    """What folds say of their features, which may differ in number, as one array."""
    if len({values.shape for values in of_folds}) == 1:
        return np.stack(of_folds)
    out = np.full((len(of_folds), max(map(len, of_folds))), value, of_folds[0].dtype)
    for line, values in zip(out, of_folds, strict=True):
        line[: len(values)] = values
    return out


def _width(model: GroupNetMixin, prepared: Prepared, device: str) -> int:
    """How many numbers the encoder makes of a row."""
    encoder = deepcopy(model.encoder).to(device).eval()
    with torch.no_grad():
        seen = encoder(torch.as_tensor(np.asarray(prepared.X[:2]), device=device).float())
    if seen.ndim != 2:
        raise ValueError(
            f"encoder must make one vector of a row, (n_rows, width); its output has the shape "
            f"{tuple(seen.shape)}"
        )
    return int(seen.shape[1])


def _bound(
    model: GroupNetMixin, prepared: Prepared, train_group: NDArray[Any]
) -> list[BoundLoss | None]:
    """The loss of each fold's training groups; of classes that groups are scored for, none."""
    loss = prepared.loss
    if model.pooling is None or loss.target_kind in ("number", "time") or loss.one_score:
        return [prepared.bind(line) for line in train_group]
    return [None] * len(train_group)


def _loss(
    model: GroupNetMixin, prepared: Prepared, bound: Sequence[BoundLoss | None]
) -> PackedLoss:
    """Of rows, or of groups that are scored: there, each is a group of one row."""
    loss = prepared.loss
    if isinstance(loss, GroupMeanLoss):
        delta = None if loss.delta is None else loss.delta / prepared.unit
        return GroupMean(delta) if model.pooling is None else PooledLoss("number", delta=delta)
    known = [each for each in bound if each is not None]
    if known:
        return torch_loss(loss, known)
    return PooledLoss(loss.target_kind, squared=isinstance(loss, ShareLoss))


def _target_and_offset(
    model: GroupNetMixin, prepared: Prepared
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """What is known of groups, and what is added to the scores: the log of an exposure."""
    groups, exposure = prepared.data.groups, prepared.data.exposure_row
    if model.pooling is not None and getattr(prepared.loss, "takes_exposure", False):
        # the group's score is the log of its rate: its total by the exposure of all its rows
        whole = 1.0 * groups.sizes if exposure is None else groups.sum(exposure)
        return prepared.target * groups.sizes, np.log(whole)
    return prepared.target, None if exposure is None else np.log(exposure[groups.order])


def _check_grades(prepared: Prepared, train_group: NDArray[Any]) -> None:
    if not prepared.loss.one_score:
        return
    classes = prepared.data.classes
    assert classes is not None  # grades are classes
    for line in train_group:
        known = prepared.target[line > 0]
        for place, name in enumerate(classes.tolist()):
            if place not in known:
                raise GroupDataError(
                    f"every class needs a group that has it to learn from; {name!r} has none"
                )


def _start(prepared: Prepared, line: NDArray[Any], bound: BoundLoss | None) -> NDArray[Any]:
    """The best constant score of a fold's training groups, where the head begins."""
    if isinstance(prepared.loss, GroupMeanLoss):
        return np.zeros(1)  # numbers are measured from their mean
    if bound is not None:
        return bound.init_score()
    n_classes, known = prepared.data.n_classes, prepared.target[line > 0]
    known = np.eye(n_classes)[known] if known.ndim == 1 else known
    share = np.clip(known.mean(axis=0), 1e-6, 1.0)
    share = share / share.sum()
    return logit(share[1:]) if n_classes == 2 else np.log(share)


def _rows_of(prepared: Prepared, line: NDArray[Any]) -> NDArray[np.bool_] | None:
    """The rows a fold learns from; ``None``: all."""
    return None if line.all() else line[prepared.data.groups.codes] > 0

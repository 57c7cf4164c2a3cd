"""From checked data to fitted ensembles: one training for all members and all folds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from groupwise.losses import GroupMeanLoss, ShareLoss
from groupwise.nets.answers import NetEnsemble
from groupwise.nets.base import GroupNetMixin, Prepared
from groupwise.nets.batches import GroupRows
from groupwise.nets.losses import PackedLoss, PooledLoss, torch_loss
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.piecewise import PiecewiseLinear
from groupwise.nets.rows import is_raw, moments
from groupwise.nets.task import Settings, Task
from groupwise.nets.torch_answers import EncoderEnsemble
from groupwise.nets.training import choose_device, train
from groupwise.targets import group_target

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


def fit_networks(
    model: GroupNetMixin,
    prepared: Prepared,
    train_group: NDArray[Any],
    valid_group: NDArray[Any] | None,
    rng: np.random.RandomState,
    callbacks: Sequence[Callable[[Any], Any]] = (),
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
    if own and n_folds > 1:
        raise ValueError("folds are trained at once where encoder gives sizes, not with a module")
    if not own and prepared.X.ndim != 2:
        raise ValueError(
            f"rows of shape {prepared.X.shape[1:]} need a torch module as encoder; sizes are for "
            "tables (n_rows, n_features)"
        )
    known = train_group if known_group is None else known_group
    bins = None
    if model.n_bins is not None:
        bins, prepared = _over_bins(model, prepared, known)
    members = np.repeat(np.arange(n_folds), n_members)
    seeds = rng.randint(2**31 - 1, size=n_folds * n_members).tolist()
    folds = [moments(prepared.X, _rows_of(prepared, line), prepared.X_unlabeled) for line in known]
    rare = np.stack([fold.rare(_RARE) for fold in folds])
    folds = [fold.as_if_seen_once(_RARE) for fold in folds]
    network = GroupNet(
        _width(model, prepared, device) if own else prepared.X.shape[1],
        prepared.n_outputs,
        encoder=model.encoder,
        pooling=model.pooling,
        n_members=len(members),
        dropout=model.dropout,
        rare=None if own or not rare.any() else rare[members],
        seed=seeds,
    )
    start = [_start(model, prepared, line) for line in train_group]
    with torch.no_grad():
        bias = torch.as_tensor(np.stack(start)[members], dtype=torch.float32)
        network.weights["head_bias"].copy_(bias[:, None, :])
    centre = np.stack([fold.mean for fold in folds])[:, None]
    scale = np.stack([fold.deviation for fold in folds])[:, None]
    if n_folds == 1:
        centre, scale = centre[0, 0], scale[0, 0]
    rows = GroupRows(prepared.X, prepared.data.groups)
    weight_row = prepared.data.weight_row
    task = Task(
        rows,
        prepared.target,
        _loss(model, prepared),
        model.pooling is not None,
        train_group[members],
        None if valid_group is None else valid_group[members],
        None if weight_row is None else weight_row[prepared.data.groups.order],
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
        return [Fitted(ensemble, device, history, int(n_epochs.max()))]
    weights = network.arrays()
    fitted = []
    for fold in range(n_folds):
        mine = members == fold
        ensemble_of_fold = NetEnsemble(
            {name: value[mine] for name, value in weights.items()},
            model.pooling,
            folds[fold].mean,
            folds[fold].deviation,
            bins,
        )
        fitted.append(Fitted(ensemble_of_fold, device, history, int(n_epochs[mine].max())))
    return fitted


def _over_bins(
    model: GroupNetMixin, prepared: Prepared, known: NDArray[Any]
) -> tuple[PiecewiseLinear, Prepared]:
    """Bins of the rows that are known, the same in all folds, and the data over them."""
    assert model.n_bins is not None and (known == known[0]).all()
    rows, more = prepared.X, prepared.X_unlabeled
    if is_raw(rows) or is_raw(more) or isinstance(model.encoder, torch.nn.Module):
        raise ValueError(
            "n_bins is for tables in memory and an encoder of sizes; images, memory-mapped arrays, "
            "folders and modules take rows as they are"
        )
    chosen = _rows_of(prepared, known[0])
    seen = rows if chosen is None else rows[chosen]
    bins = PiecewiseLinear.fit(seen if more is None else np.vstack([seen, more]), model.n_bins)
    more = None if more is None else bins.encode(more)
    return bins, replace(prepared, X=bins.encode(rows), X_unlabeled=more)


def _width(model: GroupNetMixin, prepared: Prepared, device: str) -> int:
    """How many numbers the encoder makes of a row."""
    encoder = model.encoder.to(device).eval()
    with torch.no_grad():
        seen = encoder(torch.as_tensor(np.asarray(prepared.X[:2]), device=device).float())
    if seen.ndim != 2:
        raise ValueError(
            f"encoder must make one vector of a row, (n_rows, width); its output has the shape "
            f"{tuple(seen.shape)}"
        )
    return int(seen.shape[1])


def _loss(model: GroupNetMixin, prepared: Prepared) -> PackedLoss:
    loss = prepared.loss
    if isinstance(loss, GroupMeanLoss):
        delta = None if loss.delta is None else loss.delta / prepared.unit
        return (
            torch_loss(GroupMeanLoss(delta))
            if model.pooling is None
            else PooledLoss("number", delta=delta)
        )
    if model.pooling is None:
        return torch_loss(loss)
    return PooledLoss(loss.target_kind, squared=isinstance(loss, ShareLoss))


def _start(model: GroupNetMixin, prepared: Prepared, line: NDArray[Any]) -> NDArray[Any]:
    """The best constant score of a fold's training groups, where the head begins."""
    data = prepared.data
    if not line.all():
        data = data.take(np.flatnonzero(line[data.groups.codes] > 0))
    if prepared.loss.target_kind == "number":
        return np.zeros(1)  # numbers are measured from their mean
    if model.pooling is None:
        return data.bind(prepared.loss).init_score()
    known = group_target(prepared.loss, data.y_row, data.groups, data.n_classes)
    known = np.eye(data.n_classes)[known] if known.ndim == 1 else known
    share = np.clip(known.mean(axis=0), 1e-6, 1.0)
    share = share / share.sum()
    return logit(share[1:]) if data.n_classes == 2 else np.log(share)


def _rows_of(prepared: Prepared, line: NDArray[Any]) -> NDArray[np.bool_] | None:
    """The rows a fold learns from; ``None``: all."""
    return None if line.all() else line[prepared.data.groups.codes] > 0

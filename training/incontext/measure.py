"""Loss, accuracy and calibration of the network on made-up tables."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from training.incontext.columns import N_SCORERS, Batch, read_tables
from training.incontext.network import InContextNetwork
from training.incontext.prior import (
    KINDS,
    MAX_CLASSES,
    MAX_FEATURES,
    Draw,
    Shape,
    Tables,
    make_tables,
)

__all__ = ["GROUP_WEIGHT", "held_out", "losses", "measure"]

#: Weight of the groups' loss beside that of rows.
GROUP_WEIGHT = 0.3
HELD_OUT_SEED = 1_000_000_007
N_BINS = 15


def losses(row: Tensor, group: Tensor, tables: Tables) -> tuple[Tensor, Tensor]:
    """Cross-entropy of all rows' classes, and of the groups whose label is not shown."""
    of_rows = F.cross_entropy(row.flatten(0, 1), tables.y.flatten())
    asked = (tables.real & ~tables.known).float()
    entropy = -(tables.label * group.log_softmax(2)).sum(2)
    return of_rows, (asked * entropy).sum() / asked.sum().clamp(min=1)


def held_out(
    shapes: tuple[Shape, ...], n_batches: int, device: str
) -> Iterator[tuple[Tables, Batch]]:
    """The fixed made-up tables that training never sees."""
    for place, shape in enumerate(shapes):
        for part in range(n_batches):
            index = 1000 * place + part
            tables = make_tables(HELD_OUT_SEED, index, shape, shape.n_tables, device)
            yield tables, read_tables(tables, Draw(HELD_OUT_SEED + 1, index, device))


@torch.no_grad()
def measure(
    network: InContextNetwork, batches: list[tuple[Tables, Batch]], autocast: torch.autocast
) -> dict[str, float]:
    """Measures per kind of label over rows and groups that are asked about.

    ``scorer`` is the accuracy of the mean of the closed-form scores that the network reads.
    """
    found: dict[str, list[Tensor]] = {}

    def keep(name: str, value: Tensor) -> None:
        found.setdefault(name, []).append(value.detach().float().cpu())

    for tables, batch in batches:
        with autocast:
            row, group = network(batch)
        row, group = row.log_softmax(2), group.log_softmax(2)
        scores = batch.columns[:, :, MAX_FEATURES : MAX_FEATURES + N_SCORERS * MAX_CLASSES]
        scores = scores.unflatten(2, (N_SCORERS, MAX_CLASSES)).mean(2)
        scores = scores.masked_fill(batch.absent[:, None, :], -torch.inf)
        known_row = tables.known.gather(1, tables.group)
        of_true = row.gather(2, tables.y[:, :, None])[:, :, 0]
        sure, said = row.max(2)
        right = said == tables.y
        entropy = -(tables.label * group).sum(2)
        sure_group, said_group = group.max(2)
        right_group = said_group == tables.label.argmax(2)
        for code, kind in enumerate(KINDS):
            here = (tables.kind == code)[:, None]
            new, old = here & ~known_row, here & known_row
            asked = here & tables.real & ~tables.known
            keep(f"{kind}.row_loss", -of_true[new])
            keep(f"{kind}.row_error", (~right)[new])
            keep(f"{kind}.scorer_error", (scores.argmax(2) != tables.y)[new])
            keep(f"{kind}.known_row_loss", -of_true[old])
            keep(f"{kind}.known_row_error", (~right)[old])
            keep(f"{kind}.group_loss", entropy[asked])
            keep(f"{kind}.group_error", (~right_group)[asked])
            keep(f"{kind}.sure_row", sure.exp()[here.expand_as(sure)])
            keep(f"{kind}.right_row", right[here.expand_as(sure)])
            if kind != "proportions":  # there the group is given shares, not a class
                keep(f"{kind}.sure_group", sure_group.exp()[asked])
                keep(f"{kind}.right_group", right_group[asked])
    whole = {name: torch.cat(parts) for name, parts in found.items()}
    result = {
        name: float(values.mean())
        for name, values in whole.items()
        if not name.split(".")[1].startswith(("sure", "right"))
    }
    for level in ("row", "group"):
        names = [name for name in whole if name.endswith(f"sure_{level}")]
        for name in names:
            right_name = name.replace("sure", "right")
            result[name.replace("sure", "ece")] = _ece(whole[name], whole[right_name])
    return result


def _ece(sure: Tensor, right: Tensor) -> float:
    """Expected calibration error of the most probable class, in bins of equal width."""
    place = (sure * N_BINS).long().clamp(0, N_BINS - 1)
    gap = torch.zeros(N_BINS).scatter_add_(0, place, right - sure)
    return float(gap.abs().sum() / len(sure))

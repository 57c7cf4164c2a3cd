"""What the network reads of a table: one vector per row.

The same columns are made in numpy by :mod:`groupwise.incontext`; a test compares the two.

- features: standard scores or normal quantiles over the context, most relevant first, each with the
  sign that makes it rise with the class it tells most of; columns a table does not have are zero;
- what four regressions on group means say of the row, fitted to the known groups in closed form: a
  linear one and three with Gaussian kernels (wide, narrow, wide with relevant features stretched).
  For rows of known groups also what they say without the group;
- what is known of the row's group, and of the table.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from training.incontext.prior import MAX_CLASSES, MAX_FEATURES, Draw, Tables, n_singles

__all__ = ["N_COLUMNS", "N_SCORERS", "Batch", "read_tables"]

N_SCORERS = 4
#: Features, scores with and without the group, label, three flags and sizes of the group, kind,
#: classes, their shares, three sizes of the table, quality of the scorers.
N_COLUMNS = (
    MAX_FEATURES
    + 2 * N_SCORERS * MAX_CLASSES
    + MAX_CLASSES
    + 3
    + 3
    + 2 * MAX_CLASSES
    + 3
    + N_SCORERS
)
CLIP = 5.0
#: Widths of the Gaussian kernels, as multiples of 1 / (2 n_features).
WIDTHS = (0.7, 3.0)
RIDGES = (0.03, 0.5)


@dataclass(frozen=True)
class Batch:
    """What the network takes.

    Attributes
    ----------
    columns : Tensor of shape (n_tables, n_rows, N_COLUMNS)
    member : Tensor of shape (n_tables, max_groups, n_rows)
        One where the row is in the group.
    size : Tensor of shape (n_tables, max_groups)
        Rows per group, at least one.
    context : Tensor of shape (n_tables, n_rows)
        Rows that the others may look at.
    absent : Tensor of shape (n_tables, MAX_CLASSES)
        Classes the table does not have.
    """

    columns: Tensor
    member: Tensor
    size: Tensor
    context: Tensor
    absent: Tensor


@torch.no_grad()
def read_tables(tables: Tables, draw: Draw) -> Batch:
    """Columns of a batch of tables; ``draw`` decides on quantiles and disorder of features."""
    n_tables = len(tables)
    max_groups = tables.real.shape[1]
    member = (
        torch.arange(max_groups, device=draw.device)[:, None] == tables.group[:, None, :]
    ).float()
    size = member.sum(2).clamp(min=1)
    context = tables.context.gather(1, tables.group)
    known = tables.known.gather(1, tables.group)
    x = _standard_scores(tables.x, context)
    ranked = draw.flags(n_tables, 1, 1, p=0.5)
    x = torch.where(ranked, _standard_scores(_normal_scores(tables.x, context), context), x)
    present = torch.arange(MAX_FEATURES, device=draw.device) < tables.n_features[:, None]
    x = x * present[:, None, :]
    mean_group = member @ x / size[:, :, None]
    correlation = _correlation(mean_group, tables.label, tables.known)
    relevance = (correlation**2).sum(2)
    score, alone, quality, base = _scores(tables, x, member, size, relevance, known)
    x = _in_order(x, correlation, relevance, present, tables.n_classes, draw)
    absent = torch.arange(MAX_CLASSES, device=draw.device) >= tables.n_classes[:, None]
    columns = torch.cat(
        [
            x * (MAX_FEATURES / tables.n_features[:, None, None]).sqrt(),
            score.flatten(2),
            alone.flatten(2),
            _about_groups(tables, size, known, context),
            _about_tables(tables, context, base, absent, quality)[:, None, :].expand(
                -1, x.shape[1], -1
            ),
        ],
        2,
    )
    return Batch(columns, member, size, context, absent)


def _standard_scores(x: Tensor, context: Tensor) -> Tensor:
    """Standard scores over the context, clipped; missing values become zero."""
    seen = context[:, :, None] & ~x.isnan()
    n = seen.sum(1, keepdim=True).clamp(min=1)
    mean = torch.where(seen, x, 0.0).sum(1, keepdim=True) / n
    variance = torch.where(seen, (x - mean) ** 2, 0.0).sum(1, keepdim=True) / n
    scale = torch.where(variance > 1e-10, variance, torch.inf).rsqrt()
    return ((x - mean) * scale).nan_to_num(0.0).clamp(-CLIP, CLIP)


def _normal_scores(x: Tensor, context: Tensor) -> Tensor:
    """Normal quantiles of the mean rank among the context; missing values stay."""
    values = x.mT.contiguous()
    seen = context[:, None, :] & ~values.isnan()
    ordered = torch.where(seen, values, torch.inf).sort(2).values
    n = seen.sum(2, keepdim=True)
    asked = values.nan_to_num(0.0)
    below = torch.searchsorted(ordered, asked)
    not_above = torch.searchsorted(ordered, asked, right=True)
    level = (below.float() + not_above.float()).clamp(max=2 * n) / (2 * n.clamp(min=1))
    edge = 0.5 / n.clamp(min=1)
    level = torch.minimum(torch.maximum(level, edge), 1 - edge)
    return torch.special.ndtri(level).masked_fill(values.isnan(), torch.nan).mT


def _correlation(mean_group: Tensor, label: Tensor, known: Tensor) -> Tensor:
    """Of features' group means with labels over the known groups: (n_tables, d, classes)."""
    weight = known.float()[:, :, None]
    n = weight.sum(1, keepdim=True).clamp(min=1)

    def unit(values: Tensor) -> Tensor:
        centred = weight * (values - (weight * values).sum(1, keepdim=True) / n)
        norm = (centred**2).sum(1, keepdim=True).sqrt()
        return centred / norm.clamp(min=1e-6)

    return unit(mean_group).mT @ unit(label)


def _in_order(
    x: Tensor,
    correlation: Tensor,
    relevance: Tensor,
    present: Tensor,
    n_classes: Tensor,
    draw: Draw,
) -> Tensor:
    """Relevant features first, up to a disorder drawn per table, and with one sign."""
    n_tables, _, d = x.shape
    disorder = draw.uniform(n_tables, 1) * draw.flags(n_tables, 1, p=0.7)
    key = (relevance + 1e-4).log() + 2 * disorder * draw.normal(n_tables, d)
    order = key.masked_fill(~present, -torch.inf).argsort(1, descending=True)
    strongest = correlation.abs().argmax(2, keepdim=True)
    signed = correlation.gather(2, strongest)[:, :, 0]
    # Of two classes the second: their correlations are equal and opposite.
    signed = torch.where((n_classes == 2)[:, None], correlation[:, :, 1], signed)
    sign = torch.where(signed < 0, -1.0, 1.0)
    return (x * sign[:, None, :]).gather(2, order[:, None, :].expand_as(x))


def _scores(
    tables: Tables, x: Tensor, member: Tensor, size: Tensor, relevance: Tensor, known_row: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Regressions on group means, in closed form.

    With ``A`` the averages over known groups and ``K`` the kernel of rows, row scores are
    ``K A' C^-1 t`` with ``C = A K A' + ridge I`` and ``t`` the labels less their mean. Without
    group g they are ``K A' (a - C^-1_g a_g / C^-1_gg)``, ``a = C^-1 t``. Of two ridges that with
    the smaller error on groups left out is taken.
    """
    n_groups = member.shape[1] - n_singles(x.shape[1])  # of single rows nothing is known
    label, group = tables.label[:, :n_groups], tables.group.clamp(max=n_groups - 1)
    weight = tables.known[:, :n_groups].float()
    n_known = weight.sum(1, keepdim=True).clamp(min=1)
    base = (weight[:, :, None] * label).sum(1) / n_known
    target = weight[:, :, None] * (label - base[:, None, :])
    average = weight[:, :, None] * member[:, :n_groups] / size[:, :n_groups, None]
    share = relevance / relevance.sum(1, keepdim=True).clamp(min=1e-6)
    n_features = tables.n_features[:, None, None].float()
    stretched = x * (share * n_features[:, 0]).sqrt()[:, None, :]
    wide = _squares(x) / (2 * n_features)
    kernels = (
        1 + x @ x.mT / n_features,
        (-WIDTHS[0] * wide).exp(),
        (-WIDTHS[1] * wide).exp(),
        (-WIDTHS[0] * _squares(stretched) / (2 * n_features)).exp(),
    )
    eye = torch.eye(weight.shape[1], device=x.device)
    of_rows = torch.stack([kernel @ average.mT for kernel in kernels], 1)
    of_groups = average[:, None] @ of_rows
    mean = of_groups.diagonal(dim1=2, dim2=3).sum(2) / n_known
    off = (1 - weight)[:, None, None, :] * eye  # decouples what is unknown
    ridge = torch.stack([part * mean + 1e-4 for part in RIDGES], 1)[:, :, :, None, None]
    system = of_groups[:, None] + ridge * eye + off[:, None]
    factor = torch.linalg.cholesky_ex(system).L
    half = torch.linalg.solve_triangular(factor, eye.expand_as(factor), upper=False)
    inverse = half.mT @ half
    answer = inverse @ target[:, None, None]
    own = inverse.diagonal(dim1=3, dim2=4)[..., None]
    left_out = target[:, None, None] - answer / own.clamp(min=1e-6)  # scores of the group left out
    error = ((left_out - target[:, None, None]) ** 2 * weight[:, None, None, :, None]).sum((3, 4))
    error = error.nan_to_num(torch.inf)
    best = error.argmin(1)[:, None, :]

    def chosen(values: Tensor) -> Tensor:
        place = best.view(*best.shape, 1, 1).expand(-1, -1, -1, *values.shape[3:])
        return values.gather(1, place)[:, 0]

    answer, inverse, own = chosen(answer), chosen(inverse), chosen(own)
    score = of_rows @ answer
    step = (of_rows @ inverse).gather(3, group[:, None, :, None].expand(-1, N_SCORERS, -1, 1))
    spread = group[:, None, :, None]
    lost = (answer / own.clamp(min=1e-6)).gather(2, spread.expand(-1, N_SCORERS, -1, MAX_CLASSES))
    alone = score - step * lost * known_row[:, None, :, None]
    variance = (target**2).sum((1, 2)).clamp(min=1e-6)
    quality = (1 - error.amin(1) / variance[:, None]).clamp(-1, 1)
    tidy = [(part.nan_to_num(0.0) + base[:, None, None, :]).clamp(-2, 3) for part in (score, alone)]
    return tidy[0].transpose(1, 2), tidy[1].transpose(1, 2), quality.nan_to_num(0.0), base


def _squares(x: Tensor) -> Tensor:
    norm = (x**2).sum(2)
    return (norm[:, :, None] + norm[:, None, :] - 2 * x @ x.mT).clamp(min=0)


def _about_groups(tables: Tables, size: Tensor, known: Tensor, context: Tensor) -> Tensor:
    """Label where known, whether known, whether in the context, logarithm of the size."""
    label = tables.label * tables.known[:, :, None]
    of_row = label.gather(1, tables.group[:, :, None].expand(-1, -1, MAX_CLASSES))
    log_size = size.log().gather(1, tables.group)
    rest = torch.stack([known.float(), context.float(), 0.5 * log_size], 2)
    return torch.cat([of_row, rest], 2)


def _about_tables(
    tables: Tables, context: Tensor, base: Tensor, absent: Tensor, quality: Tensor
) -> Tensor:
    """Kind, classes, shares of the known labels, sizes, quality of the scorers."""
    kind = torch.nn.functional.one_hot(tables.kind, 3).float()
    sizes = torch.stack(
        [
            0.3 * tables.known.sum(1).clamp(min=1).log(),
            0.3 * context.sum(1).clamp(min=1).log(),
            0.5 * tables.n_features.float().log(),
        ],
        1,
    )
    return torch.cat([kind, (~absent).float(), base, sizes, quality], 1)

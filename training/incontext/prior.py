"""Made-up tables with groups: the prior of the in-context network.

A table is made in four steps, for a whole batch at once and without a loop over tables:

1. causes: points in a few dimensions, in clusters, some with heavy tails;
2. classes: a random function of the causes (linear, network, trees, smooth, by cluster, by distance
   from centres), sharp or noisy;
3. groups: sizes, a class distribution per group according to the kind of label, and rows of these
   classes from the pool of step 2, alike inside a group in some tables; in some tables rows that
   are asked about come one by one;
4. features: of the causes and sometimes of the class, warped, rounded, shifted by group,
   duplicated, irrelevant, missing.

The draws of a batch depend on ``(seed, index)`` and the type of device alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate

import torch
from torch import Tensor

__all__ = [
    "KINDS",
    "MAX_CLASSES",
    "MAX_FEATURES",
    "SHAPES",
    "Draw",
    "Shape",
    "Tables",
    "make_tables",
    "n_singles",
]

#: What is known of a group. The order is part of the weights.
KINDS = ("majority", "proportions", "presence")
MAX_CLASSES = 10
MAX_FEATURES = 48
N_CAUSES = 16
N_CLUSTERS = 16


@dataclass(frozen=True)
class Shape:
    """Rows per table, groups at most per table, and tables per step on a large device."""

    n_rows: int
    max_groups: int
    n_tables: int


#: Tables of one batch have the same number of rows, so that nothing is padded but groups.
SHAPES = (
    Shape(128, 64, 320),
    Shape(256, 96, 160),
    Shape(512, 128, 80),
    Shape(1024, 160, 40),
    Shape(2048, 224, 20),
)


def n_singles(n_rows: int) -> int:
    """Groups of one row that a table of this many rows has room for, after its other groups."""
    return n_rows // 4


@dataclass(frozen=True)
class Tables:
    """A batch of made-up tables.

    Attributes
    ----------
    x : Tensor of shape (n_tables, n_rows, MAX_FEATURES)
        NaN where missing; columns from ``n_features`` on are zero.
    n_features, n_classes, kind : Tensor of shape (n_tables,)
    y : Tensor of shape (n_tables, n_rows)
        True classes of rows, never shown.
    group : Tensor of shape (n_tables, n_rows)
        From ``max_groups`` of the shape on, groups are single rows, of which nothing is known.
    real : Tensor of shape (n_tables, max_groups)
        Whether the group has rows; from here on ``max_groups`` counts the single rows too.
    known, context : Tensor of shape (n_tables, max_groups)
        Whether the label of the group is shown; whether other rows may look at its rows. A known
        group is in the context; a group in the context may be unlabelled.
    label : Tensor of shape (n_tables, max_groups, MAX_CLASSES)
        What may be known of the group: shares, or one for its class.
    """

    x: Tensor
    n_features: Tensor
    n_classes: Tensor
    kind: Tensor
    y: Tensor
    group: Tensor
    real: Tensor
    known: Tensor
    context: Tensor
    label: Tensor

    def part(self, start: int, stop: int) -> "Tables":
        """Some of the tables."""
        return Tables(**{f.name: getattr(self, f.name)[start:stop] for f in fields(self)})

    def __len__(self) -> int:
        return len(self.x)


class Draw:
    """Random tensors from one generator."""

    def __init__(self, seed: int, index: int, device: torch.device | str) -> None:
        self.device = torch.device(device)
        self.generator = torch.Generator(device=self.device)
        self.generator.manual_seed((seed * 1_000_003 + index) % (2**63))

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        drawn = torch.rand(shape, generator=self.generator, device=self.device)
        return low + (high - low) * drawn

    def log_uniform(self, *shape: int, low: float, high: float) -> Tensor:
        return self.uniform(*shape, low=math.log(low), high=math.log(high)).exp()

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device)

    def gumbel(self, *shape: int) -> Tensor:
        return -torch.log(-torch.log(self.uniform(*shape).clamp(1e-7, 1 - 1e-7)))

    def flags(self, *shape: int, p: float) -> Tensor:
        return self.uniform(*shape) < p

    def whole(self, *shape: int, low: int, high: int) -> Tensor:
        """Whole numbers from low to high, both included."""
        return torch.randint(low, high + 1, shape, generator=self.generator, device=self.device)

    def choice(self, *shape: int, weights: Sequence[float]) -> Tensor:
        """Positions drawn with these weights."""
        drawn = self.uniform(*shape) * sum(weights)
        place = torch.zeros(shape, dtype=torch.long, device=self.device)
        for edge in list(accumulate(weights))[:-1]:  # numbers copied to a device would wait for it
            place += drawn > edge
        return place


def make_tables(seed: int, index: int, shape: Shape, n_tables: int, device: str) -> Tables:
    """The tables number ``index`` of the prior with this seed."""
    draw = Draw(seed, index, device)
    n_pool = 2 * shape.n_rows
    causes, cluster = _causes(draw, n_tables, n_pool)
    kind = draw.choice(n_tables, weights=[0.36, 0.36, 0.28])
    n_classes = torch.where(
        draw.flags(n_tables, p=0.7) | (kind == 2), 2, draw.whole(n_tables, low=3, high=MAX_CLASSES)
    )
    # Many tables have few features, and many have as many as are taken.
    n_features = torch.where(
        draw.flags(n_tables, p=0.5),
        draw.log_uniform(n_tables, low=2.5, high=MAX_FEATURES + 0.99),
        draw.uniform(n_tables, low=8.0, high=MAX_FEATURES + 0.99),
    ).long()
    y_pool = _classes(draw, causes, cluster, n_classes, n_features)
    sizes, group = _sizes(draw, n_tables, shape)
    wanted = _wanted(draw, kind, n_classes, group, sizes, y_pool)
    rows = _take_rows(draw, wanted, y_pool, causes, group, sizes.shape[1])
    y = y_pool.gather(1, rows)
    z = causes.gather(1, rows[:, :, None].expand(-1, -1, causes.shape[2]))
    known, context = _roles(draw, sizes > 0)
    group, sizes = _singles(draw, group, context)
    more = (0, n_singles(shape.n_rows))
    known, context = torch.nn.functional.pad(known, more), torch.nn.functional.pad(context, more)
    x = _features(draw, z, cluster.gather(1, rows), y, group, sizes.shape[1], n_features)
    real = sizes > 0
    label = _labels(draw, y, group, sizes, kind)
    return Tables(x, n_features, n_classes, kind, y, group, real, known, context, label)


def _causes(draw: Draw, n_tables: int, n_rows: int) -> tuple[Tensor, Tensor]:
    """Points in clusters, (n_tables, n_rows, N_CAUSES), and their clusters."""
    n_clusters = draw.log_uniform(n_tables, 1, low=1, high=N_CLUSTERS + 0.99).floor()
    weight = draw.normal(n_tables, N_CLUSTERS) * draw.uniform(n_tables, 1)
    weight = weight.masked_fill(
        torch.arange(N_CLUSTERS, device=draw.device) >= n_clusters, -torch.inf
    )
    cumulative = weight.softmax(1).cumsum(1).clamp(max=1.0)
    cluster = torch.searchsorted(cumulative, draw.uniform(n_tables, n_rows)).clamp(
        max=N_CLUSTERS - 1
    )
    centre = draw.normal(n_tables, N_CLUSTERS, N_CAUSES)
    centre = centre * draw.log_uniform(n_tables, 1, 1, low=0.3, high=5.0)
    spread = (draw.normal(n_tables, N_CLUSTERS, 1) * draw.uniform(n_tables, 1, 1)).exp()
    spread = spread * (0.5 * draw.normal(n_tables, N_CLUSTERS, N_CAUSES)).exp()
    noise = draw.normal(n_tables, n_rows, N_CAUSES)
    tail = draw.log_uniform(n_tables, 1, 1, low=0.15, high=0.6) * draw.flags(n_tables, 1, 1, p=0.3)
    noise = noise * (tail * draw.normal(n_tables, n_rows, 1).abs()).exp()
    wide = cluster[:, :, None].expand(-1, -1, N_CAUSES)
    return _scaled(centre.gather(1, wide) + spread.gather(1, wide) * noise), cluster


def _scaled(values: Tensor) -> Tensor:
    """Mean zero and deviation one over the rows of each table."""
    centred = values - values.mean(1, keepdim=True)
    return centred / (centred.std(1, keepdim=True) + 1e-6)


def _classes(
    draw: Draw, z: Tensor, cluster: Tensor, n_classes: Tensor, n_features: Tensor
) -> Tensor:
    """Classes of the pool, by a random function of no more causes than there are features."""
    n_tables, n_rows, _ = z.shape
    n_used = draw.log_uniform(n_tables, 1, low=1, high=N_CAUSES + 0.99).floor()
    n_used = torch.minimum(n_used, n_features[:, None].float())
    used = (torch.arange(N_CAUSES, device=z.device) < n_used).float()
    u = z * used[:, None, :]
    functions = [
        _linear(draw, u),
        _network(draw, u, n_used),
        _smooth(draw, u, n_used),
        _trees(draw, u, n_used),
        _by_cluster(draw, cluster),
        _by_distance(draw, u, n_used),
    ]
    first = draw.choice(n_tables, weights=[0.16, 0.18, 0.12, 0.16, 0.16, 0.22])
    second = draw.choice(n_tables, weights=[1.0] * len(functions))
    mixed = draw.flags(n_tables, p=0.25).float() * draw.uniform(n_tables)
    score = torch.zeros(n_tables, n_rows, MAX_CLASSES, device=z.device)
    for place, values in enumerate(functions):
        weight = (first == place).float() + mixed * (second == place).float()
        score += weight[:, None, None] * _scaled(values)
    # One class may be what the others are not: the rest of space.
    rest = draw.flags(n_tables, 1, p=0.3)
    offset = draw.uniform(n_tables, 1, low=-0.5, high=1.5)
    score[:, :, 0] = torch.where(rest, offset, score[:, :, 0])
    sharpness = draw.log_uniform(n_tables, 1, 1, low=1.5, high=60.0)
    score = sharpness * score + draw.gumbel(n_tables, n_rows, MAX_CLASSES)
    absent = torch.arange(MAX_CLASSES, device=z.device) >= n_classes[:, None]
    score = score.masked_fill(absent[:, None, :], -torch.inf)
    order = draw.uniform(n_tables, MAX_CLASSES).masked_fill(absent, 2.0).argsort(1)
    return order.gather(1, score.argmax(2))  # which class is the odd one says nothing


def _linear(draw: Draw, u: Tensor) -> Tensor:
    weight = draw.normal(len(u), u.shape[2], MAX_CLASSES)
    sparse = draw.uniform(len(u), u.shape[2], 1) < draw.uniform(len(u), 1, 1, low=0.2)
    sparse[:, 0] = True
    return u @ (weight * sparse)


def _activation(kind: Tensor, values: Tensor) -> Tensor:
    """One of six activations per table."""
    kind = kind.view(-1, 1, 1)
    out = torch.tanh(values)
    for place, function in enumerate((torch.relu, torch.sin, torch.abs, torch.square), 1):
        out = torch.where(kind == place, function(values), out)
    return torch.where(kind == 5, (values > 0).float(), out)


def _network(draw: Draw, u: Tensor, n_used: Tensor, width: int = 24) -> Tensor:
    n_tables = len(u)
    kind = draw.whole(n_tables, low=0, high=5)
    scale = draw.log_uniform(n_tables, 1, 1, low=0.5, high=3.0) / n_used[:, :, None].sqrt()
    hidden = u @ (scale * draw.normal(n_tables, u.shape[2], width)) + draw.normal(
        n_tables, 1, width
    )
    hidden = _scaled(_activation(kind, hidden))
    deeper = hidden @ (draw.normal(n_tables, width, width) / math.sqrt(width) * 1.5)
    deeper = _scaled(_activation(kind, deeper + 0.5 * draw.normal(n_tables, 1, width)))
    hidden = torch.where(draw.flags(n_tables, 1, 1, p=0.5), deeper, hidden)
    few = draw.uniform(n_tables, width, 1) < draw.uniform(n_tables, 1, 1, low=0.1)
    few[:, 0] = True
    return hidden @ (draw.normal(n_tables, width, MAX_CLASSES) * few)


def _smooth(draw: Draw, u: Tensor, n_used: Tensor, n_waves: int = 48) -> Tensor:
    """A draw of a Gaussian process by random Fourier features."""
    n_tables = len(u)
    length = draw.log_uniform(n_tables, 1, 1, low=0.6, high=4.0) * n_used[:, :, None].sqrt()
    wave = draw.normal(n_tables, u.shape[2], n_waves) / length
    phase = draw.uniform(n_tables, 1, n_waves, high=2 * math.pi)
    return torch.cos(u @ wave + phase) @ draw.normal(n_tables, n_waves, MAX_CLASSES)


def _trees(draw: Draw, u: Tensor, n_used: Tensor, n_trees: int = 4, depth: int = 5) -> Tensor:
    """Sums of one to four trees whose nodes of a level ask the same question."""
    n_tables, n_rows, _ = u.shape
    asked = (draw.uniform(n_tables, n_trees * depth) * n_used).long()
    value = u.gather(2, asked[:, None, :].expand(-1, n_rows, -1))
    right = (value > 0.8 * draw.normal(n_tables, 1, n_trees * depth)).view(
        n_tables, n_rows, n_trees, depth
    )
    level = torch.arange(depth, device=u.device)
    right = right & (level < draw.whole(n_tables, 1, n_trees, 1, low=1, high=depth))
    leaf = (right.long() << level).sum(3)
    leaf = leaf + (torch.arange(n_trees, device=u.device) << depth)
    used = torch.arange(n_trees, device=u.device) < draw.whole(n_tables, 1, low=1, high=n_trees)
    leaves = draw.normal(n_tables, n_trees, 1 << depth, MAX_CLASSES) * used[:, :, None, None]
    leaves = leaves.view(n_tables, -1, MAX_CLASSES)
    out = torch.zeros(n_tables, n_rows, MAX_CLASSES, device=u.device)
    for tree in range(n_trees):
        out += leaves.gather(1, leaf[:, :, tree, None].expand(-1, -1, MAX_CLASSES))
    return out


def _by_cluster(draw: Draw, cluster: Tensor) -> Tensor:
    logit = draw.normal(len(cluster), N_CLUSTERS, MAX_CLASSES)
    return logit.gather(1, cluster[:, :, None].expand(-1, -1, MAX_CLASSES))


def _by_distance(draw: Draw, u: Tensor, n_used: Tensor, n_centres: int = 4) -> Tensor:
    """Less the squared distance from the nearest of the centres of each class."""
    n_tables, n_rows, n_causes = u.shape
    place = draw.whole(n_tables, MAX_CLASSES * n_centres, low=0, high=n_rows - 1)
    centre = u.gather(1, place[:, :, None].expand(-1, -1, n_causes))
    square = (u**2).sum(2)[:, :, None] + (centre**2).sum(2)[:, None, :] - 2 * u @ centre.mT
    square = square.view(n_tables, n_rows, MAX_CLASSES, n_centres) / n_used[:, :, None, None]
    few = torch.arange(n_centres, device=u.device) < draw.whole(
        n_tables, 1, MAX_CLASSES, 1, low=1, high=n_centres
    )
    nearest = square.masked_fill(~few, torch.inf).amin(3).clamp(min=0)
    flat = draw.flags(n_tables, 1, 1, p=0.5)  # far away is far away
    return -torch.where(flat, nearest / (0.5 + nearest), nearest)


def _sizes(draw: Draw, n_tables: int, shape: Shape) -> tuple[Tensor, Tensor]:
    """Sizes of groups (zero for those a table does not have) and the group of each row."""
    n_groups = draw.log_uniform(n_tables, 1, low=8, high=shape.max_groups + 0.99).floor()
    place = torch.arange(shape.max_groups, device=draw.device)
    uneven = draw.choice(n_tables, 1, weights=[0.4, 0.3, 0.3])
    deviation = torch.where(uneven == 2, 1.0, 0.35 * uneven)
    weight = (deviation * draw.normal(n_tables, shape.max_groups)).exp()
    weight = weight.masked_fill(place >= n_groups, 0.0)
    edges = (weight / weight.sum(1, keepdim=True)).cumsum(1).clamp(max=1.0)
    at = (torch.arange(shape.n_rows, device=draw.device) + 0.5) / shape.n_rows
    group = torch.searchsorted(edges, at.expand(n_tables, -1).contiguous())
    group = torch.minimum(group, n_groups.long() - 1)
    sizes = torch.zeros(n_tables, shape.max_groups, device=draw.device)
    sizes.scatter_add_(1, group, torch.ones_like(group, dtype=torch.float))
    return sizes, group


def _singles(draw: Draw, group: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
    """In some tables rows outside of the context come one by one, as far as there is room."""
    n_tables, n_rows = group.shape
    max_groups, room = context.shape[1], n_singles(n_rows)
    asked = ~context.gather(1, group) & draw.flags(n_tables, 1, p=0.25)
    place = asked.long().cumsum(1) - 1
    group = torch.where(asked & (place < room), max_groups + place, group)
    sizes = torch.zeros(n_tables, max_groups + room, device=draw.device)
    sizes.scatter_add_(1, group, torch.ones_like(group, dtype=torch.float))
    return group, sizes


def _wanted(
    draw: Draw, kind: Tensor, n_classes: Tensor, group: Tensor, sizes: Tensor, y_pool: Tensor
) -> Tensor:
    """The class that each row shall have: (n_tables, n_rows)."""
    n_tables, max_groups = sizes.shape
    column = torch.arange(MAX_CLASSES, device=draw.device)
    held = torch.zeros(n_tables, MAX_CLASSES, device=draw.device)
    held.scatter_add_(1, y_pool, torch.ones_like(y_pool, dtype=torch.float))
    bad = (held == 0) | (column >= n_classes[:, None])
    # Classes are as frequent as in the pool or as a draw says.
    frequent = torch.where(
        draw.flags(n_tables, 1, p=0.3),
        held.clamp(min=1).log(),
        draw.normal(n_tables, MAX_CLASSES) * draw.uniform(n_tables, 1, high=1.2),
    )
    base = frequent.masked_fill(bad, -torch.inf).log_softmax(1)[:, None, :]
    spread = draw.log_uniform(n_tables, 1, 1, low=0.1, high=5.0)
    shares = (base + spread * draw.normal(n_tables, max_groups, MAX_CLASSES)).log_softmax(2)
    logit = torch.where((kind == 1)[:, None, None], shares, 0.0)
    # Majority: a class per group, and a part of the rows that has it.
    chosen = (base + draw.gumbel(n_tables, max_groups, MAX_CLASSES)).argmax(2)
    lowest = draw.uniform(n_tables, 1, low=0.35, high=0.85)
    part = lowest + (1 - lowest) * draw.uniform(n_tables, max_groups) ** 1.5
    is_chosen = column == chosen[:, :, None]
    rest = (base + draw.normal(n_tables, max_groups, MAX_CLASSES)).masked_fill(
        is_chosen, -torch.inf
    )
    rest = rest.log_softmax(2).nan_to_num(-torch.inf, neginf=-torch.inf)
    majority = torch.where(is_chosen, part[..., None].log(), rest + (1 - part[..., None]).log())
    logit = torch.where((kind == 0)[:, None, None], majority, logit)
    # Presence: no row, or a part of the rows, of class 1.
    positive = draw.uniform(n_tables, max_groups) < draw.uniform(n_tables, 1, low=0.25, high=0.75)
    most = draw.log_uniform(n_tables, 1, low=0.1, high=1.0)
    witness = (most * draw.uniform(n_tables, max_groups)).clamp(1e-3, 0.999) * positive
    logit_1 = witness.log()
    presence = torch.full_like(logit, -torch.inf)
    presence[:, :, 0] = torch.log1p(-witness)
    presence[:, :, 1] = logit_1
    logit = torch.where((kind == 2)[:, None, None], presence, logit)
    logit = logit.masked_fill(bad[:, None, :], -torch.inf)
    of_row = logit.gather(1, group[:, :, None].expand(-1, -1, MAX_CLASSES))
    of_row = of_row.clamp(min=-1e4).masked_fill(bad[:, None, :], -1e9)
    wanted = (of_row + draw.gumbel(*of_row.shape)).argmax(2)
    first = torch.ones_like(group, dtype=torch.bool)
    first[:, 1:] = group[:, 1:] != group[:, :-1]
    forced = first & positive.gather(1, group) & ((kind == 2) & ~bad[:, 1])[:, None]
    return torch.where(forced, 1, wanted)


def _take_rows(
    draw: Draw, wanted: Tensor, y_pool: Tensor, causes: Tensor, group: Tensor, max_groups: int
) -> Tensor:
    """Rows of the pool with the wanted classes; alike inside groups in some tables."""
    n_tables, n_rows = wanted.shape
    n_pool = y_pool.shape[1]
    alike = draw.uniform(n_tables, 1) * draw.flags(n_tables, 1, p=0.35)
    along = draw.normal(n_tables, N_CAUSES, 1) * draw.flags(n_tables, N_CAUSES, 1, p=0.3)
    line = _scaled(causes @ along)[:, :, 0]
    mix = (1 - alike**2).sqrt()
    key_pool = alike * line + mix * draw.normal(n_tables, n_pool)
    effect = draw.normal(n_tables, max_groups).gather(1, group)
    key_row = alike * effect + mix * draw.normal(n_tables, n_rows)
    # Both sorted by class, then by key; a row takes the one at its relative place in the class.
    order_pool = (y_pool * 1000.0 + key_pool.clamp(-400, 400)).argsort(1)
    order_row = (wanted * 1000.0 + key_row.clamp(-400, 400)).argsort(1)
    m = torch.zeros(n_tables, MAX_CLASSES, device=draw.device)
    n = torch.zeros_like(m)
    m.scatter_add_(1, y_pool, torch.ones_like(y_pool, dtype=torch.float))
    n.scatter_add_(1, wanted, torch.ones_like(wanted, dtype=torch.float))
    start_m, start_n = m.cumsum(1) - m, n.cumsum(1) - n
    sorted_class = wanted.gather(1, order_row)
    place = torch.arange(n_rows, device=draw.device) - start_n.gather(1, sorted_class)
    m_here, n_here = m.gather(1, sorted_class), n.gather(1, sorted_class)
    jitter = torch.where(m_here > n_here, draw.uniform(n_tables, n_rows), 0.5)
    found = ((place + jitter) / n_here * m_here).floor()
    found = torch.minimum(found.clamp(min=0), (m_here - 1).clamp(min=0))
    found = (start_m.gather(1, sorted_class) + found).long().clamp(max=n_pool - 1)
    rows = torch.zeros_like(wanted)
    return rows.scatter_(1, order_row, order_pool.gather(1, found))


def _features(
    draw: Draw,
    z: Tensor,
    cluster: Tensor,
    y: Tensor,
    group: Tensor,
    max_groups: int,
    n_features: Tensor,
) -> Tensor:
    """What is seen of the rows."""
    n_tables, n_rows, _ = z.shape
    d = MAX_FEATURES
    x = _sources(draw, z)
    x = x + _noise(draw, cluster, d)
    x = _class_effects(draw, x, y)
    x = _group_effects(draw, x, group, max_groups)
    x = _duplicates(draw, x)
    x = _warps(draw, _scaled(x))
    outlier = draw.flags(n_tables, 1, 1, p=0.15) & draw.flags(n_tables, n_rows, d, p=0.01)
    x = torch.where(outlier, 8 * x, x)
    rate = draw.uniform(n_tables, 1, d, high=0.5) * draw.flags(n_tables, 1, d, p=0.4)
    rate = rate * draw.flags(n_tables, 1, 1, p=0.2)
    x = x.masked_fill(draw.uniform(n_tables, n_rows, d) < rate, torch.nan)
    absent = torch.arange(d, device=z.device) >= n_features[:, None]
    return x.masked_fill(absent[:, None, :], 0.0)


def _sources(draw: Draw, z: Tensor) -> Tensor:
    """Features as causes, their sums, units of a network, or nothing but noise."""
    n_tables, _, n_causes = z.shape
    d = MAX_FEATURES
    weight = draw.normal(n_tables, n_causes, d)
    density = draw.choice(n_tables, 1, d, weights=[0.5, 0.5])
    sparse = draw.flags(n_tables, n_causes, d, p=0.15)
    weight = torch.where(density == 0, weight * sparse, weight)
    # A direct feature shows one cause; tables differ in how many are direct. The first causes are
    # those that decide: they are shown more often.
    shown = torch.minimum(draw.uniform(n_tables, d), draw.uniform(n_tables, d)) * n_causes
    shown = torch.where(
        draw.flags(n_tables, 1, p=0.5), torch.arange(d, device=z.device) % n_causes, shown.long()
    )
    one = (torch.arange(n_causes, device=z.device)[None, :, None] == shown[:, None, :]).float()
    direct = draw.uniform(n_tables, 1, d) < draw.uniform(n_tables, 1, 1)
    x = _scaled(z @ torch.where(direct, one, weight))
    kind = draw.whole(n_tables, low=0, high=5)
    width = 24
    hidden = _activation(kind, z @ (0.6 * draw.normal(n_tables, n_causes, width)))
    units = _scaled(_scaled(hidden) @ draw.normal(n_tables, width, d))
    use_units = draw.uniform(n_tables, 1, d) < draw.uniform(n_tables, 1, 1, low=-1.0)
    x = torch.where(use_units, units, x)
    irrelevant = draw.uniform(n_tables, 1, d) < draw.uniform(n_tables, 1, 1, low=-0.6, high=0.8)
    return x.masked_fill(irrelevant, 0.0)


def _noise(draw: Draw, cluster: Tensor, d: int) -> Tensor:
    """Noise of features; in some tables its size depends on the cluster."""
    n_tables, n_rows = cluster.shape
    level = draw.log_uniform(n_tables, 1, 1, low=0.02, high=0.8)
    level = level * (0.7 * draw.normal(n_tables, 1, d)).exp()
    uneven = draw.flags(n_tables, 1, 1, p=0.35) * draw.uniform(n_tables, 1, 1, high=1.5)
    by_cluster = (uneven * draw.normal(n_tables, N_CLUSTERS, 1)).exp().clamp(max=8.0)
    by_cluster = by_cluster.gather(1, cluster[:, :, None])
    return level * by_cluster * draw.normal(n_tables, n_rows, d)


def _class_effects(draw: Draw, x: Tensor, y: Tensor) -> Tensor:
    """In some tables features follow from the class: means and deviations per class."""
    n_tables, _, d = x.shape
    wide = y[:, :, None].expand(-1, -1, d)
    shift = draw.normal(n_tables, MAX_CLASSES, d) * draw.flags(n_tables, 1, d, p=0.5)
    shift = shift * draw.log_uniform(n_tables, 1, 1, low=0.1, high=1.5)
    shift = shift * draw.flags(n_tables, 1, 1, p=0.25)
    stretch = 0.7 * draw.normal(n_tables, MAX_CLASSES, 1) + 0.3 * draw.normal(
        n_tables, MAX_CLASSES, d
    )
    stretch = (stretch * draw.flags(n_tables, 1, 1, p=0.25)).exp()
    return x * stretch.gather(1, wide) + shift.gather(1, wide)


def _group_effects(draw: Draw, x: Tensor, group: Tensor, max_groups: int) -> Tensor:
    """In some tables each group is shifted and scaled."""
    n_tables, _, d = x.shape
    shift = draw.normal(n_tables, max_groups, d) * draw.flags(n_tables, 1, d, p=0.6)
    shift = shift * draw.log_uniform(n_tables, 1, 1, low=0.1, high=1.5)
    shift = shift * draw.flags(n_tables, 1, 1, p=0.33)
    scale = (draw.uniform(n_tables, 1, 1, high=0.4) * draw.normal(n_tables, max_groups, d)).exp()
    scale = torch.where(draw.flags(n_tables, 1, 1, p=0.1), scale, 1.0)
    wide = group[:, :, None].expand(-1, -1, d)
    return x * scale.gather(1, wide) + shift.gather(1, wide)


def _duplicates(draw: Draw, x: Tensor) -> Tensor:
    """Some features are another one again, with noise."""
    n_tables, _, d = x.shape
    other = (draw.uniform(n_tables, d) * torch.arange(1, d + 1, device=x.device)).long()
    rate = draw.uniform(n_tables, 1, high=0.6) * draw.flags(n_tables, 1, p=0.25)
    again = draw.uniform(n_tables, d) < rate
    place = torch.where(again, other, torch.arange(d, device=x.device))
    copied = x.gather(2, place[:, None, :].expand_as(x))
    noise = 0.2 * again[:, None, :] * draw.normal(*x.shape)
    return copied + noise


def _warps(draw: Draw, x: Tensor) -> Tensor:
    """Monotone warps, zeros below a limit, steps and categories, drawn per feature."""
    n_tables, _, d = x.shape
    plain = draw.uniform(n_tables, 1, 1)
    warp = draw.choice(n_tables, 1, d, weights=[0.22, 0.18, 0.25, 0.2, 0.15]) + 1
    warp = torch.where(draw.uniform(n_tables, 1, d) < plain, 0, warp)
    a = draw.uniform(n_tables, 1, d, low=0.3, high=1.2)
    cut = 0.7 * draw.normal(n_tables, 1, d)
    level = draw.whole(n_tables, 1, d, low=2, high=8)
    out = torch.where(warp == 1, (a * x.clamp(-5, 5)).exp(), x)
    out = torch.where(warp == 2, x.sign() * x.abs().clamp(max=20) ** (2 * a), out)
    out = torch.where(warp == 3, (x - cut).clamp(min=0) ** (1.5 * a), out)
    step = ((x - cut) * level / 4).round().clamp(-4, 4)
    out = torch.where(warp == 4, torch.where(level == 2, (x > cut).float(), step), out)
    value = draw.normal(n_tables, 9, d).gather(1, (step + 4).long())
    return torch.where(warp == 5, value, out)


def _roles(draw: Draw, real: Tensor) -> tuple[Tensor, Tensor]:
    """Known groups, and groups in the context."""
    n_tables, max_groups = real.shape
    rank = draw.uniform(n_tables, max_groups).masked_fill(~real, 2.0).argsort(1).argsort(1)
    n_groups = real.sum(1, keepdim=True)
    n_known = (n_groups * draw.uniform(n_tables, 1, low=0.2, high=0.9)).round()
    n_known = torch.minimum(n_known.clamp(min=2), n_groups - 1)
    more = draw.uniform(n_tables, 1, high=0.7) * draw.flags(n_tables, 1, p=0.3)
    n_context = n_known + ((n_groups - n_known) * more).floor()
    return real & (rank < n_known), real & (rank < n_context)


def _labels(draw: Draw, y: Tensor, group: Tensor, sizes: Tensor, kind: Tensor) -> Tensor:
    """What may be known of each group."""
    n_tables, max_groups = sizes.shape
    counts = torch.zeros(n_tables, max_groups * MAX_CLASSES, device=y.device)
    counts.scatter_add_(1, group * MAX_CLASSES + y, torch.ones_like(y, dtype=torch.float))
    counts = counts.view(n_tables, max_groups, MAX_CLASSES)
    column = torch.arange(MAX_CLASSES, device=y.device)
    # Of equal counts any class may be the label.
    majority = (counts + 0.5 * draw.uniform(*counts.shape)).argmax(2)
    code = torch.where((kind == 2)[:, None], (counts[:, :, 1] > 0).long(), majority)
    one = (column == code[:, :, None]).float()
    shares = counts / sizes.clamp(min=1)[:, :, None]
    label = torch.where((kind == 1)[:, None, None], shares, one)
    return label * (sizes > 0)[:, :, None]

"""Views of one context whose answers are averaged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.incontext.columns import Context, Reader, read_context
from groupwise.incontext.network import MAX_FEATURES
from groupwise.incontext.projections import Projection, StandardScores, principal_axes
from groupwise.inputs import dense

__all__ = ["MAX_GROUPS", "MAX_ROWS", "Member", "bags_of_groups", "canonical_order", "make_members"]

#: What one member reads at most; a longer context is read in bags of groups.
MAX_ROWS = 5000
MAX_GROUPS = 1000
#: From this member on features come in disorder.
_DISORDERED = 4

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Member:
    """A reader, an order of its features, and a place for each class."""

    reader: Reader
    order: NDArray[np.intp]
    place: NDArray[np.intp]


def make_members(context: Context, n_members: int, rng: np.random.RandomState) -> list[Member]:
    """Standard scores and normal quantiles in turn; classes and features in different orders.

    Tables with more features than the network takes are seen through the most relevant ones and
    through principal components in turn, long ones through bags of groups.
    """
    wide = context.x.shape[1] > MAX_FEATURES
    bags = bags_of_groups(context, n_members, rng)
    axes: Projection | None = None
    readers: dict[tuple[int, int, int], Reader] = {}
    members = []
    for number in range(n_members):
        bag = bags[number % len(bags)]
        view = (number // 2) % 2 if wide else 0
        again = number // (4 if wide else 2)
        # A new choice of features for each pair, unless there are none to choose.
        pair = number // 2 if wide and view == 0 else -1
        key = (number % len(bags), 2 * pair + view, number % 2)
        if key not in readers:
            if not wide:
                projection = Projection()
            elif view == 0:
                projection = _relevant(bag, rng if again else None)
            else:
                axes = projection = axes or principal_axes(bag.x, MAX_FEATURES)
            readers[key] = read_context(bag, projection, quantiles=number % 2 == 1)
        reader = readers[key]
        key_order = np.log(reader.relevance + 1e-4)
        if number >= _DISORDERED:
            key_order += 2 * rng.uniform() * rng.normal(size=len(key_order))
        order = np.argsort(-key_order, kind="stable")
        members.append(Member(reader, order, _places(context, again, rng)))
    return members


def bags_of_groups(context: Context, n_bags: int, rng: np.random.RandomState) -> list[Context]:
    """The context itself, or bags of its groups that are short enough to be read.

    Groups with a label come first, and all of them come before one comes again. Of a group that
    would fill a tenth of a bag a sample of its rows stands for it.
    """
    if len(context.x) <= MAX_ROWS and len(context.label) <= MAX_GROUPS:
        return [context]
    n_known, n_groups = len(context.label), len(context.sizes)
    known = rng.permutation(n_known)
    rest = n_known + rng.permutation(n_groups - n_known)
    starts = np.concatenate([[0], np.cumsum(context.sizes)])
    most = MAX_ROWS // 10
    bags = []
    first = 0
    for _ in range(n_bags):
        queue = np.concatenate([np.roll(known, -first), rest])
        sizes = np.minimum(context.sizes[queue], most)
        n_taken = int(np.searchsorted(np.cumsum(sizes), MAX_ROWS, side="right"))
        taken = queue[: min(max(n_taken, 1), MAX_GROUPS)]
        first = (first + int((taken < n_known).sum())) % n_known
        taken = np.sort(taken)
        rows = [
            np.arange(starts[g], starts[g + 1])
            if context.sizes[g] <= most
            else starts[g] + np.sort(rng.choice(context.sizes[g], most, replace=False))
            for g in taken
        ]
        bags.append(
            Context(
                context.x[np.concatenate(rows)],
                np.minimum(context.sizes[taken], most),
                context.label[taken[taken < n_known]],
                context.kind,
            )
        )
    return bags


def canonical_order(
    x: Rows, codes: NDArray[np.intp], label: Array | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Orders of rows and groups that depend on neither their order nor their names.

    Parameters
    ----------
    x : {ndarray, sparse array} of shape (n_rows, n_features)
    codes : ndarray of shape (n_rows,)
    label : ndarray of shape (n_known, n_classes), default=None
        The first groups are those with a label, and stay first. ``None``: no group has one.

    Returns
    -------
    rows, groups : ndarray
        Rows group after group.
    """
    if label is None:
        label = np.empty((0, 0))
    keys = [np.asarray(x.sum(axis=1)).ravel(), *dense(x[:, :64]).T]
    by_value = np.lexsort(keys)
    differs = np.zeros(len(codes), np.intp)
    for key in keys:
        in_order = key[by_value]
        equal = (in_order[1:] == in_order[:-1]) | (np.isnan(in_order[1:]) & np.isnan(in_order[:-1]))
        differs[1:] |= ~equal
    rank = np.empty(len(codes))
    rank[by_value] = np.cumsum(differs)
    sizes = np.bincount(codes)
    least = np.full(len(sizes), np.inf)
    np.minimum.at(least, codes, rank)
    total = np.bincount(codes, weights=rank)
    known = np.arange(len(sizes)) < len(label)
    table = np.zeros((len(sizes), label.shape[1]))
    table[: len(label)] = label
    groups = np.lexsort([sizes, total, least, *table.T, ~known])
    place = np.empty(len(sizes), np.intp)
    place[groups] = np.arange(len(sizes))
    return np.lexsort([rank, place[codes]]), groups


def _relevant(context: Context, rng: np.random.RandomState | None) -> Projection:
    """Features whose group means go with the labels, with chance where there is a generator."""
    scores = StandardScores.of(context.x)
    n_known = context.n_known_rows
    sizes = context.sizes[: len(context.label)]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    mean_group = np.add.reduceat(scores(context.x[:n_known]), starts, axis=0) / sizes[:, None]
    centred = [values - values.mean(axis=0) for values in (mean_group, context.label)]
    unit = [v / np.maximum(np.sqrt((v**2).sum(axis=0)), 1e-6) for v in centred]
    key = np.log(((unit[0].T @ unit[1]) ** 2).sum(axis=1) + 1e-4)
    if rng is not None:
        key += rng.normal(size=len(key))
    return Projection(subset=np.sort(np.argsort(-key, kind="stable")[:MAX_FEATURES]))


def _places(context: Context, again: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Where classes stand; of presence the second is the one that may be present."""
    n_classes = context.label.shape[1]
    if context.kind == "presence" or again == 0:
        return np.arange(n_classes)
    return (np.arange(2) + again) % 2 if n_classes == 2 else rng.permutation(n_classes)

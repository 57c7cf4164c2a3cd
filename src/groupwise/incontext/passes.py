"""Rows asked about in passes of a size that the network takes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.incontext.columns import ReadRows
from groupwise.incontext.members import Member, canonical_order
from groupwise.incontext.network import Network
from groupwise.inputs import dense

__all__ = ["Asked", "ask_members", "by_reader", "columns_of", "softmax"]

#: Rows that are asked about at once, and of one group at most.
_CHUNK = 2048
#: Members whose memory of the context is held at once.
_HELD = 4

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """Rows that are asked about, in parts that one pass can take.

    A part is a group, or a piece of one that is too large. Groups and rows are put in an order of
    their values: products of matrices round a row differently at another place, so that answers
    would hang on the order in which rows are asked about.
    """

    rows: Rows
    groups: Groups
    order: NDArray[np.intp]
    part_of_row: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Rows, groups: Groups) -> "Asked":
        """Put rows into parts."""
        order, ranked = canonical_order(rows, groups.codes)
        size = groups.sizes[ranked]
        place = np.repeat(np.arange(groups.n_groups), size)
        inside = np.arange(groups.n_rows) - np.repeat(np.cumsum(size) - size, size)
        # Rows are dealt to the pieces in turn, so that each is like the whole group.
        piece = inside % np.repeat(-(-size // _CHUNK), size)
        within = np.lexsort([inside, piece, place])
        new = np.diff(place, prepend=-1).astype(bool) | (np.diff(piece[within], prepend=-1) != 0)
        return cls(rows, groups, order[within], np.cumsum(new) - 1)

    @property
    def n_parts(self) -> int:
        return int(self.part_of_row[-1]) + 1

    def chunks(self) -> Iterator[slice]:
        """Runs of whole parts, each of at most _CHUNK rows."""
        ends = np.flatnonzero(np.diff(self.part_of_row, append=self.n_parts)) + 1
        start = 0
        while start < len(self.order):
            last = int(np.searchsorted(ends, start + _CHUNK, side="right")) - 1
            yield slice(start, int(ends[last]))
            start = int(ends[last])

    def by_group(self, proba_row: Array, proba_part: Array) -> Array:
        """Probabilities of groups: of their one row, or of their parts by size."""
        size = np.bincount(self.part_of_row)
        starts = np.concatenate([[0], np.cumsum(size)[:-1]])
        alone = (size == 1)[:, None]
        proba_part = np.where(alone, proba_row[self.order[starts]], proba_part)
        out = np.zeros((self.groups.n_groups, proba_row.shape[1]))
        np.add.at(out, self.groups.codes[self.order[starts]], proba_part * size[:, None])
        return out / self.groups.sizes[:, None]


def ask_members(network: Network, held: list[Member], asked: Asked) -> tuple[Array, Array]:
    """Sums of the probabilities of members that share a reader: rows in order, parts."""
    reader = held[0].reader
    n_classes = reader.context.label.shape[1]
    proba_row = np.zeros((len(asked.order), n_classes))
    proba_part = np.zeros((asked.n_parts, n_classes))
    context = reader.read_context()
    memories = [network.read(columns_of(member, context), reader.context.codes) for member in held]
    for here in asked.chunks():
        parts = asked.part_of_row[here]
        codes = parts - parts[0]
        read = reader.read(dense(asked.rows[asked.order[here]]), np.bincount(codes))
        for member, memory in zip(held, memories, strict=True):
            of_row, of_part = network.answer(columns_of(member, read), codes, memory)
            proba_row[here] += softmax(of_row[:, member.place])
            proba_part[parts[0] : parts[-1] + 1] += softmax(of_part[:, member.place])
    return proba_row, proba_part


def by_reader(members: list[Member], n_threads: int) -> list[list[Member]]:
    """Members that share a reader, as many at once as memory and threads are meant for."""
    most = min(_HELD, -(-len(members) // n_threads))
    readers = {id(member.reader): member.reader for member in members}
    found = []
    for reader in readers.values():
        same = [member for member in members if member.reader is reader]
        found += [same[start : start + most] for start in range(0, len(same), most)]
    return found


def columns_of(member: Member, rows: ReadRows) -> NDArray[np.float32]:
    """What the network is shown of rows: the member's order and places of their features."""
    return member.reader.columns(rows, member.order, member.place)


def softmax(logits: NDArray[np.float32]) -> Array:
    """Probabilities in double precision."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    np.exp(shifted, out=shifted)
    return shifted / shifted.sum(axis=1, keepdims=True)

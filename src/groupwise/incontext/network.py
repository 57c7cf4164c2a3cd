"""The in-context network in numpy: the same numbers as ``training/incontext/network.py``.

The context is read once; its keys and values are all that other rows look at. Rows that are asked
about see the context and the rows of their own group, nothing else.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["KINDS", "MAX_CLASSES", "MAX_FEATURES", "Network", "load_network"]

#: What is known of a group, in the order of the weights.
KINDS = ("majority", "proportions", "presence")
MAX_CLASSES = 10
MAX_FEATURES = 48

#: Rows whose attention is computed at once: their weights stay in the cache.
_CHUNK = 256
#: Scores within this of zero need no shift: sums of their exponentials are finite and normal.
_TAME = 70.0
_EPS = np.float32(1e-5)

Array = NDArray[np.float32]
Memory = list[tuple[Array, Array]]


@dataclass(frozen=True)
class Network:
    """Weights by their torch names, and the passes over them.

    Attributes
    ----------
    weights : dict of str to ndarray
        Matrices are transposed: rows times matrix.
    meta : dict
        What the weights file says of its making.
    digest : str
        Of the weights.
    """

    weights: dict[str, Array]
    meta: dict[str, Any]
    digest: str

    @classmethod
    def load(cls, path: Path) -> "Network":
        """Read a file that ``training.incontext.train`` wrote."""
        digest = hashlib.sha256()
        weights = {}
        with np.load(path) as stored:
            meta = json.loads(str(stored["meta"]))
            for name in sorted(set(stored.files) - {"meta"}):
                value = stored[name]
                digest.update(name.encode() + value.tobytes())
                weights[name] = np.ascontiguousarray(value.astype(np.float32).T)
        return cls(weights, meta, digest.hexdigest()[:16])

    def read(self, columns: Array, codes: NDArray[np.intp]) -> Memory:
        """Read a context: keys and values of its rows, block by block.

        Parameters
        ----------
        columns : ndarray of shape (n_rows, n_columns)
        codes : ndarray of shape (n_rows,)
            The group of each row, from 0.
        """
        member, h = self._member(codes), self._embed(columns)
        memory: Memory = []
        for place in range(self.n_blocks):
            u = self._see_group(place, h, codes, member)
            memory.append(self._remember(place, u))
            if place + 1 < self.n_blocks:  # nobody asks what the last block makes of it
                self._see_context(place, h, u, memory[place], len(columns))
        return memory

    def answer(
        self, columns: Array, codes: NDArray[np.intp], memory: Memory
    ) -> tuple[Array, Array]:
        """Logits of rows and of groups, each (rows or groups, MAX_CLASSES)."""
        member, h = self._member(codes), self._embed(columns)
        n_context = memory[0][0].shape[1]
        for place in range(self.n_blocks):
            u = self._see_group(place, h, codes, member)
            self._see_context(place, h, u, memory[place], n_context)
        return self._logits(h, member)

    def answer_context(self, columns: Array, codes: NDArray[np.intp]) -> tuple[Array, Array]:
        """Logits of the context's own rows and groups: ``read`` and ``answer`` in one pass."""
        member, h = self._member(codes), self._embed(columns)
        for place in range(self.n_blocks):
            u = self._see_group(place, h, codes, member)
            self._see_context(place, h, u, self._remember(place, u), len(columns))
        return self._logits(h, member)

    @property
    def n_blocks(self) -> int:
        return int(self.meta["sizes"]["n_blocks"])

    def _embed(self, columns: Array) -> Array:
        hidden = self._square(self._linear("embed_in", columns))
        return self._linear("embed_skip", columns) + self._linear("embed_out", hidden)

    def _see_group(self, place: int, h: Array, codes: NDArray[np.intp], member: csr_array) -> Array:
        """Rows learn of their group, in place; what they look at the context with."""
        name = f"blocks.{place}."
        pooled = self._pool(name + "gate", self._norm(name + "norm_group", h), member)
        hidden = self._square(self._linear(name + "group_in", pooled))
        h += self._linear(name + "group_out", hidden)[codes]
        return self._norm(name + "norm_rows", h)

    def _remember(self, place: int, u: Array) -> tuple[Array, Array]:
        both = self._linear(f"blocks.{place}.key_value", u)
        width = both.shape[1] // 2
        return self._keys(both[:, :width]), self._heads(both[:, width:])

    def _see_context(
        self, place: int, h: Array, u: Array, memory: tuple[Array, Array], n_context: int
    ) -> None:
        """Rows learn of the context, then think, in place."""
        name = f"blocks.{place}."
        # The more rows there are to look at, the sharper the look.
        stretch = np.float32(np.log(max(n_context, 2)) / 6)
        query = self._linear(name + "query", u)
        query *= stretch
        h += self._linear(name + "attend_out", self._attend(query, *memory))
        hidden = self._square(self._linear(name + "think_in", self._norm(name + "norm_think", h)))
        h += self._linear(name + "think_out", hidden)

    def _logits(self, h: Array, member: csr_array) -> tuple[Array, Array]:
        u = self._norm("norm_out", h)
        pooled = self._pool("gate_out", u, member)
        group = self._linear("group_out", self._square(self._linear("group_in", pooled)))
        return self._linear("row_out", u), group

    def _member(self, codes: NDArray[np.intp]) -> csr_array:
        """Sums over the rows of each group, as a matrix."""
        n_rows = len(codes)
        shape = (int(codes.max()) + 1, n_rows)
        ones = np.ones(n_rows, np.float32)
        order = np.argsort(codes, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(codes))])
        return csr_array((ones, order, ends), shape=shape)

    def _square(self, x: Array) -> Array:
        """The squared rectifier, in place."""
        np.maximum(x, 0, out=x)
        np.multiply(x, x, out=x)
        return x

    def _linear(self, name: str, x: Array) -> Array:
        out = x @ self.weights[name + ".weight"]
        out += self.weights[name + ".bias"]
        return out

    def _norm(self, name: str, x: Array) -> Array:
        # Means as products with a vector: several times as quick as sums along an axis.
        mean = np.full(x.shape[1], 1 / x.shape[1], np.float32)
        out = x - (x @ mean)[:, None]
        out /= np.sqrt(np.square(out) @ mean + _EPS)[:, None]
        out *= self.weights[name + ".weight"]
        out += self.weights[name + ".bias"]
        return out

    def _pool(self, gate_name: str, u: Array, member: csr_array) -> Array:
        """Mean and gated means of the rows of each group, (n_groups, 2 * width)."""
        gate = np.exp(6 * np.tanh(self._linear(gate_name, u) / 6))
        width, n_heads = u.shape[1], gate.shape[1]
        terms = np.empty((len(u), 2 * width + n_heads), np.float32)
        terms[:, :width] = u
        np.multiply(
            _split(u, n_heads), gate[:, :, None], out=_split(terms[:, width:-n_heads], n_heads)
        )
        terms[:, -n_heads:] = gate
        pooled = member @ terms
        mean, soft = pooled[:, :width], _split(pooled[:, width:-n_heads], n_heads)
        mean /= np.diff(member.indptr).astype(np.float32)[:, None]
        soft /= np.maximum(pooled[:, -n_heads:], np.float32(1e-6))[:, :, None]
        return pooled[:, :-n_heads]

    def _heads(self, x: Array) -> Array:
        """One matrix per head: (n_heads, n_rows, width / n_heads)."""
        return np.ascontiguousarray(_split(x, self.meta["sizes"]["n_heads"]).transpose(1, 0, 2))

    def _keys(self, x: Array) -> Array:
        """The same, in memory as its transpose, which is what queries are multiplied by."""
        keys = _split(x, self.meta["sizes"]["n_heads"]).transpose(1, 2, 0)
        return np.ascontiguousarray(keys).transpose(0, 2, 1)

    def _attend(self, q: Array, k: Array, v: Array) -> Array:
        n_heads, n_context, width = k.shape
        q *= np.float32(1 / np.sqrt(width))
        out = np.empty_like(q)
        room = np.empty((_CHUNK, n_context), np.float32)
        ones = np.ones(n_context, np.float32)
        for place in range(n_heads):
            columns = slice(place * width, (place + 1) * width)
            tame = _longest(q[:, columns]) * _longest(k[place]) < _TAME
            for start in range(0, len(q), _CHUNK):
                rows = slice(start, start + _CHUNK)
                seen = out[rows, columns]
                weight = np.matmul(q[rows, columns], k[place].T, out=room[: len(seen)])
                if not tame:
                    weight -= weight.max(axis=1, keepdims=True)
                np.exp(weight, out=weight)
                np.matmul(weight, v[place], out=seen)
                seen /= (weight @ ones)[:, None]
        return out


def _split(x: Array, n_heads: int) -> Array:
    """A view of shape (n_rows, n_heads, width / n_heads)."""
    return x.reshape(len(x), n_heads, -1)


def _longest(x: Array) -> float:
    """The largest Euclidean norm of a row."""
    return float(np.sqrt(np.einsum("ij,ij->i", x, x).max()))


@lru_cache(maxsize=2)
def load_network(device: str | None = None) -> Network:
    """The network with the weights of the package, in numpy or in torch on a device."""
    network = Network.load(Path(__file__).with_name("weights.npz"))
    if device is None:
        return network
    from groupwise.incontext.torch_network import TorchNetwork  # torch is an extra

    return TorchNetwork.of(network, device)

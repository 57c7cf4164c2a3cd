"""The in-context network, in torch.

Linear layers, layer norms, squared rectifiers and softmax attention only: the package runs the same
weights in numpy.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.incontext.columns import N_COLUMNS, Batch
from training.incontext.prior import MAX_CLASSES

__all__ = ["Block", "InContextNetwork"]


def _square(values: Tensor) -> Tensor:
    """The squared rectifier."""
    return F.relu(values).square()


def _pool(h: Tensor, gate: Tensor, member: Tensor, size: Tensor) -> Tensor:
    """Mean and weighted means of the rows of each group: (n_tables, max_groups, 2 * width).

    ``gate`` holds one weight per row and head, positive.
    """
    n_tables, n_rows, width = h.shape
    n_heads = gate.shape[2]
    weighted = (h.view(n_tables, n_rows, n_heads, -1) * gate[..., None]).view(
        n_tables, n_rows, width
    )
    total = torch.bmm(member, torch.cat([h, weighted, gate], 2))
    mean = total[:, :, :width] / size[:, :, None]
    share = total[:, :, 2 * width :].clamp(min=1e-6)
    soft = total[:, :, width : 2 * width].view(n_tables, -1, n_heads, width // n_heads)
    return torch.cat([mean, (soft / share[..., None]).flatten(2)], 2)


class Block(nn.Module):
    """Rows learn of their group, then of the context, then think."""

    def __init__(self, width: int, n_heads: int, n_hidden: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm_group = nn.LayerNorm(width)
        self.gate = nn.Linear(width, n_heads)
        self.group_in = nn.Linear(2 * width, width)
        self.group_out = nn.Linear(width, width)
        self.norm_rows = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.attend_out = nn.Linear(width, width)
        self.norm_think = nn.LayerNorm(width)
        self.think_in = nn.Linear(width, n_hidden)
        self.think_out = nn.Linear(n_hidden, width)

    def forward(
        self, h: Tensor, member: Tensor, size: Tensor, mask: Tensor, stretch: Tensor
    ) -> Tensor:
        n_tables, n_rows, width = h.shape
        u = self.norm_group(h)
        # Gates in (e^-6, e^6): close to a maximum where that helps.
        gate = torch.exp(6 * torch.tanh(self.gate(u).float() / 6)).to(u.dtype)
        g = self.group_out(_square(self.group_in(_pool(u, gate, member, size))))
        h = h + torch.bmm(member.mT, g)
        u = self.norm_rows(h)
        q = self.query(u)
        q = (q * stretch.to(q.dtype)).view(n_tables, n_rows, self.n_heads, -1).transpose(1, 2)
        kv = self.key_value(u).view(n_tables, n_rows, 2, self.n_heads, -1)
        k, v = kv[:, :, 0].transpose(1, 2), kv[:, :, 1].transpose(1, 2)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        h = h + self.attend_out(seen.transpose(1, 2).reshape(n_tables, n_rows, width))
        return h + self.think_out(_square(self.think_in(self.norm_think(h))))


class InContextNetwork(nn.Module):
    """Columns of rows in, logits of rows and of groups out."""

    def __init__(
        self, width: int = 256, n_blocks: int = 8, n_heads: int = 4, n_hidden: int = 768
    ) -> None:
        super().__init__()
        self.sizes = {
            "width": width,
            "n_blocks": n_blocks,
            "n_heads": n_heads,
            "n_hidden": n_hidden,
        }
        self.embed_in = nn.Linear(N_COLUMNS, 2 * width)
        self.embed_out = nn.Linear(2 * width, width)
        self.embed_skip = nn.Linear(N_COLUMNS, width)
        self.blocks = nn.ModuleList(Block(width, n_heads, n_hidden) for _ in range(n_blocks))
        self.norm_out = nn.LayerNorm(width)
        self.gate_out = nn.Linear(width, n_heads)
        self.row_out = nn.Linear(width, MAX_CLASSES)
        self.group_in = nn.Linear(2 * width, width)
        self.group_out = nn.Linear(width, MAX_CLASSES)
        for block in self.blocks:
            for layer in (block.group_out, block.attend_out, block.think_out):
                nn.init.zeros_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits of rows and of groups, each (n_tables, rows or groups, MAX_CLASSES)."""
        n_tables, n_rows, _ = batch.columns.shape
        h = self.embed_skip(batch.columns) + self.embed_out(_square(self.embed_in(batch.columns)))
        member = batch.member.to(h.dtype)
        mask = torch.zeros(n_tables, 1, 1, n_rows, dtype=h.dtype, device=h.device)
        mask = mask.masked_fill(~batch.context[:, None, None, :], -torch.inf)
        mask = mask.expand(-1, self.sizes["n_heads"], n_rows, -1)
        # The more rows there are to look at, the sharper the look.
        stretch = (batch.context.sum(1).clamp(min=2).float().log() / 6)[:, None, None]
        size = batch.size
        h = h.float()
        for block in self.blocks:
            h = block(h, member, size, mask, stretch)
        u = self.norm_out(h)
        gate = torch.exp(6 * torch.tanh(self.gate_out(u).float() / 6)).to(u.dtype)
        pooled = _pool(u, gate, member, size)
        group = self.group_out(_square(self.group_in(pooled)))
        hidden = batch.absent[:, None, :]
        return (
            self.row_out(u).float().masked_fill(hidden, -1e4),
            group.float().masked_fill(hidden, -1e4),
        )

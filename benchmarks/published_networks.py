"""Networks on musk1 with the settings of the codes that published them, after the last epoch.

``python -m benchmarks.published_networks`` (needs GROUPWISE_DATA; ten minutes on one core) trains
MI-Net with maximum pooling (Wang et al. 2018) and gated attention (Ilse et al. 2018): three layers
of 256, 128 and 64 units, dropout of a half, one bag per step by SGD with momentum .9, rate 5e-4 and
decay 5e-3, 50 and 100 epochs, features standardised by the training part. The folds are those of
``benchmarks.networks``; all fifty networks of a recipe are trained at once, each on a bag of its
own. Written to ``results/networks_published.json``.
"""

import json
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn import functional

from benchmarks.networks import N_FOLDS, RESULTS, Repeats, load_bags
from groupwise.groups import Groups

REPEATS = (0, 1, 2, 3, 4)
RECIPES = {"MI-Net, maximum": ("max", 50), "gated attention": ("attention", 100)}
SIZES = (256, 128, 64)


class Networks(nn.Module):
    """One network per fold: every layer is (n_folds, inputs, outputs), started as Glorot has it."""

    def __init__(self, n_folds: int, n_features: int, pooling: str):
        super().__init__()
        self.pooling = pooling
        sizes = [*zip((n_features, *SIZES[:-1]), SIZES, strict=True), (SIZES[-1], 1)]
        if pooling == "attention":
            sizes += [(SIZES[-1], 64), (SIZES[-1], 64), (64, 1)]
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for n_in, n_out in sizes:
            bound = (6.0 / (n_in + n_out)) ** 0.5
            self.weights.append((2.0 * torch.rand(n_folds, n_in, n_out) - 1.0) * bound)
            self.biases.append(torch.zeros(n_folds, 1, n_out))

    def layer(self, number: int, rows: torch.Tensor) -> torch.Tensor:
        return torch.bmm(rows, self.weights[number]) + self.biases[number]

    def forward(self, rows: torch.Tensor, is_row: torch.Tensor) -> torch.Tensor:
        """Scores of one bag per fold; rows are (n_folds, largest size, n_features)."""
        for number in range(len(SIZES)):
            rows = functional.dropout(torch.relu(self.layer(number, rows)), 0.5, self.training)
        absent = ~is_row[:, :, None]
        if self.pooling == "max":
            pooled = rows.masked_fill(absent, -torch.inf).amax(dim=1, keepdim=True)
        else:
            gate = torch.tanh(self.layer(4, rows)) * torch.sigmoid(self.layer(5, rows))
            attention = self.layer(6, gate).masked_fill(absent, -torch.inf).softmax(dim=1)
            pooled = (attention * rows).sum(dim=1, keepdim=True)
        return self.layer(3, pooled)[:, 0, 0]


class Bags:
    """Bags side by side, standardised for each fold by its own training rows."""

    def __init__(self, X: Any, y: Any, groups: Any):
        encoded = Groups(groups)
        self.splits = list(Repeats(REPEATS).split(X, y, groups))
        self.y = torch.tensor(encoded.one_per_group(y), dtype=torch.float32)
        self.sizes = torch.tensor(encoded.sizes)
        self.train = [np.unique(encoded.codes[train]) for train, _ in self.splits]
        self.test = [np.unique(encoded.codes[test]) for _, test in self.splits]
        place = np.arange(encoded.n_rows) - encoded.offsets[:-1].repeat(encoded.sizes)
        shape = len(self.splits), encoded.n_groups, int(encoded.sizes.max()), X.shape[1]
        self.rows = torch.zeros(shape)
        for number, (train, _) in enumerate(self.splits):
            scaled = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12)
            at = encoded.codes[encoded.order], place
            self.rows[number][at] = torch.tensor(scaled[encoded.order], dtype=torch.float32)

    def of_folds(self, bag: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One bag per fold, no wider than the largest of them; and which entries are rows."""
        sizes = self.sizes[bag]
        width = int(sizes.max())
        is_row = torch.arange(width)[None, :] < sizes[:, None]
        return self.rows[torch.arange(len(bag)), bag, :width], is_row


def trained(bags: Bags, pooling: str, epochs: int) -> Networks:
    """Every epoch has the bags in another order; a fold with one bag more leaves one out."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    networks = Networks(len(bags.splits), bags.rows.shape[-1], pooling)
    sgd = torch.optim.SGD(
        networks.parameters(), lr=5e-4, momentum=0.9, weight_decay=5e-3, nesterov=True
    )
    n_steps = min(map(len, bags.train))
    for _ in range(epochs):
        order = torch.tensor(np.array([rng.permutation(part)[:n_steps] for part in bags.train]))
        for bag in order.T:
            score = networks(*bags.of_folds(bag))
            loss = functional.binary_cross_entropy_with_logits(score, bags.y[bag], reduction="sum")
            sgd.zero_grad()
            loss.backward()
            sgd.step()
    return networks.eval()


@torch.no_grad()
def judged(bags: Bags, networks: Networks) -> tuple[float, float]:
    """Accuracy and AUC, the mean over repeats."""
    n_folds, n_bags = len(bags.splits), len(bags.y)
    every = [networks(*bags.of_folds(torch.full((n_folds,), bag))) for bag in range(n_bags)]
    score, y = torch.stack(every, dim=1).numpy(), bags.y.numpy()
    found = []
    for first in range(0, n_folds, N_FOLDS):
        own = np.empty(n_bags)
        for fold in range(first, first + N_FOLDS):
            own[bags.test[fold]] = score[fold, bags.test[fold]]
        found.append((np.mean((own > 0) == y), roc_auc_score(y, own)))
    accuracy, area = np.mean(found, axis=0)
    return float(accuracy), float(area)


def main() -> None:
    torch.set_num_threads(1)
    X, y, groups = load_bags("musk1", None)
    bags = Bags(np.asarray(X, float), y, groups)
    lines = {}
    for name, (pooling, epochs) in RECIPES.items():
        accuracy, area = judged(bags, trained(bags, pooling, epochs))
        lines[name] = {"epochs": epochs, "accuracy": round(accuracy, 4), "AUC": round(area, 4)}
        print(name, lines[name], flush=True)
    (RESULTS / "networks_published.json").write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()

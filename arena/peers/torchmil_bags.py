"""torchmil's ABMIL and DSMIL: their models and losses, 30 epochs, the last one counts.

One layer of 128 rectified units in front (without it they are linear in the rows), Adam with a
rate of 1e-3, four bags a step as in torchmil's README; DSMIL one bag a step, because torchmil 1.0.2
takes padding for rows when it looks for the critical one. These were fixed for
``benchmarks/torchmil_bags.py`` before the arena was built.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torchmil.data.collate import pad_tensors
from torchmil.models import ABMIL, DSMIL
from worker import bags, one_per_group

EPOCHS, WIDTH, RATE = 30, 128, 1e-3


def epochs(kind: Any, at_once: int, task: dict[str, Any]) -> Any:
    """The model after each epoch, one after the other."""
    torch.set_num_threads(1)
    torch.manual_seed(task["seed"])
    rng = np.random.default_rng(task["seed"])
    n_features = task["X"].shape[1]
    layer = nn.Sequential(nn.Linear(n_features, WIDTH), nn.ReLU())
    model = kind(in_shape=(n_features,), feat_ext=layer)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    known = [torch.as_tensor(bag).float() for bag in bags(task["X"], task["groups"])]
    y = torch.as_tensor(one_per_group(task["y"], task["groups"])).float()
    for _ in range(EPOCHS):
        model.train()
        order = rng.permutation(len(known))
        for part in np.split(order, range(at_once, len(order), at_once)):
            rows, mask = pad_tensors([known[place] for place in part])
            optimiser.zero_grad()
            _, losses = model.compute_loss(y[part], rows, mask)
            sum(losses.values()).backward()
            optimiser.step()
        yield model.eval()


def scores(model: Any, task: dict[str, Any]) -> Any:
    """Probabilities of the asked groups."""
    asked = [torch.as_tensor(bag).float() for bag in bags(task["X_asked"], task["groups_asked"])]
    with torch.no_grad():
        return np.array([torch.sigmoid(model(bag[None])).item() for bag in asked])


def last_epoch(kind: Any, at_once: int, task: dict[str, Any]) -> dict[str, Any]:
    """What the trained model says."""
    *_, model = epochs(kind, at_once, task)
    score = scores(model, task)
    proba = np.column_stack([1.0 - score, score])
    return {"proba": proba, "label": (score > 0.5).astype(int)}


def every_epoch(kind: Any, at_once: int, task: dict[str, Any]) -> dict[str, Any]:
    """What the model says of the asked groups after each epoch, for the audit."""
    return {"scores": [scores(model, task) for model in epochs(kind, at_once, task)]}


_MODELS = {"ABMIL": (ABMIL, 4), "DSMIL": (DSMIL, 1)}
METHODS = {name: partial(last_epoch, *how) for name, how in _MODELS.items()}
METHODS |= {f"{name}, every epoch": partial(every_epoch, *how) for name, how in _MODELS.items()}

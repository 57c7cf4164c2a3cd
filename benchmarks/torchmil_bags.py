"""torchmil's ABMIL and DSMIL on the folds of ``benchmarks.networks``, for comparison.

``python -m benchmarks.torchmil_bags --bags bags.npz --out results.jsonl`` needs torchmil (not a
dependency; ``pip install torchmil`` into an environment of its own) beside groupwise; the file of
bags is made by ``python -m benchmarks.networks pack``.

Their models, losses and padding in a loop of 30 epochs, the last one counts. Features are
standardised by the training rows. Both get one layer of 128 rectified units in front (without it
they are linear in the rows), Adam with a rate of 1e-3, four bags a step as in torchmil's README;
DSMIL one bag a step, because torchmil 1.0.2 takes padding for rows when it looks for the critical
one.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torchmil.data.collate import pad_tensors
from torchmil.models import ABMIL, DSMIL

from benchmarks.networks import N_FOLDS, SETS, load_bags
from groupwise.groups import Groups
from groupwise.model_selection import WholeGroupKFold

MODELS = {"torchmil ABMIL": (ABMIL, 4), "torchmil DSMIL": (DSMIL, 1)}
EPOCHS, WIDTH, RATE = 30, 128, 1e-3


def trained(method: str, bags: list[Any], y: Any, seed: int) -> Any:
    """A model after the last epoch."""
    kind, at_once = MODELS[method]
    torch.manual_seed(seed)
    n_features = bags[0].shape[1]
    layer = nn.Sequential(nn.Linear(n_features, WIDTH), nn.ReLU())
    model = kind(in_shape=(n_features,), feat_ext=layer)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order = rng.permutation(len(bags))
        for part in np.split(order, range(at_once, len(order), at_once)):
            rows, mask = pad_tensors([bags[at] for at in part])
            optimiser.zero_grad()
            _, losses = model.compute_loss(y[part], rows, mask)
            sum(losses.values()).backward()
            optimiser.step()
    return model.eval()


def fold_of(job: tuple[str, str, int, int, Path]) -> dict[str, Any]:
    """One fold of one set: what the model says of its test groups."""
    torch.set_num_threads(1)
    name, method, repeat, fold, packed = job
    X, y, ids = load_bags(name, packed)
    train, test = list(WholeGroupKFold(N_FOLDS, random_state=repeat).split(X, y, ids))[fold]
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)

    def bags_of(rows: Any) -> tuple[list[Any], Any]:
        groups = Groups(ids[rows])
        parts = np.split(X[rows][groups.order], groups.offsets[1:-1])
        return [torch.as_tensor(part).float() for part in parts], groups.one_per_group(y[rows])

    began, cpu = time.perf_counter(), time.process_time()
    bags, known = bags_of(train)
    model = trained(method, bags, torch.as_tensor(known).float(), seed=repeat)
    held, truth = bags_of(test)
    with torch.no_grad():
        score = [torch.sigmoid(model(bag[None])).item() for bag in held]
    return {
        "set": name,
        "method": method,
        "repeat": repeat,
        "fold": fold,
        "y": truth.tolist(),
        "score": np.round(score, 6).tolist(),
        "seconds": round(time.perf_counter() - began, 3),
        "cpu": round(time.process_time() - cpu, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bags", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=500.0)
    chosen = parser.parse_args()
    lines = chosen.out.read_text().splitlines() if chosen.out.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {(row["set"], row["method"], row["repeat"], row["fold"]) for row in kept}
    everything = product(range(chosen.repeats), chosen.sets, MODELS, range(N_FOLDS))
    jobs = [
        (name, method, repeat, fold, chosen.bags)
        for repeat, name, method, fold in everything
        if (name, method, repeat, fold) not in done
    ]
    began = time.perf_counter()
    with ProcessPoolExecutor(chosen.jobs) as pool, chosen.out.open("a") as file:
        for start in range(0, len(jobs), 20 * chosen.jobs):  # so that it can be stopped in time
            if time.perf_counter() - began > chosen.seconds:
                print(f"stopped: {len(jobs) - start} folds are left")
                return
            for row in pool.map(fold_of, jobs[start : start + 20 * chosen.jobs]):
                file.write(json.dumps(row) + "\n")
            file.flush()


if __name__ == "__main__":
    main()

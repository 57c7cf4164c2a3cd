"""llp-learn: EM with logistic regression, and LLP-VAT with its plain network.

It imports torchvision, which it does not ask for, for images only: an empty module stands in.
LLP-VAT: one layer of 100 units, 100 epochs, a rate of 1e-3, and the regulariser of its paper's code
(xi 1e-6, eps 6, one step).
"""

import sys
import types
from typing import Any

import numpy as np

_absent = types.ModuleType("torchvision.models")
_absent.resnet18 = None  # type: ignore[attr-defined]  # made here
sys.modules["torchvision"], sys.modules["torchvision.models"] = types.ModuleType("t"), _absent

import torch  # noqa: E402
from llp_learn.em import EM  # noqa: E402
from llp_learn.llpvat import LLPVAT  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from worker import one_per_group  # noqa: E402


def _known(task: dict[str, Any]) -> tuple[Any, Any]:
    """Groups from zero, and each one's share of the second class."""
    groups = np.unique(task["groups"], return_inverse=True)[1]
    counts = one_per_group(task["y"], task["groups"])
    return groups, counts[:, 1] / counts.sum(axis=1)


def em(task: dict[str, Any]) -> dict[str, Any]:
    """Labels by the counts and logistic regression in turn."""
    groups, shares = _known(task)
    model = EM(LogisticRegression(max_iter=1000), random_state=task["seed"])
    model.fit(task["X"], groups, shares)
    return {"label": (np.asarray(model.predict(task["X_asked"])) > 0).astype(int)}


def vat(task: dict[str, Any]) -> dict[str, Any]:
    """Shares with virtual adversarial training."""
    torch.set_num_threads(1)
    groups, shares = _known(task)
    model = LLPVAT(
        lr=1e-3, n_epochs=100, xi=1e-6, eps=6.0, ip=1, model_type="simple-mlp", device="cpu",
        hidden_layer_sizes=(100,), n_jobs=0, random_state=task["seed"],
    )  # fmt: skip
    model.fit(task["X"].astype(np.float32), groups, shares.astype(np.float32))
    return {"label": np.asarray(model.predict(task["X_asked"].astype(np.float32)), int)}


METHODS = {"EM": em, "LLP-VAT": vat}

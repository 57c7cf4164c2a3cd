"""
What a group loss asks of its rows
==================================

A loss looks at all scores of a group at once. Here a positive group of two rows: the first has the
score on the horizontal axis, the second the one on the vertical axis, and arrows show where the
loss pushes the pair.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import Groups
from groupwise.losses import NoisyOrLoss, SessionSoftmaxLoss, ShareLoss, SmoothMaxLoss

pair = Groups([0, 0])
cases = {
    "presence: noisy-or": (NoisyOrLoss(), np.array([1])),
    "presence: smooth maximum": (SmoothMaxLoss(sharpness=3.0), np.array([1])),
    "majority: mean score": (SessionSoftmaxLoss(), np.array([1])),
    "proportions: one of two": (ShareLoss(), np.array([[0.5, 0.5]])),
}

# %%
# Dark is low. Presence is content as soon as one score is high: the arrows lead to the nearer
# side, and once there nothing moves; the smooth maximum pushes the higher row alone, noisy-or
# both. The majority loss wants both up. A share of one half is a valley: from anywhere the pair
# moves to where one score is up by as much as the other is down.

side = np.linspace(-4, 4, 60)
fig, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained", sharey=True)
for ax, (title, (loss, target)) in zip(axes, cases.items(), strict=True):
    bound = loss.bind(target, pair)
    value = np.array([[bound.value(np.array([a, b])) for a in side] for b in side])
    ax.contourf(side, side, np.log1p(value - value.min()), levels=20, cmap="Blues_r")
    some = side[4::10]
    steps = np.array([[-bound.gradient(np.array([a, b])) for a in some] for b in some])
    length = np.linalg.norm(steps, axis=2, keepdims=True)
    steps = steps / np.maximum(length, 1e-12) * np.sqrt(length)
    ax.quiver(some, some, steps[:, :, 0], steps[:, :, 1], color="#c4570c", width=0.008)
    ax.set(title=title, xlabel="score of row 1", aspect="equal")
axes[0].set_ylabel("score of row 2")
plt.show()

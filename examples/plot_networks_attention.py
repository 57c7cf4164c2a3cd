"""
Networks: which rows does attention look at?
============================================

Bags of ten handwritten digits; known is whether a bag holds a nine. A small network with attention
pooling is trained on the bags. This example needs torch (``pip install "groupwise[nets]"``); where
it was not installed when this page was built, there is no picture below.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from groupwise import Groups
from groupwise.nets import GroupNetClassifier

X, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(1790)
X, digit = X[order] / 16, digit[order]
bag = Groups(np.arange(1790) // 10)
nine = bag.spread(bag.max(digit == 9)).astype(int)
train = bag.codes < 120

net = GroupNetClassifier(
    "presence",
    pooling="attention",
    n_members=2,
    epochs=40,
    learning_rate=0.01,
    device="cpu",
    random_state=0,
)
net.fit(X[train], nine[train], groups=bag.codes[train])
found = net.predictions(X[~train], bag.codes[~train])

# %%
# Five bags that the network has not seen, with each digit's own probability as a bar below it.
# Half a bar means that the row says nothing. Only bags had labels, and yet nines stand out (not
# all: the network may rest on the first that it finds); a bag without one that is taken for
# positive is taken so because of digits that look like nines.

proba = found.proba_row[:, 1]
names = found.groups.names[found.y_group == 1][:5]
fig, axes = plt.subplots(5, 10, figsize=(9, 5.2))
for line, name in zip(axes, names, strict=True):
    inside = np.flatnonzero(bag.codes[~train] == name)
    for ax, row in zip(line, inside, strict=True):
        ax.imshow(X[~train][row].reshape(8, 8), cmap="gray_r")
        is_nine = digit[~train][row] == 9
        ax.plot([0, 7 * proba[row]], [8.4, 8.4], lw=6, color="#c4570c")
        ax.set(xlim=(-0.5, 7.5), ylim=(9.2, -0.5), xticks=[], yticks=[])
        for edge in ax.spines.values():
            edge.set(color="#1f5fbf" if is_nine else "#d5dae1", linewidth=2 if is_nine else 1)
fig.suptitle("bar: probability of the row; blue frame: a nine")
plt.show()

"""
Presence: one row is enough
===========================

A group is positive if at least one of its points lies on an island; all that is known is which
groups are positive (multiple-instance learning). Boosting on the noisy-or likelihood of the groups
draws the map of the islands all the same, and says which point of a group gave it away.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import GroupBoostClassifier
from groupwise.datasets import make_presence_bags, presence_intensity

bags = make_presence_bags(400, random_state=0)
clf = GroupBoostClassifier("presence", n_estimators=60, random_state=0)
clf.fit(bags.X, bags.y, groups=bags.groups)

# %%
# Left the true islands, in the middle what the model makes of the groups' labels. On the right
# nine positive groups, one per line: each dot is a row, at the probability the model gives it. In
# nearly every group one row stands out, and it is the one on the island (orange).

side = np.linspace(0, 1, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
maps = {
    "the islands": presence_intensity(grid),
    "probability of a row": clf.predict_proba(grid)[:, 1],
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (title, values) in zip(axes[:2], maps.items(), strict=True):
    ax.imshow(values.reshape(120, 120), origin="lower", extent=(0, 1, 0, 1), cmap="Blues")
    ax.set(title=title, xticks=[], yticks=[])
proba = clf.predict_proba(bags.X)[:, 1]
names, sizes = np.unique(bags.groups[bags.y == 1], return_counts=True)
for line, name in enumerate(names[sizes >= 4][:9]):
    inside = bags.groups == name
    on_island = bags.y_row[inside] == 1
    at = proba[inside]
    axes[2].scatter(at[~on_island], np.full((~on_island).sum(), line), c="#9aa6b5", s=30)
    axes[2].scatter(at[on_island], np.full(on_island.sum(), line), c="#c4570c", s=40)
axes[2].set(xlabel="probability of the row", ylabel="group", yticks=[], xlim=(-0.05, 1.05))
plt.show()

"""
Proportions: classes of rows from counts of groups
==================================================

Groups of 20 points from two moons; known is how many points of each group are of the second moon,
and of no point to which one it belongs. Boosting on the likelihood of the counts finds the moons;
AOC, least squares of the groups' values with a kernel, draws them smoothly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from groupwise import GroupBoostClassifier
from groupwise.datasets import make_aggregates
from groupwise.proportions import ManifoldAOCClassifier

X, moon = make_moons(800, noise=0.2, random_state=0)
data = make_aggregates(X, moon, size=20, randomness=0.8, random_state=0)
share = data.y.to_numpy()[:, 1] / data.y.to_numpy().sum(axis=1)

models = {
    "boosting on counts": GroupBoostClassifier("proportions", n_estimators=80, random_state=0),
    "AOC, a kernel": ManifoldAOCClassifier(),
}

# %%
# Left is all that is known: every point has the colour of its group's share. The others show each
# point's probability; what no learner saw, the moons themselves, is told apart nearly everywhere.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
options = {"s": 8, "cmap": "coolwarm", "vmin": 0, "vmax": 1}
axes[0].scatter(*data.X.T, c=share, **options)
axes[0].set_title("known:\nthe group's share")
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.fit(data.X, data.y, groups=data.groups)
    proba = model.predict_proba(data.X)[:, 1]
    drawn = ax.scatter(*data.X.T, c=proba, **options)
    ax.set_title(f"{name}:\n{np.mean((proba > 0.5) == data.y_row):.0%} of points right")
fig.colorbar(drawn, ax=axes, label="share or probability of the second moon")
plt.show()

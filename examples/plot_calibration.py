"""
Group probabilities that mean what they say
===========================================

The noisy-or of many rows is near 0 or 1 and wrong more often than it says. A rising curve learned
on groups that were held out puts it right; the order of the groups stays what it was.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import CalibratedGroupClassifier, GroupBoostClassifier, Groups

rng = np.random.default_rng(0)
groups = Groups(np.repeat(np.arange(900), 8))
X = rng.normal(size=(7200, 4))
level = groups.max(X[:, 0]) + rng.normal(0, 0.7, 900)
y = groups.spread(level > 1.6).astype(int)
train = groups.codes < 400

# %%
# 500 new groups in ten bins of what the model says: the share that is positive against the mean
# probability. The plain model (grey) is too sure at both ends: where it says 0.95, 0.7 are
# positive.

plain = GroupBoostClassifier("presence", n_estimators=150, learning_rate=0.3, random_state=0)
models = {"plain": plain, "calibrated": CalibratedGroupClassifier(plain, cv=3, random_state=0)}
truth = y[~train][Groups(groups.codes[~train]).first_rows]
fig, ax = plt.subplots(figsize=(4.8, 4.5), layout="constrained")
ax.plot([0, 1], [0, 1], color="#d5dae1")
for colour, (name, model) in zip(["#9aa6b5", "#1f5fbf"], models.items(), strict=True):
    model.fit(X[train], y[train], groups=groups.codes[train])
    said = model.predict_groups_proba(X[~train], groups=groups.codes[~train])[:, 1]
    bins = np.array_split(np.argsort(said), 10)
    ax.plot(
        [said[part].mean() for part in bins],
        [truth[part].mean() for part in bins],
        "o-",
        color=colour,
        label=f"{name}: Brier {np.mean((said - truth) ** 2):.3f}",
    )
ax.set(xlabel="probability said", ylabel="share of groups that are positive")
ax.legend()
plt.show()

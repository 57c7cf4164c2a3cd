"""
In context: an answer without fitting
=====================================

A network that was trained once, on made-up tables, reads the labelled groups and answers for new
ones. With few groups it does better than what has to learn from them alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import GroupBoostClassifier, SBoostClassifier
from groupwise.datasets import make_triangle_sessions
from groupwise.incontext import InContextClassifier

test = make_triangle_sessions(40, spread=0.4, random_state=99)
sizes = [8, 16, 32, 64]
models = {
    "in context": InContextClassifier("majority", n_members=1, random_state=0),
    "SBoost": SBoostClassifier(n_estimators=20, random_state=0),
    "boosting": GroupBoostClassifier(n_estimators=40, random_state=0),
}

# %%
# Share of new sessions predicted right (mean of three draws) against how many labelled sessions
# there are. The network does with 16 what the others need 64 for, and no setting was chosen for
# it.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for colour, (name, model) in zip(["#1f5fbf", "#c4570c", "#9aa6b5"], models.items(), strict=True):
    scores = []
    for seed in range(3):
        draws = [make_triangle_sessions(n, spread=0.4, random_state=seed) for n in sizes]
        fitted = (model.fit(d.X, d.y, groups=d.groups) for d in draws)
        scores.append([each.score(test.X, test.y, test.groups) for each in fitted])
    ax.plot(sizes, np.mean(scores, axis=0), "o-", color=colour, label=name)
ax.set(xscale="log", xticks=sizes, xticklabels=sizes, ylim=(0, 1))
ax.set(xlabel="labelled sessions", ylabel="new sessions predicted right")
ax.minorticks_off()
ax.legend()
plt.show()

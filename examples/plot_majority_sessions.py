"""
Majority: a session says what most of its rows are
==================================================

Three kinds of rows lie at the corners of a triangle, and a session named after one kind holds four
rows of it and three of each other kind. So most rows contradict their session's label. A learner
that gives every row the label of its session (the naive approach) sees the same mixture
everywhere; SBoost trains rows only as long as their session is still wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from groupwise import NaiveGroupClassifier, SBoostClassifier
from groupwise.datasets import make_triangle_sessions

train = make_triangle_sessions(150, random_state=0)
test = make_triangle_sessions(100, random_state=1)
kinds, true_row = np.unique(test.y_row, return_inverse=True)
colours = np.array(["#1f5fbf", "#c4570c", "#3a8f3a", "#7a4fa3"])

models = {
    "naive": NaiveGroupClassifier(DecisionTreeClassifier(max_depth=4, random_state=0)),
    "SBoost": SBoostClassifier(n_estimators=30, random_state=0),
}

# %%
# The same rows three times, coloured by what they are (which no learner is told), by what the
# naive approach says and by what SBoost says. The naive colours run into each other around the
# centre; SBoost gives each corner its own.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharex=True, sharey=True)
axes[0].scatter(*test.X.T, c=colours[true_row], s=8)
axes[0].set_title("what the rows are")
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.fit(train.X, train.y, groups=train.groups)
    found = np.searchsorted(kinds, model.predict(test.X))
    ax.scatter(*test.X.T, c=colours[found], s=8)
    rows = np.mean(found == true_row)
    sessions = model.score(test.X, test.y, groups=test.groups)
    ax.set_title(f"{name}: {rows:.0%} of rows,\n{sessions:.0%} of sessions right")
for code, kind in enumerate(kinds):
    axes[0].scatter([], [], c=colours[code], s=20, label=kind)
axes[0].legend(loc="upper right")
plt.show()

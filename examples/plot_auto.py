"""
The automatic choice and its honest estimate
============================================

Groups of six rows whose total is known. Every method that applies competes on folds of whole
groups, with a few settings of those that lead; the best are averaged, and what is printed is the
score of that choice on groups that took no part in choosing it.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import AutoGroupRegressor, Groups


def draw(n_groups, seed):
    """Rows, their group's total, and the group."""
    rng = np.random.default_rng(seed)
    groups = Groups(np.repeat(np.arange(n_groups), 6))
    X = rng.normal(size=(6 * n_groups, 3))
    number = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.3 * rng.normal(size=6 * n_groups)
    return X, groups.spread(groups.sum(number)), groups.codes


X, y, groups = draw(100, seed=0)
reg = AutoGroupRegressor("total", cv=3, random_state=0).fit(X, y, groups=groups)
print(reg.estimate_)

# %%
# One line per candidate, with the 95 % interval of its score on the folds; orange the estimate of
# what was chosen. The best of many is flattered by having been chosen, so its own score is above
# the estimate. The dashed line is the score on 400 new groups, which nobody has in practice: it
# lies within the estimate's interval.

board = reg.leaderboard_.dropna(subset=["score"]).head(9)
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
found = [*board[["score", "low", "high"]].to_numpy()]
names = [
    f"{line.method} {', '.join(f'{k}={v}' for k, v in line.params.items())}"
    for line in board.itertuples()
]
found.append([reg.estimate_.score, reg.estimate_.low, reg.estimate_.high])
for place, (score, low, high) in enumerate(found):
    colour = "#c4570c" if place == len(board) else "#9aa6b5"
    ax.plot([low, high], [place, place], color=colour, lw=2)
    ax.plot(score, place, "o", color=colour)
ax.axvline(reg.score(*draw(400, seed=1)), color="#1f5fbf", ls="--", label="on 400 new groups")
ax.set(yticks=range(len(found)), yticklabels=[*names, "the choice, estimated"])
ax.set(xlabel="R² over groups", xlim=(0, 1))
ax.invert_yaxis()
ax.legend(loc="lower left")
plt.show()

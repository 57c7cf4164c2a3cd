"""
The automatic choice and its honest estimate
============================================

Every method that applies competes on folds of whole groups, the best few are averaged, and what is
printed is the score of the average on groups that took no part in choosing it.
"""

import matplotlib.pyplot as plt

from groupwise import AutoGroupClassifier
from groupwise.datasets import make_triangle_sessions

train = make_triangle_sessions(40, random_state=0)
clf = AutoGroupClassifier("majority", cv=2, time_limit=6, random_state=0)
clf.fit(train.X, train.y, groups=train.groups)
clf.estimate_

# %%
# One line per candidate that ran, the best first; at the bottom the estimate of the ensemble with
# its 95 % interval, which is what may be expected of new groups. The first of many is flattered by
# having been chosen: compare it with the estimate, not with the others.

board = clf.leaderboard_.dropna(subset=["score"]).head(10)
fig, ax = plt.subplots(figsize=(8, 0.35 * len(board) + 1.2), layout="constrained")
place = range(len(board))
ax.scatter(board["score"], place, color="#9aa6b5", label="candidates, on their folds")
estimate = clf.estimate_
ax.errorbar(
    estimate.score,
    len(board),
    xerr=[[estimate.score - estimate.low], [estimate.high - estimate.score]],
    fmt="o",
    color="#c4570c",
    capsize=4,
    label="the ensemble, estimated",
)
new = make_triangle_sessions(300, random_state=1)
score = clf.score(new.X, new.y, groups=new.groups)
ax.axvline(score, color="#1f5fbf", ls="--", label="on 300 new groups")
ax.set(yticks=[*place, len(board)], yticklabels=[*board["method"], "estimate"])
ax.set(xlabel="share of groups predicted right")
ax.invert_yaxis()
ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
plt.show()

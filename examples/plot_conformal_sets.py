"""
Sets of classes that hold for new groups
========================================

Around any estimator: a set of classes for each group that holds the true one as often as promised,
whatever the model. Groups are what is exchangeable, so it is groups that are counted.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import ConformalGroupClassifier, GroupBoostClassifier, Groups
from groupwise.datasets import make_triangle_sessions

levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
test = make_triangle_sessions(400, spread=0.5, random_state=99)

# %%
# Left: promised against held, on 400 new groups, for six training sets of 300 groups each, of
# which 60 calibrate; the mean is on the line, or above it by as much as 60 groups can tell. Right:
# what a promise costs. A surer set holds more classes of the four; it is large where the problem
# is hard, not where a promise is broken.

held, size = [], []
for seed in range(6):
    train = make_triangle_sessions(300, spread=0.5, random_state=seed)
    clf = ConformalGroupClassifier(
        GroupBoostClassifier(n_estimators=15), method="split", random_state=seed
    )
    clf.fit(train.X, train.y, groups=train.groups)
    truth = np.searchsorted(clf.classes_, test.y[Groups(test.groups).first_rows])
    sets = [clf.predict_group_sets(test.X, test.groups, coverage=level) for level in levels]
    held.append([each[np.arange(len(truth)), truth].mean() for each in sets])
    size.append([each.sum(axis=1).mean() for each in sets])

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot([0.5, 1], [0.5, 1], color="#9aa6b5")
left.plot(levels, np.transpose(held), ".", color="#1f5fbf", alpha=0.4)
left.plot(levels, np.mean(held, axis=0), "o-", color="#1f5fbf", label="mean of six")
left.set(xlabel="coverage promised", ylabel="share of groups whose set holds the truth")
left.legend()
right.plot(levels, np.transpose(size), ".", color="#c4570c", alpha=0.4)
right.plot(levels, np.mean(size, axis=0), "o-", color="#c4570c")
right.set(xlabel="coverage promised", ylabel="classes in a set, of 4", ylim=(0, 4))
plt.show()

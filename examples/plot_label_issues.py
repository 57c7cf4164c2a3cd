"""
Which labels of groups are probably wrong?
==========================================

Digits in sessions that are mostly even or mostly odd; every twelfth session gets the wrong label.
Models that have not seen a session say how much they believe its label, and the least believed
come first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from groupwise import GroupBoostClassifier, Groups
from groupwise.datasets import make_sessions
from groupwise.uncertainty import find_label_issues

X, digit = load_digits(return_X_y=True)
data = make_sessions(X, digit % 2, n_other=(1, 3), random_state=0)
groups = Groups(data.groups)
wrong = np.zeros(groups.n_groups, bool)
wrong[::12] = True
y = np.where(groups.spread(wrong), 1 - data.y, data.y)

issues = find_label_issues(
    GroupBoostClassifier(n_estimators=30), data.X, y, groups=data.groups, random_state=0
)
issues.table.head()

# %%
# Each bar is a session, the least believed label at the left; the ones that were flipped are
# orange. They are all at the left end: whoever looks at twenty sessions finds every error.

order = np.searchsorted(groups.names, issues.table["group"])
fig, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
belief = issues.table["proba"].to_numpy()
ax.bar(range(60), belief[:60], color=np.where(wrong[order[:60]], "#c4570c", "#9aa6b5"))
found = wrong[order[:20]].sum()
ax.axvline(19.5, color="#1f5fbf", ls="--")
ax.text(
    20, 0.8, f" {found} of {wrong.sum()} wrong labels\n are among the first 20", color="#1f5fbf"
)
ax.set(xlabel="sessions, the least believed label first", ylabel="belief in its label", ylim=(0, 1))
plt.show()

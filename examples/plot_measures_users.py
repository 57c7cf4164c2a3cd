"""
Measures: every user counts once
================================

Mails are labelled one by one, but a filter is judged by each user's F1. One threshold for all
users fits those with many positives; a decision that is made user by user, for the expected F1 of
that user, serves the others too.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import ExpectedMeasureClassifier
from groupwise.datasets import make_users
from groupwise.measures import BoostedRowsClassifier, ThresholdTunedClassifier
from groupwise.metrics import score_groups

train, test = (make_users(60, n_rows=60, random_state=seed) for seed in (0, 1))
models = {
    "one threshold, 1/2": BoostedRowsClassifier(n_estimators=40),
    "one threshold, tuned": ThresholdTunedClassifier(BoostedRowsClassifier(n_estimators=40)),
    "decided user by user": ExpectedMeasureClassifier(),
}

# %%
# The share of users whose F1 is at most so much: the further to the right, the better. With the
# threshold of one half every eighth user gets nothing at all; deciding user by user leaves hardly
# one.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for colour, (name, model) in zip(["#9aa6b5", "#c4570c", "#1f5fbf"], models.items(), strict=True):
    model.fit(train.X, train.y, groups=train.groups)
    found = model.predict(test.X, groups=test.groups)
    f1 = np.sort(score_groups(test.y, found, test.groups, measure="f1").table["value"])
    ax.step(f1, np.arange(1, len(f1) + 1) / len(f1), color=colour, where="post")
    ax.plot([], [], color=colour, label=f"{name}: mean {f1.mean():.2f}")
ax.set(xlabel="F1 of a user", ylabel="share of users at or below", xlim=(0, 1), ylim=(0, 1))
ax.legend()
plt.show()

"""
SBoost, round by round
======================

Digits in sessions of ten, mostly even or mostly odd: only the session's kind is known. Each round
adds one small tree and weighs the rows anew. What gamma does shows in where the weight goes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from groupwise import SBoostClassifier
from groupwise.datasets import make_sessions

X, digit = load_digits(return_X_y=True)
options = {"n_other": (2, 4), "n_sessions": 200, "reuse": True}
train = make_sessions(X[:900], digit[:900] % 2, random_state=0, **options)
test = make_sessions(X[900:], digit[900:] % 2, random_state=1, **options)
foreign = train.y_row != train.y  # rows that are not of their session's kind

# %%
# Left: new sessions predicted wrong. With gamma = 0 this is AdaBoost on the sessions' labels.
# Right: the part of the weight that lies on rows of the other kind, three of ten. AdaBoost runs
# after them from the first round on, as their label contradicts what they are. With gamma = 4 a
# row whose session is right already weighs little, and their part grows slowly.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
rounds = [1, 2, 4, 8, 16, 32, 64]
for gamma, colour in [(0, "#c4570c"), (4, "#1f5fbf")]:
    clf = SBoostClassifier(n_estimators=64, gamma=gamma, random_state=0)
    clf.fit(train.X, train.y, groups=train.groups)
    wrong = [1 - right_part for right_part in clf.staged_score(test.X, test.y, test.groups)]
    left.plot(range(1, len(wrong) + 1), wrong, color=colour, label=f"gamma = {gamma}")
    part = []
    for n in rounds:
        clf.set_params(n_estimators=n).fit(train.X, train.y, groups=train.groups)
        weight = clf.row_weights_[0]
        part.append(weight[foreign].sum() / weight.sum())
    right.plot(rounds, part, "o-", color=colour, label=f"gamma = {gamma}")
left.set(xlabel="round", ylabel="share of sessions predicted wrong", ylim=(0, None))
right.axhline(np.mean(foreign), color="#9aa6b5", ls="--", label="their share of the rows")
right.set(xlabel="round", xscale="log", ylabel="weight on rows of the other kind", ylim=(0, 1))
right.set(xticks=rounds, xticklabels=rounds)
right.minorticks_off()
left.legend()
right.legend()
plt.show()

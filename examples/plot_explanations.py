"""
Why does a group get its label?
===============================

Features explain a row's score, rows explain a group's answer. For a noisy-or, a mean or a vote of
rows the Shapley values of the rows have closed forms, so they are exact and cost nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import GroupBoostClassifier
from groupwise.datasets import make_presence_bags
from groupwise.explain import explain_groups, removal_curves
from groupwise.plotting import RemovalDisplay

bags = make_presence_bags(200, mean_size=6.0, random_state=0)
clf = GroupBoostClassifier("presence", n_estimators=150, random_state=0)
clf.fit(bags.X, bags.y, groups=bags.groups)
reasons = explain_groups(clf, bags.X, bags.groups)
reasons.method

# %%
# Left: the rows of one positive group; the bars add up to what the group's probability is above
# that of an empty one, and the row on an island (orange) has the largest part of it. Right: a test
# of the reasons. Rows are taken away from every positive group, those with the largest share
# first; the probability falls at once, which it does not if rows go in a random order.

names, sizes = np.unique(bags.groups[bags.y == 1], return_counts=True)
inside = np.flatnonzero(bags.groups == names[sizes == 7][0])
order = inside[np.argsort(reasons.share_row[inside])[::-1]]
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
colour = np.where(bags.y_row[order] == 1, "#c4570c", "#9aa6b5")
left.bar(range(len(order)), reasons.share_row[order], color=colour)
left.set(xlabel="rows of one group", ylabel="share in the group's probability")
chance = np.random.default_rng(0).random(len(bags.y))
curves = {
    name: removal_curves(clf, bags.X, bags.groups, share_row=share)
    for name, share in {"by share": reasons.share_row, "at random": chance}.items()
}
deleted = {name: found.deletion for name, found in curves.items()}
RemovalDisplay(curves["by share"].fraction, deleted).plot(ax=right)
plt.show()

"""
DPBoost: how far from the best model?
=====================================

Which row makes a positive group positive is a choice, and with the choices comes a program that is
not convex. DPBoost brackets its value: every relaxation gives a lower bound, every choice of rows
an upper one. What is between them is all that a better model of this kind could gain.
"""

import matplotlib.pyplot as plt

from groupwise import DPBoostClassifier
from groupwise.datasets import make_presence_bags

bags = make_presence_bags(100, mean_size=5.0, random_state=1)

# %%
# The bounds against rounds of cuts, with what is open between them. Without cuts it is 5 %; one
# round lifts the lower bound, and after three rounds a better choice of rows is found that meets
# it. That choice is the best there is, which is proved, not hoped.

rounds = [0, 1, 2, 3, 4, 6, 8]
bounds = []
for cut_rounds in rounds:
    clf = DPBoostClassifier(cut_rounds=cut_rounds, random_state=0)
    clf.fit(bags.X, bags.y, groups=bags.groups)
    bounds.append((clf.lower_bound_, clf.upper_bound_, clf.gap_))
low, high, gap = zip(*bounds, strict=True)

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.fill_between(rounds, low, high, color="#1f5fbf", alpha=0.15)
ax.plot(rounds, high, "o-", color="#c4570c", label="upper bound: rows chosen")
ax.plot(rounds, low, "o-", color="#1f5fbf", label="lower bound: relaxation")
for at, below, open_part in zip(rounds, low, gap, strict=True):
    ax.annotate(f"{open_part:.1%}", (at, below), (0, -16), textcoords="offset points", ha="center")
ax.set(xlabel="rounds of cuts", ylabel="value of the program", title="open in between, in per cent")
ax.margins(y=0.2)
ax.legend()
plt.show()

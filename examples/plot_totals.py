"""
Totals: what does one row contribute?
=====================================

The bill of a household is known, not what each of its appliances uses. From totals of many
households boosting learns what rows of each kind add.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import GroupBoostRegressor, Groups

rng = np.random.default_rng(0)
household = Groups(np.sort(rng.integers(0, 400, 3000)))
hours = rng.uniform(0, 10, 3000)
watts = rng.choice([60, 150, 400], 3000)
true = hours * watts / 1000
total = household.sum(true * rng.lognormal(0, 0.1, 3000))
X = np.column_stack([hours, watts])

reg = GroupBoostRegressor("total", n_estimators=200, random_state=0)
reg.fit(X, household.spread(total), groups=household.codes)

# %%
# Left: totals of households that are known, against what is predicted. Right: single appliances,
# of which no value was ever known. The three kinds climb along three lines whose slopes are their
# power.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(total, reg.predict_groups(X, household.codes), ".", color="#1f5fbf", alpha=0.4)
left.axline((0, 0), slope=1, color="#9aa6b5")
left.set(xlabel="total of a household (kWh)", ylabel="predicted")
for kind, colour in zip([60, 150, 400], ["#1f5fbf", "#c4570c", "#3a8f3a"], strict=True):
    of_kind = watts == kind
    found = reg.predict(X[of_kind])
    right.plot(hours[of_kind], found, ".", color=colour, ms=3, label=f"{kind} W")
    right.plot([0, 10], [0, kind / 100], color=colour, lw=1)
right.set(xlabel="hours", ylabel="kWh of one appliance; lines: true")
right.legend()
plt.show()

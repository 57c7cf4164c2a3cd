"""
Ecological inference: two margins are known, the table is not
=============================================================

Of every precinct it is known how many people are old and how many voted. How many of the old voted
is not, but it is bounded; and precincts together say more than each alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise.ecological import EcologicalInference, GoodmanRegression, cell_bounds

rng = np.random.default_rng(0)
n_people = rng.integers(300, 900, 80)
share_old = rng.beta(1.5, 2.5, 80)
old = rng.binomial(n_people, share_old)
rate_old = np.clip(rng.normal(0.7, 0.08, 80), 0, 1)
rate_young = np.clip(rng.normal(0.4, 0.08, 80), 0, 1)
voted_old = rng.binomial(old, rate_old)
voted = voted_old + rng.binomial(n_people - old, rate_young)
people = np.column_stack([old, n_people - old])
votes = np.column_stack([voted, n_people - voted])

ei = EcologicalInference(n_draws=200, random_state=0).fit(people, votes)
goodman = GoodmanRegression().fit(people, votes)
bounds = cell_bounds(people, votes)
intervals = ei.intervals(0.9)

# %%
# One line per precinct, sorted by the share of the old: grey what is possible at all, blue the 90
# % interval of the model, orange the truth. Where nearly everybody is old the bounds are narrow by
# themselves; elsewhere the other precincts narrow them. The dashed line is Goodman's one rate for
# all precincts.

order = np.argsort(old / n_people)[::2]
fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
place = np.arange(len(order))
ax.vlines(place, bounds[order, 0, 0, 0], bounds[order, 0, 0, 1], color="#d5dae1", lw=7)
ax.vlines(place, intervals[order, 0, 0, 0], intervals[order, 0, 0, 1], color="#1f5fbf", lw=3)
ax.plot(place, voted_old[order] / old[order], "o", color="#c4570c", ms=5)
ax.axhline(goodman.district_[0][0], color="#5b6675", ls="--")
inside = (intervals[:, 0, 0, 0] <= voted_old / old) & (voted_old / old <= intervals[:, 0, 0, 1])
ax.set(
    xlabel="precincts, from few to many old people",
    ylabel="share of the old who voted",
    title=f"{inside.mean():.0%} of the 90 % intervals hold the truth",
    xticks=[],
)
plt.show()

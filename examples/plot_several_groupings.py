"""
Several tables of the same people
=================================

Counts by age and counts by county, of the same people. Either alone says how the rate moves along
its own margin; one loss that adds both up learns from both.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from groupwise import GroupBoostClassifier
from groupwise.losses import SeveralGroupings

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.integers(0, 12, 4000), "county": rng.integers(0, 12, 4000)})
logit = 0.5 * (people["age"] - 5.5) - 0.5 * (people["county"] - 5.5)
true = 1 / (1 + np.exp(-logit.to_numpy()))
ill = (rng.random(4000) < true).astype(float)
known = people.apply(lambda ids: pd.Series(ill).groupby(ids).transform("sum"))
X = people.to_numpy(float)

# %%
# The rate by age and county, true and as learned. From counts by age alone all counties look the
# same, and the other way round; with both tables the slope along both shows, though no count of an
# age in a county was seen.


def learned(*tables):
    loss = SeveralGroupings(dict.fromkeys(tables, "reported_counts"))
    clf = GroupBoostClassifier(loss, n_estimators=40, learning_rate=1.0, random_state=0)
    clf.fit(X, known[list(tables)], groups=people[list(tables)])
    return clf.predict_proba(X)[:, 1]


maps = {
    "true rate": true,
    "counts by age": learned("age"),
    "counts by county": learned("county"),
    "both": learned("age", "county"),
}
fig, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained", sharey=True)
for ax, (title, rate) in zip(axes, maps.items(), strict=True):
    table = pd.Series(rate).groupby([people["age"], people["county"]]).mean().unstack()
    drawn = ax.imshow(table, origin="lower", vmin=0, vmax=1, cmap="Blues")
    error = np.abs(rate - true).mean()
    ax.set(title=title if error == 0 else f"{title}\n(error {error:.2f})", xlabel="county")
axes[0].set_ylabel("age group")
fig.colorbar(drawn, ax=axes)
plt.show()

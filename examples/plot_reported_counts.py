"""
Published counts: noise, rounding, small cells left out
=======================================================

An office publishes how many people of each region smoke, with noise added and nothing where the
number is small. Tell the loss what was done and it uses the likelihood of what was published.
"""

import matplotlib.pyplot as plt
import numpy as np

from groupwise import GroupBoostClassifier, Groups
from groupwise.losses import Reported, ReportedCountLoss

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 3))
region = Groups(np.repeat(np.arange(200), 20))
X[:, 0] += region.spread(rng.normal(size=200))
true = 1 / (1 + np.exp(1.5 - 1.5 * X[:, 0]))
count = region.sum((rng.random(4000) < true).astype(float))


def error(done, published):
    """Mean distance of the rows' probabilities from the true ones."""
    clf = GroupBoostClassifier(ReportedCountLoss(done), n_estimators=100, random_state=0)
    clf.fit(X, region.spread(published), groups=region.codes)
    return np.abs(clf.predict_proba(X)[:, 1] - true).mean()


# %%
# The office adds a little noise and leaves out every number below a limit. The higher the limit,
# the more regions have no number (top axis). Regions without a number are not regions without
# smokers: leaving them out (grey) or taking them for zero (orange) is wrong by more and more. Told
# that a gap means "below the limit" (blue), the model stays right until most of the country is
# blank.

limits = [0, 3, 5, 8, 10]
lines = {"gaps left out": [], "gaps taken for 0": [], "what was done is told": []}
gaps = []
for limit in limits:
    noisy = count + rng.laplace(0, 1.0, 200)
    published = np.where(noisy < limit, np.nan, noisy)
    gaps.append(np.isnan(published).mean())
    rounded = np.clip(np.rint(published), 0, 20)
    done = Reported(noise="laplace", scale=1.0, suppressed_below=limit or None)
    lines["gaps left out"].append(error(Reported(), rounded))
    lines["gaps taken for 0"].append(error(Reported(), np.nan_to_num(rounded)))
    lines["what was done is told"].append(error(done, published))
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for colour, (name, values) in zip(["#9aa6b5", "#c4570c", "#1f5fbf"], lines.items(), strict=True):
    ax.plot(limits, values, "o-", color=colour, label=name)
ax.set(xlabel="numbers below this are left out (a region has 20 people)", ylim=(0, None))
ax.set(ylabel="error of rows' probabilities", xticks=limits)
top = ax.secondary_xaxis("top")
top.set(xticks=limits, xticklabels=[f"{gap:.0%} blank" for gap in gaps])
ax.legend()
plt.show()

"""
Transfer: when do old rows help?
================================

Forty labelled rows of the domain that counts, four hundred of another one in which the border
between the classes is turned by an angle. At 0 degrees the old rows are as good as new ones, at 90
they say nothing, beyond that they mislead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from groupwise.datasets import make_shifted_domains
from groupwise.transfer import BalancedTransferClassifier, WeightedTransferClassifier

angles = np.arange(0, 181, 60)
learner = LogisticRegression()
options = {"target_domain": "target"}
models = {
    "the target's rows alone": WeightedTransferClassifier(
        learner, weighting="target_only", **options
    ),
    "all rows alike": WeightedTransferClassifier(learner, weighting="union", **options),
    "balanced by held-out target rows": BalancedTransferClassifier(learner, **options),
}


def accuracy(model, angle, seed):
    """On 1,000 new rows of the target."""
    data = make_shifted_domains(400, 1040, angle=angle, random_state=seed)
    of_target = np.flatnonzero(data.domains == "target")
    test, known = of_target[40:], np.setdiff1d(np.arange(len(data.y)), of_target[40:])
    model.fit(data.X[known], data.y[known], domains=data.domains[known])
    return np.mean(model.predict(data.X[test]) == data.y[test])


# %%
# At 0 degrees the union of both domains is best; the further the domains are turned, the worse it
# gets. The balanced choice finds out by itself how much the old rows are worth and stays near the
# better of the two lines all along (means of three draws, bars are standard errors).

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for colour, (name, model) in zip(["#9aa6b5", "#c4570c", "#1f5fbf"], models.items(), strict=True):
    scores = np.array([[accuracy(model, angle, seed) for angle in angles] for seed in range(3)])
    error = scores.std(axis=0, ddof=1) / np.sqrt(3)
    ax.errorbar(angles, scores.mean(axis=0), error, color=colour, label=name, capsize=3)
ax.set(xlabel="angle between the domains (degrees)", ylabel="rows of the target predicted right")
ax.set_xticks(angles)
ax.legend()
plt.show()

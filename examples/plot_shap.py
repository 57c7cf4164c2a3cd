"""
SHAP values of a model of groups
================================

A boosted model's rows have scores that are sums over trees, so tree SHAP applies. ``shap_values``
asks the engine itself; ``shap.TreeExplainer(model.booster_)`` gives the same where the package
shap is installed.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from groupwise import GroupBoostClassifier
from groupwise.datasets import make_sessions

cancer = load_breast_cancer()
data = make_sessions(cancer.data, cancer.target, size=5, n_other=(0, 1), random_state=0)
clf = GroupBoostClassifier(n_estimators=60, random_state=0).fit(data.X, data.y, groups=data.groups)
values = clf.shap_values(data.X)[:, :-1]  # the last column is the expected score
assert np.allclose(clf.shap_values(data.X).sum(axis=1), clf.decision_function(data.X))

# %%
# Samples of five patients, labelled by what most of them have. Each dot is a patient: how far the
# feature moves the score (towards benign to the right), coloured by the feature's value. Large,
# irregular cells speak for malignant, and that was learned from samples' labels only.

top = np.argsort(np.abs(values).mean(axis=0))[::-1][:8]
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
rng = np.random.default_rng(0)
for line, feature in enumerate(top):
    rank = data.X[:, feature].argsort().argsort() / len(data.X)
    height = line + rng.uniform(-0.25, 0.25, len(rank))
    drawn = ax.scatter(values[:, feature], height, c=rank, s=6, cmap="coolwarm")
ax.axvline(0, color="#9aa6b5", lw=1)
ax.set(yticks=range(8), yticklabels=cancer.feature_names[top], xlabel="SHAP value")
ax.invert_yaxis()
fig.colorbar(drawn, label="feature's value, by rank")
plt.show()

# %%
# With shap, where it is installed:

try:
    with warnings.catch_warnings():  # of shap about matplotlib
        warnings.simplefilter("ignore")
        import shap
except ImportError:
    print("shap is not installed here")
else:
    theirs = shap.TreeExplainer(clf.booster_).shap_values(data.X)
    print("largest difference", np.abs(theirs - values).max())

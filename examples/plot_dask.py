"""
Dask: the model of one machine from many
========================================

Rows on the workers of a Dask cluster, groups kept whole, and in the end the ordinary model. Here
the cluster is two workers on this machine.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from groupwise.dask import DaskGroupBoostClassifier
from groupwise.datasets import make_triangle_sessions
from groupwise.gbdt import GroupBoostClassifier

s = make_triangle_sessions(200, random_state=0)
settings = GroupBoostClassifier(engine="xgboost", n_estimators=20, random_state=0)
here = settings.fit(s.X, s.y, groups=s.groups)

X = da.from_array(s.X, chunks=(700, -1))
y, session = da.from_array(s.y, chunks=700), da.from_array(s.groups, chunks=700)
with (
    LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
    Client(cluster) as client,
):
    on_workers = DaskGroupBoostClassifier(settings, client=client).fit(X, y, groups=session)
there = on_workers.estimator_  # a fitted GroupBoostClassifier

# %%
# Scores of all rows from the model trained on one machine and from the one trained on two workers.
# They lie on the diagonal: bins are cut from sketches of the parts, so trees may differ in a
# threshold, and do in a few rows.

one, two = here.decision_function(s.X)[:, 0], there.decision_function(s.X)[:, 0]
fig, ax = plt.subplots(figsize=(4.8, 4.5), layout="constrained")
ax.plot(one, two, ".", color="#1f5fbf", alpha=0.3)
ax.axline((0, 0), slope=1, color="#9aa6b5", lw=1)
same = np.mean(here.predict(s.X) == there.predict(s.X))
ax.set(xlabel="score, one machine", ylabel="score, two workers")
ax.set_title(f"the same class for {same:.1%} of rows")
plt.show()

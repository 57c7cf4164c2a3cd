"""
ONNX: rows and groups without this library
==========================================

An exported model is one graph: trees, the link to probabilities, and the rule by which rows decide
for their group. Any ONNX runtime answers for rows and groups, in any language.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits

from groupwise import SBoostClassifier
from groupwise.datasets import make_sessions
from groupwise.onnx import to_onnx

X, digit = load_digits(return_X_y=True)
data = make_sessions(X, digit % 2, n_other=(2, 4), random_state=0)
clf = SBoostClassifier(n_estimators=60, random_state=0).fit(data.X, data.y, groups=data.groups)

graph = to_onnx(clf)
print([each.name for each in graph.graph.input], [each.name for each in graph.graph.output])

# %%
# The runtime takes rows and, for each row, the number of its group.

session = onnxruntime.InferenceSession(graph.SerializeToString())
code = np.unique(data.groups, return_inverse=True)[1]
found = dict(
    zip(
        [each.name for each in graph.graph.output],
        session.run(None, {"X": data.X, "group": code}),
        strict=True,
    )
)

# %%
# Left: the sessions' probabilities from both, on the diagonal to the last digits. Right: how long
# a call takes. Small calls are what a service gets, and there the graph is several times quicker:
# nothing is checked and no Python runs. Large calls cost the same.

said = clf.predictions(data.X, data.groups)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(said.proba_group[:, 1], found["proba_group"][:, 1], ".", color="#1f5fbf", alpha=0.5)
left.axline((0, 0), slope=1, color="#9aa6b5", lw=1)
gap = np.abs(said.proba_group - found["proba_group"]).max()
left.set(xlabel="groupwise", ylabel="onnxruntime", title=f"largest difference {gap:.0e}")


def seconds(call):
    """The quickest of five."""
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


sizes = [10, 100, 1000]
ours, theirs = [], []
for n in sizes:
    rows, ids = np.ascontiguousarray(data.X[:n]), np.unique(code[:n], return_inverse=True)[1]
    ours.append(seconds(lambda rows=rows, ids=ids: clf.predictions(rows, ids)))
    theirs.append(seconds(lambda rows=rows, ids=ids: session.run(None, {"X": rows, "group": ids})))
right.plot(sizes, np.array(ours) * 1e3, "o-", color="#9aa6b5", label="groupwise")
right.plot(sizes, np.array(theirs) * 1e3, "o-", color="#1f5fbf", label="onnxruntime")
right.set(xscale="log", yscale="log", xlabel="rows in a call", ylabel="milliseconds")
right.legend()
plt.show()

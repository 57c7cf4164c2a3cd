"""
A table as it comes, with skrub
===============================

skrub's ``TableVectorizer`` (``pip install skrub``) makes numbers of dates, texts and categories.
Put before a group estimator it makes a pipeline that takes the table as it is. Where skrub was not
installed when this page was built, there is no output below.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from skrub import TableVectorizer

from groupwise import GroupBoostClassifier, Groups
from groupwise.pipeline import make_group_pipeline

rng = np.random.default_rng(0)
customer = Groups(np.repeat(np.arange(200), 6))
n = customer.n_rows
complaint = rng.random(n) < 0.15
words = np.where(complaint, "late broken parcel", "thanks for the parcel")
table = pd.DataFrame(
    {
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, n), unit="D"),
        "channel": rng.choice(["mail", "phone", "shop"], n),
        "text": [f"{text} {rng.choice(['today', 'again', 'please'])}" for text in words],
        "minutes": rng.exponential(5, n) + 3 * complaint,
    }
)
left = customer.spread(customer.max(complaint)).astype(int)  # one complaint was enough

# %%
# Which customers leave is known, not which contact was the reason. The pipeline finds it: the
# probability of contacts that were complaints is apart from that of all others.

model = make_group_pipeline(TableVectorizer(), GroupBoostClassifier("presence", n_estimators=60))
train = customer.codes < 120
model.fit(table[train], left[train], groups=customer.codes[train])
proba = model.predict_proba(table[~train])[:, 1]
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
bins = np.linspace(0, 1, 31)
ax.hist(proba[~complaint[~train]], bins, color="#9aa6b5", label="other contacts")
ax.hist(proba[complaint[~train]], bins, color="#c4570c", label="complaints")
ax.set(xlabel="probability of a contact", ylabel="contacts of new customers", yscale="log")
ax.legend()
plt.show()

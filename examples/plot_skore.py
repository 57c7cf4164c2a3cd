"""
A report with skore
===================

Group estimators are scikit-learn estimators, so that tools around scikit-learn take them. skore
(``pip install skore``) reports on them; with ``group_column`` the group ids are a column of the
table, and nothing is lost on the way. Where skore was not installed when this page was built,
there is no output below.
"""

import matplotlib.pyplot as plt
import pandas as pd
import skore
from sklearn.datasets import load_digits

from groupwise import GroupBoostClassifier
from groupwise.datasets import make_sessions
from groupwise.model_selection import group_train_test_split

X, digit = load_digits(return_X_y=True)
data = make_sessions(X, digit % 2, n_other=(2, 4), random_state=0)
table = pd.DataFrame(data.X).add_prefix("pixel").assign(session=data.groups)
X_train, X_test, y_train, y_test, *_ = group_train_test_split(
    table, data.y, groups=data.groups, y=data.y, random_state=0
)
clf = GroupBoostClassifier(group_column="session", n_estimators=60, random_state=0)
report = skore.EstimatorReport(
    clf, X_train=X_train, X_test=X_test, y_train=y_train, y_test=y_test, pos_label=1
)
print(report.metrics.summarize().frame())

# %%
# skore asks about rows, and compares with the label of their session: three of ten rows are not
# what their session is, so that the curve of a perfect model of rows ends far from the corner.
# What counts here is the share of sessions predicted right, which is the estimator's own
# ``score``.

report.metrics.roc().plot()
right = clf.fit(X_train, y_train).score(X_test, y_test)
plt.gcf().suptitle(f"rows against their session's label; {right:.0%} of sessions are right")
plt.show()

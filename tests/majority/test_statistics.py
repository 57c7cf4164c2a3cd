"""Statistics of groups: by hand, and groups of one row."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from groupwise import Groups, GroupStatisticsClassifier
from groupwise.statistics import summarise


def test_statistics_by_hand():
    X = np.array([[1.0], [3.0], [5.0], [5.0]])
    statistics = ("mean", "std", "min", "max")
    lines = summarise(X, Groups([0, 0, 1, 1]), statistics)
    assert lines.tolist() == [[2, 1, 1, 3], [5, 0, 5, 5]]
    assert summarise(csr_array(X), Groups([0, 0, 1, 1]), statistics).tolist() == lines.tolist()


def test_defaults_and_errors(sessions):
    clf = GroupStatisticsClassifier(random_state=0)
    clf.fit(sessions.X, sessions.y, groups=sessions.groups)
    assert clf.estimator_.n_estimators == 300
    assert clf.score(sessions.X, sessions.y, groups=sessions.groups) == 1
    for statistics in (("median",), ()):
        with pytest.raises(ValueError, match="statistics must be some of"):
            GroupStatisticsClassifier(statistics=statistics).fit(
                sessions.X, sessions.y, groups=sessions.groups
            )


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()], ids=repr)
def test_groups_are_lines_and_a_row_is_a_group_of_one(sessions, estimator):
    clf = GroupStatisticsClassifier(estimator, statistics=("mean", "std"))
    clf.fit(sessions.X, sessions.y, groups=sessions.groups)
    lines = summarise(sessions.X, Groups(sessions.groups), ("mean", "std"))
    found = clf.predictions(sessions.X, sessions.groups)
    np.testing.assert_array_equal(found.y_group, clf.estimator_.predict(lines))
    alone = np.hstack([sessions.X, np.zeros_like(sessions.X)])
    np.testing.assert_array_equal(found.score_row, clf.estimator_.decision_function(alone))
    np.testing.assert_array_equal(
        found.y_row, clf.predict_groups(sessions.X, np.arange(len(sessions.X)))
    )

import numpy as np
import pytest

from groupwise import Groups, GroupStatisticsClassifier, NaiveGroupClassifier
from groupwise.majority.statistics import summarise


def test_statistics_by_hand():
    X = np.array([[1.0], [3.0], [5.0], [5.0]])
    lines = summarise(X, Groups([0, 0, 1, 1]), ("mean", "std", "min", "max"))
    assert lines.tolist() == [[2, 1, 1, 3], [5, 0, 5, 5]]


def test_statistics_defaults_and_errors(sessions):
    clf = GroupStatisticsClassifier(random_state=0)
    clf.fit(sessions.X, sessions.y, groups=sessions.groups)
    assert clf.estimator_.n_estimators == 300
    assert clf.score(sessions.X, sessions.y, groups=sessions.groups) == 1
    with pytest.raises(ValueError, match="statistics must be some of"):
        GroupStatisticsClassifier(statistics=("median",)).fit(sessions.X, sessions.y)


def test_naive_default_is_gradient_boosting(sessions):
    clf = NaiveGroupClassifier(random_state=0).fit(sessions.X, sessions.y, groups=sessions.groups)
    assert type(clf.estimator_).__name__ == "HistGradientBoostingClassifier"
    assert clf.estimator_.random_state is not None

"""What is refused beyond the checks that every estimator is put through."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from groupwise import Groups, SBoostClassifier
from groupwise.exceptions import GroupDataError
from groupwise.inputs import check_groups, split_column
from groupwise.inputs.labels import distinct_labels


def model(**options):
    return SBoostClassifier(n_estimators=2, **options)


def test_one_class_only(sessions):
    with pytest.raises(GroupDataError, match=r"one class only \(7\)"):
        model().fit(sessions.X, np.full(len(sessions.X), 7), groups=sessions.groups)


def test_missing_label_names_its_group(sessions):
    y = sessions.y.astype(float)
    y[12] = np.nan
    with pytest.raises(GroupDataError, match=r"1 are missing, the first in group 2 \(row 12"):
        model().fit(sessions.X, y, groups=sessions.groups)


def test_no_labels(sessions):
    with pytest.raises(ValueError, match="requires y to be passed"):
        model().fit(sessions.X, None, groups=sessions.groups)


def test_continuous_labels(sessions):
    with pytest.raises(ValueError, match="continuous"):
        model().fit(sessions.X, sessions.y + 0.5, groups=sessions.groups)


def test_labels_as_a_column_warn(sessions):
    with pytest.warns(DataConversionWarning):
        model().fit(sessions.X, sessions.y[:, None], groups=sessions.groups)


def test_labels_of_another_length(sessions):
    with pytest.raises(GroupDataError, match="one label per row: got 3 for"):
        model().fit(sessions.X, sessions.y[:3], groups=sessions.groups)


def test_ids_as_groups_object():
    groups = Groups(["a", "b"])
    assert check_groups(groups, 2) is groups
    with pytest.raises(GroupDataError, match="2 ids for 3 rows"):
        check_groups(groups, 3)


def test_an_error_leaves_an_earlier_fit_alone(sessions):
    clf = model().fit(sessions.X, sessions.y, groups=sessions.groups)
    before = clf.decision_function(sessions.X)
    with pytest.raises(GroupDataError):
        clf.fit(sessions.X[:, :2], sessions.y, groups=sessions.groups[:5])
    np.testing.assert_array_equal(clf.decision_function(sessions.X), before)


class TestGroupColumn:
    frame = pd.DataFrame({"a": [1.0, 2.0], "session": ["x", "y"]})

    def test_pandas_and_polars(self):
        for frame in (self.frame, pl.from_pandas(self.frame)):
            X, ids = split_column(frame, "session", None)
            assert list(X.columns) == ["a"]
            assert list(ids) == ["x", "y"]
            assert "session" in frame.columns  # the caller's table is not touched

    def test_not_a_table(self):
        with pytest.raises(GroupDataError, match="needs X to be a DataFrame, got ndarray"):
            split_column(np.ones((2, 2)), "session", None)

    def test_no_such_column(self):
        with pytest.raises(GroupDataError, match=r"no column 'sess' .* \['a', 'session'\]"):
            split_column(self.frame, "sess", None)
        X, ids = split_column(self.frame, "sess", [1, 2])
        assert X is self.frame and ids == [1, 2]

    def test_ids_twice(self):
        _, ids = split_column(self.frame, "session", [7, 8])
        assert list(ids) == ["x", "y"]
        with pytest.raises(GroupDataError, match="'session' describe different groups"):
            split_column(self.frame, "session", [7, 7])

    def test_rows_are_predicted_with_or_without_the_column(self, sessions):
        X = pd.DataFrame(sessions.X, columns=list("abcd")).assign(s=sessions.groups)
        clf = model(group_column="s").fit(X, sessions.y)
        np.testing.assert_array_equal(clf.predict(X), clf.predict(X.drop(columns="s")))
        with pytest.raises(GroupDataError, match="no column 's'"):
            clf.predict_groups(X.drop(columns="s"))


def test_polars_frames_keep_their_names(sessions):
    X = pl.DataFrame(sessions.X, schema=list("abcd"))
    clf = model().fit(X, sessions.y, groups=pl.Series(sessions.groups))
    assert list(clf.feature_names_in_) == list("abcd")
    assert clf.predict_groups(X, groups=sessions.groups).shape == (len(set(sessions.groups)),)


def test_labels_that_cannot_be_sorted(sessions):
    y = np.where(sessions.y == 1, "a", None).astype(object)
    y[sessions.y != 1] = b"a"
    with pytest.raises(
        GroupDataError, match=r"y must hold labels that can be sorted.* bytes and str"
    ):
        model().fit(sessions.X, y, groups=sessions.groups)


def test_a_table_of_labels_with_equal_names(sessions):
    table = pd.DataFrame(np.zeros((len(sessions.y), 2)), columns=["a", "a"])
    with pytest.raises(GroupDataError, match="y has 2 columns named 'a'"):
        model().fit(sessions.X, table, groups=sessions.groups)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, bool])
def test_whole_numbers_are_the_classes_of_numpy(kind):
    labels = np.array([0, 7, 1, 7, 0, 3, 1, 0, 7, 3, 0, 1], np.int64).astype(kind)
    classes, codes = distinct_labels(labels, Groups(np.arange(len(labels))))
    expected = np.unique(labels, return_inverse=True)
    assert classes.tolist() == expected[0].tolist() and classes.dtype == kind
    assert codes.tolist() == expected[1].tolist()


def test_nearly_as_many_classes_as_rows_are_told_as_by_scikit_learn():
    """Its older versions say nothing."""
    labels = np.append(np.arange(29), 0)
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        check_classification_targets(labels)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        classes, _ = distinct_labels(labels, Groups(np.arange(30)))
    assert [str(one.message) for one in told] == [str(one.message) for one in expected]
    assert len(classes) == 29

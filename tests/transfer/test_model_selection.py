import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    TargetKFold,
    TargetShuffleSplit,
    WeightedTransferClassifier,
)


@pytest.mark.parametrize(
    "splitter",
    [
        TargetKFold(4, target_domain="target", random_state=0),
        TargetKFold(2, target_domain="target", n_repeats=3, random_state=0),
        TargetShuffleSplit(3, target_domain="target", test_size=0.25, random_state=0),
    ],
    ids=repr,
)
def test_source_rows_always_train_and_never_test(splitter, shifted):
    source = np.flatnonzero(shifted.domains == "source")
    splits = list(splitter.split(shifted.X, shifted.y, shifted.domains))
    assert len(splits) == splitter.get_n_splits()
    for train, test in splits:
        assert np.isin(source, train).all()
        assert (shifted.domains[test] == "target").all()
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(shifted.y)))
        assert len(np.unique(shifted.y[test])) == 2


def test_folds_cover_the_target_once(shifted):
    folds = TargetKFold(5, target_domain="target").split(shifted.X, shifted.y, shifted.domains)
    tested = np.sort(np.concatenate([test for _, test in folds]))
    np.testing.assert_array_equal(tested, np.flatnonzero(shifted.domains == "target"))


def test_numbers_are_not_stratified(shifted):
    y = shifted.X[:, 0]
    for splitter in (
        TargetKFold(3, target_domain="target"),
        TargetShuffleSplit(2, target_domain="target"),
    ):
        splits = list(splitter.split(shifted.X, y, shifted.domains))
        assert len(splits) == splitter.get_n_splits()


def test_too_few_target_rows_of_a_class():
    with pytest.raises(GroupDataError, match="at least 3 target rows of each class; class 1 has 2"):
        list(
            TargetKFold(3, target_domain="t").split(np.zeros(6), [0, 0, 0, 1, 1, 1], list("ttttts"))
        )
    with pytest.raises(GroupDataError, match="at least 2 target rows"):
        list(TargetShuffleSplit(target_domain="t").split(np.zeros(4), [0, 0, 0, 1], list("tttt")))


@pytest.mark.xfail(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="before 1.8, a search's score passes no metadata on to a pipeline",
    raises=TypeError,
)
def test_grid_search_over_a_pipeline(shifted):
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler(),
            WeightedTransferClassifier(LogisticRegression(), target_domain="target"),
        )
        search = GridSearchCV(
            pipeline,
            {"weightedtransferclassifier__weighting": ["target_only", "union", "equal_mass"]},
            cv=TargetKFold(4, target_domain="target", random_state=0),
        ).fit(shifted.X, shifted.y, domains=shifted.domains)
        score = search.score(shifted.X, shifted.y, domains=shifted.domains)
    rows = shifted.domains == "target"
    expected = np.mean(search.predict(shifted.X[rows]) == shifted.y[rows])
    assert score == pytest.approx(expected)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()

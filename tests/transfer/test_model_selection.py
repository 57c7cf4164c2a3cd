import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from groupwise.exceptions import GroupDataError
from groupwise.transfer import (
    TargetKFold,
    TargetShuffleSplit,
    TrAdaBoostClassifier,
    WeightedTransferClassifier,
    make_target_scorer,
)


@pytest.mark.parametrize(
    "splitter",
    [
        TargetKFold(4, target="target", random_state=0),
        TargetKFold(2, target="target", n_repeats=3, random_state=0),
        TargetShuffleSplit(3, target="target", test_size=0.25, random_state=0),
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
    folds = TargetKFold(5, target="target").split(shifted.X, shifted.y, shifted.domains)
    tested = np.sort(np.concatenate([test for _, test in folds]))
    np.testing.assert_array_equal(tested, np.flatnonzero(shifted.domains == "target"))


def test_numbers_are_not_stratified(shifted):
    y = shifted.X[:, 0]
    for splitter in (TargetKFold(3, target="target"), TargetShuffleSplit(2, target="target")):
        splits = list(splitter.split(shifted.X, y, shifted.domains))
        assert len(splits) == splitter.get_n_splits()


def test_too_few_target_rows_of_a_class():
    with pytest.raises(GroupDataError, match="at least 3 target rows of each class; class 1 has 2"):
        list(TargetKFold(3, target="t").split(np.zeros(6), [0, 0, 0, 1, 1, 1], list("ttttts")))
    with pytest.raises(GroupDataError, match="at least 2 target rows"):
        list(TargetShuffleSplit(target="t").split(np.zeros(4), [0, 0, 0, 1], list("tttt")))


def test_grid_search_over_a_pipeline(shifted):
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler(),
            WeightedTransferClassifier(LogisticRegression(), target_domain="target"),
        )
        search = GridSearchCV(
            pipeline,
            {"weightedtransferclassifier__weighting": ["target_only", "union", "equal_mass"]},
            cv=TargetKFold(4, target="target", random_state=0),
        ).fit(shifted.X, shifted.y, domains=shifted.domains)
        score = search.score(shifted.X, shifted.y, domains=shifted.domains)
    rows = shifted.domains == "target"
    expected = np.mean(search.predict(shifted.X[rows]) == shifted.y[rows])
    assert score == pytest.approx(expected)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_every_search_fold_is_scored_on_target_rows(shifted):
    seen = []

    def metric(y, predicted):
        seen.append(len(y))
        return accuracy_score(y, predicted)

    with sklearn.config_context(enable_metadata_routing=True):
        cross_val_score(
            TrAdaBoostClassifier(n_estimators=2, target_domain="target"),
            shifted.X,
            shifted.y,
            cv=KFold(4, shuffle=True, random_state=0),
            scoring=make_target_scorer(metric, target="target"),
            params={"domains": shifted.domains},
        )
    assert sum(seen) == 40


@pytest.mark.parametrize("response", ["predict", "predict_proba", "decision_function"])
def test_scorer_responses(response, shifted):
    clf = TrAdaBoostClassifier(n_estimators=3, target_domain="target").fit(
        shifted.X, shifted.y, domains=shifted.domains
    )
    metric = accuracy_score if response == "predict" else roc_auc_score
    rows = shifted.domains == "target"
    scorer = make_target_scorer(metric, target="target", response=response)
    given = getattr(clf, response)(shifted.X[rows])
    given = given[:, 1] if given.ndim == 2 else given
    assert scorer(clf, shifted.X, shifted.y, domains=shifted.domains) == pytest.approx(
        metric(shifted.y[rows], given)
    )


def test_scorer_signs_and_names(shifted):
    clf = LogisticRegression().fit(shifted.X, shifted.y)
    loss = make_target_scorer(
        log_loss, target="target", response="predict_proba", greater_is_better=False
    )
    assert loss(clf, shifted.X, shifted.y) == pytest.approx(
        -log_loss(shifted.y, clf.predict_proba(shifted.X))
    )
    assert repr(loss) == loss._routing_repr()
    assert "log_loss" in repr(loss)
    with pytest.raises(ValueError, match="response must be"):
        make_target_scorer(log_loss, response="transform")


def test_scorer_serves_regressors(shifted):
    model = LinearRegression().fit(shifted.X, shifted.X[:, 0])
    scorer = make_target_scorer(lambda y, p: float(np.abs(y - p).max()), target="target")
    assert scorer(model, shifted.X, shifted.X[:, 0], domains=shifted.domains) < 1e-9

"""scikit-learn's checks, and ours, on every estimator of the package."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise.boosting import LinearLearner
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.io import load_model, save_model
from groupwise.transfer import (
    BalancedTransferClassifier,
    FeatureAugmentationClassifier,
    MultiSourceTrAdaBoostClassifier,
    SafeTrAdaBoostClassifier,
    TaskTrAdaBoostClassifier,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
    TransductiveSVC,
    TwoStageTrAdaBoostRegressor,
    WeightedTransferClassifier,
)

ESTIMATORS = [
    TrAdaBoostClassifier(n_estimators=5),
    TrAdaBoostClassifier.fading(LinearLearner(), n_estimators=4),
    WeightedTransferClassifier(),
    WeightedTransferClassifier(LogisticRegression(), weighting="kliep"),
    BalancedTransferClassifier(LinearLearner(), shares=(0.5,), cv=2),
    SafeTrAdaBoostClassifier(TrAdaBoostClassifier(n_estimators=2), cv=2),
    FeatureAugmentationClassifier(),
    MultiSourceTrAdaBoostClassifier(n_estimators=4),
    TaskTrAdaBoostClassifier(n_estimators=4),
    TransductiveSVC(),
    TrAdaBoostRegressor(n_estimators=3),
    TwoStageTrAdaBoostRegressor(n_estimators=2, n_steps=2, cv=2),
]

_MEAN_ONE = (
    "weak learners are shown weights of mean 1 over the rows, so that a leaf's least weight, a "
    "tree's ties and C count rows: n rows of weight 2 are not 2n rows"
)


_CLASS_WEIGHT = (
    "class weights are what the learner is shown: boosting gives the rows of light classes their "
    "weight back, and a small tree has leaves with nothing but them"
)


def expected_failures(estimator):
    failures = {}
    if isinstance(estimator, TrAdaBoostClassifier) or (
        type(estimator) is WeightedTransferClassifier and estimator.estimator is None
    ):
        failures["check_class_weight_classifiers"] = _CLASS_WEIGHT
    # where folds can be given, the check gives them and has other rows, on which it holds
    if hasattr(estimator, "cv") or isinstance(
        getattr(estimator, "estimator", None), LogisticRegression
    ):
        return failures
    failures["check_sample_weight_equivalence_on_dense_data"] = _MEAN_ONE
    if is_classifier(estimator):
        failures["check_sample_weight_equivalence_on_sparse_data"] = _MEAN_ONE
    return failures


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def fit(estimator, data, **changed):
    given = {"X": data.X, "y": data.y, "domains": data.domains, **changed}
    model = clone(estimator).set_params(target_domain="target")
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    y = given["y"] if is_classifier(model) else np.asarray(given["y"], dtype=float)
    return model.fit(given["X"], y, domains=given["domains"])


@pytest.fixture
def data():
    return make_shifted_domains(120, 30, random_state=5)


every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: " ".join(repr(e).split()))


@every
def test_inputs_and_parameters_are_never_changed(estimator, data):
    for array in data:
        array.flags.writeable = False
    before = repr(clone(estimator).set_params(target_domain="target").get_params())
    model = fit(estimator, data)
    model.predict(data.X)
    model.score(data.X, data.y, domains=data.domains)
    if "random_state" in model.get_params():
        model.set_params(random_state=estimator.random_state)
    assert repr(model.get_params()) == before


@every
def test_same_seed_same_model(estimator, data):
    one, two = fit(estimator, data), fit(estimator, data)
    np.testing.assert_array_equal(one.predict(data.X), two.predict(data.X))


@every
def test_model_file(estimator, data, tmp_path):
    model = fit(estimator, data)
    again = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))


@every
def test_kinds_of_tables(estimator, data):
    reference = fit(estimator, data).predict(data.X)
    columns = [f"x{position}" for position in range(data.X.shape[1])]
    frame = pd.DataFrame(data.X, columns=columns)
    model = fit(estimator, data, X=frame, domains=pd.Series(data.domains))
    np.testing.assert_array_equal(model.predict(frame), reference)
    assert model.feature_names_in_.tolist() == columns
    thin = fit(estimator, data, X=sparse.csr_matrix(data.X))
    # trees go through the features of sparse rows in another order, which settles ties
    assert np.corrcoef(thin.predict(sparse.csr_matrix(data.X)), reference)[0, 1] > 0.85
    polar = pl.DataFrame(data.X, schema=columns)
    np.testing.assert_array_equal(fit(estimator, data, X=polar).predict(polar), reference)


@every
def test_domain_names_of_any_kind(estimator, data):
    reference = fit(estimator, data).predict(data.X)
    codes = np.where(data.domains == "target", 1, 0)
    for names, target in ((codes, 1), (codes.astype(float), 1.0), (codes == 1, True)):
        model = clone(estimator).set_params(target_domain=target)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        y = data.y if is_classifier(model) else data.y.astype(float)
        np.testing.assert_array_equal(
            model.fit(data.X, y, domains=names).predict(data.X), reference
        )

"""Every public estimator of the package: scikit-learn's checks, the library's, and its own."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise.datasets.aggregates import make_aggregates
from groupwise.exceptions import EqualSharesWarning
from groupwise.proportions import (
    AlternatingMeanMapClassifier,
    DecodeRefitClassifier,
    EasyLLPClassifier,
    GraphAOCClassifier,
    GroupMeansClassifier,
    GroupMeansCoxRegressor,
    GroupMeansRegressor,
    GroupStatisticsCoxRegressor,
    GroupStatisticsRegressor,
    KernelCountClassifier,
    KNNAOCClassifier,
    LaplacianMeanMapClassifier,
    LinearCountClassifier,
    ManifoldAOCClassifier,
    ManifoldAOCClassifierCV,
    ManifoldAOCRegressor,
    MeanMapClassifier,
    MLPAOCClassifier,
    NaiveGroupRegressor,
    NaiveSharesClassifier,
    SVMAOCClassifier,
)
from groupwise.testing import parametrize_with_group_checks

SMALL = {"widths": (1.0,), "rhos": (0.0, 1.0)}

CLASSIFIERS = [
    ManifoldAOCClassifier(),
    ManifoldAOCClassifier("group", "l1", gamma2=0.1),
    ManifoldAOCClassifierCV(lambdas=(1e-2, 1.0), **SMALL),
    KNNAOCClassifier(),
    SVMAOCClassifier(n_restarts=1),
    KernelCountClassifier(alphas=(0.1,), cv=2, widths=(1.0,), rhos=(0.0,)),
    LinearCountClassifier((1.0,)),
    MeanMapClassifier(),
    LaplacianMeanMapClassifier(),
    AlternatingMeanMapClassifier(),
    DecodeRefitClassifier(LogisticRegression(max_iter=1000), max_iter=2),
    EasyLLPClassifier(),
    GraphAOCClassifier(),
    GroupMeansClassifier(),
    NaiveSharesClassifier(),
]
if find_spec("torch"):
    CLASSIFIERS.append(MLPAOCClassifier((16,), epochs=30))

REGRESSORS = [
    ManifoldAOCRegressor(),
    ManifoldAOCRegressor("group", "l1", gamma2=0.1),
    GroupMeansRegressor(),
    GroupMeansCoxRegressor(),
    GroupStatisticsCoxRegressor(),
    GroupStatisticsRegressor(Ridge()),
    NaiveGroupRegressor(),
]

VARIANTS = [
    ManifoldAOCClassifier("row", "l1", gamma2=0.1),
    ManifoldAOCClassifier("group", "l2", gamma2=0.1, fit_intercept=False),
    ManifoldAOCClassifier(n_components=30, gamma2=0.05),
    MeanMapClassifier(n_components=30),
    KernelCountClassifier(alphas=(0.1,), cv=2, widths=(1.0,), rhos=(0.0,), n_components=20),
]

DRAWS_BY_POSITION = "landmarks are drawn by position: another order is another sample"
BATCHES = "batches are drawn by the position of groups: other names are other batches"
SINGLE_PRECISION = "libsvm keeps kernel values in single precision and goes by the rows' order"


def expected_failures(estimator):
    if getattr(estimator, "n_components", None) is not None:
        return {"check_row_order": DRAWS_BY_POSITION}
    if isinstance(estimator, SVMAOCClassifier):
        return {"check_row_order": SINGLE_PRECISION}
    if isinstance(estimator, MLPAOCClassifier):
        return {"check_group_names": BATCHES}
    return {}


# scikit-learn's checks know no groups
@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks([*CLASSIFIERS, *REGRESSORS])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks(
    [*CLASSIFIERS, *REGRESSORS], expected_failed_checks=expected_failures
)
def test_group_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_group_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_group_contract_of_variants(estimator, check):
    check(estimator)


def seeded(estimator):
    estimator = clone(estimator)
    return estimator.set_params(
        **({"random_state": 0} if "random_state" in estimator.get_params() else {})
    )


ALL = pytest.mark.parametrize(
    "estimator",
    [*CLASSIFIERS, *(pytest.param(variant, marks=pytest.mark.long) for variant in VARIANTS)],
    ids=lambda e: " ".join(repr(e).split()),
)


@ALL
def test_row_labels_are_summed_and_go_no_further(estimator, blobs):
    """Labels changed about inside groups, counts and shares: the same model to the bit."""
    rng = np.random.RandomState(0)
    inside = np.lexsort((rng.uniform(size=len(blobs.X)), blobs.groups))
    mixed = np.empty_like(blobs.y_row)
    mixed[np.argsort(blobs.groups, kind="stable")] = blobs.y_row[inside]
    assert (mixed != blobs.y_row).any()
    shares = blobs.y.div(blobs.y.sum(axis=1), axis=0)
    given = [blobs.y_row, mixed, blobs.y, shares]
    proba = [
        seeded(estimator).fit(blobs.X, y, groups=blobs.groups).predict_proba(blobs.X) for y in given
    ]
    for other in proba[1:3]:
        np.testing.assert_array_equal(proba[0], other)
    np.testing.assert_allclose(proba[0], proba[3], atol=1e-9)


@ALL
def test_outputs_fit_together(estimator, blobs, iris):
    for data in (blobs, iris):
        model = seeded(estimator).fit(data.X, data.y, groups=data.groups)
        shares = model.predict_groups_proba(data.X, groups=data.groups)
        counts = model.predict_group_counts(data.X, groups=data.groups)
        sizes = np.bincount(data.groups)
        np.testing.assert_allclose(counts.sum(axis=1), sizes)
        np.testing.assert_allclose(counts, shares * sizes[:, None])
        known = data.y.to_numpy()[np.unique(data.groups, return_index=True)[1]] / sizes[:, None]
        error = 0.5 * np.abs(known - shares).sum(axis=1).mean()
        assert model.score(data.X, data.y, groups=data.groups) == pytest.approx(1 - error)
        assert model.score(data.X, data.y_row, groups=data.groups) == pytest.approx(1 - error)
        np.testing.assert_array_equal(
            model.transduction_, model.classes_[model.transduction_proba_.argmax(axis=1)]
        )
        if not isinstance(model, GraphAOCClassifier):  # which asks neighbours about any row
            np.testing.assert_allclose(
                model.transduction_proba_, model.predict_proba(data.X), atol=1e-7
            )
        decoded = pd.crosstab(data.groups, model.predict_transductive())
        again = pd.crosstab(data.groups, data.y_row)
        pd.testing.assert_frame_equal(decoded, again, check_names=False)
        assert (model.predict_transductive() == data.y_row).mean() > 0.8


@ALL
def test_equal_shares_give_a_warning_and_the_prior(estimator):
    X = np.random.RandomState(0).normal(size=(12, 2))
    y = np.tile(["a", "b", "b"], 4)
    for groups in (np.repeat([0, 1, 2, 3], 3), np.zeros(12)):  # equal groups; one huge group
        with pytest.warns(EqualSharesWarning, match="same shares"):
            model = seeded(estimator).fit(X, y, groups=groups)
        np.testing.assert_allclose(model.predict_proba(X), np.tile([1 / 3, 2 / 3], (12, 1)))
        shares = model.predict_groups_proba(X, groups=groups)
        np.testing.assert_allclose(shares, np.tile([1 / 3, 2 / 3], (len(shares), 1)))
        assert (model.predict_transductive() == "a").sum() == 4
        assert set(model.predict(X)) == {"b"}


@ALL
def test_a_class_without_rows_is_never_predicted(estimator, blobs):
    model = seeded(estimator).set_params(classes=["maybe", "no", "yes"])
    model.fit(blobs.X, blobs.y_row, groups=blobs.groups)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_allclose(model.predict_proba(blobs.X)[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_groups_proba(blobs.X, groups=blobs.groups)[:, 0], 0.0, atol=1e-12
    )
    assert "maybe" not in model.predict_transductive()


@ALL
def test_copies_of_rows_and_constant_features(estimator):
    rng = np.random.RandomState(1)
    X = np.column_stack([np.repeat(rng.normal(size=20), 3), np.ones(60)])
    y = (X[:, 0] > 0).astype(int)
    data = make_aggregates(X, y, size=4, randomness=0.5, random_state=0)
    model = seeded(estimator).fit(data.X, data.y, groups=data.groups)
    assert np.isfinite(model.predict_proba(X)).all()


@ALL
def test_sparse_rows_are_the_same_rows(estimator, blobs):
    dense = seeded(estimator).fit(blobs.X, blobs.y, groups=blobs.groups)
    sparse = seeded(estimator).fit(csr_array(blobs.X), blobs.y, groups=blobs.groups)
    np.testing.assert_allclose(
        dense.predict_proba(blobs.X), sparse.predict_proba(csr_array(blobs.X)), atol=1e-5
    )


@ALL
def test_order_of_classes_does_not_matter(estimator, blobs):
    if isinstance(estimator, MLPAOCClassifier):
        pytest.skip("the columns of the first weights belong to classes by position")
    model = seeded(estimator).fit(blobs.X, blobs.y, groups=blobs.groups)
    flipped = seeded(estimator).fit(blobs.X, blobs.y[["yes", "no"]], groups=blobs.groups)
    assert flipped.classes_.tolist() == ["yes", "no"]
    np.testing.assert_allclose(
        model.predict_proba(blobs.X), flipped.predict_proba(blobs.X)[:, ::-1], atol=1e-4
    )

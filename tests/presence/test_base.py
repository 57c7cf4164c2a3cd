"""What all two-class presence classifiers have in common."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from groupwise.presence import (
    APRClassifier,
    CitationKNNClassifier,
    DissimilarityClassifier,
    EMDDClassifier,
    FisherVectorClassifier,
    MILESClassifier,
    MISVMClassifier,
    SetKernelClassifier,
)

CLASSIFIERS = [
    MISVMClassifier(),
    MISVMClassifier("witness"),
    MISVMClassifier("witness", kernel="linear"),
    SetKernelClassifier(width=1.0),
    SetKernelClassifier("statistic"),
    MILESClassifier(),
    CitationKNNClassifier(),
    DissimilarityClassifier(),
    FisherVectorClassifier(random_state=0),
    EMDDClassifier(random_state=0),
    APRClassifier(),
]


NAMES = [" ".join(repr(p).split()) for p in CLASSIFIERS]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=NAMES)
def test_easy_groups_are_told_apart(estimator, easy):
    X, y, groups = easy
    train = groups < 20
    model = estimator.fit(X[train], y[train], groups=groups[train])
    accuracy = model.score(X[~train], y[~train], groups=groups[~train])
    if isinstance(model, CitationKNNClassifier):
        return  # the nearest rows of any two groups lie around the origin
    assert accuracy >= (0.8 if isinstance(model, SetKernelClassifier | APRClassifier) else 0.95)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=NAMES)
def test_sparse_rows_are_the_same_rows(estimator, easy):
    X, y, groups = easy
    dense = estimator.fit(X, y, groups=groups).predict_groups_proba(X, groups=groups)
    sparse = estimator.fit(csr_array(X), y, groups=groups)
    np.testing.assert_allclose(
        sparse.predict_groups_proba(csr_array(X), groups=groups),
        dense,
        atol=1e-3,  # libsvm stops at 1e-3
    )


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=NAMES)
def test_copies_constants_and_hopeless_groups(estimator):
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0, 0.0], 3), np.ones(12)])
    y, groups = np.repeat([0, 0, 1, 1], 3), np.repeat([0, 1, 2, 3], 3)  # group 3 copies group 0
    proba = estimator.fit(X, y, groups=groups).predict_groups_proba(X, groups=groups)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba[0], proba[3])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MISVMClassifier("bag"), "variant must be"),
        (MISVMClassifier(C=0.0), "C must be"),
        (MISVMClassifier(max_iter=0), "max_iter must be"),
        (SetKernelClassifier("mean"), "kind must be"),
        (SetKernelClassifier(C=-1.0), "C must be"),
        (MILESClassifier(C=0.0), "C must be"),
        (DissimilarityClassifier(C=-1.0), "C must be"),
        (FisherVectorClassifier(0), "n_parts must be"),
        (FisherVectorClassifier(energy=0.0), "energy must be"),
        (FisherVectorClassifier(C=0.0), "C must be"),
        (MILESClassifier(n_rows=0), "n_rows must be"),
        (EMDDClassifier(0), "n_restarts must be"),
        (APRClassifier(tau=1.0), "tau must be"),
        (APRClassifier(max_iter=0), "max_iter must be"),
        (APRClassifier(margin=-1.0), "margin must be"),
    ],
)
def test_bad_parameters(estimator, message, easy):
    X, y, groups = easy
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y, groups=groups)

"""AOC-manifold: its parent, its limits, its parameters."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

import groupwise.kernels.gram as gram_module
from groupwise import Groups
from groupwise.model_selection import WholeGroupKFold, cross_validate
from groupwise.proportions import (
    ManifoldAOCClassifier,
    ManifoldAOCClassifierCV,
)


def test_groups_of_one_without_graph_are_kernel_ridge(blobs):
    model = ManifoldAOCClassifier(gamma1=0.3, fit_intercept=False)
    model.fit(blobs.X, blobs.y_row, groups=np.arange(len(blobs.X)))
    sigma = model.function_.kernel.sigma
    parent = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5 / sigma**2)
    parent.fit(blobs.X, np.where(blobs.y_row == "yes", 1.0, -1.0))
    np.testing.assert_allclose(model.soft_labels(blobs.X), parent.predict(blobs.X), atol=1e-9)


def test_two_classes_as_one_output_or_two_are_the_same(blobs):
    """+-1 labels give the difference of the one-hot solutions."""
    binary = ManifoldAOCClassifier(gamma2=0.2).fit(blobs.X, blobs.y, groups=blobs.groups)
    from groupwise.proportions.manifold.problem import fit_manifold

    groups = Groups(blobs.groups)
    one_hot = fit_manifold(
        binary._settings(), blobs.X, groups, groups.one_per_group(blobs.y.to_numpy(float))
    )[1]
    np.testing.assert_allclose(
        binary.soft_labels(blobs.X), one_hot[:, 1] - one_hot[:, 0], atol=1e-9
    )


def test_parameters_are_checked(blobs):
    for wrong in (
        {"level": "bag"},
        {"loss": "l3"},
        {"gamma1": 0.0},
        {"gamma2": -1.0},
        {"epsilon": np.nan},
        {"kernel": "poly"},
        {"width": -1.0},
    ):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name} must be"):
            ManifoldAOCClassifier(**wrong).fit(blobs.X, blobs.y, groups=blobs.groups)
    for wrong in (
        {"goal": "fame"},
        {"cv": 1},
        {"widths": ()},
        {"rhos": (-1.0,)},
        {"lambdas": (0.0,)},
    ):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name} must be"):
            ManifoldAOCClassifierCV(**wrong).fit(blobs.X, blobs.y, groups=blobs.groups)


def test_the_stated_limit_holds(blobs, monkeypatch):
    monkeypatch.setattr(gram_module, "MAX_DENSE", 50)
    fit = {"X": blobs.X, "y": blobs.y, "groups": blobs.groups}
    with pytest.raises(ValueError, match="120 x 120 rows, above the limit of 50"):
        ManifoldAOCClassifier(gamma2=0.1).fit(**fit)
    ManifoldAOCClassifier().fit(**fit)  # 24 groups
    ManifoldAOCClassifier(n_components=20, gamma2=0.1).fit(**fit)


def test_search_and_cross_validation_of_scikit_learn_work_on_groups(blobs):
    import sklearn

    cv = WholeGroupKFold(3, stratify=False, random_state=0)
    scores = cross_validate(
        ManifoldAOCClassifier(), blobs.X, blobs.y_row, groups=blobs.groups, cv=cv
    )
    assert scores["test_score"].min() > 0.8
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ManifoldAOCClassifier(), {"gamma1": [0.1, 1e4]}, cv=cv)
        search.fit(blobs.X, blobs.y_row, groups=blobs.groups)
    assert search.best_params_ == {"gamma1": 0.1}

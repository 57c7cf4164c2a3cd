"""One word for one thing: every public signature, and the page that lists the words."""

import inspect
from pathlib import Path

import pytest

import groupwise
from groupwise.testing import all_estimators

PAGE = Path(__file__).parents[1] / "docs" / "vocabulary.md"
# Words that were used once, and what they are called now.
RETIRED = {
    "n_threads": "n_jobs",
    "bias": "fit_intercept",
    "n_starts": "n_restarts",
    "balanced": "class_weight",
    "balance_classes": "class_weight",
    "n_folds": "cv",
    "n_splits": "cv",
    "n_repeats": "cv",
    "n_asked": "max_queries",
    "objective": "loss",
    "max_leaves": "max_leaf_nodes",
    "min_leaf_rows": "min_samples_leaf",
    "feature_fraction": "max_features",
    "reg_lambda": "l2_regularization",
    "monotone_constraints": "monotonic_cst",
    "weight_decay": "alpha",
    "penalties": "alphas",
}
# Fitted attributes that were used once.
RETIRED_FITTED = {
    "n_rounds_",
    "best_iteration_",
    "best_step_",
    "evals_result_",
    "trees_",
    "ensembles_",
    "plane_",
    "machine_",
}
ESTIMATORS = all_estimators()
each = pytest.mark.parametrize("name", sorted(ESTIMATORS))


def parameters(cls):
    return list(inspect.signature(cls).parameters)


@each
def test_parameters_are_in_the_vocabulary(name):
    words = {line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")}
    unlisted = set(parameters(ESTIMATORS[name])) - words
    assert not unlisted, f"docs/vocabulary.md does not list {sorted(unlisted)}"


@each
def test_retired_words_are_gone(name):
    for word in parameters(ESTIMATORS[name]):
        assert word not in RETIRED, f"{word} is called {RETIRED[word]}"
    text = inspect.getdoc(ESTIMATORS[name])
    assert not [word for word in RETIRED_FITTED if f"\n{word} :" in text]


@each
def test_groups_come_the_same_way_everywhere(name):
    cls = ESTIMATORS[name]
    ids = "domains" if hasattr(cls, "domain_column") else "groups"
    fit = inspect.signature(cls.fit).parameters
    assert fit[ids].default is None and fit[ids].kind is inspect.Parameter.KEYWORD_ONLY
    asked = ["predict", "predictions", "predict_groups"]
    if issubclass(cls, groupwise.base.BaseGroupClassifier):
        asked += ["predict_proba", "decision_function", "predict_groups_proba"]
    for method in asked:
        assert list(inspect.signature(getattr(cls, method)).parameters) == ["self", "X", "groups"]
    assert list(inspect.signature(cls.score).parameters)[:4] == ["self", "X", "y", ids]


@each
def test_defaults_of_common_words_agree(name):
    common = {"measure": "f1", "validation_fraction": 0.2, "early_stopping": False, "verbose": 0}
    for word, default in common.items():
        parameter = inspect.signature(ESTIMATORS[name]).parameters.get(word)
        assert parameter is None or parameter.default == default


@each
def test_every_estimator_meets_the_contract_in_a_test(name):
    tests = Path(__file__).parent.rglob("test_contract.py")
    assert any(f"{name}(" in path.read_text() for path in tests)


def test_every_package_is_an_attribute():
    for package in ("majority", "proportions", "presence", "measures", "transfer", "gbdt",
                    "metrics", "datasets", "losses", "rules", "inputs", "model_selection",
                    "plotting", "io"):  # fmt: skip
        assert inspect.ismodule(getattr(groupwise, package))
        assert package in dir(groupwise)

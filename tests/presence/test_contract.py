"""Every public estimator of the package: scikit-learn's checks and the library's own."""

import pytest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import HistTrees
from groupwise.presence import (
    APRClassifier,
    Balls,
    CitationKNNClassifier,
    DissimilarityClassifier,
    DPBoostClassifier,
    EMDDClassifier,
    FisherVectorClassifier,
    GroupVoteClassifier,
    LPBoostClassifier,
    MILESClassifier,
    MISVMClassifier,
    SetKernelClassifier,
    Stumps,
    fisher,
)
from groupwise.testing import parametrize_with_group_checks

QUICK = {"cut_rounds": 1, "n_reductions": 5, "max_disjuncts": 4, "tol": 1e-5}
ESTIMATORS = [
    LPBoostClassifier(Stumps(16)),
    DPBoostClassifier(Stumps(8), **QUICK),
    MISVMClassifier(),
    MISVMClassifier("witness", kernel="linear"),
    SetKernelClassifier(),
    SetKernelClassifier("statistic"),
    MILESClassifier(),
    CitationKNNClassifier(),
    DissimilarityClassifier(),
    FisherVectorClassifier(n_parts=1, random_state=0),
    EMDDClassifier(1, max_iter=2),
    APRClassifier(),
    GroupVoteClassifier(),
]
VARIANTS = [
    LPBoostClassifier(HistTrees(2, n_jobs=1), max_queries=5),
    LPBoostClassifier(DecisionTreeClassifier(max_depth=2), max_queries=5),
    DPBoostClassifier(Balls(10, max_radii=6), relaxation="embedding", nu=0.2, n_restarts=1),
    DPBoostClassifier(
        Stumps(1), relaxation="embedding", solution="relaxation", background_cost="row", C=0.1
    ),
    MISVMClassifier(n_components=20),
    GroupVoteClassifier([("lp", LPBoostClassifier(Stumps(4))), ("apr", APRClassifier())]),
]


@pytest.fixture(autouse=True)
def few_halvings(monkeypatch):
    """Fisher vectors by fewer halvings, for the time: the rules are the same."""
    monkeypatch.setattr(fisher, "_HALVINGS", 1)
    monkeypatch.setattr(fisher, "_HALVINGS_OF_FOLD", 1)


@pytest.mark.filterwarnings("ignore::groupwise.exceptions.GroupsLostWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks(ESTIMATORS)
def test_group_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_group_checks(VARIANTS)
def test_group_contract_of_variants(estimator, check):
    check(estimator)

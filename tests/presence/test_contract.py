"""Every public estimator of the room: scikit-learn's checks and the library's own."""

from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from groupwise import HistTrees
from groupwise.presence import (
    APRClassifier,
    Balls,
    CitationKNNClassifier,
    DPBoostClassifier,
    EMDDClassifier,
    GroupVoteClassifier,
    LPBoostClassifier,
    MILESClassifier,
    MISVMClassifier,
    SetKernelClassifier,
    Stumps,
)
from groupwise.testing import parametrize_with_group_checks

QUICK = {"n_starts": 1, "cut_rounds": 1, "n_reductions": 10}
ESTIMATORS = [
    LPBoostClassifier(),
    DPBoostClassifier(**QUICK),
    MISVMClassifier(),
    MISVMClassifier("witness", kernel="linear"),
    SetKernelClassifier(),
    SetKernelClassifier("statistic"),
    MILESClassifier(),
    CitationKNNClassifier(),
    EMDDClassifier(2, max_iter=3),
    APRClassifier(),
    GroupVoteClassifier(),
]
VARIANTS = [
    LPBoostClassifier(HistTrees(2, n_threads=1), n_asked=10),
    LPBoostClassifier(DecisionTreeClassifier(max_depth=2), n_asked=10),
    DPBoostClassifier(Balls(20, max_radii=8), **QUICK),
    DPBoostClassifier(Stumps(8), relaxation="embedding", background=None, **QUICK),
    MISVMClassifier(n_components=20),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_group_checks(ESTIMATORS + VARIANTS)
def test_group_contract(estimator, check):
    check(estimator)

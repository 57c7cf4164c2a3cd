"""Folds of whole groups: drawn, or from a splitter."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.model_selection import WholeGroupKFold, WholeGroupShuffleSplit
from groupwise.proportions import KernelCountClassifier, ManifoldAOCClassifierCV
from groupwise.proportions.folds import check_cv, make_folds

GROUPS = Groups(np.repeat(["a", "b", "c", "d", "e", "f"], 3))
X = np.arange(18.0)[:, None]
TARGET = np.arange(6.0)[:, None]


@pytest.mark.parametrize("cv", [3, GroupKFold(3), WholeGroupKFold(3, random_state=0)])
def test_every_group_is_held_out_once(cv):
    folds = make_folds(cv, X, GROUPS, TARGET, 0)
    assert len(folds) == 3
    assert sorted(np.concatenate(folds)) == list(range(6))


def test_a_splitter_must_keep_groups_whole():
    with pytest.raises(GroupDataError, match="holds out 1 of the 3 rows of group 'a'"):
        make_folds(_Given([[0]], whole=False), X, GROUPS, TARGET, None)


@pytest.mark.parametrize("cv", [1, 2.5, "five", None])
def test_what_is_no_cv(cv):
    with pytest.raises(ValueError, match="cv must be"):
        check_cv(cv)


@pytest.mark.parametrize("repeats", [1, 2])
def test_the_same_folds_give_the_same_choice_however_they_are_said(repeats, blobs):
    """A splitter that repeats the drawn folds has the same mean error."""
    groups = Groups(blobs.groups)
    options = {"widths": (0.7,), "rhos": (0.0, 1.0), "random_state": 0}
    drawn = ManifoldAOCClassifierCV(lambdas=(0.1, 1.0), cv=4, **options)
    drawn.fit(blobs.X, blobs.y, groups=blobs.groups)
    counts = groups.one_per_group(blobs.y.to_numpy(float))
    folds = make_folds(4, blobs.X, groups, counts[:, 1:] - counts[:, :1], 0)
    again = ManifoldAOCClassifierCV(lambdas=(0.1, 1.0), cv=_Given(folds * repeats), **options)
    again.fit(blobs.X, blobs.y, groups=blobs.groups)
    np.testing.assert_allclose(again.error_, drawn.error_, rtol=1e-9)


class _Given:
    """Holds out the given groups, or one row of each."""

    def __init__(self, folds, *, whole=True):
        self.folds, self.whole = folds, whole

    def get_n_splits(self, X=None, y=None, groups=None):
        return len(self.folds)

    def split(self, X, y=None, groups=None):
        for fold in self.folds:
            held = np.isin(groups, fold)
            if not self.whole:
                held &= np.isin(np.arange(len(held)), np.unique(groups, return_index=True)[1])
            yield np.flatnonzero(~held), np.flatnonzero(held)


def test_count_likelihood_takes_a_splitter(blobs):
    cv = WholeGroupShuffleSplit(2, test_size=0.3, random_state=0)
    model = KernelCountClassifier(widths=(1.0,), rhos=(0.0,), alphas=(0.1, 1.0), cv=cv)
    model.fit(blobs.X, blobs.y, groups=blobs.groups)
    assert model.alpha_ in (0.1, 1.0) and np.isfinite(model.held_out_loss_).all()

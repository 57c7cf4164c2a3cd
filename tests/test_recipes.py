import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from groupwise.recipes import Recipe


class Trees(Recipe):
    def __init__(self, max_depth=3, *, inner=None):
        self.max_depth = max_depth
        self.inner = inner


def test_parameters_by_name_and_inside():
    trees = Trees(inner=Trees(5))
    assert trees.get_params()["inner__max_depth"] == 5
    assert trees.set_params(inner__max_depth=2, max_depth=1).inner == Trees(2)
    assert set(trees.get_params(deep=False)) == {"max_depth", "inner"}
    with pytest.raises(ValueError, match="Invalid parameter 'depth' for estimator Trees"):
        trees.set_params(depth=2)


def test_clone_copies_and_leaves_no_tie():
    trees = Trees(inner=Trees(5))
    copy = clone(trees)
    assert copy == trees and copy is not trees and copy.inner is not trees.inner


def test_a_search_reaches_into_a_recipe_in_an_estimator():
    forest = RandomForestClassifier()
    forest.n_estimators = Trees()  # any parameter serves
    assert forest.set_params(n_estimators__max_depth=7).n_estimators == Trees(7)


def test_repr_shows_what_was_changed():
    assert repr(Trees(inner=Trees(2))) == "Trees(inner=Trees(max_depth=2))"
    assert not hasattr(Trees(), "fit")

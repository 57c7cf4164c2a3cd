"""Several labels of presence per group, with gaps."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from groupwise import Groups, HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostClassifier, GroupBoostMultilabelClassifier
from groupwise.io import load_model, save_model

FEW = {"n_estimators": 20, "trees": HistTrees(n_jobs=1), "random_state": 0}


@pytest.fixture(scope="module")
def images():
    """Rows with findings of their own, of which the group has the union; some nobody looked for."""
    rng = np.random.default_rng(0)
    image = rng.permutation(np.repeat(np.arange(120), 5))
    X = rng.normal(size=(600, 3))
    y_row = X > 1.2
    found = Groups(image).max(y_row).astype(float)
    known = np.where(rng.uniform(size=found.shape) < 0.3, np.nan, found)
    names = ["cyst", "scar", "clot"]
    return X, pd.DataFrame(known[image], columns=names), image, found, y_row


def test_each_label_is_boosting_on_presence(images, engine):
    """Groups that have all labels known: each column is the classifier of one label."""
    X, table, image, _, _ = images
    clf = GroupBoostMultilabelClassifier(engine=engine, **FEW).fit(X, table, groups=image)
    for k, name in enumerate(table):
        known = table[name].notna().to_numpy()
        one = GroupBoostClassifier("presence", engine=engine, **FEW)
        one.fit(X[known], table[name][known], groups=image[known])
        ours, theirs = clf.predict_proba(X)[:, k], one.predict_proba(X)[:, 1]
        assert np.corrcoef(ours, theirs)[0, 1] > 0.98  # bins are of all rows here


def test_rows_and_groups_are_found(images, tmp_path):
    X, table, image, found, y_row = images
    clf = GroupBoostMultilabelClassifier(**FEW).fit(X, table, groups=image)
    assert clf.classes_.tolist() == ["cyst", "scar", "clot"]
    assert np.mean(clf.predict(X) == y_row) > 0.97
    assert np.mean(clf.predict_groups(X, groups=image) == found) > 0.97  # those unknown as well
    assert clf.score(X, table, groups=image) > 0.97
    turned = table[["clot", "cyst", "scar"]]
    assert clf.score(X, turned, groups=image) == clf.score(X, table, groups=image)
    proba = clf.predict_groups_proba(X, groups=image)
    rows = clf.predict_proba(X)
    by_hand = 1 - np.exp(Groups(image).sum(np.log1p(-rows)))
    np.testing.assert_allclose(proba, by_hand, rtol=1e-9)
    np.testing.assert_allclose(1 / (1 + np.exp(-clf.decision_function(X))), rows)
    again = load_model(save_model(clf, tmp_path / "labels.gw"))
    np.testing.assert_array_equal(again.predict_proba(sparse.csr_array(X)), rows)


def test_one_label_is_boosting_on_presence_exactly(images):
    X, _, image, found, _ = images
    one = GroupBoostClassifier("presence", **FEW).fit(X, found[image, 0], groups=image)
    several = GroupBoostMultilabelClassifier(**FEW).fit(X, found[image, :1], groups=image)
    np.testing.assert_array_equal(several.predict_proba(X)[:, 0], one.predict_proba(X)[:, 1])
    assert several.score(X, found[image, :1], groups=image) == one.score(
        X, found[image, 0], groups=image
    )


def test_held_out_groups_and_more_rounds(images):
    X, table, image, _, _ = images
    clf = GroupBoostMultilabelClassifier(early_stopping=True, **FEW).fit(X, table, groups=image)
    assert clf.history_["valid"][0] > clf.history_["valid"][-1]
    more = GroupBoostMultilabelClassifier(**FEW)
    more.fit(X, table, groups=image, X_val=X, y_val=table, groups_val=image, init_model=clf)
    assert more.n_iter_ == clf.n_iter_ + 20


def test_what_it_refuses(images):
    X, table, image, found, _ = images
    clf = GroupBoostMultilabelClassifier(**FEW)
    with pytest.raises(GroupDataError, match="0, 1 or missing"):
        clf.fit(X, found[image] * 2, groups=image)
    with pytest.raises(GroupDataError, match="same on every row"):
        clf.fit(X, np.arange(1800).reshape(600, 3) % 2, groups=image)
    clf.fit(X, table, groups=image)
    with pytest.raises(GroupDataError, match="a column for each of 3 labels"):
        clf.score(X, found[image, :2], groups=image)
    for empty in (np.full((len(X), 2), np.nan), np.empty((len(X), 0))):
        with pytest.raises(GroupDataError, match="no label of any group"):
            GroupBoostMultilabelClassifier(**FEW).fit(X, empty, groups=image)
    with pytest.raises(GroupDataError, match="no label of any group"):
        clf.score(X, np.full((600, 3), np.nan), groups=image)
    with pytest.raises(ValueError, match="X_val needs y_val"):
        clf.fit(X, table, groups=image, X_val=X)

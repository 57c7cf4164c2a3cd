import numpy as np
import pandas as pd
import pytest

from groupwise.datasets import (
    load_mil,
    make_presence_bags,
    perfect_knowledge,
    perfect_selector,
    presence_intensity,
)


@pytest.mark.parametrize("seed", range(3))
def test_one_positive_row_in_every_ambiguous_group(seed):
    d = make_presence_bags(30, mean_size=4.0, random_state=seed)
    sizes = np.bincount(d.groups)
    assert (sizes[:30] >= 2).all() and (sizes[30:] == 1).all() and len(sizes) == 60
    np.testing.assert_array_equal(np.bincount(d.groups, d.y_row)[:30], 1)
    np.testing.assert_array_equal(d.y_row[d.groups >= 30], d.y[d.groups >= 30])
    assert d.y[d.groups >= 30].sum() == 15
    level = presence_intensity(d.X)
    assert (level[d.y_row == 1] > 0.6).all() and (level[d.y_row == 0] < 0.4).all()
    again = make_presence_bags(30, mean_size=4.0, random_state=seed)
    np.testing.assert_array_equal(d.X, again.X)


def test_sizes_are_poisson():
    sizes = np.bincount(make_presence_bags(4000, mean_size=5.0, random_state=0).groups)[:4000]
    p = np.exp(-5.0) * 5.0 ** np.arange(2) / [1, 1]
    assert sizes.mean() == pytest.approx(5.0 + 2 * p[0] + p[1], abs=0.1)


def test_variants_know_more():
    d = make_presence_bags(10, random_state=0)
    knowledge, selector = perfect_knowledge(d), perfect_selector(d)
    np.testing.assert_array_equal(knowledge.y, d.y_row)
    assert len(selector.X) == 20 and (selector.y == selector.y_row).all()
    assert len(np.unique(selector.groups)) == 20


def test_bad_shares():
    with pytest.raises(ValueError, match="margin must be"):
        make_presence_bags(margin=0.5)


def test_loader(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path))
    (tmp_path / "mil").mkdir()
    table = pd.DataFrame({"bag": [0, 0, 1], "bag_label": [1, 1, 0], "f1": [0.5, 1.0, 2.0]})
    table.to_csv(tmp_path / "mil" / "musk1.csv.gz", index=False)
    bags = load_mil("musk1")
    assert bags.X.tolist() == [[0.5], [1.0], [2.0]]
    assert bags.y.tolist() == [1, 1, 0] and bags.groups.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="not known"):
        perfect_selector(bags)
    np.savez(
        tmp_path / "mil" / "web_recommendation_1.npz",
        data=np.array([3]), indices=np.array([1]), indptr=np.array([0, 1]), shape=np.array([1, 2]),
        bag=np.array([0]), bag_label=np.array([1]),
    )  # fmt: skip
    bags = load_mil("web_recommendation_1")
    assert bags.X.toarray().tolist() == [[0.0, 3.0]] and bags.y.tolist() == [1]
    with pytest.raises(ValueError, match="'zebra'"):
        load_mil("zebra")

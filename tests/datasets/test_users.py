import numpy as np
import pytest

from groupwise.datasets.users import load_protein, load_spam_inboxes, make_users


def test_users_differ_in_size_share_and_place():
    u = make_users(200, shift=2.0, random_state=0)
    sizes = np.bincount(u.groups)
    share = np.bincount(u.groups, u.y) / sizes
    assert len(sizes) == 200 and sizes.max() > 4 * sizes.min()
    assert np.quantile(share, 0.9) > 3 * np.quantile(share, 0.1)
    assert 0.05 < np.median(share) < 0.12
    assert (share > 0).all() and (share < 1).all()
    centre = np.array([u.X[(u.groups == g) & (u.y == 0)].mean(axis=0) for g in range(200)])
    assert centre.std(axis=0).mean() == pytest.approx(2.0, rel=0.15)
    np.testing.assert_array_equal(u.y, u.y_row)


def test_same_seed_same_users_and_labels_mixed_inside_a_user():
    one, other = make_users(5, random_state=3), make_users(5, random_state=3)
    np.testing.assert_array_equal(one.X, other.X)
    first = np.concatenate([[True], one.groups[1:] != one.groups[:-1]])
    assert one.y[first].mean() < 1  # the row that is sure to be positive is not always the first


@pytest.mark.parametrize(
    ("changed", "message"), [({"positive": 0}, "pos"), ({"n_features": 3}, "n_f")]
)
def test_bad_parameters(changed, message):
    with pytest.raises(ValueError, match=message):
        make_users(**changed)


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """Made-up files with the names and keys of the real ones."""
    protein = tmp_path / "kddcup2004_protein"
    protein.mkdir()
    for part in (1, 2, 3):
        np.savez(
            protein / f"bio_train_part{part}.npz",
            cols_int16=np.array([0, 2]), cols_int32=np.array([1]),
            x100_int16=np.array([[150, 25], [300, -50]], np.int16),
            x100_int32=np.array([[100_000], [7]], np.int32),
            y=np.array([1, 0], np.int8), block=np.array([part, part]),
        )  # fmt: skip
    spam = tmp_path / "ecml_pkdd2006_spam"
    spam.mkdir()
    np.savez(
        spam / "task_b.npz",
        data=np.array([2, 1, 3], np.int16), indices=np.array([0, 3, 1]),
        indptr=np.array([0, 1, 2, 3]), shape=np.array([3, 4]),
        is_spam=np.array([1, 0, 1]), user=np.array([-1, 0, 0]),
    )  # fmt: skip
    monkeypatch.setenv("GROUPWISE_DATA", str(tmp_path))


def test_loaders(small_data):
    protein = load_protein()
    np.testing.assert_allclose(protein.X[:2], [[1.5, 1000.0, 0.25], [3.0, 0.07, -0.5]])
    assert protein.y.tolist() == [1, 0] * 3 and protein.groups.tolist() == [1, 1, 2, 2, 3, 3]
    spam = load_spam_inboxes()
    assert spam.X.toarray().tolist() == [[0, 0, 0, 1], [0, 3, 0, 0]]
    assert spam.y.tolist() == [0, 1] and spam.groups.tolist() == [0, 0]
    with pytest.raises(ValueError, match="task must be"):
        load_spam_inboxes("c")


def test_real_files(real_data):
    protein = load_protein()
    assert protein.X.shape == (145_751, 74) and protein.y.sum() == 1296
    assert len(np.unique(protein.groups)) == 153
    spam = load_spam_inboxes("b")
    assert spam.X.shape == (6000, 157_128)
    assert np.bincount(spam.groups, spam.y).tolist() == [200.0] * 15

import numpy as np
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import check_domains, domain_shares, find_target_rows

CLASSES = np.array([0, 1])


def test_target_rows():
    domains = Groups(["old", "new", "old"])
    np.testing.assert_array_equal(find_target_rows(domains, "new", 3), [False, True, False])
    assert find_target_rows(None, None, 3).all()
    assert find_target_rows(Groups(["new"] * 3), None, 3).all()
    with pytest.raises(GroupDataError, match="must name one of the domains \\['new', 'old'\\]"):
        find_target_rows(domains, None, 3)
    with pytest.raises(GroupDataError, match="no row of the target domain 'newer'"):
        find_target_rows(domains, "newer", 3)


def test_rows_of_weight_zero_are_left_out():
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    data = check_domains(
        X, y, CLASSES, ["old", "new", "new"], target_domain="new", sample_weight=[1, 0, 2]
    )
    np.testing.assert_array_equal(data.X, X[[0, 2]])
    np.testing.assert_array_equal(data.is_target, [False, True])
    assert data.n_source == 1
    with pytest.raises(GroupDataError, match="every row of the target domain"):
        check_domains(
            X, y, CLASSES, ["old", "new", "new"], target_domain="new", sample_weight=[1, 0, 0]
        )


def test_a_target_that_need_not_be_there():
    X, y = np.zeros((2, 1)), np.array([0, 1])
    data = check_domains(X, y, CLASSES, ["old"] * 2, target_domain="new", need_target=False)
    assert not data.is_target.any()
    without = check_domains(X, y, CLASSES, None, target_domain="new", need_target=False)
    assert without.is_target.all()


def test_shares_of_the_weight():
    is_target = np.array([True, False, False])
    np.testing.assert_allclose(domain_shares(np.ones(3), is_target, 0.5), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(domain_shares(np.ones(2), np.ones(2, bool), 0.3), [0.5, 0.5])

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groupwise import Groups
from groupwise.rules import (
    RULES,
    AnyPositive,
    MajorityVote,
    MeanProbability,
    MeanScore,
    Presence,
    get_rule,
)


def rows(*positive):
    return np.array([[1 - p, p] for p in positive])


ONE = Groups([0, 0, 0])


def test_values_by_hand():
    p = rows(0.6, 0.6, 0.1)
    np.testing.assert_allclose(
        MajorityVote().combine(p, ONE)[0, 1], (2 + (0.6 + 0.6 + 0.1) / 3) / 4
    )
    np.testing.assert_allclose(AnyPositive().combine(p, ONE), [[0.4, 0.6]])
    np.testing.assert_allclose(MeanProbability().combine(p, ONE)[0, 1], 1.3 / 3)
    odds = np.exp(np.log([0.6 / 0.4, 0.6 / 0.4, 0.1 / 0.9]).mean())
    np.testing.assert_allclose(MeanScore().combine(p, ONE)[0, 1], odds / (1 + odds))


@given(
    st.lists(st.lists(st.floats(0.001, 1), min_size=3, max_size=3), min_size=1, max_size=12),
    st.integers(1, 4),
)
@example([[1.0, 1.0, 1.0], [0.9999999999999991, 1.0, 0.5]], 1)  # a whole vote swallows 1e-16
def test_majority_vote_never_overrules_a_whole_vote(weights, n_groups):
    proba = np.array(weights)
    proba /= proba.sum(axis=1, keepdims=True)
    groups = Groups(np.arange(len(proba)) % n_groups)
    combined = MajorityVote().combine(proba, groups)
    np.testing.assert_allclose(combined.sum(axis=1), 1)
    votes = groups.sum(np.eye(3)[proba.argmax(axis=1)])
    mean = groups.mean(proba)
    for code in range(groups.n_groups):
        most = np.flatnonzero(votes[code] == votes[code].max())
        found = combined[code].argmax()
        assert found in most
        assert mean[code][found] >= mean[code][most].max() - 1e-14


def test_ties_go_to_the_surer_rows_then_to_the_first_class():
    two = Groups([0, 0])
    assert MajorityVote().combine(rows(0.9, 0.4), two).argmax() == 1
    assert MajorityVote().combine(rows(0.6, 0.1), two).argmax() == 0
    assert MajorityVote().combine(rows(0.75, 0.25), two).argmax() == 0


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_group_of_one_row_is_decided_as_the_row(rule):
    p = rows(0.0, 0.2, 0.9, 1.0)
    combined = rule.combine(p, Groups.singletons(4))
    np.testing.assert_array_equal(combined.argmax(axis=1), p.argmax(axis=1))
    assert np.isfinite(combined).all()


def test_any_needs_two_classes():
    with pytest.raises(ValueError, match="two classes"):
        AnyPositive().combine(np.full((3, 3), 1 / 3), ONE)


def test_rules_print_and_are_found_by_name():
    assert repr(get_rule("majority")) == "MajorityVote()"
    assert get_rule(MeanScore()) == MeanScore()
    with pytest.raises(ValueError, match="rule must be one of"):
        get_rule("loudest")
    with pytest.raises(ValueError, match="rule must be one of"):
        get_rule(3)


def test_presence_of_two_classes_is_any():
    rng = np.random.RandomState(0)
    proba, groups = rng.dirichlet([1, 1], 40), Groups(rng.randint(9, size=40))
    np.testing.assert_allclose(
        Presence(0).combine(proba, groups), get_rule("any").combine(proba, groups)
    )
    assert get_rule("presence") == Presence(None)
    assert Presence(None).combine(np.zeros((2, 3)), Groups([0, 0])).tolist() == [[1 / 3] * 3]

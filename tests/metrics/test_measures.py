"""Group measures: values by hand, scikit-learn's per-group loop, conventions, bad input."""

import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.metrics import (
    NDCG,
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    CallableMeasure,
    CountMeasure,
    FBeta,
    GroupMeasure,
    Matthews,
    PrecisionAtK,
    RankingMeasure,
    ROCArea,
    get_measure,
)
from groupwise.metrics.measure import MEASURES

LABEL = [Accuracy(), BalancedAccuracy(), FBeta(), FBeta(beta=2.0), Matthews()]
RANKING = [PrecisionAtK(k=3), AveragePrecision(), NDCG(), NDCG(k=2), ROCArea()]


def rows(seed, n=400, n_groups=40, *, tied=False, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    score = rng.normal(size=n if n_classes == 2 else (n, n_classes))
    if tied:
        score = np.round(score)
    return y, score, rng.integers(n_groups, size=n)


def in_scikit_learn(measure, y, score):
    """One group's value; NaN where scikit-learn and we state different conventions."""
    said = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
    one_class = len(np.unique(y)) < 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match measure:
            case Accuracy():
                return sk.accuracy_score(y, said)
            case BalancedAccuracy():
                return sk.balanced_accuracy_score(y, said)
            case FBeta():
                if score.ndim == 2:
                    held = np.union1d(y, said)
                    return sk.f1_score(y, said, average="macro", labels=held, zero_division=0)
                return sk.fbeta_score(y, said, beta=measure.beta, zero_division=1.0)
            case Matthews():
                return np.nan if one_class else 0.5 + 0.5 * sk.matthews_corrcoef(y, said)
            case PrecisionAtK():
                best = np.argsort(-score, kind="stable")[: measure.k]
                return y[best].mean() if len(np.unique(score)) == len(score) else np.nan
            case AveragePrecision():
                return sk.average_precision_score(y, score) if y.any() else 1.0
            case NDCG():
                if len(y) == 1 or not y.any():
                    return 1.0
                return sk.ndcg_score([y], [score], k=measure.k)
            case ROCArea():
                return 1.0 if one_class else sk.roc_auc_score(y, score)


@pytest.mark.parametrize("measure", LABEL + RANKING, ids=repr)
@pytest.mark.parametrize("tied", [False, True])
def test_agrees_with_scikit_learn_group_by_group(measure, tied):
    y, score, groups = rows(0, tied=tied)
    value = measure(y, score, groups)
    names = np.unique(groups)
    expected = np.array(
        [in_scikit_learn(measure, y[groups == g], score[groups == g]) for g in names]
    )
    assert ((value >= 0) & (value <= 1)).all()
    known = ~np.isnan(expected)
    assert known.any() or tied
    np.testing.assert_allclose(value[known], expected[known], atol=1e-12)


@pytest.mark.parametrize("measure", [Accuracy(), BalancedAccuracy(), FBeta(), Matthews()], ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_more_classes_agree_with_scikit_learn(measure, seed):
    y, score, groups = rows(seed, n_groups=25, n_classes=4)
    expected = np.array(
        [in_scikit_learn(measure, y[groups == g], score[groups == g]) for g in np.unique(groups)]
    )
    known = ~np.isnan(expected)
    assert known.mean() > 0.9
    np.testing.assert_allclose(measure(y, score, groups)[known], expected[known], atol=1e-12)


@pytest.mark.parametrize("measure", LABEL + RANKING, ids=repr)
def test_two_columns_of_scores_are_the_two_classes(measure):
    y, score, groups = rows(5, n_groups=6, tied=True)
    two = measure(y, np.column_stack([-score, score]), groups)
    np.testing.assert_array_equal(two, measure(y, score, groups))


def test_f1_is_of_the_positive_class_for_two_classes_and_the_mean_for_more():
    y, predicted = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
    f1 = get_measure("f1")
    assert f1(y, predicted, np.zeros(4)) == pytest.approx(2 / 3)
    assert f1(y, np.eye(2)[predicted], np.zeros(4)) == pytest.approx(2 / 3)
    y, predicted = np.array([2, 1, 0, 0]), np.array([2, 0, 0, 0])
    assert f1(y, np.eye(3)[predicted], np.zeros(4)) == pytest.approx((4 / 5 + 0 + 1) / 3)


@pytest.mark.parametrize("measure", LABEL + RANKING, ids=repr)
def test_order_of_rows_names_of_groups_and_kind_of_labels_do_not_matter(measure):
    y, score, groups = rows(1, tied=True)
    value = measure(y, score, groups)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(measure(y[order], score[order], groups[order]), value, atol=1e-12)
    np.testing.assert_allclose(measure(y, score, 100 - groups)[::-1], value, atol=1e-12)
    np.testing.assert_array_equal(measure(y == 1, score, groups), value)
    if not isinstance(measure, NDCG):
        np.testing.assert_array_equal(measure(2 * y - 1, score, groups), value)


def test_ties_are_the_mean_over_orders():
    """Two rows tied for one place: half of the time the positive one has it."""
    y, score = [1, 0, 0], [0.5, 0.5, 0.1]
    assert PrecisionAtK(k=1)(y, score, [0, 0, 0]) == 0.5
    assert NDCG(k=1)(y, score, [0, 0, 0]) == 0.5
    assert PrecisionAtK(k=2)(y, score, [0, 0, 0]) == 0.5


def test_graded_relevance():
    y, score = np.array([3, 0, 1, 2]), np.array([0.1, 0.9, 0.5, 0.7])
    np.testing.assert_allclose(NDCG()(y, score, np.zeros(4)), sk.ndcg_score([y], [score]))
    with pytest.raises(GroupDataError, match=r"grades of relevance >= 0; group 'b' holds -1"):
        NDCG()([1, -1], [0.1, 0.2], ["a", "b"])


@pytest.mark.parametrize(
    ("measure", "quiet", "loud"),
    [
        (Accuracy(), 1.0, 0.5),
        (BalancedAccuracy(), 1.0, 0.5),
        (FBeta(), 1.0, 0.0),
        (Matthews(), 0.5, 0.5),
        (PrecisionAtK(k=1), 0.0, 0.0),
        (AveragePrecision(), 1.0, 1.0),
        (NDCG(), 1.0, 1.0),
        (ROCArea(), 1.0, 1.0),
    ],
    ids=repr,
)
def test_groups_without_positives(measure, quiet, loud):
    """The stated value, or left out: first nothing is predicted positive, then one row of two."""
    y, groups = np.array([0, 0, 1, 0]), np.array([0, 0, 1, 1])
    for score, expected in (([-1.0, -2.0, 1.0, -1.0], quiet), ([1.0, -2.0, 1.0, -1.0], loud)):
        value = measure(y, score, groups)
        assert value.tolist() == [expected, 1.0]
        skipped = type(measure)(without_positives="skip")(y, score, groups)
        assert np.isnan(skipped[0]) and skipped[1] == (0.5 if "K" in repr(measure) else 1.0)


@pytest.mark.parametrize("measure", LABEL + RANKING, ids=repr)
def test_groups_of_one_row(measure):
    y, score = np.array([0, 0, 1, 1]), np.array([-1.0, 1.0, -1.0, 1.0])
    value = measure(y, score, None)
    if isinstance(measure, RankingMeasure):
        assert value.tolist() == ([0, 0, 1, 1] if isinstance(measure, PrecisionAtK) else [1] * 4)
    elif isinstance(measure, Matthews):
        assert value.tolist() == [0.5] * 4
    else:
        assert value.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (Accuracy(), 0.75),
        (FBeta(), 0.0),
        (PrecisionAtK(k=2), 0.25),
        (AveragePrecision(), 0.25),
        (ROCArea(), 0.5),
    ],
    ids=repr,
)
def test_all_scores_equal(measure, expected):
    """Score zero is negative, and an order does not exist."""
    assert measure([1, 0, 0, 0], np.zeros(4), np.zeros(4)) == pytest.approx(expected)


@pytest.mark.parametrize("measure", [FBeta(), ROCArea(), CallableMeasure(FBeta().of)], ids=repr)
def test_nan_scores_name_the_group(measure):
    with pytest.raises(GroupDataError, match="1 rows have NaN, the first in group 'b'"):
        measure([1, 0, 1], [0.5, np.nan, 0.2], ["a", "b", "b"])
    assert 0 <= measure([1, 0], [np.inf, -np.inf], [0, 0])[0] <= 1


def test_nan_in_two_columns():
    with pytest.raises(GroupDataError, match="group 1"):
        Accuracy()([0, 1], [[0.1, 0.2], [np.nan, 0.1]], [0, 1])


def test_a_function_that_leaves_the_unit_interval():
    measure = CallableMeasure(lambda y, score, groups: groups.sum(score))
    with pytest.raises(ValueError, match=r"stay in \[0, 1\]; it gives 1.5 in group 'b'"):
        measure([0, 1], [0.5, 1.5], ["a", "b"])
    with pytest.raises(ValueError, match=r"one number per group \(2\), got shape \(\)"):
        CallableMeasure(lambda y, score, groups: 0.5)([0, 1], [0.5, 1.5], ["a", "b"])
    assert repr(CallableMeasure(len)) == "CallableMeasure(len)"


def test_bad_labels_and_shapes():
    with pytest.raises(GroupDataError, match="0 and 1, or -1 and \\+1; group 7 holds 2"):
        FBeta()([0, 2], [0.1, 0.2], [7, 7])
    with pytest.raises(GroupDataError, match="-1 and \\+1; group 7 holds 0"):
        FBeta()([0, -1, 1], [0.1, 0.2, 0.3], [7, 7, 7])
    with pytest.raises(GroupDataError, match="0 to 2; group 0 holds 3"):
        Accuracy()([0, 3], np.zeros((2, 3)), [0, 0])
    with pytest.raises(ValueError, match="score_groups takes any labels"):
        FBeta()(["a", "b"], [0.1, 0.2], [0, 0])
    with pytest.raises(ValueError, match="one label and one score per row"):
        FBeta()([0, 1], [0.1], [0, 0])
    with pytest.raises(ValueError, match="for two classes"):
        ROCArea()([0, 1], np.zeros((2, 3)), [0, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FBeta(beta=0), "beta must be"),
        (lambda: FBeta(without_positives="zero"), "without_positives"),
        (lambda: ROCArea(without_positives="zero"), "without_positives"),
        (lambda: PrecisionAtK(k=0), "k must be"),
        (lambda: NDCG(k=1.5), "k must be"),
        (lambda: get_measure("f2"), "measure must be"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("base", [GroupMeasure, CountMeasure, RankingMeasure])
def test_subclasses_have_duties(base):
    with pytest.raises(TypeError, match="abstract"):
        base()


def test_names():
    assert sorted(MEASURES) == [
        "accuracy", "average_precision", "balanced_accuracy", "f1", "matthews", "ndcg",
        "precision_at_k", "roc_area",
    ]  # fmt: skip
    assert all(get_measure(name) == measure() for name, measure in MEASURES.items())
    assert get_measure("f1") == FBeta()
    assert get_measure(ROCArea()) == ROCArea()
    assert isinstance(get_measure(lambda y, s, g: s), CallableMeasure)


def test_a_measure_of_ones_own_may_have_a_name(monkeypatch):
    monkeypatch.setattr("groupwise.metrics.measure.MEASURES", dict(MEASURES))

    class Half(GroupMeasure, name="half"):
        def of(self, y_row, score_row, groups):
            return np.full(groups.n_groups, 0.5)

    assert get_measure("half")([0, 1], [1.0, 2.0], [0, 1]).tolist() == [0.5, 0.5]


def test_a_million_rows_in_a_hundred_thousand_groups():
    """At that size a loop over groups would show; benchmarks/bench_measures.py has the times."""
    rng = np.random.default_rng(0)
    ids = rng.integers(100_000, size=1_000_000)
    y, score = rng.integers(2, size=1_000_000), rng.normal(size=1_000_000)
    value = FBeta()(y, score, Groups(ids))
    held, (tp, pred, pos) = (
        np.bincount(ids) > 0,
        (
            np.bincount(ids, rows, minlength=ids.max() + 1)
            for rows in (y * (score > 0), score > 0, y)
        ),
    )
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(2 * tp / (pred + pos), nan=1.0)
    np.testing.assert_allclose(value, expected[held])


@pytest.mark.parametrize("kind", [np.uint8, np.int8, bool])
def test_scores_may_be_whole_numbers_or_booleans(kind):
    y, groups = np.array([1, 0, 0, 1]), np.zeros(4, int)
    score = np.array([3, 1, 0, 2]) if kind is not bool else np.array([True, False, False, True])
    for name in ("roc_area", "average_precision", "ndcg", "accuracy"):
        measure = get_measure(name)
        expected = measure(y, score.astype(float), groups)
        np.testing.assert_array_equal(measure(y, score.astype(kind), groups), expected)
    votes = np.array([[3, 1], [2, 0]], dtype=np.uint8)  # the second less the first is below 0
    assert get_measure("accuracy")([0, 0], votes, [0, 1]).tolist() == [1.0, 1.0]

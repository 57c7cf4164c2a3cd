"""Likelihood of counts that are not exact."""

from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, logsumexp, softmax
from scipy.stats import betabinom, laplace, norm

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.losses import CountLikelihoodLoss, Reported, ReportedCountLoss, reported_counts
from tests.losses.derivatives import check_derivatives_of_classes

REPORTS = [
    Reported(),
    Reported(suppressed_below=3),
    Reported(rounding=5),
    Reported(rounding=2, suppressed_below=3),
    Reported("laplace", 1.5),
    Reported("geometric", 1.5),
    Reported("gaussian", 0.7),
    Reported("laplace", 1.0, rounding=5, suppressed_below=5),
    Reported("geometric", 2.0, suppressed_below=2),
    Reported("gaussian", 2.0, rounding=3),
]
every = pytest.mark.parametrize("reported", REPORTS, ids=repr)


def report(reported, count, rng):
    """Do to counts what is said to have been done; ends of ranges."""
    z = count.astype(float)
    if reported.noise == "laplace":
        z += rng.laplace(0, reported.scale, len(z))
    elif reported.noise == "gaussian":
        z += rng.normal(0, reported.scale, len(z))
    elif reported.noise == "geometric":
        p = 1 - np.exp(-1 / reported.scale)
        z += rng.geometric(p, len(z)) - rng.geometric(p, len(z))
    if reported.rounding is not None:
        z = reported.rounding * np.rint(z / reported.rounding)
    if reported.suppressed_below is not None:
        z[z < reported.suppressed_below] = np.nan
    return np.column_stack([z, z])


def problem(reported, seed=0, sizes=(1, 2, 3, 5, 7)):
    rng = np.random.default_rng(seed)
    groups = Groups(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    score = rng.normal(size=groups.n_rows)
    count = groups.sum((rng.uniform(size=groups.n_rows) < expit(score)).astype(float))
    return groups, report(reported, count, rng), score, rng


def brute_force(reported, report_group, score):
    """Over all labels of the rows of one group."""
    p, total = expit(score), 0.0
    for labels in product([0, 1], repeat=len(score)):
        y = np.array(labels)
        told = np.exp(reported.log_likelihood(*report_group, np.array([float(y.sum())])))[0]
        total += np.prod(np.where(y == 1, p, 1 - p)) * told
    return -np.log(total)


@every
def test_the_value_is_the_sum_over_all_labels(reported):
    groups, told, score, _ = problem(reported)
    expected = sum(
        brute_force(reported, told[code], score[groups.codes == code])
        for code in range(groups.n_groups)
    )
    bound = ReportedCountLoss(reported).bind(told, groups)
    assert np.isclose(bound.value(score), expected)


@every
@pytest.mark.parametrize("size", [40, 200])
def test_gradient_and_majoriser(reported, size):
    groups, told, score, _ = problem(reported, 1, (2, 4, size))
    bound = ReportedCountLoss(reported).bind(
        told, groups, weight_row=groups.spread(np.array([1.0, 2.0, 0.5]))
    )
    gradient, curvature = bound.gradient_and_curvature(score)
    chosen = [*np.flatnonzero(groups.codes < 2), *np.flatnonzero(groups.codes == 2)[:6]]
    hessian = np.empty((len(chosen), len(chosen)))
    for place, row in enumerate(chosen):
        e = np.zeros(len(score))
        e[row] = 1e-5
        numerical = (bound.value(score + e) - bound.value(score - e)) / 2e-5
        assert np.isclose(gradient[row], numerical, atol=3e-6)
        difference = bound.gradient(score + e) - bound.gradient(score - e)
        hessian[place] = difference[chosen] / 2e-5
    gap = np.diag(curvature[chosen]) - (hessian + hessian.T) / 2
    if size <= 128:
        assert np.linalg.eigvalsh(gap).min() > -1e-6


@every
def test_what_can_be_reported_adds_up_to_one(reported):
    """Over all reports of a count, the missing one among them."""
    count = np.full(1, 4.0)
    if reported.rounding is not None or reported.noise in (None, "geometric"):
        step = reported.rounding or 1.0
        values = step * np.arange(-300, 300)
        if reported.suppressed_below is not None:
            values = values[values >= reported.suppressed_below]
        total = sum(np.exp(reported.log_likelihood(v, v, count))[0] for v in values)
    else:
        grid = np.linspace(-60, 60, 240_001)
        density = np.exp(reported.log_likelihood(grid, grid, np.full(len(grid), 4.0)))
        total = density.sum() * (grid[1] - grid[0])
    if reported.suppressed_below is not None:
        total += np.exp(reported.log_likelihood(np.nan, np.nan, count))[0]
    assert np.isclose(total, 1.0, atol=1e-4)


def test_laws_by_other_formulas():
    k = np.arange(6.0)
    np.testing.assert_allclose(
        Reported("laplace", 2.0).log_likelihood(3.3, 3.3, k), laplace.logpdf(3.3, k, 2.0)
    )
    np.testing.assert_allclose(
        Reported("gaussian", 2.0).log_likelihood(1.0, 4.0, k),
        np.log(norm.cdf(4.0, k, 2.0) - norm.cdf(1.0, k, 2.0)),
    )
    a = np.exp(-1 / 1.5)
    np.testing.assert_allclose(
        Reported("geometric", 1.5).log_likelihood(2.0, 2.0, k),
        np.log((1 - a) / (1 + a) * a ** np.abs(k - 2.0)),
    )


def test_exact_reports_are_the_likelihood_of_counts():
    groups, told, score, _ = problem(Reported(), 2, (1, 3, 6, 30, 100))
    share = told[:, 0] / groups.sizes
    exact = CountLikelihoodLoss().bind(np.column_stack([1 - share, share]), groups)
    ours = ReportedCountLoss().bind(told, groups)
    assert np.isclose(exact.value(score), ours.value(score))
    for one, other in zip(
        exact.gradient_and_curvature(score), ours.gradient_and_curvature(score), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_large_groups_by_the_normal_are_near_the_exact(monkeypatch):
    reported = Reported("gaussian", 2.0)
    groups, told, score, _ = problem(reported, 3, (120,))
    exact = ReportedCountLoss(reported).bind(told, groups)
    monkeypatch.setattr(reported_counts, "LARGEST_EXACT", 50)
    normal = ReportedCountLoss(reported).bind(told, groups)
    assert np.isclose(exact.value(score), normal.value(score), atol=0.02)
    np.testing.assert_allclose(exact.gradient(score), normal.gradient(score), atol=0.01)


def test_a_missing_report_says_nothing_and_a_range_a_little():
    groups, _, score, _ = problem(Reported(), 4, (4, 4))
    told = np.array([[np.nan, np.nan], [1.0, 2.0]])
    bound = ReportedCountLoss().bind(told, groups)
    gradient = bound.gradient(score)
    np.testing.assert_allclose(gradient[groups.codes == 0], 0.0, atol=1e-12)
    assert np.isclose(
        bound.value(score), brute_force(Reported(), told[1], score[groups.codes == 1])
    )


@every
@pytest.mark.parametrize("size", [30.0, 1e3, 1e6])
def test_extreme_scores_give_finite_numbers(reported, size):
    groups, told, score, rng = problem(reported, 5, (3, 60, 200))
    bound = ReportedCountLoss(reported).bind(told, groups)
    for extreme in (size * np.sign(score), size * rng.normal(size=len(score)),
                    np.full(len(score), size), np.full(len(score), -size)):  # fmt: skip
        assert np.isfinite(bound.value(extreme))
        gradient, curvature = bound.gradient_and_curvature(extreme, np.float32)
        assert np.isfinite(gradient).all() and np.isfinite(curvature).all()


def three_classes(reported, seed=0, sizes=(1, 2, 4, 6)):
    rng = np.random.default_rng(seed)
    groups = Groups(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    label = rng.integers(3, size=groups.n_rows)
    told = np.column_stack(
        [report(reported, count, rng)[:, 0] for count in groups.sum(np.eye(3)[label]).T]
    )
    told[1, 0] = np.nan  # a class that is not reported
    return groups, told, rng.normal(size=(groups.n_rows, 3))


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("reported", [Reported(), Reported("laplace", 1.5), Reported(rounding=3)])
def test_three_classes_are_each_against_the_rest(reported, ranges):
    groups, told, score = three_classes(reported)
    if ranges:
        told = np.stack([told - 1, told + 1], axis=-1)
    weight = groups.spread(np.array([1.0, 2.0, 0.5, 1.0]))
    bound = ReportedCountLoss(reported).bind(told, groups, n_classes=3, weight_row=weight)
    p = softmax(score, axis=1)
    value = sum(
        ReportedCountLoss(reported)
        .bind(told[:, k] if ranges else told[:, [k, k]], groups, weight_row=weight)
        .value(np.log(p[:, k] / (1 - p[:, k])))
        for k in range(3)
    )
    assert np.isclose(bound.value(score), value / 2)
    check_derivatives_of_classes(bound, score)
    for extreme in (1e6 * np.sign(score), np.full(score.shape, -1e3)):
        assert np.isfinite(bound.value(extreme))
        assert np.isfinite(bound.gradient_and_curvature(extreme, np.float32)).all()


def test_ranges_of_three_classes_by_hand():
    """Two rows, each of any class: at most one of a, one or two of b, nothing known of c."""
    told = np.array([[[0.0, 1.0], [1.0, 2.0], [np.nan, np.nan]]])
    bound = ReportedCountLoss().bind(told, Groups([0, 0]), n_classes=3)
    assert np.isclose(bound.value(np.zeros((2, 3))), -0.5 * (np.log(8 / 9) + np.log(5 / 9)))
    shares = ReportedCountLoss().shares(told, Groups([0, 0]))
    np.testing.assert_array_equal(shares, [[0.25, 0.75, np.nan]])
    with pytest.raises(GroupDataError, match="no count of 2 rows"):
        ReportedCountLoss().bind(told + 2.5, Groups([0, 0]), n_classes=3)


def test_shares_of_what_was_left_out_are_in_the_middle_of_what_it_may_be():
    """Below 5 of 8 rows: 0 to 4, of which the middle is 2; of 4 rows it says nothing."""
    groups = Groups([0] * 8 + [1] * 8 + [2] * 4)
    told = np.array([[6.0, 6.0], [np.nan, np.nan], [np.nan, np.nan]])
    shares = ReportedCountLoss(Reported(suppressed_below=5)).shares(told, groups)
    np.testing.assert_array_equal(shares, [[0.25, 0.75], [0.75, 0.25], [np.nan, np.nan]])
    rounded = Reported(rounding=5, suppressed_below=5)  # 0 to 2 are rounded to 0
    assert ReportedCountLoss(rounded).shares(told, groups)[1, 1] == 1 / 8
    classes = ReportedCountLoss(Reported(suppressed_below=3))
    by_class = classes.shares(np.array([[4.0, np.nan, 3.0]]), Groups([0] * 8))
    np.testing.assert_array_equal(by_class, [[0.5, 0.125, 0.375]])


def test_a_class_that_is_nowhere_reported_has_no_share_in_the_loss():
    groups, told, score = three_classes(Reported(), 1)
    told[:, 2] = np.nan
    bound = ReportedCountLoss().bind(told, groups, n_classes=3)
    moved = score.copy()
    moved[:, 2] -= 1e3  # all rows are of the two others: log-odds of each other
    two = ReportedCountLoss().bind(told[:, [1, 1]], groups)
    rest = ReportedCountLoss().bind(told[:, [0, 0]], groups)
    odds = score[:, 1] - score[:, 0]
    assert np.isclose(bound.value(moved), (two.value(odds) + rest.value(-odds)) / 2)
    assert np.isfinite(bound.init_score()).all()


def test_rows_that_are_a_sample_by_hand():
    """One row of two; both are positive: 2/3 if the one here is, by the rule of succession."""
    bound = ReportedCountLoss(Reported(sampled=0.5)).bind(np.array([[2.0, 2.0]]), Groups([0]))
    assert np.isclose(bound.value(np.zeros(1)), -np.log(0.5 * 2 / 3))
    assert np.isclose(bound.gradient(np.zeros(1))[0], -0.5)
    one = ReportedCountLoss(Reported(sampled=0.5)).bind(np.array([[1.0, 1.0]]), Groups([0]))
    assert np.isclose(one.value(np.zeros(1)), -np.log(1 / 3))
    assert np.isclose(one.gradient(np.zeros(1))[0], 0.0)


@pytest.mark.parametrize("reported", [Reported(), Reported("gaussian", 2.0), Reported(rounding=5)])
def test_samples_by_another_formula(reported):
    sampled = Reported(reported.noise, reported.scale, reported.rounding, sampled=0.1)
    k, total = np.arange(5.0), np.arange(41.0)
    expected = [
        betabinom.pmf(total - count, 36, count + 1, 5 - count)
        @ np.exp(reported.log_likelihood(15.0, 15.0, total))
        for count in k
    ]
    found = sampled.log_likelihood_here(np.array([15.0]), np.array([15.0]), np.array([4]))
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-6)
    whole = Reported(reported.noise, reported.scale, reported.rounding, sampled=1.0)
    size, low = np.array([4, 7]), np.array([3.0, np.nan])
    np.testing.assert_allclose(
        whole.log_likelihood_here(low, low, size), reported.log_likelihood_here(low, low, size)
    )


@pytest.mark.parametrize(
    ("told", "reported"),
    [
        ([[3.0, 3.0]], None),
        ([[0.5, 0.5]], None),
        ([[2.0, 1.0]], Reported("laplace")),
        ([[10.0, 10.0]], Reported(rounding=5)),
    ],
)
def test_reports_that_no_count_makes(told, reported):
    with pytest.raises(GroupDataError, match="no count of 2 rows"):
        ReportedCountLoss(reported).bind(np.array(told), Groups(["a", "a"]))


def test_bad_parameters():
    with pytest.raises(GroupDataError, match="no count of 20 rows"):
        ReportedCountLoss(Reported(sampled=0.1)).bind(np.array([[21.0, 21.0]]), Groups([0, 0]))
    wrong = [Reported("cauchy"), Reported(scale=0.0), Reported(rounding=-1.0), "laplace"]
    for reported in [*wrong, Reported(sampled=2.0)]:
        with pytest.raises(ValueError, match="must be"):
            ReportedCountLoss(reported).check_parameters()
    loss = ReportedCountLoss(Reported("laplace")).set_params(reported__scale=3.0)
    assert repr(loss) == "ReportedCountLoss(reported=Reported(noise='laplace', scale=3.0))"


def test_small_groups_do_not_wait_for_a_large_one():
    rng = np.random.default_rng(2)
    sizes = np.array([5, 300, 4, 12, 140, 3])
    groups = Groups.of_sizes(sizes)
    told = rng.integers(0, sizes + 1).astype(float) + rng.laplace(0, 2, 6)
    told[2] = np.nan
    loss = ReportedCountLoss(Reported("laplace", 2.0))
    bound = loss.bind(np.column_stack([told, told]), groups)
    score = rng.normal(size=groups.n_rows)
    np.testing.assert_allclose(bound._expectation(score), bound._given(score)[1], atol=1e-9)


@pytest.mark.parametrize(
    ("reported", "count", "score"),
    [
        (Reported(rounding=3), 0.0, [-63.0, 80.0, 63.0, -1.0, -4.0]),
        (Reported(), 0.0, [66.0, -30.0, -2.0, -2.0, -58.0, -89.0]),
        (Reported(suppressed_below=2), np.nan, [-57.0, -14.0, 0.0, 0.0, -3.0, 56.0, -2.0, 67.0]),
    ],
)
def test_rows_that_are_all_but_certain_do_not_rule_a_report_out(reported, count, score):
    """These were infinite: a count near the sum, and impossible once 1 - p was rounded to 0."""
    score, groups = np.array(score), Groups([0] * len(score))
    bound = ReportedCountLoss(reported).bind(np.full((1, 2), count), groups)
    log_ways = np.array([0.0])  # of the counts so far, in odds
    for odds in score:
        without, with_it = np.append(log_ways, -np.inf), np.append(-np.inf, log_ways + odds)
        log_ways = np.logaddexp(without, with_it)
    told = reported.log_likelihood(count, count, np.arange(len(score) + 1.0))
    expected = np.logaddexp(0.0, score).sum() - logsumexp(log_ways + told)
    assert np.isclose(bound.value(score), expected, rtol=1e-12)
    slope = approx_fprime(score, bound.value, 1e-6)
    np.testing.assert_allclose(bound.gradient(score), slope, atol=1e-4)


def with_80_digits(score, log_report):
    """Loss and gradient of one group, row by row: P(count) with and without each row."""

    def counts(rows):
        found = [Decimal(1)]
        for p in rows:
            found = [a * (1 - p) + b * p for a, b in zip([*found, 0], [0, *found], strict=True)]
        return found

    with localcontext() as context:
        context.prec = 80
        likely = [Decimal(float(each)).exp() for each in log_report]
        p = [1 / (1 + Decimal(-float(each)).exp()) for each in score]
        total = sum(a * b for a, b in zip(counts(p), likely, strict=True))
        given = [
            p[j] * sum(a * b for a, b in zip(counts(p[:j] + p[j + 1 :]), likely[1:], strict=True))
            for j in range(len(p))
        ]
        gradient = [float(each - part / total) for each, part in zip(p, given, strict=True)]
        return float(-total.ln()), np.array(gradient)


@every
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_as_exact_as_doubles_are(reported, scale):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        score = scale * rng.choice([-1.0, 1.0], 9) * rng.uniform(0.5, 1.0, 9)
        told = report(reported, rng.integers(0, 10, 1), rng)
        bound = ReportedCountLoss(reported).bind(told, Groups(np.zeros(9)))
        value, gradient = with_80_digits(score, bound.log_report)
        assert bound.value(score) == pytest.approx(value, rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(bound.gradient(score), gradient, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("reported", "n_rows", "scale"),
    [(Reported("gaussian"), 20, 30.0), (Reported("laplace", 0.3), 40, 10.0)],
)
def test_rows_may_outweigh_a_report_that_rules_them_out_in_single_precision(
    reported, n_rows, scale
):
    """All rows are all but certain, and none was reported."""
    score = np.full(n_rows, scale)
    bound = ReportedCountLoss(reported).bind(np.zeros((1, 2)), Groups(np.zeros(n_rows)))
    _, gradient = with_80_digits(score, bound.log_report)
    np.testing.assert_allclose(bound.gradient(score), gradient, rtol=1e-9)
    single = bound.gradient_and_curvature(score.astype(np.float32), np.float32)[0]
    np.testing.assert_allclose(single, gradient, atol=1e-6)

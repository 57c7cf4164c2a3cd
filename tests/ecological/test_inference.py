"""Tables drawn from their margins."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone

from groupwise.ecological import EcologicalInference, cell_bounds, inference
from groupwise.ecological.inference import fitted_model
from groupwise.ecological.margins import check_margins
from groupwise.ecological.model import RateModel
from groupwise.ecological.tables import TableSampler
from groupwise.exceptions import GroupDataError


def made(n_units, rate, spread, seed):
    """Counts of rows and cells: rates scatter by ``spread`` around ``rate``."""
    rng = np.random.default_rng(seed)
    n_rows = len(rate)
    rows = np.array([rng.multinomial(300, p) for p in rng.dirichlet(np.ones(n_rows), n_units)])
    logit = np.log(rate) + spread * rng.normal(size=(n_units, *rate.shape))
    p = np.exp(logit) / np.exp(logit).sum(axis=2, keepdims=True)
    cells = [[rng.multinomial(n, q) for n, q in zip(*unit, strict=True)]
             for unit in zip(rows, p, strict=True)]  # fmt: skip
    return rows, np.array(cells)


RATE = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])


@pytest.fixture(scope="module")
def three():
    rows, cells = made(30, RATE, 0.3, seed=1)
    rows[0], cells[0] = [300, 0, 0], [[200, 60, 40], [0, 0, 0], [0, 0, 0]]
    fitted = EcologicalInference(n_draws=200, random_state=0).fit(rows, cells.sum(axis=1))
    return rows, cells, fitted


@pytest.fixture
def few_steps(monkeypatch):
    """Where it does not matter how good the fit is."""
    monkeypatch.setattr(inference, "_WHOLE", 3)
    monkeypatch.setattr(inference, "_SHORTER", 2)


def test_margins_and_bounds_are_kept(three):
    rows, cells, ei = three
    columns = cells.sum(axis=1)
    np.testing.assert_allclose(ei.counts_.sum(axis=2), rows, atol=1e-3)
    np.testing.assert_allclose(ei.counts_.sum(axis=1), columns, atol=1e-3)
    np.testing.assert_array_equal(ei.bounds_, cell_bounds(rows, columns))
    peopled = rows > 0
    for value in (ei.cells_, *np.moveaxis(ei.intervals(0.9), -1, 0)):
        assert (value >= ei.bounds_[..., 0] - 1e-6)[peopled].all()
        assert (value <= ei.bounds_[..., 1] + 1e-6)[peopled].all()
    district = (ei.cells_ * rows[:, :, None]).sum(axis=0) / rows.sum(axis=0)[:, None]
    np.testing.assert_allclose(ei.district_, district)


def test_a_unit_of_one_kind_is_known(three):
    _, cells, ei = three
    np.testing.assert_allclose(ei.cells_[0, 0], cells[0, 0] / 300, atol=1e-6)
    low, high = np.moveaxis(ei.intervals(0.9)[0, 0], -1, 0)
    np.testing.assert_allclose(high - low, 0, atol=1e-6)


def test_intervals_hold_and_grow(three):
    rows, cells, ei = three
    peopled = np.broadcast_to((rows > 0)[:, :, None], cells.shape)
    truth = cells / np.maximum(rows, 1)[:, :, None]
    low, high = np.moveaxis(ei.intervals(0.9), -1, 0)
    assert ((truth >= low - 1e-9) & (truth <= high + 1e-9))[peopled].mean() > 0.85
    narrow = ei.intervals(0.5)
    assert (narrow[..., 1] - narrow[..., 0] <= high - low + 1e-9).all()
    told = ei.summary(0.9)
    assert len(told) == 9 and (told.low <= told.share).all() and (told.share <= told.high).all()


def test_equal_rates_are_found():
    rows = np.random.default_rng(2).integers(2000, 40000, (40, 2))
    rate = np.array([[0.8, 0.2], [0.35, 0.65]])
    ei = EcologicalInference(n_draws=100, random_state=1).fit(rows, rows @ rate)
    np.testing.assert_allclose(ei.district_, rate, atol=0.02)
    assert np.abs(ei.cells_ - rate).max() < 0.05


def test_names_of_categories_do_not_matter():
    rows, cells = made(25, RATE[:2], 0.3, seed=2)
    columns, turn = cells.sum(axis=1), [1, 2, 0]
    ei = EcologicalInference(n_draws=100, random_state=0).fit(rows, columns)
    again = EcologicalInference(n_draws=100, random_state=3).fit(rows[:, ::-1], columns[:, turn])
    np.testing.assert_allclose(again.district_, ei.district_[::-1][:, turn], atol=0.05)


def penalised(p, x, t, overall):
    """Two by two in closed form: density of t along the line of tables and at its ends, prior."""
    sd, tied, kappa = np.exp(p[2:4]), np.tanh(p[4]), np.exp(p[5])
    mean = np.repeat(p[:2, None], len(x), axis=1)
    both = tied * sd[0] * sd[1]
    variance = x**2 * sd[0] ** 2 + 2 * x * (1 - x) * both + (1 - x) ** 2 * sd[1] ** 2
    off = t - x * mean[0] - (1 - x) * mean[1]
    shared = x * sd[0] ** 2 + (1 - x) * both
    b, spread = mean[0] + shared / variance * off, np.sqrt(sd[0] ** 2 - shared**2 / variance)
    low, high = np.maximum(0, (t - 1 + x) / x), np.minimum(1, t / x)
    inside = ndtr((high - b) / spread) - ndtr((low - b) / spread)
    density = norm.pdf(off, scale=np.sqrt(variance)) * inside
    left = sd * np.sqrt(1 - tied**2)

    def edge(k, value, other, weight):
        """Rate k is at the boundary, the other one is what the margins leave."""
        side = 1 if value == 1 else -1
        centre = mean[k] + both / sd[1 - k] ** 2 * (other - mean[1 - k])
        beyond = ndtr(side * (centre - value) / left[k])
        return kappa * norm.pdf(other, mean[1 - k], sd[1 - k]) * beyond / weight

    first, second = t / (1 - x), (t - x) / (1 - x)  # the second rate where the first is 0, 1
    density += np.where(low == 0, edge(0, 0, first, 1 - x), edge(1, 1, low, x))
    density += np.where(high == 1, edge(0, 1, second, 1 - x), edge(1, 0, high, x))
    node, weight = np.polynomial.legendre.leggauss(100)
    node = (node[:, None] + 1) / 2
    w = mean[1] + both / sd[0] ** 2 * (node - mean[0])
    within = (weight[:, None] / 2 * norm.pdf(node, mean[0], sd[0])
              * (ndtr((1 - w) / left[1]) - ndtr(-w / left[1]))).sum(axis=0)  # fmt: skip
    values, u = np.linalg.eigh(2 * np.array([[sd[0] ** 2, both], [both, sd[1] ** 2]]))
    a = (u * np.log(values)) @ u.T
    prior = ((p[:2] - overall) ** 2).sum() / 0.5**2 + (a[0, 1] / 0.5) ** 2 + (p[5] / 3) ** 2
    prior += ((np.diag(a) - np.log(0.02)) ** 2).sum()
    return 0.5 * prior - np.log(density / (within + kappa * (1 - within))).sum()


def test_two_by_two_is_the_model_in_closed_form():
    """Almost every other rate of one kind is exactly 1."""
    centre = 0.98
    rng = np.random.default_rng(4)
    x = rng.uniform(0.05, 0.95, 80)
    rate = np.clip([centre, 0.4] + [0.15, 0.1] * rng.normal(size=(80, 2)), 0, 1)
    t = x * rate[:, 0] + (1 - x) * rate[:, 1]
    # a mean near 1 and kappa can stand in for each other: many chains tell them apart
    sampler = TableSampler(check_margins(x, t), 100, np.random.default_rng(0))
    model = fitted_model(sampler, np.empty((80, 0)))
    start = [centre, 0.4, np.log(0.15), np.log(0.1), 0.1, 0]
    exact = minimize(penalised, start, (x, t, t.mean()), method="BFGS")
    both = np.sign(sampler.contrasts[0, 0]) * model.coefficients / np.sqrt(2)
    mean = 0.5 + both[0]
    sd = np.sqrt(np.diag(model.sigma) / 2)
    tied = np.arctanh(model.sigma[0, 1] / (2 * sd[0] * sd[1]))
    found = np.r_[mean, np.log(sd), tied, model.log_kappa]
    np.testing.assert_allclose(mean, exact.x[:2], atol=0.02)
    np.testing.assert_allclose(sd, np.exp(exact.x[2:4]), atol=0.02)
    np.testing.assert_allclose(model.log_kappa, exact.x[5], atol=0.3)
    assert exact.fun - 1e-3 <= penalised(found, x, t, t.mean()) <= exact.fun + 0.5


def test_one_column_is_the_first_of_two(few_steps):
    rows, cells = made(12, RATE[:2, :2], 0.3, seed=5)
    columns, size = cells.sum(axis=1), rows.sum(axis=1)
    by_counts = EcologicalInference(n_draws=40, random_state=0).fit(rows, columns)
    by_shares = clone(by_counts).fit(rows[:, 0] / size, columns[:, 0] / size, sizes=size)
    np.testing.assert_allclose(by_shares.district_, by_counts.district_, atol=1e-9)


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_draws_of_a_table_have_their_distribution(kappa):
    """One 2 x 2 unit: a normal variable on the line of tables, cut off or heaped at its ends."""
    x, t = 0.4, 0.55
    mean, sigma = np.array([0.9, 0.3]), np.array([[0.04, 0.01], [0.01, 0.02]])
    sampler = TableSampler(check_margins([x], [t]), 4000, np.random.default_rng(0))
    # rate of the first column b = 1/2 + z / sqrt(2), up to the sign of the contrast
    sign = np.sign(sampler.contrasts[0, 0])
    z_mean = sign * np.sqrt(2) * (mean - 0.5)
    with np.errstate(divide="ignore"):
        log_kappa = np.log([kappa])
    for _ in range(3):
        sampler.sweep(z_mean[None, None], 2 * sigma[None], log_kappa)
    drawn = np.sort(sampler.counts[:, 0, 0, 0] / x)
    edges = np.linspace(0, 1, 2001)  # bounds of b: the other rate is then 55/60 and 15/60
    b = (edges[1:] + edges[:-1]) / 2
    joint = multivariate_normal(mean, sigma)
    density = joint.pdf(np.column_stack([b, (t - x * b) / (1 - x)])) / 2000 / (1 - x)
    # beyond an end the other rate stays
    far = np.linspace(0, 2, 4001)
    ends = [joint.pdf(np.column_stack([side, np.full(4001, (t - x * end) / (1 - x))])).sum()
            * (far[1] - far[0]) / (1 - x) for end, side in ((0, -far), (1, 1 + far))]  # fmt: skip
    mass = np.r_[kappa * ends[0], density, kappa * ends[1]]
    assert abs((drawn == 1).mean() - mass[-1] / mass.sum()) < 0.03
    inner = drawn[(drawn > 0) & (drawn < 1)]
    expected = np.interp(inner, edges[1:], np.cumsum(density) / density.sum())
    n = len(inner)
    assert np.abs(expected - (np.arange(n) + 0.5) / n).max() < 1.63 / np.sqrt(n)


def test_score_is_the_derivative_of_the_normal_density():
    rng = np.random.default_rng(7)
    design = np.column_stack([np.ones(5), rng.normal(size=5)])
    model = RateModel(design, np.array([0.1, -0.2, 0.3]))
    model.coefficients[1] = 0.1
    model.values = np.array([0.5, 0.1, 0.1])
    model.vectors = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    z = rng.normal(size=(1, 5, 3))

    def value(step):
        coefficients, values, vectors, log_kappa = model._moved(step)
        y = (z[0] - design @ coefficients) @ vectors
        return norm.logpdf(y, scale=np.sqrt(values)).sum() + 2 * log_kappa

    outside = np.array([[True, False, True, False, False]])
    score = model._scores(*model._moments(z, outside, np.ones((1, 5)))).sum(axis=0)
    h = 1e-5
    for j, step in enumerate(h * np.eye(len(score))):
        np.testing.assert_allclose(
            score[j], (value(step) - value(-step)) / (2 * h), rtol=1e-5, atol=1e-7
        )


def test_the_constant_of_the_truncated_density():
    """Where half of the rates fall outside, their mean is that of a normal variable cut off."""
    sampler = TableSampler(
        check_margins(np.full(50, 0.5), np.full(50, 0.5)), 1, np.random.default_rng(1)
    )
    sign = np.sign(sampler.contrasts[0, 0])
    mean = np.tile(sign * np.sqrt(2) * np.array([1.0 - 0.5, 0.5 - 0.5]), (50, 1))
    sigma = 2 * 0.1**2 * np.eye(2)
    z, outside, weight = sampler.apart(mean, sigma, -np.inf, 400)
    np.testing.assert_allclose(weight.sum(axis=0), 1.0)
    first = 0.5 + sign * z[..., 0] / np.sqrt(2)
    assert first[weight != 0].max() <= 1 and not outside[weight != 0].any()
    middle = (weight * first).sum(axis=0).mean()
    np.testing.assert_allclose(middle, 1 - 0.1 * np.sqrt(2 / np.pi), atol=0.004)
    # kappa = 1/3: a quarter of what is drawn is outside
    _, outside, weight = sampler.apart(mean, sigma, -np.log(3), 400)
    np.testing.assert_allclose((weight * outside).sum(axis=0).mean(), 1 / 4, atol=0.02)


def test_the_constant_where_the_boundary_counts_much():
    """A thousandth of a normal variable is outside, a thousand times as likely: half of all."""
    sampler = TableSampler(
        check_margins(np.full(50, 0.5), np.full(50, 0.5)), 1, np.random.default_rng(2)
    )
    sigma = 2 * 0.1**2 * np.eye(2)
    sign = np.sign(sampler.contrasts[0, 0])
    far = norm.isf(1e-3)  # of the first rate's upper end; the second has none to speak of
    mean = np.tile(sign * np.sqrt(2) * np.array([0.5 - 0.1 * far, 0.0]), (50, 1))
    _, outside, weight = sampler.apart(mean, sigma, np.log(1000), 1000)
    expected = 1000 * 1e-3 / (1000 * 1e-3 + 1 - 1e-3)
    np.testing.assert_allclose((weight * outside).sum(axis=0).mean(), expected, atol=0.02)


def test_the_boundary_does_not_run_away():
    """Margins of which kappa = 1.5 is the truth led to a kappa of millions."""
    rng = np.random.default_rng(13)
    people = rng.integers(500, 20000, 150)
    x = rng.beta(1.2, 2.5, 150)
    covariance = [[0.168**2, 0.63 * 0.168 * 0.207], [0.63 * 0.168 * 0.207, 0.207**2]]
    rate = np.clip(rng.multivariate_normal([0.56, 0.82], covariance, 150), 0, 1)
    first = rng.binomial(people, x)
    rows = np.column_stack([first, people - first])
    yes = rng.binomial(rows, rate)
    ei = EcologicalInference(n_draws=40, random_state=0)
    ei.fit(rows, np.column_stack([yes.sum(axis=1), people - yes.sum(axis=1)]))
    assert 0.01 < ei.boundary_ < 100


def test_rates_that_are_one_are_found_from_the_margins():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 0.7, 60)
    scatter = rng.multivariate_normal([0, 0], [[0.02, 0.015], [0.015, 0.04]], 60)
    rate = np.clip(np.array([0.55, 0.9]) + scatter, 0, 1)
    ei = EcologicalInference(n_draws=100, random_state=0)
    ei.fit(x, x * rate[:, 0] + (1 - x) * rate[:, 1], sizes=np.full(60, 9e4))
    low, high = np.moveaxis(ei.intervals(0.9)[:, :, 0], -1, 0)
    assert ((rate >= low - 1e-6) & (rate <= high + 1e-6)).mean() > 0.8
    assert (high[rate[:, 1] == 1, 1] == 1).mean() > 0.8
    assert ei.boundary_ > 0.3


def test_covariates_explain_rates():
    rng = np.random.default_rng(8)
    rows = rng.integers(50, 400, (40, 2))
    shift = rng.normal(size=40)
    rate = np.clip(np.array([0.6, 0.4]) + 0.12 * shift[:, None], 0, 1)
    yes = rows * rate
    columns = np.column_stack([yes.sum(axis=1), (rows - yes).sum(axis=1)])
    without, with_them = (
        EcologicalInference(n_draws=40, random_state=0).fit(rows, columns, covariates=c)
        for c in (None, pd.DataFrame({"shift": shift}))
    )
    error = [np.abs(ei.cells_[..., 0] - rate).mean() for ei in (without, with_them)]
    assert error[1] < 0.75 * error[0]


def test_same_seed_same_draws_and_parameters_stay(few_steps):
    rows, cells = made(10, RATE[:2, :2], 0.3, seed=6)
    ei = EcologicalInference(n_draws=40, random_state=0)
    first = ei.fit(rows, cells.sum(axis=1)).draws_.copy()
    np.testing.assert_array_equal(ei.fit(rows, cells.sum(axis=1)).draws_, first)
    assert ei.get_params() == {"n_draws": 40, "random_state": 0}


def test_refusals(three):
    rows, cells, ei = three
    with pytest.raises(ValueError, match="n_draws"):
        EcologicalInference(n_draws=3).fit(rows, cells.sum(axis=1))
    with pytest.raises(ValueError, match="coverage"):
        ei.intervals(1.5)
    with pytest.raises(GroupDataError, match="covariates"):
        EcologicalInference().fit(rows, cells.sum(axis=1), covariates=[1, 2])
    nobody = np.column_stack([cells.sum(axis=1), np.zeros(len(rows))])
    with pytest.raises(GroupDataError, match="column 3 has nobody"):
        EcologicalInference().fit(rows, nobody)


def test_covariates_are_numbers_of_the_same_units():
    people = pd.DataFrame({"a": [3.0, 5.0, 2.0], "b": [4.0, 1.0, 6.0]}, index=list("xyz"))
    votes = pd.DataFrame({"c": [2.0, 4.0, 3.0], "d": [5.0, 2.0, 5.0]}, index=list("xyz"))
    ei = EcologicalInference(n_draws=40, random_state=0)
    with pytest.raises(GroupDataError, match="covariates must hold numbers"):
        ei.fit(people, votes, covariates=[["north"], ["south"], ["south"]])
    turned = pd.DataFrame({"income": [1.0, 2.0, 3.0]}, index=list("xzy"))
    with pytest.raises(GroupDataError, match=r"rows and covariates .* line 1 is 'y'"):
        ei.fit(people, votes, covariates=turned)

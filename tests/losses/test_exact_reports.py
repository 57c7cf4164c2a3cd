"""Likelihood of what is reported of all classes together."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.losses import (
    ExactCountLoss,
    ExactReportedLoss,
    Reported,
    ReportedCountLoss,
    exact_reports,
)
from tests.losses.derivatives import check_derivatives_of_classes

LAWS = [Reported(), Reported("laplace", 1.5), Reported(rounding=3), Reported(suppressed_below=2)]


def ranges(reported, n_classes=3, sizes=(1, 2, 3, 4), seed=0):
    """Ranges around what was reported, some of them missing."""
    rng = np.random.default_rng(seed)
    groups = Groups(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    y = rng.integers(0, n_classes, groups.n_rows)
    told = groups.sum(np.eye(n_classes)[y])
    if reported.noise == "laplace":
        told += rng.laplace(0, reported.scale, told.shape)
    if reported.rounding is not None:
        told = reported.rounding * np.rint(told / reported.rounding)
    if reported.suppressed_below is not None:
        told[told < reported.suppressed_below] = np.nan
    ends = np.stack([told - rng.integers(0, 2, told.shape), told + 1], axis=-1)
    ends[-1, -1] = np.nan
    return groups, ends, rng.normal(size=(groups.n_rows, n_classes))


def brute_force(reported, ends, score):
    """Over all labels of the rows of one group."""
    p, total = softmax(score, axis=1), 0.0
    for labels in product(range(score.shape[1]), repeat=len(score)):
        count = np.bincount(labels, minlength=score.shape[1]).astype(float)
        each = zip(ends, count, strict=True)
        told = sum(reported.log_likelihood(*range_, k[None])[0] for range_, k in each)
        total += np.prod(p[np.arange(len(score)), labels]) * np.exp(told)
    return -np.log(total)


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize("reported", LAWS, ids=repr)
def test_the_value_is_the_sum_over_all_labels(reported, n_classes):
    groups, ends, score = ranges(reported, n_classes)
    weight = np.array([1.0, 2.0, 0.5, 1.0])
    bound = ExactReportedLoss(reported).bind(
        ends, groups, n_classes=n_classes, weight_row=groups.spread(weight)
    )
    expected = [
        brute_force(reported, ends[code], score[groups.codes == code])
        for code in range(groups.n_groups)
    ]
    assert np.isclose(bound.value(score), weight @ expected)


@pytest.mark.parametrize("reported", LAWS, ids=repr)
def test_gradient_and_majoriser(reported):
    groups, ends, score = ranges(reported, seed=1)
    weight = groups.spread(np.array([1.0, 2.0, 0.5, 1.0]))
    bound = ExactReportedLoss(reported).bind(ends, groups, n_classes=3, weight_row=weight)
    check_derivatives_of_classes(bound, score)


def test_exact_reports_are_exact_counts():
    groups, _, score = ranges(Reported(), sizes=(1, 3, 7, 12), seed=2)
    count = groups.sum(np.eye(3)[np.random.default_rng(0).integers(0, 3, groups.n_rows)])
    ours = ExactReportedLoss().bind(count, groups, n_classes=3)
    other = ExactCountLoss().bind(count / groups.sizes[:, None], groups, n_classes=3)
    assert np.isclose(ours.value(score), other.value(score))
    for mine, its in zip(
        ours.gradient_and_curvature(score), other.gradient_and_curvature(score), strict=True
    ):
        np.testing.assert_allclose(mine, its, atol=1e-9)


def test_a_group_of_one_row_gives_cross_entropy():
    rng = np.random.default_rng(3)
    y, score = rng.integers(0, 4, 20), rng.normal(size=(20, 4))
    bound = ExactReportedLoss().bind(np.eye(4)[y], Groups(np.arange(20)), n_classes=4)
    assert np.isclose(bound.value(score), -log_softmax(score, axis=1)[np.arange(20), y].sum())


def test_large_groups_are_taken_class_by_class():
    law = Reported("laplace", 2.0)
    groups, ends, score = ranges(law, sizes=(3, 40, 5, 30), seed=4)
    weight = groups.spread(np.array([1.0, 2.0, 0.5, 1.0]))
    bound = ExactReportedLoss(law).bind(ends, groups, n_classes=3, weight_row=weight)
    plain = ReportedCountLoss(law).bind(ends, groups, n_classes=3, weight_row=weight)
    large = np.isin(groups.codes, [1, 3])
    found, expected = bound.gradient(score), plain.gradient(score)
    np.testing.assert_allclose(found[large], expected[large])
    assert not np.allclose(found[~large], expected[~large])
    numerical = [
        (bound.value(score + s) - bound.value(score - s)) / 2e-5
        for s in (1e-5 * np.eye(score.size)).reshape(-1, *score.shape)[::7]
    ]
    assert np.allclose(found.ravel()[::7], numerical, atol=1e-6)


@pytest.mark.parametrize("reported", LAWS, ids=repr)
def test_logarithms_where_products_underflow(reported, monkeypatch):
    groups, ends, score = ranges(reported, n_classes=4, seed=5)
    bound = ExactReportedLoss(reported).bind(ends, groups, n_classes=4)
    quick = bound.value(score), bound.gradient(score)
    for extreme in (1e6 * np.sign(score), 300 * score, np.full(score.shape, -1e3)):
        assert np.isfinite(bound.value(extreme))
        assert np.isfinite(bound.gradient_and_curvature(extreme, np.float32)).all()
    monkeypatch.setattr(exact_reports, "_LEAST", 2.0)  # all of them by logarithms
    assert np.isclose(bound.value(score), quick[0])
    np.testing.assert_allclose(bound.gradient(score), quick[1], atol=1e-12)


def test_counts_that_do_not_make_a_group():
    with pytest.raises(GroupDataError, match="no counts of 2 rows make"):
        ExactReportedLoss().bind(np.array([[1.0, 1.0, 1.0]]), Groups([0, 0]), n_classes=3)
    few = np.array([[[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    with pytest.raises(GroupDataError, match="no counts of 2 rows make"):
        ExactReportedLoss().bind(few, Groups([0, 0]), n_classes=3)
    few[0, 2] = np.nan
    ExactReportedLoss().bind(few, Groups([0, 0]), n_classes=3)


def test_two_classes_and_samples_are_as_before():
    told = np.array([[1.0, 1.0], [0.0, 2.0]])
    groups, score = Groups([0, 0, 0, 1, 1]), np.linspace(-1, 1, 5)
    found = ExactReportedLoss().bind(told, groups).value(score)
    assert found == ReportedCountLoss().bind(told, groups).value(score)
    law, three = Reported(sampled=0.5), np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 2.0]])
    score = np.random.default_rng(0).normal(size=(5, 3))
    found = ExactReportedLoss(law).bind(three, groups, n_classes=3).value(score)
    assert found == ReportedCountLoss(law).bind(three, groups, n_classes=3).value(score)

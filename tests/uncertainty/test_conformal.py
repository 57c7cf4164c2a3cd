"""Sets and intervals around estimators: coverage, words, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from groupwise import ConformalGroupClassifier, ConformalGroupRegressor, HistTrees
from groupwise.exceptions import GroupDataError, UnpromisedWarning
from groupwise.gbdt import GroupBoostClassifier
from groupwise.groups import Groups
from groupwise.measures import ExpectedMeasureClassifier, ThresholdTunedClassifier
from groupwise.proportions import GroupMeansClassifier, GroupMeansRegressor
from groupwise.transfer import FeatureAugmentationClassifier
from groupwise.uncertainty.density_ratio import DensityRatio
from groupwise.uncertainty.held_out import make_folds, split_off, training_data
from groupwise.uncertainty.quantiles import CalibrationScores
from groupwise.uncertainty.share_intervals import whole_bounds
from tests.uncertainty.conftest import make_groups


def within_limits(covered, coverage, n_calibration):
    """Binomial limits of what was covered, with those of the calibration groups."""
    n = len(covered)
    spread = np.sqrt(coverage * (1 - coverage) * (1 / n + 1 / n_calibration))
    return abs(np.mean(covered) - coverage) < 3.5 * spread


@pytest.mark.parametrize("method", ["split", "cross", "jackknife+"])
@pytest.mark.parametrize("conformity", ["plain", "adaptive"])
def test_sets_of_new_groups(plain, method, conformity):
    X, y, groups = make_groups(40 if method == "jackknife+" else 300, seed=3)
    clf = ConformalGroupClassifier(
        plain, method=method, conformity=conformity, validation_fraction=0.5, random_state=0
    ).fit(X, y, groups=groups)
    X_new, y_new, g_new = make_groups(600, seed=4)
    inside = clf.predict_group_sets(X_new, g_new)
    truth = y_new[np.unique(g_new, return_index=True)[1]]
    covered = inside[np.arange(600), truth]
    assert within_limits(covered, 0.9, clf.n_calibration_)
    assert inside.mean() < 0.95  # they say something
    if conformity == "adaptive":
        assert inside[np.arange(600), clf.predictions(X_new, g_new).code_group].all()
    # more coverage, larger sets
    assert (clf.predict_group_sets(X_new, g_new, coverage=0.95) >= inside).all()


def test_split_sets_by_hand(plain):
    X, y, groups = make_groups(60, seed=0)
    clf = ConformalGroupClassifier(plain, method="split", coverage=0.8, random_state=1)
    clf.fit(X, y, groups=groups)
    assert clf.n_calibration_ == 12 == clf.n_effective_
    threshold = np.sort(clf.calibration_.score)[int(np.ceil(0.8 * 13)) - 1]
    by_hand = 1 - clf.predict_groups_proba(X, groups) <= threshold + 1e-12
    assert np.array_equal(clf.predict_group_sets(X, groups), by_hand)
    assert "at least 80%" in clf.guarantee_


def test_per_class_coverage_where_one_class_is_hard(plain):
    def rare(n_groups, seed):
        X, y, groups = make_groups(n_groups, seed, n_classes=3)
        keep = (y < 2) | (groups % 4 == 0)  # a fourth of the third class
        return X[keep], y[keep], groups[keep]

    X, y, groups = rare(600, 0)
    X_new, y_new, g_new = rare(900, 1)
    truth = y_new[np.unique(g_new, return_index=True)[1]]
    clf = ConformalGroupClassifier(plain, per_class=True, cv=3, random_state=0)
    inside = clf.fit(X, y, groups=groups).predict_group_sets(X_new, g_new)
    for code in range(3):
        covered = inside[truth == code, code]
        n = np.count_nonzero(clf.calibration_.code == code)
        assert within_limits(covered, 0.9, n)
    assert "each class" in clf.guarantee_


def make_shares(n_groups, seed):
    rng = np.random.RandomState(seed)
    sizes = rng.randint(2, 40, n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    level = rng.normal(size=n_groups)
    X = np.column_stack(
        [level[groups] + rng.normal(size=len(groups)), rng.normal(size=len(groups))]
    )
    y = (rng.uniform(size=len(groups)) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    return X, y, groups


@pytest.mark.parametrize("conformity", ["plain", "adaptive"])
def test_intervals_of_shares_and_counts(conformity):
    X, y, groups = make_shares(200, 0)
    clf = ConformalGroupClassifier(
        GroupMeansClassifier(), "proportions", conformity=conformity, cv=3, random_state=0
    ).fit(X, y, groups=groups)
    X_new, y_new, g_new = make_shares(500, 1)
    new = Groups(g_new)
    share, count = new.mean(y_new), new.sum(y_new)
    bounds = clf.predict_group_intervals(X_new, g_new)
    covered = (bounds[:, 1, 0] <= share + 1e-12) & (share <= bounds[:, 1, 1] + 1e-12)
    assert within_limits(covered, 0.9, clf.n_calibration_)
    assert np.allclose(bounds[:, 0], 1 - bounds[:, 1, ::-1])  # two classes mirror each other
    of_rows = clf.predict_group_intervals(X_new, g_new, counts=True)
    inside = (of_rows[:, 1, 0] <= count) & (count <= of_rows[:, 1, 1])
    assert np.array_equal(inside, covered)
    width = bounds[:, 1, 1] - bounds[:, 1, 0]
    small = new.sizes < 6
    if conformity == "adaptive":
        assert width[small].mean() > 1.5 * width[~small].mean()


def test_counts_inside_bounds():
    bounds = np.array([[[0.2, 0.7]], [[0.45, 0.55]]])
    found = whole_bounds(bounds, np.array([10, 3]))
    assert found[0, 0].tolist() == [2.0, 7.0]
    assert found[1, 0, 0] == found[1, 0, 1]


@pytest.mark.parametrize("target", ["mean", "total"])
def test_intervals_of_means_and_totals(target):
    def numbers(n_groups, seed):
        X, _, groups = make_shares(n_groups, seed)
        value = 2 * X[:, 0] + np.random.RandomState(seed).standard_t(4, size=len(X))
        known = Groups(groups).sum(value) if target == "total" else Groups(groups).mean(value)
        return X, Groups(groups).spread(known), groups

    X, y, groups = numbers(200, 0)
    reg = ConformalGroupRegressor(GroupMeansRegressor(target=target), cv=3, random_state=0)
    reg.fit(X, y, groups=groups)
    X_new, y_new, g_new = numbers(500, 1)
    truth = y_new[np.unique(g_new, return_index=True)[1]]
    low, high = reg.predict_group_intervals(X_new, g_new).T
    assert within_limits((low <= truth) & (truth <= high), 0.9, reg.n_calibration_)
    size = np.sqrt(np.bincount(g_new))
    unit = size if target == "total" else 1 / size
    assert np.ptp((high - low) / unit) < 0.2 * np.mean((high - low) / unit)


def test_intervals_of_a_split_by_hand():
    X, _, groups = make_shares(50, 2)
    reg = ConformalGroupRegressor(
        GroupMeansRegressor(), method="split", conformity="plain", coverage=0.75, random_state=0
    ).fit(X, X[:, 0], groups=groups)
    half = np.sort(reg.calibration_.score)[int(np.ceil(0.75 * 11)) - 1]
    mean = reg.predict_groups(X, groups)
    by_hand = np.column_stack([mean - half, mean + half])
    assert np.allclose(reg.predict_group_intervals(X, groups), by_hand)


def make_users(n_users, seed):
    """Labelled rows of users, some of whom are hard throughout."""
    rng = np.random.RandomState(seed)
    users = np.repeat(np.arange(n_users), rng.randint(2, 30, n_users))
    y = rng.randint(2, size=len(users))
    noise = np.exp(rng.normal(size=n_users))[users]
    return y[:, None] + noise[:, None] * rng.normal(size=(len(users), 2)), y, users


def test_sets_of_rows_of_new_groups():
    X, y, users = make_users(150, 0)
    inner = ThresholdTunedClassifier(LogisticRegression(), cv=2)
    clf = ConformalGroupClassifier(inner, "measure", cv=3, random_state=0).fit(X, y, groups=users)
    X_new, y_new, new = make_users(600, 1)
    inside = clf.predict_row_sets(X_new, new)
    by_user = Groups(new).mean(inside[np.arange(len(y_new)), y_new])
    # a user counts once, whatever the number of rows
    limit = 3.5 * by_user.std() * np.sqrt(1 / len(by_user) + 1 / clf.n_calibration_)
    assert abs(by_user.mean() - 0.9) < limit
    assert "rows of new groups" in clf.guarantee_
    with pytest.raises(GroupDataError, match="predict_row_sets"):
        clf.predict_group_sets(X_new, new)


def make_domains(n_rows, seed, shift):
    """The same law of y given X everywhere; a domain is another part of the line."""
    rng = np.random.RandomState(seed)
    X = rng.normal(loc=shift, size=(n_rows, 1))
    return X, (rng.uniform(size=n_rows) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)


@pytest.mark.parametrize("weighting", [None, "density_ratio"])
def test_sets_of_rows_of_the_target_domain(weighting):
    X_source, y_source = make_domains(800, 0, shift=1.5)  # mostly easy
    X_target, y_target = make_domains(100, 1, shift=0.0)
    X, y = np.concatenate([X_source, X_target]), np.concatenate([y_source, y_target])
    domains = np.repeat(["old", "new"], [800, 100])
    inner = FeatureAugmentationClassifier(HistTrees(max_depth=2))
    clf = ConformalGroupClassifier(
        inner, "transfer", weighting=weighting, target_domain="new", random_state=0
    ).fit(X, y, domains=domains)
    X_new, y_new = make_domains(2000, 2, shift=0.0)
    covered = clf.predict_row_sets(X_new)[np.arange(2000), y_new]
    # at least: trees of few leaves leave many ties
    assert covered.mean() > 0.9 - 3.5 * np.sqrt(0.09 / clf.n_effective_)
    if weighting is None:
        assert clf.n_calibration_ == clf.n_effective_ == 100
    else:
        assert clf.n_calibration_ == 900
        assert 100 < clf.n_effective_ < 600
        assert "density ratio" in clf.guarantee_


def test_rows_under_group_labels_are_refused(plain):
    X, y, groups = make_groups(40, seed=0)
    clf = ConformalGroupClassifier(plain, random_state=0).fit(X, y, groups=groups)
    with pytest.raises(GroupDataError, match="nothing can be promised of single rows"):
        clf.predict_row_sets(X, groups)
    with pytest.raises(GroupDataError, match="kind='majority'"):
        clf.predict_group_intervals(X, groups)


def test_too_few_groups_are_told_and_get_the_whole_set(plain):
    X, y, groups = make_groups(8, seed=1)
    clf = ConformalGroupClassifier(plain, cv=2, random_state=0)
    with pytest.warns(UnpromisedWarning, match="8 groups to calibrate on: it takes 9"):
        clf.fit(X, y, groups=groups)
    assert clf.predict_group_sets(X, groups).all()
    assert clf.guarantee_.startswith("nothing")
    reg = ConformalGroupRegressor(GroupMeansRegressor(), cv=2, random_state=0)
    with pytest.warns(UnpromisedWarning):
        reg.fit(X, X[:, 0], groups=groups)
    assert np.isinf(reg.predict_group_intervals(X, groups)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coverage": 1.0}, "coverage"),
        ({"method": "loo"}, "method"),
        ({"conformity": "best"}, "conformity"),
        ({"kind": "rows"}, "kind"),
        ({"kind": "proportions", "per_class": True}, "per_class"),
        ({"weighting": "density_ratio"}, "transfer"),
    ],
)
def test_parameters_that_make_no_sense(plain, changes, message):
    X, y, groups = make_groups(20, seed=0)
    with pytest.raises(ValueError, match=message):
        ConformalGroupClassifier(plain).set_params(**changes).fit(X, y, groups=groups)


def test_one_group_and_one_class_are_told(plain):
    X, y, groups = make_groups(20, seed=0)
    clf = ConformalGroupClassifier(plain)
    with pytest.raises(GroupDataError, match="one class only"):
        clf.fit(X, np.zeros(len(X)), groups=groups)
    with pytest.raises(GroupDataError, match="two groups at least"):
        ConformalGroupRegressor(GroupMeansRegressor()).fit(X, X[:, 0], groups=np.zeros(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        clf.fit(np.where(X > 2, np.nan, X), y, groups=groups)


def test_coarser_units_are_kept_whole_and_count_once(plain):
    X, y, groups = make_groups(80, seed=0)
    users = groups // 4
    clf = ConformalGroupClassifier(plain, cv=4, random_state=0)
    clf.fit(X, y, groups=groups, keep_whole=users)
    known = clf.calibration_
    assert clf.n_calibration_ == 20
    assert all(len(np.unique(known.fold[known.unit == unit])) == 1 for unit in range(20))
    assert np.allclose(np.bincount(known.unit, known.weight), 1.0)


def test_held_out_answers_calibrate_and_coarser_units_count_once(plain):
    X, y, groups = make_groups(60, seed=0)
    model = plain.fit(X, y, groups=groups)
    proba, code = model.predict_groups_proba(X, groups), y[Groups(groups).first_rows]
    made = ConformalGroupClassifier.from_held_out(model, "majority", proba, code, coverage=0.8)
    threshold = np.sort(1 - proba[np.arange(60), code])[int(np.ceil(0.8 * 61)) - 1]
    assert np.array_equal(made.predict_group_sets(X, groups), 1 - proba <= threshold)
    coarse = ConformalGroupClassifier.from_held_out(
        model, "majority", proba, code, keep_whole=np.arange(60) // 3
    )
    assert (made.n_calibration_, coarse.n_calibration_) == (60, 20)


def test_intervals_from_held_out_numbers_by_hand():
    X, _, groups = make_shares(60, 2)
    model = GroupMeansRegressor().fit(X, X[:, 0], groups=groups)
    sizes, said = np.bincount(groups), model.predict_groups(X, groups)
    known = said + np.arange(60) / np.sqrt(sizes)
    made = ConformalGroupRegressor.from_held_out(model, said, known, sizes, coverage=0.8)
    half = (np.ceil(0.8 * 61) - 1) / np.sqrt(sizes)
    by_hand = np.column_stack([said - half, said + half])
    np.testing.assert_allclose(made.predict_group_intervals(X, groups), by_hand)
    np.testing.assert_array_equal(made.predict_groups(X, groups), said)
    assert made.guarantee_ == "about 80% of new groups drawn as these were"
    coarse = ConformalGroupRegressor.from_held_out(
        model, said, known, sizes, keep_whole=np.arange(60) // 3
    )
    assert (made.n_calibration_, coarse.n_calibration_) == (60, 20)


def test_folds_hold_every_row_out_once():
    X, y, groups = make_groups(30, seed=0)
    data = training_data(X, X, y, Groups(groups), keep_whole=groups // 3)
    splits = make_folds(data, 4, np.random.RandomState(0))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(X)))
    for train, test in splits:
        assert not set(data.whole.codes[train]) & set(data.whole.codes[test])
        assert np.array_equal(np.union1d(train, test), np.arange(len(X)))
        part, known = data.groups_of(test), Groups(data.groups.codes[test])
        assert np.array_equal(part.codes, known.codes)
        assert np.array_equal(data.groups.codes[test[part.first_rows]], known.names)
        assert np.array_equal(data.rows(test), data.X[test])


def test_rows_of_other_domains_are_never_held_out():
    X, y, groups = make_groups(20, seed=1)
    data = training_data(X, X, y, Groups(groups), counted=groups < 5)
    for train, test in make_folds(data, 3, np.random.RandomState(0)):
        assert data.counted[test].all()
        assert np.isin(np.flatnonzero(~data.counted), train).all()


def test_weights_of_the_density_ratio_put_a_shift_right():
    """Scores that grow with x, calibrated where x is small."""
    rng = np.random.RandomState(0)
    weighted, plainly = [], []
    for _ in range(60):
        x_pool = rng.normal(size=(400, 1)) + np.repeat([0.0, 1.0], [300, 100])[:, None]
        is_target = np.repeat([False, True], [300, 100])
        x_new = rng.normal(loc=1.0, size=(200, 1))
        score, new = (np.abs(rng.normal(size=len(x))) * np.exp(x[:, 0]) for x in (x_pool, x_new))
        ratio = DensityRatio.fit(x_pool, is_target)
        unit = np.arange(400)
        known = CalibrationScores.of_units(score, unit, ratio=ratio.weights(x_pool))
        weighted.append(known.keeps(new[None], 0.9, ratio.weights(x_new)).mean())
        known = CalibrationScores.of_units(score, unit)
        plainly.append(known.keeps(new[None], 0.9).mean())
    spread = 3.5 * np.std(weighted) / np.sqrt(60)
    assert abs(np.mean(weighted) - 0.9) < spread
    assert np.mean(plainly) < 0.9 - spread


@pytest.mark.parametrize("n_groups", [60, 2000])  # columns of few rows are not sorted beforehand
@pytest.mark.parametrize("method", ["cross", "split"])
def test_models_of_folds_are_plain_fits_to_the_other_groups(n_groups, method):
    X, y, groups = make_groups(n_groups, 0)
    X = np.column_stack([X, np.maximum(X[:, 0], 0.0), np.where(X[:, 1] > 1.0, np.nan, X[:, 1])])
    inside = GroupBoostClassifier("presence", n_estimators=10, random_state=0)
    clf = ConformalGroupClassifier(inside, "presence", method=method, cv=3, random_state=0)
    clf.fit(X, y, groups=groups)
    data = training_data(X, X, y, Groups(groups))
    rng = np.random.RandomState(0)
    splits = split_off(data, 0.2, rng) if method == "split" else make_folds(data, 3, rng)
    for model, (train, _) in zip(clf.models_, splits, strict=True):
        plain = clone(inside).fit(data.X[train], data.y[train], groups=data.groups.codes[train])
        assert model.ensemble_.parts[0].text == plain.ensemble_.parts[0].text
    if method == "cross":
        whole = clone(inside).fit(data.X, data.y, groups=data.groups.codes)
        assert clf.estimator_.ensemble_.parts[0].text == whole.ensemble_.parts[0].text


def test_an_adaptive_set_holds_the_class_that_is_predicted_in_view_of_the_group():
    """The cut of a group may decide otherwise than the larger probability."""
    rng = np.random.RandomState(0)
    user = np.repeat(np.arange(60), 20)
    X = rng.normal(size=(1200, 2))
    y = (X[:, 0] + rng.normal(size=1200) > 1.2).astype(int)
    model = ConformalGroupClassifier(
        ExpectedMeasureClassifier(random_state=0),
        kind="measure",
        coverage=0.5,
        conformity="adaptive",
        random_state=0,
    ).fit(X, y, groups=user)
    found = model.predictions(X, user)
    assert (found.code_row != found.proba_row.argmax(axis=1)).any()
    inside = model.predict_row_sets(X, user)
    assert inside[np.arange(1200), found.code_row].all()

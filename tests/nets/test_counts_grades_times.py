"""Networks on counts, grades, survival times, quantiles and reported counts of groups."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from groupwise import Groups, load_model, save_model
from groupwise.exceptions import GroupDataError
from groupwise.losses import (
    CoxLoss,
    ExactReportedLoss,
    GroupQuantileLoss,
    NegativeBinomialTotalLoss,
    OrdinalLoss,
    PresenceLabelsLoss,
    Reported,
    ReportedCountLoss,
)
from groupwise.model_selection import WholeGroupKFold
from groupwise.nets import GroupNetClassifier, GroupNetRegressor, fit_folds
from groupwise.nets.passes import standardise
from groupwise.targets import GroupTargets
from tests.nets.test_estimators import without_torch

PLAIN = {"device": "cpu", "random_state": 0, "dropout": 0.0, "n_members": 1}
SMALL = PLAIN | {"encoder": (8,), "epochs": 8, "n_members": 2}
LINEAR = PLAIN | {"encoder": (), "alpha": 0.0, "epochs": 300, "learning_rate": 0.1}
REPORTS = ReportedCountLoss(Reported("geometric", 0.5, suppressed_below=1))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), rng.integers(1, 6, size=60))
    X = rng.normal(size=(len(groups), 3))
    return X, groups, Groups(groups), rng.uniform(0.5, 3.0, size=len(groups))


def seen(X):
    """Rows as networks see them."""
    return standardise(X, X.mean(axis=0), X.std(axis=0))


def known(kind, rows):
    """What is known of the groups, on each row."""
    X, _, encoded, exposure = rows
    rng = np.random.default_rng(1)
    if kind in ("poisson", "negative_binomial"):
        return encoded.spread(1.0 * rng.poisson(encoded.sum(exposure * np.exp(X[:, 0]))))
    latent = 3 * encoded.mean(X[:, 0]) + rng.logistic(size=encoded.n_groups)
    if kind == "ordinal":
        return encoded.spread(np.digitize(latent, [-1.0, 1.0]))
    if kind == "cox":
        time = rng.exponential(np.exp(-latent)) + 0.01
        return encoded.spread(np.where(rng.uniform(size=len(time)) < 0.3, -time, time))
    if kind == "reported":
        count = encoded.sum(1.0 * (X[:, 0] + rng.logistic(size=len(X)) > 0))
        told = count + rng.choice([-1, 0, 0, 0, 1], size=len(count))
        return encoded.spread(np.where(told < 1, np.nan, told))
    return encoded.spread(latent)


MODELS = {
    "poisson": GroupNetRegressor("total", loss="poisson"),
    "negative_binomial": GroupNetRegressor("total", loss="negative_binomial"),
    "absolute": GroupNetRegressor(loss="absolute_error"),
    "quantile": GroupNetRegressor(loss=GroupQuantileLoss(0.8)),
    "cox": GroupNetRegressor(loss="cox"),
    "worst": GroupNetRegressor(loss=CoxLoss(2.0)),
    "ordinal": GroupNetClassifier("ordinal"),
    "reported": GroupNetClassifier(REPORTS),
}
POOLED = [kind for kind in MODELS if kind != "reported"]


def fitted(kind, rows, **settings):
    """A model with its data, and exposures where it takes them."""
    X, groups, _, exposure = rows
    y = known({"worst": "cox"}.get(kind, kind), rows)
    extra = {"exposure": exposure} if kind in ("poisson", "negative_binomial") else {}
    model = clone(MODELS[kind]).set_params(**settings)
    return model.fit(X, y, groups=groups, **extra), y, extra


def scores(model, rows):
    """Scores that a loss is bound to: of rows, in its own units."""
    found, of_groups = model._scores(rows[0], rows[2], asked=True)
    score = found if of_groups is None else of_groups
    return getattr(model, "shift_", 0.0) + getattr(model, "unit_", 1.0) * score[:, 0]


@pytest.mark.parametrize("kind", list(MODELS))
def test_without_layers_it_finds_the_best_linear_scores(rows, kind):
    """The least loss of linear scores, as a general optimiser finds it on the numpy loss."""
    X, _, encoded, exposure = rows
    model, y, extra = fitted(kind, rows, **LINEAR)
    y_row = y
    if kind in ("poisson", "negative_binomial"):
        y_row = y / encoded.spread(encoded.sizes)
    if kind == "reported":
        y_row = np.column_stack([y, y])
    classes = np.unique(y) if kind == "ordinal" else None
    classes = np.arange(2) if kind == "reported" else classes
    exposure_row = exposure if extra else None
    data = GroupTargets(X, y_row, encoded, classes=classes, exposure_row=exposure_row)
    bound = data.bind(model.loss_)
    design = np.column_stack([seen(X), np.ones(len(X))])

    def value_and_gradient(weights):
        return bound.value(design @ weights), design.T @ bound.gradient(design @ weights)

    best = minimize(value_and_gradient, np.zeros(4), jac=True, method="BFGS")
    reached = bound.value(scores(model, rows))
    assert reached == pytest.approx(best.fun, rel=2e-3, abs=2e-3 * len(X))
    start = bound.value(np.full(len(X), bound.init_score()[0]))
    assert reached < start - 0.5 * (start - best.fun)


def test_groups_of_one_give_poisson_regression(rows):
    X, _, _, exposure = rows
    count = np.random.default_rng(2).poisson(exposure * np.exp(0.5 * X[:, 0]))
    model = GroupNetRegressor("total", loss="poisson", **LINEAR)
    model.fit(X, 1.0 * count, groups=np.arange(len(X)), exposure=exposure)
    wanted = PoissonRegressor(alpha=0.0, tol=1e-8)
    wanted.fit(seen(X), count / exposure, sample_weight=exposure)
    np.testing.assert_allclose(model.predict(X), wanted.predict(seen(X)), rtol=1e-2)


def test_two_grades_of_groups_of_one_give_logistic_regression(rows):
    X = rows[0]
    y = (X[:, 0] + np.random.default_rng(3).logistic(size=len(X)) > 0).astype(int)
    model = GroupNetClassifier("ordinal", **LINEAR).fit(X, y, groups=np.arange(len(X)))
    wanted = LogisticRegression(C=1e8).fit(seen(X), y).predict_proba(seen(X))
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-2)


def test_a_pooled_rate_is_poisson_regression_on_means_with_the_groups_exposure(rows):
    X, groups, encoded, exposure = rows
    model, y, extra = fitted("poisson", rows, pooling="mean", **LINEAR)
    total, whole = y[encoded.first_rows], encoded.sum(exposure)
    wanted = PoissonRegressor(alpha=0.0, tol=1e-8)
    wanted.fit(encoded.mean(seen(X)), total / whole, sample_weight=whole)
    rate = wanted.predict(encoded.mean(seen(X)))
    np.testing.assert_allclose(model.predict_groups(X, groups), rate * encoded.sizes, rtol=2e-2)
    residual = total - rate * whole
    r2 = 1.0 - (residual**2).sum() / ((total - total.mean()) ** 2).sum()
    assert model.score(X, y, groups, **extra) == pytest.approx(r2, abs=0.02)
    assert (model.predict(X, groups) >= 0.0).all()


@pytest.mark.parametrize("kind", POOLED)
@pytest.mark.parametrize("pooling", ["mean_max", "attention"])
def test_pooled_groups_and_their_rows_answer(rows, kind, pooling):
    X, groups, encoded, _ = rows
    settings = SMALL | {"epochs": 150, "learning_rate": 0.02}
    model, y, extra = fitted(kind, rows, pooling=pooling, **settings)
    assert model.score(X, y, groups, **extra) > (0.6 if kind in ("cox", "ordinal") else 0.3)
    found = model.predictions(X, groups)
    alone = model.predictions(X, np.arange(len(X)))
    np.testing.assert_array_equal(alone.y_row, alone.y_group)
    single = encoded.spread(encoded.sizes) == 1
    np.testing.assert_allclose(found.y_row[single], alone.y_row[single])


@pytest.mark.parametrize("kind", list(MODELS))
def test_rows_decide_for_their_groups_as_the_loss_says(rows, kind):
    X, groups, encoded, exposure = rows
    settings = SMALL | {"epochs": 150, "learning_rate": 0.02}
    model, y, extra = fitted(kind, rows, **settings)
    found = model.predictions(X, groups)
    if kind in ("ordinal", "reported"):
        wanted = model.loss_.proba_groups(model.decision_function(X), encoded)
        np.testing.assert_allclose(found.proba_group, wanted)
        assert model.score(X, y, groups) > 0.6
        return
    wanted = model.loss_.combine(found.y_row, encoded, target=model.target_)
    np.testing.assert_allclose(found.y_group, wanted)
    assert model.score(X, y, groups, **extra) > 0.3
    if extra:
        assert (found.y_row > 0).all()
        counted = encoded.sum(found.y_row * exposure)
        total = y[encoded.first_rows]
        r2 = 1.0 - ((total - counted) ** 2).sum() / ((total - total.mean()) ** 2).sum()
        assert model.score(X, y, groups, **extra) == pytest.approx(r2)


@pytest.mark.parametrize("kind", list(MODELS))
def test_folds_at_once_are_the_folds_alone(rows, kind):
    """Dispersions, corners, thresholds and risk sets are those of a fold's training groups."""
    X, groups, _, _ = rows
    model, y, extra = fitted(kind, rows, **PLAIN, encoder=(4,), epochs=15)
    folds = fit_folds(model, X, y, groups=groups, cv=3, **extra)
    train = folds[0].train
    alone = clone(model).fit(
        X[train], y[train], groups=groups[train], **{k: v[train] for k, v in extra.items()}
    )
    one, other = (each.predictions(X, groups) for each in (folds[0].model, alone))
    name = "proba_group" if kind in ("ordinal", "reported") else "y_row"
    # the units of numbers are those of all groups
    close = 2e-2 if kind in ("absolute", "quantile") else 1e-3
    np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=close, atol=close)


@pytest.mark.parametrize("kind", list(MODELS))
def test_stopped_early_continued_and_stored(rows, kind, tmp_path, monkeypatch):
    X, groups, _, _ = rows
    settings = SMALL | {"early_stopping": True, "n_iter_no_change": 50, "epochs": 20}
    whole, y, extra = fitted(kind, rows, **settings)
    assert np.isfinite(whole.history_["valid"]).all() and whole.n_iter_ <= 20
    assert whole.history_["valid"][-1] != whole.history_["valid"][0]
    model = clone(whole).set_params(checkpoint=str(tmp_path / "state.npz"))
    model.fit(X, y, groups=groups, callbacks=[lambda progress: progress.epoch == 10], **extra)
    went_on = model.fit(X, y, groups=groups, **extra)
    assert went_on.history_ == whole.history_
    wanted = whole.predictions(X, groups)
    np.testing.assert_array_equal(went_on.predictions(X, groups).y_row, wanted.y_row)
    save_model(whole, tmp_path / "net.skops")
    without_torch(monkeypatch)
    loaded = load_model(tmp_path / "net.skops")
    found = loaded.predictions(X, groups)
    np.testing.assert_array_equal(found.y_row, wanted.y_row)
    np.testing.assert_array_equal(found.y_group, wanted.y_group)
    assert loaded.score(X, y, groups, **extra) == whole.score(X, y, groups, **extra)


def test_a_checkpoint_knows_its_counts_and_exposures(rows, tmp_path):
    X, groups, _, exposure = rows
    y = known("poisson", rows)
    model = clone(MODELS["poisson"]).set_params(checkpoint=str(tmp_path / "state.npz"), **SMALL)
    model.fit(X, y, groups=groups, exposure=exposure)
    with pytest.raises(ValueError, match="another training"):
        model.fit(X, y, groups=groups, exposure=2.0 * exposure)
    with pytest.raises(ValueError, match="another training"):
        model.fit(X, y + 1.0, groups=groups, exposure=exposure)


def test_held_out_groups_are_in_no_risk_set_of_training(rows):
    """Training with groups held out is training on the others."""
    X, groups, _, _ = rows
    y = known("cox", rows)
    model = GroupNetRegressor(
        loss="cox", early_stopping=True, **PLAIN | {"encoder": (), "epochs": 1}
    )
    wanted = model.fit(X, y, groups=groups).history_["train"]
    unmoved = 0
    for group in range(60):
        first, last = (np.where(groups == group, np.sign(y) * time, y) for time in (1e-6, 1e6))
        unmoved += all(
            clone(model).fit(X, other, groups=groups).history_["train"] == wanted
            for other in (first, last)
        )
    assert unmoved == 12  # a fifth, whose times do not matter
    with pytest.raises(GroupDataError, match="none of 60 groups had the event"):
        model.fit(X, -np.abs(y), groups=groups)


def test_thresholds_are_of_the_averaged_members(rows):
    X, groups, encoded, _ = rows
    model, y, _ = fitted("ordinal", rows, **SMALL)
    bound = OrdinalLoss().bind(y[encoded.first_rows], encoded, n_classes=3)
    wanted = bound.learned(OrdinalLoss(), model.decision_function(X)).thresholds_
    np.testing.assert_allclose(model.loss_.thresholds_, wanted, rtol=1e-9)
    assert model.loss == "ordinal" and OrdinalLoss().thresholds_ == ()
    pooled, _, _ = fitted("ordinal", rows, **SMALL, pooling="mean")
    assert len(pooled.loss_.thresholds_) == 2
    weighted = pooled.fit(X, y, groups=groups, sample_weight=1.0 + (groups % 2))
    assert len(weighted.loss_.thresholds_) == 2


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (GroupNetRegressor(loss="cox", batch_groups=5), "cox", "batch_groups must be None"),
        (GroupNetClassifier("ordinal", batch_groups=0.5), "ordinal", "batch_groups must be None"),
        (GroupNetRegressor("total", loss="cox"), "cox", "no total"),
        (GroupNetRegressor(loss="huber"), "cox", "squared_error"),
        (GroupNetClassifier(REPORTS, pooling="mean"), "reported", "pooling must be None"),
        (GroupNetClassifier(ExactReportedLoss(REPORTS.reported)), "reported", "are trained on"),
        (GroupNetClassifier(PresenceLabelsLoss()), "ordinal", "several labels"),
        (GroupNetRegressor(loss=NegativeBinomialTotalLoss(-1.0)), "poisson", "dispersion"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(rows, model, target, message):
    X, groups, _, _ = rows
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**SMALL).fit(X, known(target, rows), groups=groups)


def test_targets_that_make_no_sense_are_refused(rows):
    X, groups, _, exposure = rows
    total = known("poisson", rows)
    for pooling in (None, "mean"):
        counts = GroupNetRegressor("total", loss="poisson", pooling=pooling, **SMALL)
        with pytest.raises(GroupDataError, match="must not be negative"):
            counts.fit(X, total - 100.0, groups=groups)
        times = GroupNetRegressor(loss="cox", pooling=pooling, **SMALL)
        with pytest.raises(GroupDataError, match="must not be zero"):
            times.fit(X, np.zeros(len(X)), groups=groups)
    with pytest.raises(GroupDataError, match="positive number on every row"):
        counts.fit(X, total, groups=groups, exposure=0.0 * exposure)
    plain = GroupNetRegressor("total", **SMALL)
    with pytest.raises(ValueError, match="losses of counts"):
        plain.fit(X, total, groups=groups, exposure=exposure)
    with pytest.raises(ValueError, match="losses of counts"):
        plain.fit(X, total, groups=groups).score(X, total, groups, exposure=exposure)
    grade = np.where(groups == 7, 5, groups % 2)
    folds = WholeGroupKFold(3, stratify=False)
    with pytest.raises(GroupDataError, match="every class needs a group"):
        fit_folds(GroupNetClassifier("ordinal", **SMALL), X, grade, groups=groups, cv=folds)

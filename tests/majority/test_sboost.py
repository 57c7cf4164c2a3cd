"""SBoost against its paper (Jin and Liu 2005), its parent AdaBoost, and itself."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from groupwise import Groups, HistTrees, NaiveGroupClassifier, SBoostClassifier
from groupwise.boosting import LinearLearner, step_size
from groupwise.datasets import GroupedData, load_uci, make_sessions, make_triangle_sessions
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.model_selection import group_train_test_split

STUMP = DecisionTreeClassifier(max_depth=1)
TREE = DecisionTreeClassifier(max_depth=3)
LEARNERS = [STUMP, TREE, HistTrees(2, n_jobs=1), LogisticRegression()]


def fit(data, **options):
    options = {"random_state": 0, **options}
    return SBoostClassifier(**options).fit(data.X, data.y, groups=data.groups)


def hypotheses(model, data):
    """What each round says of the rows, -1 or +1, by the steps of the score (alphas > 0)."""
    stages = [np.zeros(len(data.X)), *model.staged_decision_function(data.X)]
    return [np.sign(after - before) for before, after in pairwise(stages)]


def replay(model, data, said=None):
    """Figure 3 written out as in the paper, with the model's own hypotheses."""
    groups, gamma = Groups(data.groups), model.gamma
    y = np.where(data.y == model.classes_[1], 1.0, -1.0)
    H, H_before = np.zeros(len(y)), []
    alphas, losses = [], []
    for h in hypotheses(model, data) if said is None else said:
        g = np.exp(-gamma / groups.sizes * groups.sum(y * H))  # step 3
        a = groups.sum(np.exp(-H * y))
        losses.append((g * a).sum())
        b = groups.sum(y * h * np.exp(-H * y)) + a * gamma / groups.sizes * groups.sum(y * h)
        ratio = (g * ((1 + gamma) * a + b)).sum() / (g * ((1 + gamma) * a - b)).sum()
        alphas.append(math.log(ratio) / (2 * (1 + gamma)))  # step 4, eq. (9)
        H_before.append(H)
        H = H + alphas[-1] * h  # step 6
    g = np.exp(-gamma / groups.sizes * groups.sum(y * H))
    e = np.exp(-H * y)
    D = groups.spread(g) * (e + gamma * groups.spread(groups.sum(e) / groups.sizes))  # step 5, H_t
    losses.append((g * groups.sum(e)).sum())
    return np.array(alphas), np.array(losses), H, D / D.sum()


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("gamma", [0.0, 1.0, 4.0])
def test_every_number_is_that_of_figure_3(sessions, learner, gamma):
    model = fit(sessions, estimator=learner, gamma=gamma, n_estimators=8)
    alphas, losses, H, D = replay(model, sessions)
    np.testing.assert_allclose(model.estimator_weights_, [alphas], rtol=1e-10)
    np.testing.assert_allclose(np.exp(model.history_["log_loss"]), [losses], rtol=1e-10)
    np.testing.assert_allclose(model.decision_function(sessions.X), H, atol=1e-12)
    np.testing.assert_allclose(model.row_weights_, [D], rtol=1e-9)


def test_first_alpha_in_exact_arithmetic():
    """Two sessions of three rows and a threshold that is wrong on one row of six."""
    X = np.array([[1.0], [2.0], [5.0], [6.0], [7.0], [8.0]])
    model = SBoostClassifier(STUMP, n_estimators=1, gamma=3.0).fit(
        X, [0, 0, 0, 1, 1, 1], groups=[0, 0, 0, 1, 1, 1]
    )
    assert model.estimator_errors_.tolist() == [[0]]
    y = [0, 0, 1, 0, 1, 1]  # as rows: one wrong for any threshold
    model = SBoostClassifier(STUMP, n_estimators=1, gamma=3.0).fit(X, y, groups=np.arange(6))
    error = Fraction(1, 6)
    assert np.isclose(model.estimator_errors_[0, 0], float(error), rtol=1e-12)
    assert np.isclose(
        model.estimator_weights_[0, 0], math.log((1 - error) / error) / (2 * 4), rtol=1e-12
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("gamma", [0.0, 4.0, 50.0])
def test_loss_falls_as_the_bound_says(sessions, learner, gamma):
    model = fit(sessions, estimator=learner, gamma=gamma)
    r = 1 - 2 * model.estimator_errors_
    fall = np.diff(model.history_["log_loss"])
    assert (fall <= 0.5 * np.log1p(-np.minimum(r**2, 1 - 1e-15)) + 1e-9).all()
    assert (fall <= 0).all()


@pytest.mark.parametrize("multiclass_step", [3, 5])
def test_samme_step_minimises_its_bound(multiclass_step):
    """The bound (1-eps) e^{-b/(K-1)} + eps e^{b/(K-1)^2}, b = (1+gamma) alpha, is least there."""
    K, gamma, error = multiclass_step, 2.0, 0.3

    def bound(alpha):
        b = (1 + gamma) * alpha
        return (1 - error) * np.exp(-b / (K - 1)) + error * np.exp(b / (K - 1) ** 2)

    alpha = step_size(error, K, gamma)
    assert bound(alpha) < min(bound(alpha * 0.999), bound(alpha * 1.001)) + 1e-15
    assert bound(alpha) < 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("gamma", "grouped"), [(0.0, True), (4.0, False), (0.5, False)])
def test_reduces_to_adaboost(seed, gamma, grouped):
    """gamma = 0 with any groups, or any gamma without: the same trees, alphas in proportion."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(150, 3))
    groups = np.arange(150) // 3
    y = (X[:, 0] + X[:, 1] + rng.normal(size=150) > 0).astype(int)
    if grouped:
        y = y[groups * 3]
    ours = SBoostClassifier(TREE, n_estimators=10, gamma=gamma, random_state=seed)
    ours.fit(X, y, groups=groups if grouped else np.arange(150))
    theirs = AdaBoostClassifier(TREE, n_estimators=10, random_state=seed).fit(X, y)
    assert len(ours.ensemble_.estimators) == len(theirs.estimators_) == ours.n_iter_ == 10
    for mine, other in zip(ours.ensemble_.estimators, theirs.estimators_, strict=True):
        np.testing.assert_array_equal(mine.predict(X), other.predict(X))
    np.testing.assert_allclose(
        ours.estimator_weights_[0] * 2 * (1 + gamma), theirs.estimator_weights_, rtol=1e-6
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if seed == 0:  # with others, equally good splits are on other features
        np.testing.assert_allclose(
            ours.feature_importances_, theirs.feature_importances_, rtol=1e-6
        )


def test_importances_are_gains_weighted_by_alphas():
    """Stumps: a round's gain is all on one feature, so each feature has its rounds' alphas."""
    rng = np.random.default_rng(5)
    X, groups = rng.normal(size=(300, 3)), np.arange(300) // 3
    y = (X[:, 0] + 0.7 * X[:, 2] > 0).astype(int)[groups * 3]
    model = SBoostClassifier(HistTrees(max_depth=1), n_estimators=8).fit(X, y, groups=groups)
    by_round = model.ensemble_.importances(3)
    assert (by_round.max(axis=1) == 1.0).all()
    alpha = model.estimator_weights_[0]
    by_hand = [alpha[by_round[:, k] == 1.0].sum() / alpha.sum() for k in range(3)]
    np.testing.assert_allclose(model.feature_importances_, by_hand, rtol=1e-12)
    with pytest.raises(AttributeError, match="no feature importances"):
        _ = (
            model.set_params(estimator=LinearLearner(), n_estimators=1)
            .fit(X, y, groups=groups)
            .feature_importances_
        )


def test_samme_without_groups_is_adaboost_samme():
    data = make_triangle_sessions(60, random_state=0)
    ours = SBoostClassifier(TREE, gamma=2.0, n_estimators=6, multiclass="samme", random_state=1)
    ours.fit(data.X, data.y_row, groups=np.arange(len(data.X)))
    theirs = AdaBoostClassifier(TREE, n_estimators=6, random_state=1).fit(data.X, data.y_row)
    K = 4
    np.testing.assert_allclose(
        ours.estimator_weights_[0] * 3 * K / (K - 1) ** 2, theirs.estimator_weights_, rtol=1e-6
    )
    np.testing.assert_array_equal(ours.predict(data.X), theirs.predict(data.X))


def test_samme_with_two_classes_is_the_paper(sessions):
    one, other = fit(sessions, estimator=TREE), fit(sessions, estimator=TREE, multiclass="samme")
    np.testing.assert_array_equal(
        one.decision_function(sessions.X), other.decision_function(sessions.X)
    )


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_label_names_do_not_matter_and_a_flip_mirrors(sessions, learner):
    score = fit(sessions, estimator=learner).decision_function(sessions.X)
    named = replace(sessions, y=np.array(["left", "right"])[sessions.y])
    np.testing.assert_array_equal(
        fit(named, estimator=learner).decision_function(sessions.X), score
    )
    flipped = replace(sessions, y=1 - sessions.y)
    np.testing.assert_allclose(
        fit(flipped, estimator=learner).decision_function(sessions.X), -score, atol=1e-6
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("gamma", "learner"),
    [(gamma, HistTrees(1, n_jobs=1)) for gamma in (0.0, 4.0, 1000.0)],
    ids=repr,
)
def test_separable_groups_a_thousand_rounds(gamma, learner):
    """Every session separable, no stump perfect: margins grow without end."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(80, 2))
    groups = np.arange(80) // 4
    y = (X.sum(axis=1) > 0).astype(int)[groups * 4]
    X += np.where(y == 1, 0.8, -0.8)[:, None]
    model = SBoostClassifier(learner, n_estimators=1000, gamma=gamma).fit(X, y, groups=groups)
    losses = model.history_["log_loss"]
    for values in (losses, model.estimator_weights_, model.row_weights_):
        assert np.isfinite(values).all()
    assert (np.diff(losses) <= 1e-9).all()
    assert np.isfinite(model.predict_groups_proba(X, groups=groups)).all()


def test_a_perfect_hypothesis_ends_it():
    X = np.arange(6.0)[:, None]
    model = SBoostClassifier(STUMP).fit(X, [0, 0, 0, 1, 1, 1], groups=[0, 0, 0, 1, 1, 1])
    assert model.estimator_weights_.shape == (1, 1)
    assert np.isfinite(model.estimator_weights_[0, 0])
    assert model.score(X, [0, 0, 0, 1, 1, 1], groups=[0, 0, 0, 1, 1, 1]) == 1


@pytest.mark.parametrize("learner", [STUMP, HistTrees()], ids=repr)
def test_a_hypothesis_no_better_than_chance_ends_it(learner):
    X, y = np.zeros((4, 1)), [0, 0, 1, 1]
    model = SBoostClassifier(learner).fit(X, y, groups=[0, 0, 1, 1])
    assert model.n_iter_ == 0
    assert model.estimator_weights_.shape == model.estimator_errors_.shape == (1, 0)
    assert model.history_["log_loss"].shape == (1, 1)
    np.testing.assert_array_equal(model.predict_proba(X), np.full((4, 2), 0.5))
    assert list(model.staged_score(X, y, groups=[0, 0, 1, 1])) == []


def test_staged_scores_end_at_the_score(sessions):
    model = fit(sessions, estimator=TREE)
    given = (sessions.X, sessions.y)
    stages = list(model.staged_score(*given, groups=sessions.groups))
    assert len(stages) == len(model.ensemble_.estimators) == model.n_iter_
    assert stages[-1] == model.score(*given, groups=sessions.groups)


def test_sampling_by_weight_learns_too(sessions):
    model = fit(sessions, estimator=GaussianNB(), resample=True)
    assert model.score(sessions.X, sessions.y, groups=sessions.groups) > 0.8
    other = fit(sessions, estimator=GaussianNB(), resample=True, random_state=1)
    assert not np.array_equal(model.estimator_weights_, other.estimator_weights_)


@pytest.mark.parametrize("seed", range(5))
def test_sampling_goes_on_after_a_hypothesis_no_better_than_a_coin(seed):
    """Figure 3 has no stop: all 30 rounds on labels of pure noise, alphas of either sign."""
    rng = np.random.RandomState(seed)
    groups = np.repeat(np.arange(12), 5)
    y = rng.permutation(np.arange(12) % 2)[groups]
    noise = GroupedData(rng.randint(2, size=(60, 1)).astype(float), y, groups)
    model = fit(noise, estimator=STUMP, resample=True, random_state=seed)
    assert model.n_iter_ == 30
    said = [2.0 * tree.predict(noise.X) - 1.0 for tree in model.ensemble_.estimators]
    alphas, losses, H, D = replay(model, noise, said)
    assert (model.estimator_weights_ < 0).any()
    np.testing.assert_allclose(model.estimator_weights_, [alphas], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.exp(model.history_["log_loss"]), [losses], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(noise.X), H, atol=1e-9)
    np.testing.assert_allclose(model.row_weights_, [D], atol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"estimator": TREE}, {"estimator": TREE, "multiclass": "samme"}]
)
def test_three_or_more_classes(options):
    data = make_triangle_sessions(120, random_state=1)
    model = fit(data, n_estimators=10, **options)
    score = model.decision_function(data.X)
    assert score.shape == (1200, 4)
    np.testing.assert_array_equal(model.predict(data.X), model.classes_[score.argmax(axis=1)])
    stages = list(model.staged_decision_function(data.X))
    np.testing.assert_allclose(stages[-1], score, atol=1e-12)
    assert model.score(data.X, data.y, groups=data.groups) > 0.85


def test_one_vs_rest_is_one_run_per_class():
    data = make_triangle_sessions(80, random_state=2)
    model = fit(data, estimator=TREE, n_estimators=4)
    alone = fit(replace(data, y=data.y == "B"), estimator=TREE, n_estimators=4)
    np.testing.assert_allclose(
        model.decision_function(data.X)[:, 1], alone.decision_function(data.X)
    )
    assert model.estimator_weights_.shape == model.estimator_errors_.shape == (4, 4)
    assert model.history_["log_loss"].shape == (4, 5)
    assert model.row_weights_.shape == (4, len(data.y))
    assert [len(run.estimators) for run in model.ensemble_.runs] == [4] * 4
    np.testing.assert_array_equal(model.estimator_weights_[1], alone.estimator_weights_[0])


def test_a_run_that_ends_early_is_filled_up():
    """The first class is told by one threshold, the other two never are."""
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([y == 0, rng.normal(size=60)]).astype(float)
    model = SBoostClassifier(TREE, n_estimators=3, random_state=0).fit(X, y, groups=np.arange(60))
    assert model.n_iter_ == 3
    assert (model.estimator_weights_[0] > 0).tolist() == [True, False, False]
    assert (model.estimator_weights_[1:] > 0).all()
    losses = model.history_["log_loss"]
    assert losses[0, 1] == losses[0, 2] == losses[0, 3] < losses[0, 0]
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 3
    np.testing.assert_array_equal(stages[0][:, 0], stages[2][:, 0])
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)


def test_the_booster_of_histogram_trees(sessions):
    model = fit(sessions)
    assert model.ensemble_.booster.num_trees() == model.n_iter_


@pytest.mark.parametrize("classes", [2, 4])
def test_parameters_set_after_fit_change_nothing(sessions, classes):
    data = sessions if classes == 2 else make_triangle_sessions(60, random_state=0)
    model = fit(data, n_estimators=4, rule="mean")
    before = model.predict_proba(data.X), model.predict_groups_proba(data.X, groups=data.groups)
    model.set_params(gamma=0.0, rule="any", multiclass="samme", estimator=STUMP)
    after = model.predict_proba(data.X), model.predict_groups_proba(data.X, groups=data.groups)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.gamma_ == 4.0


def test_missing_values_and_frames(sessions):
    X = pd.DataFrame(sessions.X, columns=list("abcd"))
    X.loc[::7, "a"] = np.nan
    model = SBoostClassifier().fit(X, sessions.y, groups=sessions.groups)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="NaN"):
        SBoostClassifier(STUMP).fit(X.to_numpy(), sessions.y, groups=sessions.groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resample": 1}, "resample must be True or False"),
        ({"gamma": -1.0}, r"gamma must be a number in \[0, inf\)"),
        ({"gamma": np.inf}, r"gamma must be a number in \[0, inf\)"),
        ({"n_estimators": 0}, "n_estimators must be a whole number"),
        ({"multiclass": "ovo"}, "multiclass must be one of 'ovr', 'samme'"),
        ({"rule": "loudest"}, "rule must be one of"),
        ({"estimator": 5}, "classifier or a weak learner"),
    ],
)
def test_bad_parameters(sessions, options, message):
    with pytest.raises(ValueError, match=message):
        fit(sessions, **options)


def test_labels_that_differ_inside_a_group(sessions):
    y = sessions.y.copy()
    y[7] = 1 - y[7]
    with pytest.raises(GroupDataError, match="group 1 holds"):
        SBoostClassifier().fit(sessions.X, y, groups=sessions.groups)


def test_groups_lost_on_the_way(sessions):
    with pytest.warns(GroupsLostWarning, match="got no groups"):
        SBoostClassifier(n_estimators=2).fit(sessions.X, sessions.y)
    model = fit(sessions, n_estimators=2)
    for ask in (model.score, lambda *given: list(model.staged_score(*given))):
        with pytest.warns(GroupsLostWarning, match="fitted with groups"):
            ask(sessions.X, sessions.y)


@pytest.mark.parametrize("learner", [None, HistTrees(2, n_jobs=1)], ids=repr)
def test_trees_split_on_categories_of_a_table(sessions, learner):
    """The same trees as on codes that are named, though the order of the codes says nothing."""
    code = (2 * sessions.y + np.arange(len(sessions.y)) % 2) * 3 % 4
    numbers = pd.DataFrame({"x": sessions.X[:, 0], "kind": code.astype(float)})
    table = numbers.assign(kind=pd.Categorical.from_codes(code, ["a", "b", "c", "d"]))
    named = HistTrees(**{**(learner or HistTrees()).get_params(), "categorical_features": ["kind"]})
    scores = [
        SBoostClassifier(estimator, n_estimators=3, random_state=0)
        .fit(X, sessions.y, groups=sessions.groups)
        .decision_function(X)
        for estimator, X in ((learner, table), (named, numbers))
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("options", [{"estimator": TREE}, {"multiclass": "samme"}], ids=repr)
def test_other_learners_get_a_column_per_category(options):
    data = make_triangle_sessions(30, random_state=0)
    table = pd.DataFrame(data.X, columns=["a", "b"]).assign(
        kind=pd.Categorical(np.array(["x", "y", "z"])[np.arange(len(data.X)) % 3])
    )
    model = SBoostClassifier(n_estimators=2, random_state=0, **options)
    model.fit(table, data.y, groups=data.groups)
    ensemble = model.ensemble_.runs[0] if "estimator" in options else model.ensemble_
    assert ensemble.estimators[0].n_features_in_ == 5 and model.n_features_in_ == 3


def test_unknown_classes_at_score_time(sessions):
    model = fit(sessions)
    y = np.where(sessions.groups == 4, 9, sessions.y)
    for call in (model.score, lambda *a, **k: list(model.staged_score(*a, **k))):
        with pytest.raises(GroupDataError, match="y holds 9 in group 4"):
            call(sessions.X, y, groups=sessions.groups)


@pytest.mark.long
@pytest.mark.parametrize("name", ["german"])
def test_beats_naive_adaboost_with_the_same_trees(real_data, name):
    """The claim of Table 3 for Figure 3 as printed (rows sampled by D); ten splits, no reuse.

    A regression test, not evidence: the form was fixed after these splits were seen (weighting
    loses on cmc's ten). The notes of the reproduction have both forms on splits seen once.
    """
    uci = load_uci(name)
    errors = []
    for seed in range(10):
        s = make_sessions(uci.X, uci.y, random_state=seed)
        X_train, X_test, y_train, y_test, g_train, g_test = group_train_test_split(
            s.X, s.y, groups=s.groups, y=s.y, test_size=0.5, random_state=seed
        )
        pair = [
            SBoostClassifier(TREE, resample=True, random_state=seed),
            NaiveGroupClassifier(AdaBoostClassifier(TREE, n_estimators=30), random_state=seed),
        ]
        errors.append(
            [
                1 - m.fit(X_train, y_train, groups=g_train).score(X_test, y_test, groups=g_test)
                for m in pair
            ]
        )
    sboost, adaboost = np.mean(errors, axis=0)
    assert sboost < adaboost

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from groupwise.auto.choice import cross_fitted_answer
from groupwise.auto.decision import RowDecision
from groupwise.auto.ensemble import (
    GroupAverage,
    NumberAverage,
    RowAverage,
    ShareAverage,
    TimeAverage,
    Truth,
    count_loss,
    mixture_weights,
)
from groupwise.auto.kinds import Labels, Measured
from groupwise.auto.scaling import Scaling
from groupwise.groups import Groups
from groupwise.metrics import concordance, get_measure


def two_columns(proba):
    return np.column_stack([1 - proba, proba])


def truth_of(y, n_folds=5):
    return Truth(np.asarray(y), Groups(np.arange(len(y))), np.arange(len(y)) % n_folds, 2)


def members(y, strengths, seed=0):
    """Held-out group probabilities: the stronger, the nearer to the label."""
    rng = np.random.RandomState(seed)
    scores = [s * (2 * y - 1) + rng.normal(size=len(y)) for s in strengths]
    return [{"proba_group": two_columns(1 / (1 + np.exp(-score)))} for score in scores]


@pytest.mark.parametrize(("n_groups", "n_best"), [(59, 10), (60, 8), (999, 8), (1000, 5)])
def test_the_best_are_chosen_and_of_each_method_one(n_groups, n_best):
    y = np.random.RandomState(0).randint(2, size=n_groups)
    strengths = [0.0, 5.0, 4.0, 3.2, 2.5, 2.0, 1.5, 1.0, 0.6, 0.2, 4.5]
    found = GroupAverage.fit(members(y, strengths), truth_of(y), list("abcdefghijb"))
    assert len(found.chosen) == len(found.scalings) == n_best
    assert len({1, 10} & set(found.chosen)) == 1
    assert {2, 3, 4, 5} < set(found.chosen)
    assert (n_best == 5) == (6 not in found.chosen)


def test_one_of_five_that_is_far_ahead_weighs_most_and_equals_weigh_the_same():
    """60 groups of eight classes, one member that is nearly always right and four of no use."""
    rng = np.random.RandomState(0)
    y = np.arange(60) % 8
    truth = Truth(y, Groups(np.arange(60)), np.arange(60) % 5, 8)
    far, near = (softmax(s * np.eye(8)[y] + rng.normal(size=(60, 8)), axis=1) for s in (6, 0.3))
    answers = [{"proba_group": p} for p in (near, far, near, near, near)]
    found = GroupAverage.fit(answers, truth, list("abcde"))
    # stacked, c = 5: each of the four has 5 / 5 of 60 + 5 groups, a little more or less
    assert found.chosen[0] == 1 and found.weights[0] > 0.7
    np.testing.assert_allclose(found.weights[1:], (1 - found.weights[0]) / 4)
    same = GroupAverage.fit([answers[1]] * 5, truth, list("abcde"))
    np.testing.assert_allclose(same.weights, 0.2)


def test_classes_that_are_in_some_folds_only_lose_nothing_by_scaling():
    """Of users kept whole some never do a thing: moving classes by the others' counts is wrong."""
    rng = np.random.RandomState(0)
    fold = np.repeat(np.arange(5), 40)
    y = (2 * fold + rng.randint(3, size=200)) % 6
    score = 1.5 * np.eye(6)[y] + rng.normal(size=(8, 200, 6))
    answers = [{"proba_group": softmax(s, axis=1)} for s in score]
    truth = Truth(y, Groups(np.arange(200)), fold, 6)
    kind = Labels("majority")
    own = np.mean([kind.score(answer, truth).mean() for answer in answers])
    said = cross_fitted_answer(kind, answers, truth, list("abcdefgh"))
    assert kind.score(said, truth).mean() > own + 0.1  # eight see more than one
    found = GroupAverage.fit(answers, truth, list("abcdefgh"))
    assert not any(scaling.bias.any() for scaling in (*found.scalings, found.last))


def test_with_few_groups_all_take_part_and_the_best_weigh_most():
    y = np.random.RandomState(0).randint(2, size=59)
    found = GroupAverage.fit(members(y, [0.0, 3, 2, 2, 1, 1, 0.5]), truth_of(y), list("abcdefg"))
    assert sorted(found.chosen) == list(range(7))
    weight = dict(zip(found.chosen, found.weights, strict=True))
    assert np.isclose(sum(weight.values()), 1.0)
    assert max(weight, key=weight.get) == 1 and weight[0] < 0.05 < weight[1]


def test_the_average_by_hand():
    none = Scaling(1.0, np.zeros(2))
    flat = Scaling(0.0, np.log([0.25, 0.75]))
    found = GroupAverage([4, 2], [none, flat], np.array([0.5, 0.5]), Scaling(2.0, np.zeros(2)))
    said = found.combine(
        [{"proba_group": np.array([[0.75, 0.25]])}, {"proba_group": np.array([[0.9, 0.1]])}],
        Groups([0]),
    )
    # mean of (3/4, 1/4) and (1/4, 3/4) is one half each
    np.testing.assert_allclose(said["proba_group"], [[0.5, 0.5]])
    uneven = replace(found, weights=np.array([1.0, 0.0]))
    said = uneven.combine(
        [{"proba_group": np.array([[0.75, 0.25]])}, {"proba_group": np.array([[0.9, 0.1]])}],
        Groups([0]),
    )
    np.testing.assert_allclose(said["proba_group"], [[0.9, 0.1]])  # odds of 3 to 1, squared


def test_the_estimate_of_noise_is_chance():
    rng = np.random.RandomState(0)
    kind, scores = Labels("majority"), []
    for seed in range(4):
        y = rng.randint(2, size=100)
        answers = members(y, [0.0] * 12, seed=seed)
        truth, names = truth_of(y), [str(k) for k in range(12)]
        own = max(kind.score(answer, truth).mean() for answer in answers)
        said = cross_fitted_answer(kind, answers, truth, names)
        scores.append((own, kind.score(said, truth).mean()))
    flattering, honest = np.mean(scores, axis=0)
    assert flattering > 0.55
    assert abs(honest - 0.5) < 0.05


def test_shares_leave_out_who_is_clearly_behind():
    rng = np.random.RandomState(0)
    groups = Groups(np.repeat(np.arange(60), 10))
    row = rng.randint(2, size=600)
    share = groups.mean(row)
    truth = Truth(groups.spread(two_columns(share)), groups, np.arange(60) % 5, 2)

    def answer(proba_row):
        return {
            "proba_row": two_columns(proba_row),
            "proba_group": two_columns(groups.mean(proba_row)),
        }

    sure = np.where(row == 1, 0.9, 0.1)
    good = answer(sure + 0.09 * rng.uniform(-1, 1, size=600))
    fair = answer(sure + 0.09 * rng.uniform(-1, 1, size=600))
    constant = answer(np.full(600, 0.5))
    found = ShareAverage.fit([constant, good, fair], truth, ["constant", "good", "fair"])
    assert sorted(found.chosen) == [1, 2]
    assert count_loss(good, truth).mean() < count_loss(constant, truth).mean()


def test_shares_weigh_by_the_likelihood_of_counts():
    """By hand: two groups of one row; each counts as half a group."""
    truth = Truth(two_columns(np.array([1.0, 0.0])), Groups([0, 1]), np.arange(2), 2)
    rows = [two_columns(np.array(p)) for p in ([0.8, 0.2], [0.5, 0.5])]
    answers = [{"proba_row": p, "proba_group": p} for p in rows]
    found = ShareAverage.fit(answers, truth, ["a", "b"])
    np.testing.assert_allclose(found.weights, [0.8 / 1.3, 0.5 / 1.3])
    said = found.combine([answers[m] for m in found.chosen], truth.groups)
    np.testing.assert_allclose(said["proba_row"], (0.8 * rows[0] + 0.5 * rows[1]) / 1.3)
    shares = found.last.apply(said["proba_row"])
    np.testing.assert_allclose(said["proba_group"], shares)


def test_the_loss_of_a_count_by_hand():
    truth = Truth(np.array([[0.5, 0.5]] * 2), Groups([0, 0]), np.zeros(1, np.intp), 2)
    answer = {"proba_row": two_columns(np.array([0.8, 0.3]))}
    expected = -np.log(0.8 * 0.7 + 0.2 * 0.3)
    np.testing.assert_allclose(count_loss(answer, truth), [expected])


@pytest.mark.parametrize(("n_groups", "n_best"), [(50, 5), (100, 3)])
def test_numbers_are_averaged_over_the_good_ones(n_groups, n_best):
    rng = np.random.RandomState(0)
    y = rng.normal(size=n_groups)
    truth = Truth(y, Groups(np.arange(n_groups)), np.arange(n_groups) % 5, 0)
    answers = [{"y_group": y + 0.1 * rng.normal(size=n_groups)} for _ in range(6)]
    answers.insert(0, {"y_group": np.zeros(n_groups)})
    found = NumberAverage.fit(answers, truth, "gabcdef")
    losses = [np.mean((answer["y_group"] - y) ** 2) for answer in answers]
    assert found.chosen == np.argsort(losses)[:n_best].tolist()
    said = found.combine([answers[m] for m in found.chosen], truth.groups)["y_group"]
    np.testing.assert_allclose(said, np.mean([answers[m]["y_group"] for m in found.chosen], axis=0))


def told_hazards(seed=0, n=90):
    """Two members that know half of the hazard each, one that knows nothing, one that is a fool."""
    rng = np.random.RandomState(seed)
    one, other, nothing = rng.normal(size=(3, n))
    time = rng.exponential(np.exp(-one - other)) * np.where(rng.uniform(size=n) < 0.3, -1, 1)
    truth = Truth(time, Groups(np.arange(n)), np.arange(n) % 5, 0)
    return [{"y_group": each} for each in (one, other, nothing, -one, np.zeros(n))], truth


def test_of_survival_times_members_weigh_by_what_they_add():
    answers, truth = told_hazards()
    found = TimeAverage.fit(answers, truth, [0, 1, 2, 3, 4])
    assert {0, 1} <= set(found.chosen) <= {0, 1, 2}
    assert found.weights[:2].min() > 5 * found.weights[2:].sum()
    asked = [answers[m] for m in found.chosen]
    said = found.combine(asked, truth.groups)["y_group"]
    best = max(concordance(truth.y_group, answers[m]["y_group"]) for m in (0, 1))
    assert concordance(truth.y_group, said) > best + 0.05


def test_boldness_and_the_folds_own_levels_do_not_matter():
    answers, truth = told_hazards()
    found = TimeAverage.fit(answers[:3], truth, [0, 1, 2])
    bold = [{"y_group": 10.0 * answers[0]["y_group"] + truth.fold_group}, *answers[1:3]]
    other = TimeAverage.fit(bold, truth, [0, 1, 2])
    assert other.chosen == found.chosen
    np.testing.assert_allclose(other.weights * [10.0, *[1.0] * (len(found.chosen) - 1)],
                               found.weights, rtol=1e-6)  # fmt: skip


def test_equal_members_have_equal_weights():
    answers, truth = told_hazards()
    found = TimeAverage.fit([answers[0], answers[0]], truth, [0, 1])
    assert found.weights[0] == pytest.approx(found.weights[1])


def test_where_nobody_knows_anything_the_first_is_taken():
    answers, truth = told_hazards()
    found = TimeAverage.fit(answers, truth, [3, 4])
    assert found.chosen == [3] and found.weights.tolist() == [1.0]
    rows = {"y_group": np.ones(2), "y_row": np.arange(3.0)}
    assert found.combine([rows], Groups([0, 0, 1]))["y_row"].tolist() == [0.0, 1.0, 2.0]


def rows_truth(seed=0, n=400):
    rng = np.random.RandomState(seed)
    groups = Groups(np.repeat(np.arange(n // 10), 10))
    y = (rng.uniform(size=n) < 0.3).astype(np.intp)
    return Truth(y, groups, np.arange(n // 10) % 5, 2), rng


def test_weights_are_the_likeliest_of_a_mixture():
    """Against a search over a grid; equal members have equal weights, in any order."""
    rng = np.random.RandomState(0)
    said = rng.uniform(0.05, 1.0, size=(30, 2))
    grid = np.linspace(0.001, 0.999, 9999)
    value = [np.log(said @ [w, 1 - w]).sum() + 2.5 * (np.log(w) + np.log(1 - w)) for w in grid]
    found = mixture_weights(said, prior=5.0)
    np.testing.assert_allclose(
        found, [grid[np.argmax(value)], 1 - grid[np.argmax(value)]], atol=2e-4
    )
    np.testing.assert_allclose(mixture_weights(said[:, ::-1], prior=5.0), found[::-1])
    np.testing.assert_allclose(mixture_weights(np.tile(said[:, :1], 4), prior=5.0), 0.25)


@pytest.mark.parametrize(("n", "n_members"), [(1, 3), (40, 20), (20_000, 12)])
def test_weights_are_where_the_gradient_is_zero(n, n_members):
    """The certificate: every weight is what its member has of the groups and of the prior."""
    rng = np.random.RandomState(n)
    said = rng.beta(0.5, 0.5, size=(n, n_members)).clip(1e-6)
    weights = mixture_weights(said, prior=5.0)
    own = said * weights / (said @ weights)[:, None]
    np.testing.assert_allclose(weights, (own.sum(axis=0) + 5.0 / n_members) / (n + 5.0), atol=1e-6)


def test_who_says_nothing_has_hardly_any_weight():
    truth, rng = rows_truth()
    y = truth.y_row
    same = {"proba_row": two_columns(np.where(y == 1, 0.7, 0.3))}
    noise = [{"proba_row": two_columns(rng.uniform(size=len(y)))} for _ in range(4)]
    answers = [*noise[:2], same, *noise[2:]]
    found, held_out = RowAverage.fit_and_held_out(answers, truth, list("abcde"))
    assert found.chosen[0] == 2 and found.weights[0] > 0.9
    said = found.combine([answers[m] for m in found.chosen], truth.groups)["proba_row"]
    np.testing.assert_array_equal(said.argmax(axis=1), y)
    np.testing.assert_array_equal(held_out.argmax(axis=1), y)
    again = RowAverage.fit(answers, truth, list("abcde"))
    assert again.chosen == found.chosen
    np.testing.assert_array_equal(again.weights, found.weights)


def test_scalings_without_bias_leave_the_classes_where_they_are():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    truth = Truth(y, Groups.singletons(40), np.arange(40) % 4, 2)
    proba = np.clip(0.6 + 0.3 * (2 * y - 1) + 0.1 * rng.normal(size=(3, 40)), 0.01, 0.99)
    answers = [{"proba_row": np.column_stack([1 - p, p])} for p in proba]
    moved, left = (RowAverage.fit(answers, truth, list("abc"), biased=b) for b in (True, False))
    assert all(scaling.bias.tolist() == [0.0, 0.0] for scaling in left.scalings)
    assert all(scaling.bias[1] < 0 for scaling in moved.scalings)  # .6 on average, of .5


@pytest.mark.parametrize("measure", ["f1", "accuracy", "ndcg", "matthews"])
def test_decisions_are_at_least_as_good_as_a_plain_one(measure):
    truth, rng = rows_truth()
    y, measure = truth.y_row, get_measure(measure)
    score = 1.2 * y + rng.normal(size=(3, len(y)))
    answers = [
        {"proba_row": two_columns(1 / (1 + np.exp(-s))), "score_row": s - 3.0} for s in score
    ]  # all decide badly: hardly a row is positive
    found = RowDecision.fit(answers, truth, list("abc"), measure)
    assert found.average is not None
    said = found.combine([answers[m] for m in found.chosen], truth.groups)
    mean = np.nanmean(measure.of(y, said["score_row"], truth.groups))
    assert mean > max(np.nanmean(measure.of(y, a["score_row"], truth.groups)) for a in answers)


def test_rows_that_users_have_twice_do_not_make_scalings_bolder():
    truth, rng = rows_truth()
    score = 0.5 * truth.y_row + rng.normal(size=(3, 400)) - 1.0
    proba = [two_columns(1 / (1 + np.exp(-s))) for s in score]

    def scalings(times):
        rows = np.repeat(np.arange(400), times)
        twice = Truth(truth.y_row[rows], Groups(truth.groups.codes[rows]), truth.fold_group, 2)
        answers = [
            {"proba_row": p[rows], "score_row": s[rows]} for p, s in zip(proba, score, strict=True)
        ]
        average = RowDecision.fit(answers, twice, list("abc"), get_measure("f1")).average
        return np.array([[one.slope, *one.bias] for one in average.scalings])

    np.testing.assert_allclose(scalings(2), scalings(1), rtol=1e-4)


def test_one_member_decides_only_where_it_is_clearly_better():
    truth, rng = rows_truth()
    noise = {"proba_row": two_columns(rng.uniform(size=400)), "score_row": rng.normal(size=400)}
    sign = {**noise, "score_row": 2.0 * truth.y_row - 1}  # its probabilities say nothing
    found = RowDecision.fit([noise, sign], truth, list("ab"), get_measure("f1"))
    assert (found.chosen, found.decision) == ([1], "own")
    np.testing.assert_array_equal(
        found.combine([sign], truth.groups)["score_row"], sign["score_row"]
    )
    perfect = {**sign, "proba_row": two_columns(truth.y_row.astype(float))}
    assert RowDecision.fit([noise, perfect], truth, list("ab"), get_measure("f1")).average


def test_methods_are_told_the_measure_as_it_was_given():
    measure = get_measure("f1")
    assert Measured(measure, "f1").fixed == {"measure": "f1"}
    from_older_file = Measured.__new__(Measured)
    vars(from_older_file).update(measure=measure, told="f1")
    assert from_older_file.fixed == {"measure": measure}
    assert repr(from_older_file) == f"Measured(measure={measure!r}, given=None)"

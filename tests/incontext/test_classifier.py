"""The in-context classifier as a user meets it."""

import hashlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from groupwise import Groups
from groupwise.datasets import make_sessions
from groupwise.exceptions import GroupDataError
from groupwise.incontext import InContextClassifier, LongContextWarning, classifier, members, passes
from groupwise.incontext.classifier import _problems
from groupwise.incontext.network import load_network

FAST = {"n_members": 2, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def sessions():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=400)
    X = rng.normal(size=(400, 4)) + y[:, None]
    return make_sessions(X, y, size=5, n_other=(0, 2), random_state=0)


def halves(data):
    train = data.groups < np.median(data.groups)
    return (data.X[train], data.y[train], data.groups[train]), (
        data.X[~train],
        data.y[~train],
        data.groups[~train],
    )


def test_learns_nearly_the_true_rule(sessions):
    (X, y, groups), (X_test, y_test, groups_test) = halves(sessions)
    model = InContextClassifier(**FAST).fit(X, y, groups=groups)
    test = Groups(groups_test)
    by_rule = test.mean(X_test.mean(axis=1)) > 0.5
    accuracy = np.mean(by_rule == test.one_per_group(y_test))
    assert model.score(X_test, y_test, groups_test) > accuracy - 0.1


@pytest.mark.long
def test_threads_do_not_change_the_answer(sessions):
    (X, y, groups), (X_test, _, groups_test) = halves(sessions)
    params = {"n_members": 3, "random_state": 0}
    one, two = (
        InContextClassifier(n_jobs=jobs, **params)
        .fit(X, y, groups=groups)
        .predictions(X_test, groups_test)
        for jobs in (1, 2)
    )
    np.testing.assert_allclose(one.proba_row, two.proba_row, rtol=1e-9)
    np.testing.assert_allclose(one.proba_group, two.proba_group, rtol=1e-9)


@pytest.mark.parametrize("n_rows", [7, 20, 33])
def test_order_and_names_of_what_is_asked_change_no_bit(sessions, n_rows):
    # a product of matrices rounds a row differently at another place, on some processors
    model = InContextClassifier(**FAST | {"n_members": 1})
    model.fit(sessions.X, sessions.y, groups=sessions.groups)
    rng = np.random.RandomState(n_rows)
    X, groups, order = (
        rng.normal(size=(n_rows, 4)),
        rng.randint(4, size=n_rows),
        rng.permutation(n_rows),
    )
    expected = model.predictions(X, groups)
    found = model.predictions(X[order], np.array([7, 3, 9, 1])[groups][order])
    np.testing.assert_array_equal(found.proba_row, expected.proba_row[order])
    np.testing.assert_array_equal(
        found.proba_group[found.groups.codes], expected.proba_group[expected.groups.codes][order]
    )


def test_units_do_not_matter(sessions):
    (X, y, groups), (X_test, _, groups_test) = halves(sessions)
    expected = (
        InContextClassifier(**FAST).fit(X, y, groups=groups).predict_proba(X_test, groups_test)
    )
    scale, shift = np.array([1e-9, 1e9, 1.0, -3.0]), np.array([0.0, 1e12, 5.0, 0.0])
    moved = InContextClassifier(**FAST).fit(X * scale + shift, y, groups=groups)
    found = moved.predict_proba(X_test * scale + shift, groups_test)
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.long
def test_swapped_classes_swap_the_answer_when_members_come_in_fours(sessions):
    (X, y, groups), (X_test, _, groups_test) = halves(sessions)
    params = {"n_members": 4, "n_jobs": 1, "random_state": 0}
    one = InContextClassifier(**params).fit(X, y, groups=groups)
    other = InContextClassifier(**params).fit(X, 1 - y, groups=groups)
    np.testing.assert_allclose(
        one.predict_proba(X_test, groups_test),
        other.predict_proba(X_test, groups_test)[:, ::-1],
        atol=1e-4,
    )


@pytest.mark.long
def test_counts_as_labels_counts_or_shares(sessions):
    (X, _, groups), _ = halves(sessions)
    y_row = sessions.y_row[sessions.groups < np.median(sessions.groups)]
    encoded = Groups(groups)
    counts = encoded.sum(np.eye(2)[y_row])[encoded.codes]
    shares = pd.DataFrame(counts / encoded.sizes[encoded.codes][:, None], columns=["no", "yes"])
    made = [
        InContextClassifier("proportions", **FAST).fit(X, y, groups=groups)
        for y in (y_row, counts, shares)
    ]
    assert made[2].classes_.tolist() == ["no", "yes"]
    answers = [m.predict_groups_proba(X, groups) for m in made]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6)
    np.testing.assert_allclose(answers[0], answers[2], rtol=1e-6)
    assert made[0].score(X, y_row, groups) > 0.7


def test_a_class_that_no_group_has_rows_of_is_never_said(sessions):
    (X, _, groups), _ = halves(sessions)
    y_row = sessions.y_row[sessions.groups < np.median(sessions.groups)]
    encoded = Groups(groups)
    counts = encoded.sum(np.eye(3)[y_row])[encoded.codes]
    model = InContextClassifier("proportions", **FAST).fit(X, counts, groups=groups)
    assert (model.predict_proba(X, groups)[:, 2] == 0).all()


def test_transduction_knows_the_counts():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=300)
    X = rng.normal(size=(300, 3)) + 0.8 * y[:, None]
    groups = rng.permutation(300) // 3
    model = InContextClassifier("proportions", **FAST).fit(X, y, groups=groups)
    known = model.transductive_predictions()
    assert np.mean(known.y_row == y) > np.mean(model.predict(X, groups) == y)
    np.testing.assert_array_equal(known.proba_group, Groups(groups).mean(np.eye(2)[y]))


def test_unlabeled_groups_take_part(sessions):
    (X, y, groups), (X_test, _, groups_test) = halves(sessions)
    plain = InContextClassifier(**FAST).fit(X, y, groups=groups)
    more = InContextClassifier(**FAST).fit(
        X, y, groups=groups, X_unlabeled=X_test, groups_unlabeled=groups_test
    )
    one, other = (m.predict_proba(X_test, groups_test) for m in (plain, more))
    assert not np.allclose(one, other, atol=1e-4)
    assert np.mean(one.argmax(1) == other.argmax(1)) > 0.9
    assert len(more.transductive_predictions().y_row) == len(X)


@pytest.mark.parametrize("kind", ["majority", "presence"])
def test_more_classes_than_the_network_has(kind):
    rng = np.random.RandomState(0)
    n_classes = 12 if kind == "majority" else 3
    y_group = np.arange(4 * n_classes) % n_classes
    groups = np.repeat(np.arange(len(y_group)), 3)
    X = rng.normal(size=(len(groups), 2)) * 0.2
    X += np.column_stack(np.divmod(y_group, 4))[groups] * 3
    model = InContextClassifier(kind, **FAST | {"n_members": 1})
    model.fit(X, y_group[groups], groups=groups)
    # twelve in two passes of six against the rest; under presence one by one
    assert len(model._members) == (2 if kind == "majority" else 3)
    found = model.predictions(X, groups)
    np.testing.assert_allclose(found.proba_group.sum(axis=1), 1)
    assert np.mean(found.y_group == y_group) > 2 / n_classes


@pytest.mark.parametrize("kind", ["majority", "proportions", "presence"])
def test_classes_in_parts_have_each_class_once_beside_the_rest(kind):
    label = np.random.RandomState(0).dirichlet(np.ones(23), size=5)
    tables = _problems(label, kind)
    assert len(tables) == (23 if kind == "presence" else 3)
    assert max(table.shape[1] for table in tables) <= (2 if kind == "presence" else 10)
    np.testing.assert_array_equal(np.column_stack([table[:, 1:] for table in tables]), label)
    for table in tables:
        np.testing.assert_allclose(table.sum(axis=1), 1)


def test_ten_classes_are_one_pass():
    rng = np.random.RandomState(0)
    y_group = np.arange(40) % 10
    groups = np.repeat(np.arange(40), 3)
    X = 0.2 * rng.normal(size=(120, 2)) + np.column_stack(np.divmod(y_group, 4))[groups]
    model = InContextClassifier(**FAST).fit(X, y_group[groups], groups=groups)
    assert len(model._members) == 1
    assert model.score(X, y_group[groups], groups) > 0.8


def test_a_missing_value_is_read_as_the_mean(sessions):
    (X, y, groups), (X_test, _, groups_test) = halves(sessions)
    X = X.copy()
    X[::5, 1] = np.nan
    model = InContextClassifier(n_members=1, random_state=0).fit(X, y, groups=groups)
    missing, mean = X_test.copy(), X_test.copy()
    missing[:, 1], mean[:, 1] = np.nan, np.nanmean(X[:, 1])
    np.testing.assert_allclose(
        model.predict_proba(missing, groups_test), model.predict_proba(mean, groups_test), atol=1e-5
    )


@pytest.mark.long
def test_categories_are_read_as_one_column_each(sessions):
    (X, y, groups), _ = halves(sessions)
    colour = np.array(["blue", "green", "red"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)]
    table = pd.DataFrame(X[:, 1:], columns=list("abc"))
    table["colour"] = pd.Categorical(colour)
    by_hand = np.column_stack([X[:, 1:], colour[:, None] == np.array(["blue", "green", "red"])])
    one, other = (
        InContextClassifier(**FAST).fit(rows, y, groups=groups).predict_proba(rows, groups)
        for rows in (table, by_hand.astype(float))
    )
    np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("n_features", [1, 48, 49, 300])
def test_any_number_of_features(n_features):
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(40), 4)
    X = rng.normal(size=(160, n_features))
    X[:, 0] += 3 * (groups % 2)
    known = groups < 20
    model = InContextClassifier(**FAST).fit(X[known], groups[known] % 2, groups=groups[known])
    assert model.score(X[~known], groups[~known] % 2, groups[~known]) > 0.8


def test_odd_tables_give_finite_answers():
    rng = np.random.RandomState(0)
    X = np.column_stack(
        [
            np.full(40, 3.0),  # constant
            np.full(40, np.nan),  # missing everywhere
            np.where(rng.uniform(size=40) < 0.5, np.nan, 1.0),
            1e40 * rng.normal(size=40),
            rng.standard_cauchy(size=40) ** 3,
        ]
    )
    groups = np.arange(40) // 4
    for kind in ("majority", "proportions", "presence"):
        model = InContextClassifier(kind, **FAST).fit(X, (groups % 2), groups=groups)
        found = model.predictions(np.vstack([X, np.full((1, 5), np.nan)]), [*groups, 99])
        assert np.isfinite(found.proba_row).all() and np.isfinite(found.proba_group).all()
        assert np.isfinite(found.score_row).all()


def test_two_rows_are_a_context():
    model = InContextClassifier(**FAST).fit([[0.0], [1.0]], [0, 1], groups=[0, 1])
    assert np.isfinite(model.predict_proba([[0.5]], [7])).all()


@pytest.mark.long
def test_sparse_and_dense_are_alike(sessions):
    (X, y, groups), (X_test, _, groups_test) = halves(sessions)
    X, X_test = (np.where(np.abs(part) < 0.5, 0.0, part) for part in (X, X_test))
    one = InContextClassifier(**FAST).fit(X, y, groups=groups).predict_proba(X_test, groups_test)
    other = InContextClassifier(**FAST).fit(csr_array(X), y, groups=groups)
    np.testing.assert_array_equal(one, other.predict_proba(csr_array(X_test), groups_test))


def test_a_long_context_is_read_in_bags_and_says_so(sessions, monkeypatch):
    for module in (members, classifier):
        monkeypatch.setattr(module, "MAX_ROWS", 60)
    (X, y, groups), (X_test, y_test, groups_test) = halves(sessions)
    with pytest.warns(LongContextWarning, match="at most 60 rows"):
        model = InContextClassifier(**FAST | {"n_members": 4}).fit(X, y, groups=groups)
    assert model.in_bags_
    assert model.score(X_test, y_test, groups_test) > 0.8
    with pytest.raises(GroupDataError, match="longer than one pass"):
        model.transductive_predictions()


def test_a_group_larger_than_one_pass_is_answered_in_pieces(sessions, monkeypatch):
    monkeypatch.setattr(passes, "_CHUNK", 64)
    (X, y, groups), (X_test, _, _) = halves(sessions)
    model = InContextClassifier(**FAST).fit(X, y, groups=groups)
    found = model.predictions(X_test, np.zeros(len(X_test)))
    assert found.proba_group.shape == (1, 2)
    np.testing.assert_allclose(found.proba_group.sum(), 1)


def test_rows_of_a_group_must_come_with_it(sessions):
    (X, y, groups), _ = halves(sessions)
    model = InContextClassifier(**FAST).fit(X, y, groups=groups)
    with pytest.raises(GroupDataError, match="in view of its group"):
        model.predict(X)


def test_other_weights_are_refused(sessions):
    (X, y, groups), _ = halves(sessions)
    model = InContextClassifier(**FAST).fit(X, y, groups=groups)
    model.weights_ = "other"
    with pytest.raises(ValueError, match="fit it again"):
        model.predict(X, groups)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"kind": "votes"}, "kind must be"), ({"n_members": 0}, "n_members"), ({"n_jobs": -2}, "n_j")],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        InContextClassifier(**params).fit([[0.0], [1.0]], [0, 1], groups=[0, 1])


@pytest.mark.long
def test_no_torch_is_loaded():
    program = (
        "import sys, numpy as np\n"
        "from groupwise.incontext import InContextClassifier\n"
        "X = np.arange(8.0)[:, None]\n"
        "m = InContextClassifier(n_members=1).fit(X, X[:, 0] > 3, groups=np.arange(8))\n"
        "m.predict(X, np.arange(8))\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_weights_are_small_and_have_a_card():
    folder = classifier.__file__.rsplit("/", 1)[0]
    with open(f"{folder}/weights.npz", "rb") as file:
        content = file.read()
    assert len(content) < 16e6
    with open(f"{folder}/card.md", encoding="utf-8") as file:
        card = file.read()
    meta = load_network().meta
    for said in (f"seed {meta['seed']}", f"{meta['steps']} steps", meta["source"], "Licence"):
        assert said in card
    assert hashlib.sha256(content).hexdigest()[:16] in card

"""What is learned from the rows of a table is learned in every fold anew."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from groupwise import Groups, preparation
from groupwise.auto import AutoGroupClassifier, AutoGroupRegressor, base
from groupwise.auto.candidates import first_candidates
from groupwise.auto.fold_tables import FoldTables
from groupwise.exceptions import GroupDataError
from groupwise.io import load_model, save_model
from groupwise.jobs import JobOptions, fit_auto, model
from groupwise.preparation import TextEncoder, Unprepared, encode_texts, fit_texts, prepare

N_GROUPS = 24
ANY = {"n_rows": 90, "n_features": 2, "n_classes": 0, "measure": None}


@pytest.fixture(scope="module")
def table():
    """Every group has a word of its own; three words of all tell its label."""
    rng = np.random.RandomState(0)
    number = np.repeat(np.arange(N_GROUPS), 4)
    told = np.where(rng.rand(len(number)) < 0.8, number % 2, 1 - number % 2)
    words = np.where(told == 1, "late tired slow", "early fresh quick")
    return pd.DataFrame(
        {
            "group": [f"g{k:02d}" for k in number],
            "note": [
                f"own{k} {w} at {i}" for i, (k, w) in enumerate(zip(number, words, strict=True))
            ],
            "x": rng.normal(size=len(number)) + number % 2,
            "colour": rng.choice(["red", "blue"], len(number)),
            "kind": np.where(number % 2, "b", "a"),
        }
    )


@pytest.fixture
def learned(monkeypatch):
    """Rows of which words were learned, each time that any were."""
    seen = []

    def spy(X, texts):
        seen.append(set(X["note"].str.split().str[0]))
        return fit_texts(X, texts)

    monkeypatch.setattr(preparation, "fit_texts", spy)
    return seen


def job_of(table):
    return JobOptions(table=table, group="group", label="kind").job()[0]


def fitted_by_hand(table, **options):
    """The library's own way to what the command line does."""
    features = job_of(table).features
    encoder = TextEncoder(("note",), ("colour",)).fit(features)
    model = AutoGroupClassifier(cv=3, random_state=0, **options)
    model.fit(
        encoder.transform(features),
        (table["kind"] == "b").astype(int),
        groups=table["group"],
        unprepared=Unprepared(features, encoder),
    )
    return model, encoder.transform(features)


def test_no_fold_has_seen_a_word_of_a_held_out_group(table, learned, cheap_candidates):
    fitted_by_hand(table)
    assert len(learned) == 1 + 3  # of all rows, and once per fold for all three candidates
    assert len(learned[0]) == N_GROUPS
    held_out = [learned[0] - seen for seen in learned[1:]]
    assert set.union(*held_out) == learned[0] and sum(map(len, held_out)) == N_GROUPS


def test_rows_of_a_fold_are_those_of_its_own_encoder(table, cheap_candidates, monkeypatch):
    features, made = job_of(table).features, []
    problems = FoldTables.problems

    def spy(tables, fold):
        made.append((tables.problem, tables.splits[fold], problems(tables, fold)))
        return made[-1][2]

    monkeypatch.setattr(FoldTables, "problems", spy)
    fitted_by_hand(table)
    problem, (train, test), (fold, held_out) = made[0]
    rows = problem.unprepared.table
    encoders = fit_texts(rows.iloc[train], ["note"])
    words = encoders["note"]["words"].vocabulary_
    own = {note.split()[0] for note in rows["note"].iloc[test]}
    assert own and not own & set(words) and "tired" in words
    by_hand = prepare(encode_texts(rows.iloc[test], ["note"], encoders), ["colour"], None)
    n_numbers = by_hand.shape[1] - 1
    np.testing.assert_array_equal(held_out.X[:, :n_numbers], by_hand.iloc[:, :n_numbers])
    assert fold.categories == (n_numbers,)
    codes = {"blue": 0.0, "red": 1.0}
    assert held_out.X[:, n_numbers].tolist() == [codes[c] for c in rows["colour"].iloc[test]]
    assert len(fold.y) == len(train) and len(features) == len(train) + len(test)


def test_the_command_line_agrees_with_the_library(table, cheap_candidates, monkeypatch):
    job = job_of(table)
    fit = type(job).fit

    def fit_here(self, method, params, *rows):
        alone = {"time_limit": None, "n_jobs": 1} if method.name == "auto" else {}
        return fit(self, method, params | alone, *rows)

    monkeypatch.setattr(type(job), "fit", fit_here)
    model, result = fit_auto(job, time_limit=900.0, n_splits=3, n_jobs=1)
    own, X = fitted_by_hand(table)
    assert result.estimate == own.estimate_
    found = model.predictions(job.features, job.targets.groups).proba_group
    np.testing.assert_array_equal(found, own.predictions(X, table["group"]).proba_group)


def test_finished_folds_are_kept_by_what_the_texts_say(table, learned, cheap_candidates, tmp_path):
    whole, X = fitted_by_hand(table, folder=tmp_path)
    kept = sorted(tmp_path.iterdir())
    kept[0].unlink()
    del learned[:]
    again, _ = fitted_by_hand(table, folder=tmp_path)
    assert len(learned) == 2  # of all rows, and of the one fold that had to be fitted again
    answers = [m.predictions(X, table["group"]).proba_group for m in (whole, again)]
    np.testing.assert_array_equal(*answers)
    assert again.estimate_ == whole.estimate_ and sorted(tmp_path.iterdir()) == kept
    fitted_by_hand(table.assign(note=table["note"].str.upper()), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2 * len(kept)


@pytest.mark.long
def test_the_model_does_not_depend_on_the_number_of_processes(table, cheap_candidates):
    (one, X), (two, _) = fitted_by_hand(table), fitted_by_hand(table, n_jobs=2)
    answers = [m.predictions(X, table["group"]).proba_group for m in (one, two)]
    np.testing.assert_array_equal(*answers)
    assert one.estimate_ == two.estimate_


def test_any_transformer_will_do(table, cheap_candidates):
    """A sparse matrix of counts; a word that a fold has not seen is counted nowhere."""
    counts = make_pipeline(FunctionTransformer(lambda X: X["note"]), CountVectorizer())
    y, groups = (table["kind"] == "b").astype(int), table["group"]
    model = AutoGroupClassifier(cv=3, random_state=0)
    model.fit(counts.fit_transform(table), y, groups=groups, unprepared=Unprepared(table, counts))
    assert model.score(counts.transform(table), y, groups) > 0.8
    with pytest.raises(GroupDataError, match="unprepared must hold the rows of X: it has 95"):
        model.fit(
            counts.transform(table), y, groups=groups, unprepared=Unprepared(table[1:], counts)
        )


def test_a_preparation_that_learns_nothing_changes_nothing(monkeypatch):
    cheap = [c for c in first_candidates("mean", **ANY)[0][0] if c.name == "means-ridge"]
    monkeypatch.setattr(base, "first_candidates", lambda *_, **__: ([cheap], {}))
    X, groups = np.random.RandomState(0).normal(size=(90, 2)), np.repeat(np.arange(30), 3)
    y = Groups(groups).spread(Groups(groups).mean(X[:, 0] + 1.0))
    model = AutoGroupRegressor(cv=2, random_state=0)
    plain = model.fit(X, y, groups=groups).estimate_
    nothing = FunctionTransformer(lambda X: X / 2.0)
    assert (
        model.fit(X, y, groups=groups, unprepared=Unprepared(2.0 * X, nothing)).estimate_ == plain
    )


@pytest.mark.parametrize(("spent", "left"), [(4.0, 16.0), (60.0, 4.0)])
def test_what_texts_take_is_part_of_the_time(table, monkeypatch, spent, left):
    clock = [0.0]
    prepared = model._prepared

    def slowly(*given):
        clock[0] += spent
        return prepared(*given)

    class Asked(Exception):
        pass

    def fit(self, *given, **told):
        raise Asked(self.time_limit)

    monkeypatch.setattr(model, "_prepared", slowly)
    monkeypatch.setattr(model.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(AutoGroupClassifier, "fit", fit)
    with pytest.raises(Asked, match=str(left)):
        fit_auto(job_of(table), time_limit=20.0, n_splits=2, n_jobs=1)


def test_a_model_file_has_no_file_for_every_word(table, tmp_path):
    notes = [f"{note} word{k} term{k}" for k, note in enumerate(table["note"])]
    job = job_of(table.assign(note=notes))
    fitted = job.fit(job.method("naive-logistic"), {})
    saved = save_model(fitted, tmp_path / "m.skops")
    with zipfile.ZipFile(saved) as file:
        assert len(file.namelist()) < 40 < len(notes)
    again = load_model(saved)
    one, other = (m.predictions(job.features, job.targets.groups) for m in (fitted, again))
    np.testing.assert_array_equal(one.proba_row, other.proba_row)

"""Two tables, unlabelled groups, coarser ids, dates and texts: from plain tables to predictions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from groupwise.io import load_model, save_model
from groupwise.jobs import JobOptions, coarser_ids, fit_table
from groupwise.jobs.job import run_steps
from groupwise.preparation import fit_texts
from groupwise.tables import OptionError, TableError

RNG = np.random.RandomState(0)
N_USERS, N_SESSIONS, SIZE = 12, 36, 4


@pytest.fixture(scope="module")
def sessions():
    """36 sessions of 4 rows, three sessions per user; even sessions are high."""
    session = np.repeat(np.arange(N_SESSIONS), SIZE)
    high = session % 2
    note = np.where(high, "it went up the hill", "we sat down at home")
    return pd.DataFrame(
        {
            "session": [f"s{k:02d}" for k in session],
            "x": RNG.normal(size=len(session)) + 2 * high,
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(7 * session + 3 * high, unit="D"),
            "note": [f"{text} {k}" for k, text in enumerate(note)],
            "user": [f"u{k % N_USERS:02d}" for k in session],
        }
    )


@pytest.fixture(scope="module")
def labels(sessions):
    names = sessions["session"].unique()
    return pd.DataFrame({"session": names, "kind": np.where(np.arange(len(names)) % 2, "hi", "lo")})


def test_one_call_for_pandas_and_polars(sessions, labels):
    ask = {"group": "session", "label": "kind", "method": "means-logistic", "n_splits": 2}
    model, result = fit_table(sessions, groups_table=labels, **ask)
    other, _ = fit_table(pl.from_pandas(sessions), groups_table=pl.from_pandas(labels), **ask)
    said = model.predict_groups(sessions, keep=["user"])
    assert said.columns.tolist() == ["user", "session", "rows", "predicted", "p_hi", "p_lo"]
    pd.testing.assert_frame_equal(said, other.predict_groups(sessions, keep=["user"]))
    assert result.about.supervision.kind == "majority"
    assert "dates: 'when'; texts: 'note'" in model.wants and "the group: 'session'" in model.wants


@pytest.mark.long
def test_rows_keep_their_order(sessions, labels, tmp_path):
    model, _ = fit_table(sessions, groups_table=labels, group="session", label="kind",
                         method="naive-logistic", n_splits=2)  # fmt: skip
    path = tmp_path / "model.skops"
    save_model(model, path)
    mixed = sessions.sample(frac=1.0, random_state=1)
    said = load_model(path).predict(mixed, keep=["note"])
    assert said["note"].tolist() == mixed["note"].tolist()
    straight = model.predict(sessions, keep=["note"]).set_index("note")
    np.testing.assert_allclose(said.set_index("note")["p_hi"], straight["p_hi"][mixed["note"]])
    with pytest.raises(
        TableError, match=r"'note' .`keep`. holds more than one value in group 's00'"
    ):
        model.predict_groups(sessions, keep=["note"])
    with pytest.raises(TableError, match=r"no column 'nte' .`keep`.; did you mean 'note'"):
        model.predict(sessions, keep=["nte"])


def test_groups_without_a_label_are_set_aside_and_predicted(sessions, labels):
    some = labels.assign(kind=labels["kind"].where(labels.index >= 6))
    ask = {"group": "session", "label": "kind", "method": "means-logistic", "n_splits": 2}
    model, result = fit_table(sessions, groups_table=some, **ask)
    alone, _ = fit_table(sessions[sessions["session"] >= "s06"], groups_table=labels, **ask)
    assert result.about.n_groups == 30 and result.about.n_unlabelled == 24
    pd.testing.assert_frame_equal(model.predict_groups(sessions), alone.predict_groups(sessions))


def test_a_label_on_some_rows_of_a_group_is_a_mistake(sessions, labels):
    table = sessions.merge(labels)
    table.loc[[0, 1], "kind"] = None
    with pytest.raises(TableError, match="a value on 2 of the 4 rows of group 's00'"):
        JobOptions(table=table, group="session", label="kind").job()
    with pytest.raises(TableError, match="no value at all"):
        JobOptions(table=table.assign(kind=None), group="session", label="kind").job()


def test_methods_that_use_unlabelled_rows_get_those_of_the_target():
    old = pd.DataFrame({"x": RNG.normal(size=40), "y": ["a", "b"] * 20})
    old["x"] += 4 * (old["y"] == "b")
    new = old.assign(x=old["x"] + 1, y=old["y"].where(old.index < 12))
    job, why = JobOptions(table=new, sources={"old": old}, label="y").job()
    assert job.supervision.kind == "transfer" and why == "as domains are given"
    assert job.targets.domains.tolist() == ["target"] * 12 + ["old"] * 40
    assert len(job.unlabelled.rows) == 28 and job.unlabelled.is_target.all()
    for method in ("importance", "transductive-svm", "target-only"):
        model = job.fit(job.method(method), {})
        said = model.predict(new)
        assert said.columns.tolist() == ["predicted", "p_a", "p_b"] and len(said) == 40
    without, _ = JobOptions(table=new[:12], sources={"old": old}, label="y").job()
    plain = without.fit(without.method("importance"), {}).estimator.row_weights_
    used = job.fit(job.method("importance"), {}).estimator.row_weights_
    assert plain.shape == used.shape == (52,) and not np.allclose(plain, used)


def test_sources_are_named_apart_and_targets_by_name(tmp_path):
    frame = pd.DataFrame({"x": RNG.rand(20), "y": ["a", "b"] * 10})
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        frame.to_csv(tmp_path / folder / "t.csv", index=False)
    paths = [tmp_path / "one" / "t.csv", tmp_path / "two" / "t.csv"]
    job, _ = JobOptions(table=paths[0], sources=paths, label="y").job()
    assert np.unique(job.targets.domains).tolist() == ["t", "t (2)", "t (3)"]
    with pytest.raises(OptionError, match="'old' is the name of a source"):
        JobOptions(table=frame, sources={"old": frame}, target_domain="old", label="y").job()
    with pytest.raises(OptionError, match="do not go together"):
        JobOptions(table=frame.assign(g=1), groups_table=pd.DataFrame({"g": [1], "z": [2]}),
                   group="g", sources=[frame], label="y").job()  # fmt: skip


@pytest.mark.parametrize("kind", ["majority", "measure", "proportions"])
def test_coarser_ids_stay_on_one_side(sessions, labels, kind):
    table = sessions.merge(labels)
    known = {"measure": {"measure": "accuracy"}}.get(kind, {})
    job, _ = JobOptions(
        table=table, group="session", label="kind", kind=kind, keep_whole="user", **known
    ).job()
    assert "user" not in job.schema.columns and job.about().keep_whole == "user"
    users = table["user"].to_numpy()
    tested = []
    for train, test in job.splits(4):
        assert not set(users[train]) & set(users[test])
        assert kind != "majority" or table["kind"].iloc[test].nunique() == 2
        tested += test.tolist()
    assert sorted(tested) == list(range(len(table)))


def test_a_group_in_two_coarser_ids_is_refused(sessions, labels):
    table = sessions.merge(labels)
    table.loc[1, "user"] = "u99"
    with pytest.raises(TableError, match="group 's00' has rows of 'u00' and of 'u99' in column"):
        JobOptions(table=table, group="session", label="kind", keep_whole="user").job()
    one = table.assign(user="u", kind=table["kind"])
    job, _ = JobOptions(table=one, group="session", label="kind", keep_whole="user").job()
    with pytest.raises(TableError, match="one value of `keep_whole` only"):
        job.splits(2)


def test_owners_of_groups_are_noticed(sessions):
    from groupwise import Groups

    groups = Groups(sessions["session"].to_numpy())
    frame = sessions.assign(room=[f"r{k % 3}" for k in range(len(sessions))], sex="f")
    assert coarser_ids(frame, groups, ["user", "room", "sex", "x", "when"]) == {"user": 12}


def test_texts_are_learned_from_training_rows_only(sessions, labels):
    table = sessions.merge(labels)[["session", "note", "kind"]]
    job, _ = JobOptions(table=table, group="session", label="kind").job()
    model = job.fit(job.method("naive-logistic"), {}, np.arange(80))
    words = model.preparation.encoders["note"]["words"].vocabulary_
    assert "hill" in words and "79" in words and "80" not in words
    said = model.predict_groups(table)
    assert (said["predicted"] == np.where(np.arange(N_SESSIONS) % 2, "hi", "lo")).all()


def test_directions_of_text_keep_what_the_words_say():
    """As many directions as there are words: the same linear model."""
    texts = pd.Series(["red sun at dawn", "blue sea at noon", "red sea at night", "blue sun now"])
    encoder = fit_texts(pd.DataFrame({"t": texts}), ["t"])["t"]
    counts = encoder["words"].transform(texts).toarray()
    gram = encoder.transform(texts) @ encoder.transform(texts).T
    np.testing.assert_allclose(gram, counts @ counts.T, atol=0.35)
    fitted = LogisticRegression().fit(encoder.transform(texts), [1, 0, 1, 0])
    assert fitted.predict(encoder.transform(texts)).tolist() == [1, 0, 1, 0]
    assert fit_texts(pd.DataFrame({"t": [None, "--"]}), ["t"]) == {}


def test_dates_are_learned_from(sessions, labels):
    table = sessions.merge(labels)[["session", "when", "kind"]]
    model, _ = fit_table(table, group="session", label="kind", method="group-boost", n_splits=2)
    said = model.predict_groups(table)["predicted"]
    assert (said == labels["kind"]).mean() == 1.0  # the weekday tells it
    assert model.schema.numeric == tuple(
        f"when ({p})" for p in ("days", "month", "weekday", "hour")
    )


def test_kind_with_a_positive_class_is_presence(sessions, labels):
    table = sessions.merge(labels)
    job, why = JobOptions(table=table, group="session", label="kind", positive="hi").job()
    assert job.supervision.kind == "presence" and "`positive` is given" in why


def test_a_unit_is_told():
    frame = pd.DataFrame({"weight": [f"{k % 5} kg" for k in range(48)], "x": np.arange(48.0) % 7})
    frame["visit"], frame["ill"] = np.repeat(np.arange(12), 4), np.repeat(np.arange(12) % 2, 4)
    (note,) = JobOptions(table=frame, group="visit", label="ill").job()[0].notes
    assert "'weight' (kg)" in note


@pytest.mark.long
def test_steps_in_processes_are_the_steps_of_one():
    assert list(run_steps(np.sqrt, [4.0, 9.0, 16.0], 2)) == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda label, rng: label * 10 + rng.rand(label.size), True),
        (lambda label, rng: np.where(label, "z", rng.choice(["a", "b"], label.size)), True),
        (lambda label, rng: label + 1.5 * rng.rand(label.size), False),
    ],
)
def test_a_column_that_tells_every_label_is_named(made, told):
    """It may have been made from the label, which only people can know."""
    rng = np.random.RandomState(0)
    label = np.repeat(np.arange(12) % 2, 4)
    frame = pd.DataFrame({"x": rng.rand(48), "after": made(label, rng)})
    frame["visit"], frame["ill"] = np.repeat(np.arange(12), 4), np.where(label, "yes", "no")
    job, _ = JobOptions(table=frame, group="visit", label="ill").job()
    said = "'after' alone tells the label of every row; if it is known only after the label, "
    assert job.notes == ((said + "`ignored` leaves it out",) if told else ())
    assert "after" in job.schema.columns
    for chosen in ({"wanted": ["x", "after"]}, {"ignored": ["after"]}):
        assert JobOptions(table=frame, group="visit", label="ill", **chosen).job()[0].notes == ()

"""Groups and rows without a label, in every kind: who learns from them, who answers for them."""

import numpy as np
import pandas as pd
import pytest

from groupwise.io import load_model, save_model
from groupwise.jobs import JobOptions, fit_table
from groupwise.jobs.evaluate import evaluate_model
from groupwise.methods import METHODS
from groupwise.tables import TableError, as_table

N_GROUPS, SIZE, N_UNKNOWN = 30, 5, 6


@pytest.fixture(scope="module")
def table():
    """Groups s00 to s05 have no label of any kind."""
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(N_GROUPS), SIZE)
    frame = pd.DataFrame({"g": [f"s{k:02d}" for k in code], "x": rng.normal(size=len(code))})
    frame["x"] += rng.normal(size=N_GROUPS)[code]
    mean = frame.groupby("g")["x"].transform("mean")
    count = (frame["x"] > 0).groupby(frame["g"]).transform("sum")
    known = {
        "sign": np.where(mean > 0, "up", "down"),
        "grade": np.digitize(mean, [-0.4, 0.4]),
        "mean": mean,
        "total": SIZE * mean,
        "yes": count,
        "no": SIZE - count,
        "days": (0.1 + rng.exponential(size=N_GROUPS))[code],
        "died": (rng.random(N_GROUPS) < 0.7)[code].astype(int),
        "row": np.where(frame["x"] > 0, "p", "n"),
    }
    for name, values in known.items():
        frame[name] = pd.Series(values).where(code >= N_UNKNOWN)
    frame["beds"], frame["where"] = 1.0, np.where(code % 2, "here", "there")
    return frame


KNOWN = {
    "majority": ("means-logistic", {"label": "sign"}),
    "presence": ("noisy-or-boost", {"label": "sign"}),
    "grade": ("group-boost", {"label": "grade"}),
    "proportions": ("means-logistic", {"label": ["no", "yes"]}),
    "reported": ("group-boost", {"label": "yes", "reported": "laplace 1"}),
    "mean": ("means-ridge", {"label": "mean"}),
    "total": ("group-boost-poisson", {"label": "yes", "exposure": "beds"}),
    "survival": ("means-cox", {"label": "days", "event": "died"}),
    "measure": ("boosted-rows", {"label": "row"}),
    "transfer": ("equal-mass-logistic", {"label": "row", "domain": "where",
                                         "target_domain": "here"}),
}  # fmt: skip


def asked(kind):
    method, ask = KNOWN[kind]
    return {"group": "g", "kind": kind, "wanted": ["x"], **ask}, method


@pytest.mark.parametrize("kind", KNOWN)
def test_they_are_set_aside_and_answered_for(table, kind, tmp_path):
    ask, method = asked(kind)
    ask |= {"method": method, "n_splits": 3}
    model, result = fit_table(table, **ask)
    labelled = table[table["g"] >= f"s{N_UNKNOWN:02d}"]
    alone, other = fit_table(labelled, **ask)
    assert result.about.n_unlabelled == N_UNKNOWN * SIZE and other.about.n_unlabelled == 0
    assert result.about.n_groups == N_GROUPS - N_UNKNOWN
    pd.testing.assert_frame_equal(model.predict(table), alone.predict(table))
    said = load_model(save_model(model, tmp_path / "m")).predict_groups(table)
    assert len(said) == N_GROUPS and not said.isna().any(axis=None)
    judged = evaluate_model(model, as_table(table))
    assert judged.about.n_unlabelled == N_UNKNOWN * SIZE
    assert judged.unit_scores()[method].equals(
        evaluate_model(alone, as_table(labelled)).unit_scores()[method]
    )


@pytest.mark.parametrize("kind", [kind for kind in KNOWN if kind not in ("measure", "transfer")])
def test_a_label_on_some_rows_of_a_group_is_refused(table, kind):
    ask, _ = asked(kind)
    label = ask["label"] if isinstance(ask["label"], list) else [ask["label"]]
    odd = table.copy()
    odd.loc[N_UNKNOWN * SIZE, label] = np.nan
    with pytest.raises(TableError, match=r"a value on 4 of the 5 rows of group 's06'"):
        JobOptions(table=odd, **ask).job()


def test_a_time_without_its_event_is_refused(table):
    ask, _ = asked("survival")
    odd = table.assign(died=table["died"].where(table["g"] != "s07"))
    with pytest.raises(TableError, match=r"column 'died' .`event`. is missing in 5 rows"):
        JobOptions(table=odd, **ask).job()


@pytest.mark.parametrize("method", [m for m in METHODS if m.uses_unlabelled],
                         ids=lambda m: f"{m.kind} {m.name}")  # fmt: skip
def test_those_that_learn_from_them_do(table, method):
    ask, _ = asked(method.kind)
    with_them, _ = JobOptions(table=table, **ask).job()
    labelled = table[table["g"] >= f"s{N_UNKNOWN:02d}"]
    without, _ = JobOptions(table=labelled, **ask).job()
    found = [
        job.fit(method, {}).predict(table).filter(like="p_").to_numpy()
        for job in (with_them, without)
    ]
    assert not np.allclose(*found)

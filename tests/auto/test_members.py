"""Every candidate of the table, fitted to one fold of a small table."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

from groupwise.auto import AutoGroupClassifier
from groupwise.auto import fold_tables as fold_tables_module
from groupwise.auto.candidates import first_candidates
from groupwise.auto.fold_tables import fold_tables
from groupwise.auto.members import Fold, one_thread
from groupwise.auto.problem import Problem
from groupwise.groups import Groups
from groupwise.incontext import InContextClassifier
from groupwise.preparation import fit_preparation


@pytest.mark.parametrize(
    "kind",
    [
        "measure",
        "transfer",
        *(pytest.param(k, marks=pytest.mark.long) for k in ("majority", "presence", "proportions")),
    ],
)
def test_no_candidate_fails_on_a_plain_table(kind):
    """All of them at once: one that always fails is in no average, and nobody would miss it."""
    rng = np.random.RandomState(0)
    groups = Groups(np.repeat(np.arange(24), 6))
    y_row = rng.randint(2, size=144)
    X = rng.normal(size=(144, 4)) + y_row[:, None]
    y = {"measure": y_row, "transfer": y_row}.get(kind, (groups.codes % 2))
    if kind == "proportions":
        y = groups.spread(groups.mean(np.eye(2)[y_row]))
    domains = (groups.codes >= 12).astype(np.intp) if kind == "transfer" else None
    problem = Problem(X, y, groups, 2, domains=domains)
    model = AutoGroupClassifier(kind)
    resolved = model._resolve_kind()
    tiers, _ = first_candidates(kind, n_rows=144, n_features=4, n_classes=2, measure="f1")
    with fold_tables(problem, resolved.splits(problem, 2, 0)) as tables:
        fold = Fold(resolved, tables, 0, 0)
        failed = {c.name: fold.answer(c).failed for tier in tiers for c in tier}
    assert not any(failed.values()), failed


def test_rows_of_a_fold_are_prepared_once_and_go_with_it(monkeypatch):
    rng = np.random.RandomState(0)
    groups = Groups(np.repeat(np.arange(24), 6))
    X = rng.normal(size=(144, 4))
    X[rng.rand(144, 4) < 0.1] = np.nan
    problem = Problem(X, groups.codes % 2, groups, 2)
    kind = AutoGroupClassifier("majority")._resolve_kind()
    learned = []

    def spy(*given):
        learned.append(given)
        return fit_preparation(*given)

    monkeypatch.setattr(fold_tables_module, "fit_preparation", spy)
    with fold_tables(problem, kind.splits(problem, 3, 0)) as tables:
        logistic = LogisticRegression()
        one, other = (pickle.loads(pickle.dumps(tables)).ready(1, logistic) for _ in range(2))
        assert len(learned) == 1
        train, test = tables.splits[1]
        fitted, prepared = fit_preparation(X[train], range(4), (), logistic)
        for rows in (one, other):
            np.testing.assert_array_equal(rows.X[0], prepared)
            np.testing.assert_array_equal(rows.X[1], fitted.transform(X[test]))
        plain = tables.ready(1, HistGradientBoostingClassifier())
        np.testing.assert_array_equal(plain.X[1], X[test])
        tables.keep_only([2])
        assert not tables.path(1).exists()
        assert sorted(path.name for path in tables.folder.glob("prepared-?")) == []
        np.testing.assert_array_equal(tables.ready(1, logistic).X[0], prepared)
        assert len(learned) == 2


def test_a_fit_has_one_thread_whatever_it_would_take():
    model = InContextClassifier(n_jobs=-1, random_state=0)
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(80, 3)), np.arange(80) // 4
    model.fit(X, groups % 2, groups=groups)
    threads = []
    count = model._n_threads
    model._n_threads = lambda n_rows: threads.append(count(n_rows)) or threads[-1]
    with one_thread():
        assert {each["num_threads"] for each in threadpool_info()} == {1}
        model.predict_groups(X, groups)
    assert threads == [1]

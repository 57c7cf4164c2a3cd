"""Scores, ranks, the audit's rules and the pages, from cells worked by hand."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from arena.__main__ import DOCS, RESULTS
from arena.audit import audit_table, rules
from arena.judge import area, judge
from arena.leaderboard import board_of, critical_difference
from arena.page import boards_of, fill, write_pages
from arena.problem import Problem, Split


def cell(name, method, fold, value, *, maker="groupwise", n=10, se=0.02, **more):
    line = {"room": "majority", "set": name, "method": method, "maker": maker, "fold": fold}
    score = {} if value is None else {"scores": {"accuracy": value}, "se": se, "n": n}
    return {**line, "cpu s": 1.0, **score, **more}


CELLS = [
    cell("a", "auto", 0, 0.80),
    cell("a", "peer", 0, 0.90, maker="torchmil"),
    cell("a", "plain", 0, 0.80, maker="baseline"),
    cell("a", "auto", 1, 0.60, n=30),  # the others have no second fold: it does not count
    cell("b", "auto", 0, 0.70),
    cell("b", "peer", 0, 0.71, maker="torchmil"),
    cell("b", "plain", 0, None, maker="baseline", error="too slow"),
    cell("c", "auto", 0, 0.9),  # a set that only one has run
]


def test_ranks_by_hand():
    board = board_of("majority", CELLS)
    assert board.sets == ["a", "b"]
    assert board.ranks.loc["a"].to_dict() == {"auto": 2.5, "peer": 1.0, "plain": 2.5}
    assert board.ranks.loc["b"].to_dict() == {"auto": 2.0, "peer": 1.0, "plain": 3.0}
    assert board.mean_ranks == {"peer": 1.0, "auto": 2.25, "plain": 2.75}
    assert [board.near_best(m) for m in ("auto", "peer", "plain")] == [1, 2, 0]
    assert [board.n_scored(m) for m in ("auto", "peer", "plain")] == [2, 2, 1]


def test_folds_are_combined_by_their_groups():
    both = [cell("a", "auto", 0, 0.8, n=10, se=0.04), cell("a", "auto", 1, 0.6, n=30, se=0.02)]
    score = board_of("majority", both).scores["a", "auto"]
    assert score.value == pytest.approx(0.65)
    assert score.se == pytest.approx(np.hypot(0.25 * 0.04, 0.75 * 0.02))


def test_equal_scores_are_equal_whatever_the_order_of_their_sum():
    a, b = ([cell("a", m, k, v) for k, v in enumerate(values)] for m, values in (
        ("one", (0.1, 0.2, 0.3)), ("two", (0.3, 0.2, 0.1))
    ))  # fmt: skip
    scores = board_of("majority", a + b).scores
    assert scores["a", "one"].value == scores["a", "two"].value == 0.2


def test_errors_rank_the_other_way():
    lines = [
        {"room": "transfer", "set": "a", "method": m, "maker": "x", "fold": 0, "cpu s": 1.0,
         "scores": {"target error": v}, "se": 0.1, "n": 5}
        for m, v in (("bad", 0.5), ("good", 0.1))
    ]  # fmt: skip
    assert board_of("transfer", lines).mean_ranks == {"good": 1.0, "bad": 2.0}


def test_critical_difference_is_that_of_the_paper():
    # Demsar (2006), section 3.2.4: four classifiers, 14 sets, q = 2.569
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_area_and_its_standard_error():
    y, score = np.array([1, 1, 0, 0]), np.array([0.9, 0.4, 0.5, 0.4])
    value, se = area(y, score)
    assert value == pytest.approx(roc_auc_score(y, score)) == pytest.approx(0.625)
    # shares won: positives 1 and .25, negatives .5 and .75
    assert se == pytest.approx(np.sqrt(0.28125 / 2 + 0.03125 / 2))


def test_row_errors_are_clustered_by_group():
    truth, groups = np.array([0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    problem = Problem(np.zeros((6, 1)), truth, groups, truth)
    split = Split(np.array([], int), np.arange(6))
    found = judge("proportions", problem, split, {"label": np.array([1, 1, 1, 1, 1, 1])})
    assert found["scores"]["row error"] == pytest.approx(1 / 3) and found["n"] == 3
    # two wrong in one group, none in the others: excess 4/3, -2/3, -2/3
    assert found["se"] == pytest.approx(np.sqrt(1.5 * (16 + 4 + 4) / 9) / 6, abs=1e-6)
    with pytest.raises(ValueError, match="6 were asked for"):
        judge("proportions", problem, split, {"label": np.array([1])})


def test_audit_rules_by_hand():
    y = np.array([0, 0, 1, 1])
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.1, 0.6, 0.9, 0.9], [0.6, 0.1, 0.4, 0.9]])
    found = rules(y, scores)
    assert found["last epoch"] == 0.5
    assert found["best epoch"] == 0.75  # the second
    assert found["best epoch and threshold"] == 1.0  # the first, at .3
    assert found["AUC of the last"] == 0.75 and found["AUC of the best"] == 1.0


def test_audit_intervals_are_over_folds():
    rows = [
        {"set": "s", "method": "net", "last epoch": 0.5, "best epoch": 0.5 + 0.1 * (fold % 2),
         "best epoch and threshold": 0.7, "AUC of the last": 0.5, "AUC of the best": 0.5}
        for fold in range(10)
    ]  # fmt: skip
    line = audit_table(rows).iloc[0]
    assert line["last epoch"] == pytest.approx(0.5)
    mean, half = line["epoch adds"]
    assert mean == pytest.approx(0.05)
    assert half == pytest.approx(2.262 * np.sqrt(0.0025 * 10 / 9 / 10), rel=1e-3)
    assert audit_table(rows[:9]).empty  # a set whose folds are not all there


def test_pages_are_made_from_the_stored_file(tmp_path):
    (tmp_path / "cells.jsonl").write_text("\n".join(map(json.dumps, CELLS)) + "\n")
    write_pages(tmp_path, tmp_path)
    markdown = (tmp_path / "leaderboard.md").read_text()
    standing = [line for line in markdown.splitlines() if line.startswith("| ")][2:5]
    assert [line.split(" | ")[0][2:] for line in standing] == ["peer", "**auto**", "plain"]
    assert "| b | 1 | **0.710 ± 0.039** | 0.700 ± 0.039 | - |" in markdown
    assert "No score of plain: too slow (b)." in markdown
    html = (tmp_path / "leaderboard.html").read_text()
    assert html.index(">peer<") < html.index(">auto<")
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "peer 1.0" in (tmp_path / "arena.svg").read_text()
    assert "peer (1.0), auto (2.2), plain (2.8)" in (tmp_path / "head.md").read_text()
    assert "| majority | 2 of 9 | 3 |" in (tmp_path / "head.md").read_text()
    assert [board.room for board in boards_of(CELLS)] == ["majority"]


def test_marked_lines_are_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    for _ in range(2):
        fill(page, "x", ["new"])
    assert page.read_text() == "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n"


def test_the_pages_in_the_checkout_are_those_of_the_stored_cells(tmp_path):
    for name in ("cells.jsonl", "audit.jsonl"):
        (tmp_path / name).write_text((RESULTS / name).read_text())
    write_pages(tmp_path, tmp_path)
    for name in ("leaderboard.md", "audit.md", "head.md"):
        assert (tmp_path / name).read_text() == (RESULTS / name).read_text()
    for name in ("arena.svg", "leaderboard.html"):
        assert (tmp_path / name).read_text() == (DOCS / name).read_text()
    readme = (DOCS.parent / "README.md").read_text()
    for name in ("head.md", "peers.md"):
        assert (RESULTS / name).read_text() in readme

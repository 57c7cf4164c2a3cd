"""Grades of groups: the shell says what the library says."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.cli import app
from groupwise.gbdt import GroupBoostClassifier
from groupwise.io import load_model
from groupwise.jobs import GroupResults, make_supervision


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Cells of 40 slides; grades 2, 9 and 10, which text would put in another order."""
    rng = np.random.default_rng(0)
    slide = np.repeat([f"s{k:02d}" for k in range(40)], 5)
    frame = pd.DataFrame({"slide": slide, "area": rng.normal(size=200), "edge": rng.random(200)})
    frame["area"] += np.repeat(2 * rng.normal(size=40), 5)
    mean = frame.groupby("slide")["area"].transform("mean")
    frame["grade"] = np.array([2, 9, 10])[np.digitize(mean, [-0.7, 0.7])]
    path = tmp_path_factory.mktemp("slides") / "slides.csv"
    frame.to_csv(path, index=False)
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_shell_agrees_with_the_library(slides):
    out = slides.parent / "m.skops"
    done = run("fit", slides, "-g", "slide", "-l", "grade", "-k", "grade", "-m", "group-boost",
               "-p", "n_estimators=20", "-o", out, "--folds", 2, "--seed", 3)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "grades 2 < 9 < 10" in done.output and "grades off on average" in done.output
    frame = pd.read_csv(slides)
    own = GroupBoostClassifier("ordinal", n_estimators=20, random_state=3)
    own.fit(frame[["area", "edge"]], frame["grade"], groups=frame["slide"])
    found = own.predictions(frame[["area", "edge"]], groups=frame["slide"])
    table = slides.parent / "out.csv"
    for level, proba, said in (
        ("group", found.proba_group, found.y_group),
        ("row", found.proba_row, found.y_row),
    ):
        done = run("predict", out, slides, "--level", level, "-o", table)
        assert done.exit_code == 0, done.output
        lines = pd.read_csv(table)
        columns = lines[["p_2", "p_9", "p_10"]].to_numpy()
        np.testing.assert_allclose(columns, proba, rtol=0, atol=1e-12)
        assert lines["predicted"].tolist() == said.tolist()
    done = run("evaluate", out, slides, "--json")
    score = own.score(frame[["area", "edge"]], frame["grade"], groups=frame["slide"])
    assert json.loads(done.stdout)["score"] == pytest.approx(score, abs=1e-12)


def test_all_commands_take_grades(slides):
    known = ("-g", "slide", "-l", "grade", "-k", "grade", "--folds", 2)
    folder, page = slides.parent / "comparison", slides.parent / "page.html"
    done = run("compare", slides, *known, "-m", "group-boost,means-logistic", "--no-search",
               "-o", folder, "--report", page)  # fmt: skip
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "Grades 2 &lt; 9 &lt; 10." in text and "Class by class" in text
    assert "grades off on average</span>" in text
    done = run("doubts", slides, *known, "--n", 2)
    assert done.exit_code == 0 and "labels are doubted by models" in done.output
    done = run("fit", slides, *known, "-m", "group-boost", "-p", "n_estimators=5",
               "--coverage", 0.8, "-o", slides.parent / "c.skops")  # fmt: skip
    assert done.exit_code == 0 and "promised:" in done.output, done.output
    assert load_model(slides.parent / "c.skops").classes == ("2", "9", "10")
    done = run("describe", slides, "-g", "slide", "-l", "grade")
    assert "kind:    grade: the label is a grade of a group" in done.output


def test_the_mean_distance_by_hand():
    units = [
        GroupResults(list("ab"), [1, 1], [0.0, 1.0], [0, 2], [[1, 0, 0, 0]] * 2, truth=[1, 2]),
        GroupResults(["c"], [1], [0.0], [1], [[1, 0, 0, 0]], truth=[3]),
    ]
    known = make_supervision("grade", group="g", label="grade")
    assert known.in_words(units) == "1.00 grades off on average"  # 1, 0 and 2


@pytest.mark.parametrize(
    ("column", "words", "said"),
    [
        ("grade", ("-k", "grade", "--positive", "2"), "--kind grade has no use for --positive"),
        ("grade", ("-k", "grade", "-p", "gama=2", "-m", "group-boost"), "has no parameter 'gama'"),
        ("grade", ("-k", "grade", "-m", "sboost"), "--kind grade has no method 'sboost'"),
        (
            "area",
            (
                "-k",
                "grade",
            ),
            "a label names a class",
        ),
    ],
)
def test_what_is_refused(slides, column, words, said):
    done = run("fit", slides, "-g", "slide", "-l", column, *words, "-o", slides.parent / "no.skops")
    assert done.exit_code != 0 and said in done.output, done.output
    assert len(done.output.strip().splitlines()) == 1

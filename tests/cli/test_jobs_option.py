"""Folds and methods in parallel: the same result to the bit."""

import json

import pytest

METHODS = "means-logistic,naive-logistic"
# What a clock and a meter say.
MEASURED = ("seconds_search", "seconds_fit", "seconds_predict", "memory_mib")


def folds(folder):
    content = json.loads((folder / "result.json").read_text())["methods"]
    return {
        name: [{k: v for k, v in fold.items() if k not in MEASURED} for fold in found]
        for name, found in content.items()
    }


@pytest.mark.long
def test_compare_in_two_processes(run, fitted, tmp_path):
    for jobs in (1, 2):
        done = run(
            "compare", fitted / "good.csv", "-g", "group", "-l", "kind", "-m", METHODS,
            "--folds", 2, "--no-search", "--jobs", jobs, "-o", tmp_path / str(jobs),
        )  # fmt: skip
        assert done.exit_code == 0, done.stderr
    assert folds(tmp_path / "1") == folds(tmp_path / "2")


@pytest.mark.long
def test_fit_in_two_processes(run, fitted, tmp_path):
    summaries = []
    for jobs in (1, 2):
        done = run("fit", fitted / "good.csv", "-g", "group", "-l", "kind", "-m", "naive-logistic",
                   "--folds", 2, "--jobs", jobs, "--json", "-o", tmp_path / "m.skops")  # fmt: skip
        assert done.exit_code == 0, done.stderr
        summaries.append(json.loads(done.stdout))
    assert summaries[0] == summaries[1]

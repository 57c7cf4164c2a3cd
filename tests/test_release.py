"""What stands beside the package says what the package says."""

import subprocess
import tomllib
from pathlib import Path

import pytest

import groupwise

yaml = pytest.importorskip("yaml", reason="the extra docs is not installed")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def test_the_citation_names_this_version_and_the_five_papers():
    citation = read("CITATION.cff")
    assert citation["version"] == groupwise.__version__
    assert sorted(paper["year"] for paper in citation["references"]) == [
        2003,
        2005,
        2007,
        2008,
        2009,
    ]


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = read("conda/meta.yaml")
    assert recipe["package"]["version"] == groupwise.__version__
    assert recipe["about"]["summary"] == PROJECT["description"]
    needed = [line.replace(" ", "") for line in recipe["requirements"]["run"]]
    of_pip = [line.replace("matplotlib>", "matplotlib-base>") for line in PROJECT["dependencies"]]
    assert needed == [f"python{PROJECT['requires-python']}", *of_pip]


def test_the_workflow_runs_what_there_is():
    jobs = read(".github/workflows/checks.yml")["jobs"]
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert jobs["checks"]["strategy"]["matrix"]["python"][0] == lowest
    steps = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    for program in (line.split()[0] for line in steps if line.startswith(".ci/")):
        assert (ROOT / program).stat().st_mode & 0o100, f"{program} cannot be run"
    for page in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(page.read_text())


@pytest.mark.long
def test_the_wheel_works_by_itself():
    """Built, checked, installed alone and used, away from the source; needs an index for pip."""
    done = subprocess.run([ROOT / ".ci" / "wheel"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "PASSED" in done.stdout and "SBoostClassifier" in done.stdout

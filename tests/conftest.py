import os
import shutil
import subprocess
import tempfile
from pathlib import Path

# Two test processes on two cores: more threads would only wait for each other. Before any import
# that starts a thread pool.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

from groupwise import Groups
from groupwise.datasets import GroupedData, data_folder, make_sessions
from groupwise.rules import get_rule

# A run must not turn red because a busy machine stopped a process for a fifth of a second, nor on
# an example that only this run drew: look for new ones with `--hypothesis-profile=default`.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture
def sessions() -> GroupedData:
    """Two overlapping classes, 52 sessions of five rows, sorted by session."""
    rng = np.random.RandomState(3)
    y_row = rng.randint(2, size=300)
    X = rng.normal(size=(300, 4)) + y_row[:, None]
    return make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=3)


@pytest.fixture(scope="session")
def real_data():
    """The data folder; tests that use it are skipped where it is absent."""
    if not os.environ.get("GROUPWISE_DATA"):
        pytest.skip("GROUPWISE_DATA names no folder of data sets")
    return data_folder()


@pytest.fixture
def counts_threads():
    """A classifier that notes in ``seen`` how many threads it may have; here these are two."""

    class CountsThreads(GaussianNB):
        seen: ClassVar[list[int]] = []

        def fit(self, X, y):
            self._count()
            return super().fit(X, y)

        def predict_proba(self, X):
            self._count()
            return super().predict_proba(X)

        def _count(self):
            self.seen.append(max(library["num_threads"] for library in threadpool_info()))

    with threadpool_limits(2):
        yield CountsThreads


@dataclass(frozen=True)
class FakePredictions:
    classes: np.ndarray
    groups: Groups
    score_row: np.ndarray
    proba_row: np.ndarray
    proba_group: np.ndarray
    code_row: np.ndarray

    @property
    def y_row(self):
        return self.classes[self.code_row]

    @property
    def y_group(self):
        return self.classes[self.proba_group.argmax(axis=1)]


class AboveGroupMean(ClassifierMixin, BaseEstimator):
    """Positive where the first feature is above its mean in the row's group: groups decide.

    Whoever asks it without groups gets other answers; whoever asks it otherwise than by
    ``predictions`` gets an error.
    """

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predictions(self, X, groups=None):
        groups = Groups.singletons(len(X)) if groups is None else Groups(groups)
        score_row = X[:, 0] - groups.mean(X[:, 0])[groups.codes]
        proba = 1 / (1 + np.exp(-score_row))
        proba_row = np.column_stack([1 - proba, proba])
        return FakePredictions(
            self.classes_,
            groups,
            score_row,
            proba_row,
            get_rule("mean").combine(proba_row, groups),
            (score_row > 0).astype(int),
        )


@pytest.fixture
def above_group_mean():
    return AboveGroupMean()


@pytest.fixture(scope="session")
def run():
    """Run a command in this process; the two streams apart."""
    from typer.testing import CliRunner

    from groupwise.cli.commands import app

    return lambda *arguments, **options: CliRunner().invoke(
        app, [str(a) for a in arguments], **options
    )


def _postgres_programs() -> Path | None:
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """The address of a PostgreSQL server of our own, on a socket in a temporary folder."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    if os.geteuid() == 0 and not shutil.which("runuser"):
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path must be short
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(program, *arguments):
        command = [*as_user, str(programs / program), *arguments]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)

    data = folder / "data"
    run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
    options = f"-k {folder} -h '' -F"
    run("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
    yield f"postgresql://postgres:secret@/postgres?host={folder}"
    run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


# What starts processes, clusters or browsers, runs the documentation, repeats papers, or asks every
# estimator everything; other slow tests are marked where they stand.
SLOW = (
    "cli/",
    "dask/",
    "jobs/test_scores.py",
    "report/",
    "reproductions/",
    "security/",
    "test_contract.py",
    "test_docs.py",
)

# scikit-learn's checks know no groups, and estimators of one base answer them by the same code: by
# default these are asked, the others by ``pytest -m ""``, as is all that is marked ``long``.
ASKED = (
    *("APRClassifier", "BoostedRows", "ConformalGroupRegressor", "GroupBoostClassifier(n"),
    *("GroupBoostRegressor(n", "KNNAOC", "ManifoldAOCClassifier()", "ManifoldAOCRegressor()"),
    *("SBoostClassifier(n", "SVMPerf", "TransductiveSVC", "WeightedTransferClassifier()"),
)


def pytest_collection_modifyitems(items):
    """Mark by place what ``-m "not slow"`` leaves out, and what a plain ``pytest`` does."""
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here).as_posix()
        function, _, case = item.name.partition("[")
        if function == "test_scikit_learn_contract" and not case.startswith(ASKED):
            item.add_marker(pytest.mark.long)
        long = item.get_closest_marker("long") is not None
        if long or path.startswith(SLOW) or path.endswith(SLOW):
            item.add_marker(pytest.mark.slow)

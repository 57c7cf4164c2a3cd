import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def people():
    """Mixed columns: ids with leading zeros, missing values, categories, dates, whole numbers."""
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "visit": np.repeat(["007", "08", "11", "12"], 10),
            "height": rng.normal(size=40),
            "steps": rng.randint(100, size=40),
            "colour": ["red", "green", None, "blue"] * 10,
            "when": pd.date_range("2024-01-01", periods=40, freq="h"),
            "ill": np.repeat(["no", "yes", "no", "yes"], 10),
        }
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
    import tempfile

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

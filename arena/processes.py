"""The arena's side of a method's process: environments, and one worker for each."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arena.problem import pack

__all__ = ["ENVIRONMENTS", "Environment", "Worker"]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Environment:
    """Where a method's file runs.

    Attributes
    ----------
    name : str
    file : str
        With the methods, below this folder.
    requires : tuple of str
        What pip installs; empty: the arena's own environment.
    """

    name: str
    file: str
    requires: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The virtual environment, below the folder that ARENA_ENVIRONMENTS names."""
        return Path(os.environ.get("ARENA_ENVIRONMENTS", ".arena"), self.name).absolute()

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python" if self.requires else Path(sys.executable)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions are kept with every cell."""
        if not self.requires:
            return ("groupwise", "lightgbm", "scikit-learn", "numpy", "torch")
        return tuple(re.split(r"\[|==", requirement)[0] for requirement in self.requires)

    def install(self) -> None:
        """Make it, or bring it up to date."""
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        subprocess.run([str(self.python), "-m", "pip", "install", *self.requires], check=True)

    def versions(self) -> dict[str, str]:
        """Versions of Python and of its packages."""
        code = (
            "import json, platform, sys; from importlib import metadata as m\n"
            "def v(n):\n    try: return m.version(n)\n"
            "    except m.PackageNotFoundError: return 'absent'\n"
            "print(json.dumps({'python': platform.python_version(), "
            "**{n: v(n) for n in sys.argv[1:]}}))"
        )
        done = subprocess.run(
            [str(self.python), "-c", code, *self.packages],
            check=True,
            capture_output=True,
            text=True,
        )
        return dict(json.loads(done.stdout))


ENVIRONMENTS = {
    each.name: each
    for each in (
        Environment("groupwise", "own.py"),
        Environment("torchmil", "peers/torchmil_bags.py", ("torch==2.13.0", "torchmil==1.0.2")),
        Environment("sawmil", "peers/sawmil_bags.py", ("sawmil==0.2.1", "osqp==1.0.5")),
        Environment("mil", "peers/mil_bags.py", ("mil==1.0.5", "scikit-learn==1.9.1")),
        Environment("llp-learn", "peers/llp_learn_rows.py", ("llp-learn==1.6.0",)),
        Environment("adapt", "peers/adapt_rows.py", ("adapt==0.4.5",)),
        Environment("skada", "peers/skada_rows.py", ("skada==0.6.0",)),
        Environment(
            "autogluon", "peers/autogluon_means.py", ("autogluon.tabular[lightgbm]==1.6.3",)
        ),
    )
}


def _surroundings() -> dict[str, str]:
    """Variables of a method's process: one thread, and nothing that leads to the data."""
    kept = ("PATH", "HOME", "LD_LIBRARY_PATH", "LANG", "PYTHONPATH")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return found | one | {"PYTHONHASHSEED": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}


class Worker:
    """A process that runs the methods of one file, each cell in a fork.

    Parameters
    ----------
    environment : Environment
    """

    def __init__(self, environment: Environment):
        self.environment = environment
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [str(environment.python), str(HERE / "worker.py"), str(HERE / environment.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.folder.name,
            env=_surroundings(),
        )
        self.methods = self._reply()["methods"]

    def ask(self, method: str, task: dict[str, Any], seconds: int) -> dict[str, Any]:
        """A method's answer to a task.

        Returns
        -------
        reply : dict
            ``cpu`` (seconds) and ``answer`` (arrays) or ``error``.
        """
        paths = {name: Path(self.folder.name, f"{name}.npz") for name in ("task", "answer")}
        paths["task"].write_bytes(pack(task))
        job = {name: str(path) for name, path in paths.items()}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({**job, "method": method, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        reply = self._reply()
        if "error" not in reply:
            with np.load(paths["answer"], allow_pickle=False) as file:
                reply["answer"] = {name: file[name] for name in file.files}
        for path in Path(self.folder.name).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return reply

    def _reply(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the process of {self.environment.name} ended with code {self.process.wait()}; "
                f"try: {self.environment.python} {HERE / self.environment.file}"
            )
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
        self.folder.cleanup()

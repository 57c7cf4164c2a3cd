"""The walk of a call through the package: which files and functions it enters, in which order.

``python benchmarks/walk.py`` counts; ``python benchmarks/walk.py -v`` names them as well. What is
entered while modules are being loaded does not count, nor does the look-up of names in the package
itself: skops asks every loaded module for every name it writes.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd

import groupwise

PACKAGE = Path(groupwise.__file__).parent


class Walk:
    """Files and functions of the package that are entered while the block runs, in order.

    A class body, a lambda or a comprehension is part of the function around it.
    """

    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], None] = {}
        self._codes: set[CodeType] = set()

    def __enter__(self) -> "Walk":
        sys.setprofile(self._step)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(file for file, _ in self.functions))

    def _step(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self._codes:
            return
        self._codes.add(code)
        path = Path(code.co_filename)
        if (
            path.is_relative_to(PACKAGE)
            and not code.co_name.startswith("<")
            and path != PACKAGE / "__init__.py"
            and not _loading(frame)
        ):
            self.functions[str(path.relative_to(PACKAGE)), code.co_qualname] = None


def _loading(frame: FrameType | None) -> bool:
    """Whether a module of the package is being executed further up."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and str(PACKAGE) in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def make_sessions() -> tuple[pd.DataFrame, Any, Any]:
    """Forty sessions of eight rows."""
    rng = np.random.RandomState(0)
    groups = np.repeat([f"s{k:02d}" for k in range(40)], 8)
    y = np.repeat(np.arange(40) % 2, 8)
    X = pd.DataFrame(rng.normal(size=(320, 3)) + y[:, None], columns=["a", "b", "c"])
    return X, y, groups


def walks(folder: Path) -> dict[str, Callable[[], Any]]:
    """The calls, by name."""
    from groupwise.cli import app

    # taken before, so that the walk does not begin with the look-up of a name
    sboost_class, boost_class = groupwise.SBoostClassifier, groupwise.GroupBoostClassifier
    X, y, groups = make_sessions()
    table = folder / "t.csv"
    X.assign(session=groups, kind=np.where(y, "high", "low")).to_csv(table, index=False)

    def sboost() -> None:
        sboost_class(n_estimators=5).fit(X, y, groups=groups)

    def group_boost() -> None:
        boost_class(n_estimators=5).fit(X, y, groups=groups)

    def command(*words: str) -> Callable[[], Any]:
        return lambda: app(list(words), standalone_mode=False)

    model = str(folder / "m.skops")
    return {
        "SBoostClassifier.fit": sboost,
        "GroupBoostClassifier.fit": group_boost,
        "groupwise fit": command(
            "fit",
            str(table),
            "-g",
            "session",
            "-l",
            "kind",
            "-m",
            "group-boost",
            "-q",
            "--folds",
            "2",
            "-o",
            model,
        ),
        "groupwise predict": command("predict", model, str(table), "-q", "-o", f"{table}.out.csv"),
    }


def main() -> None:
    verbose = "-v" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for name, call in walks(Path(folder)).items():
            with Walk() as walk:
                call()
            print(f"{name}: {len(walk.files)} files, {len(walk.functions)} functions")
            if verbose:
                for file in walk.files:
                    inside = [function for path, function in walk.functions if path == file]
                    print(f"  {file}: {', '.join(inside)}")


if __name__ == "__main__":
    main()

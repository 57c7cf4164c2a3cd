"""The room imports without torch, and trains without what other rooms need."""

import subprocess
import sys

import pytest

BLOCKED = ("lightgbm", "skops", "highspy", "pyarrow", "matplotlib", "xgboost", "psutil", "typer")
PROGRAM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError("blocked " + name)

sys.meta_path.insert(0, Blocked())
import groupwise
import groupwise.nets
assert "torch" not in sys.modules
import numpy as np
from groupwise.nets import GroupNetClassifier
X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 1, 1, 0, 0])
model = GroupNetClassifier("presence", encoder=(4,), epochs=2, n_members=1, device="cpu")
model.fit(X, y, groups=[0, 0, 1, 1, 2, 2]).predict_groups(X, [0, 0, 1, 1, 2, 2])
"""


@pytest.mark.long  # a process that imports torch
def test_a_machine_with_torch_and_scikit_learn_is_enough():
    program = PROGRAM.format(blocked=set(BLOCKED))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

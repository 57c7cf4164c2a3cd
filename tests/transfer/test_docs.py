"""The examples of the room's page run as they stand."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "_room_transfer.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("position", range(len(EXAMPLES)))
def test_example_runs(position):
    exec(compile(EXAMPLES[position], str(PAGE), "exec"), {})

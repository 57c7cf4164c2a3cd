import os
import stat
import subprocess
import sys

import pytest

from groupwise.files import write_text, written_whole


def test_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "first")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), written_whole(path) as part:
            part.write_text("half of the sec")
            raise error
    assert path.read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(OSError, match=r"No space left.*a\.txt'"), written_whole(path):
        raise OSError(28, "No space left on device")
    with pytest.raises(OSError, match=r"b\.txt"), written_whole(path):
        raise FileNotFoundError(2, "No such file", "b.txt")
    with (
        pytest.raises(FileNotFoundError, match=r"gone.a\.txt"),
        written_whole(tmp_path / "gone/a.txt"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_modes_are_those_of_a_plain_open(tmp_path):
    path, plain = tmp_path / "a.txt", tmp_path / "b.txt"
    plain.write_text("")
    write_text(path, "x")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    write_text(path, "y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("first")
    program = (
        "import os, signal, sys\nfrom groupwise.files import written_whole\n"
        "with written_whole(sys.argv[1]) as part:\n"
        "    part.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(path)], env=os.environ, timeout=60)
    assert ended.returncode == -9 and path.read_text() == "first"

import os
import socket
import stat
import subprocess
import sys
import zlib

import pytest

from groupwise.files import is_part, write_text, written_whole


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
    (left,) = [p for p in tmp_path.iterdir() if p != path]
    assert is_part(left, "a.txt") and not is_part(left, "b.txt") and not is_part(path)
    write_text(tmp_path / "b.txt", "another file")  # is no reason to sweep this one's
    assert left.exists()
    write_text(path, "second")
    assert not left.exists() and path.read_text() == "second"


def test_only_our_own_dead_parts_are_swept(tmp_path):
    host = f"{zlib.crc32(socket.gethostname().encode()):08x}"
    other = "ffffffff" if host != "ffffffff" else "00000000"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [f".a.txt.{host}-{os.getpid()}-x.part", f".a.txt.{other}-{dead.pid}-x.part",
            f".b.txt.{host}-{dead.pid}-x.part", ".a.txt.x.part", "a.txt.part"]  # fmt: skip
    gone = f".a.txt.{host}-{dead.pid}-x.part"
    for name in [*kept, gone]:
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "a.txt", "whole")
    assert {p.name for p in tmp_path.iterdir()} == {*kept, "a.txt"}

"""Files with random damage: always an answer or one line, never a traceback or a crash."""

import random
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from groupwise.tables import write_table

PIECES = [b",", b"\n", b'"', b"\0", b"\xff", b"NaN", b"inf", b"1e999"]


def damaged(data, chance):
    data = bytearray(data)
    place = chance.randrange(len(data))
    kind = chance.choice(["change", "cut", "insert", "zero", "repeat"])
    if kind == "change":
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif kind == "cut":
        del data[place:]
    elif kind == "insert":
        data[place:place] = chance.choice(PIECES) * chance.randint(1, 3)
    elif kind == "zero":
        data[place : place + 20] = bytes(len(data[place : place + 20]))
    else:
        data[place:place] = data[place : place + 50]
    return bytes(data)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl", ".skops"])
def test_random_damage(suffix, fitted, good, run, tmp_path):
    chance = random.Random(suffix)
    model, whole = fitted / "model.skops", tmp_path / f"whole{suffix}"
    if suffix == ".skops":
        shutil.copy(model, whole)
    else:
        write_table(good, whole)
    for number in range(25):
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(damaged(whole.read_bytes(), chance))
        arguments = ["predict", path, fitted / "good.csv", "-o", tmp_path / "out.csv"]
        if suffix != ".skops":
            arguments = chance.choice(
                [["evaluate", model, path], ["describe", path, "-g", "group"]]
            )
        done = run(*arguments)
        assert done.exit_code in (0, 3, 4), f"{number}: {done.output} {done.exception!r}"
        assert done.exit_code == 0 or len(done.stderr.strip().splitlines()) == 1


def test_arrow_files_are_checked_before_they_are_used(run, tmp_path):
    """Offsets of texts that point outside the file would otherwise be followed."""
    path = tmp_path / "bad.feather"
    table = pa.table({"group": ["a", "b", "c"], "text": ["hello", "!", "and so on"]})
    feather.write_feather(table, path, compression="uncompressed")
    offsets = np.array([0, 5, 6, 15], dtype="<i4").tobytes()
    assert path.read_bytes().count(offsets) == 1
    path.write_bytes(path.read_bytes().replace(offsets, offsets[:-4] + b"\xff\xff\xff\x7f"))
    done = run("describe", path, "-g", "group")
    assert done.exit_code == 3 and "bad.feather" in done.stderr

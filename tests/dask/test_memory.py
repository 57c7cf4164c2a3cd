"""Rows that wait on disk, and memory that is kept between rounds."""

import gc
import pickle

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

from groupwise.dask.memory import SpilledArray, keep_freed_memory, load_spilled


def test_parked_rows_come_back_as_they_were(tmp_path):
    rows = np.arange(12, dtype=np.uint8).reshape(4, 3)
    spilled = SpilledArray(rows, str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1
    np.testing.assert_array_equal(load_spilled(spilled), rows)
    assert load_spilled(rows) is rows
    sent = pickle.loads(pickle.dumps(spilled))
    assert isinstance(sent, np.ndarray)
    np.testing.assert_array_equal(sent, rows)


def test_the_file_goes_with_the_object(tmp_path):
    spilled = SpilledArray(np.zeros((2, 2)), str(tmp_path))
    del spilled
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    spilled = SpilledArray(np.zeros((2, 2)), str(tmp_path))
    next(tmp_path.iterdir()).unlink()  # the worker's folder was removed before
    del spilled
    gc.collect()


@pytest.mark.parametrize("libc", ["glibc", ""])
def test_kept_memory_is_given_back(monkeypatch, libc):
    monkeypatch.setattr("platform.libc_ver", lambda: (libc, "2.36"))
    with keep_freed_memory():
        total = sum(np.ones(100_000).sum() for _ in range(3))
    assert total == 300_000

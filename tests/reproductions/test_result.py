"""Pages that are completed from what is stored."""

import json

import pandas as pd
import pytest

import reproductions.result as result_module
from reproductions import Result


def page(**tables):
    return Result("paper", tables, {"seed": 0}, ["a note"])


def frame(**rows):
    return pd.DataFrame(rows, index=["ours", "s.e."]).T.rename_axis("method")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A page of version 1 with three rows."""
    monkeypatch.setattr(result_module, "versions", lambda: {"groupwise": "1"})
    tables = {"T": frame(a=[0.1, 0.01], b=[0.2, None], c=[0.3, 0.03]), "gone": frame(a=[1, 1])}
    page(**tables).save(tmp_path)
    monkeypatch.setattr(result_module, "versions", lambda: {"groupwise": "2"})
    return tmp_path


def test_rows_that_were_not_measured_are_as_they_were(stored):
    done = page(T=frame(a=[0.5, 0.05], new=[0.6, 0.06])).completed(stored)
    assert list(done.tables) == ["T"]
    assert done.tables["T"].index.tolist() == ["a", "new", "b", "c"]
    assert done.tables["T"]["ours"].tolist() == [0.5, 0.6, 0.2, 0.3]
    assert done.earlier == {"T": {"b": "1", "c": "1"}}
    done.save(stored)
    text = (stored / "paper.md").read_text()
    assert "- Measured by version 1 and not again, T: b; c." in text
    again = page(T=frame(b=[0.7, 0.07])).completed(stored)  # marks stay, of two versions now
    assert again.earlier == {"T": {"a": "2", "new": "2", "c": "1"}}


def test_a_row_measured_in_part_stays_as_it_was(stored):
    done = page(T=frame(a=[0.5, None], b=[0.6, None], c=[0.7, 0.07])).completed(stored)
    assert done.tables["T"]["ours"].tolist() == [0.1, 0.6, 0.7]  # b had no second cell before
    assert done.earlier == {"T": {"a": "1"}}


def test_a_table_without_a_line_is_kept_whole(stored):
    empty = page(T=pd.DataFrame())
    done = empty.completed(stored)
    pd.testing.assert_frame_equal(
        done.tables["T"], frame(a=[0.1, 0.01], b=[0.2, None], c=[0.3, 0.03])
    )
    assert empty.completed(stored / "nowhere") is empty
    saved = json.loads(done.save(stored).read_text())
    assert saved["earlier"]["T"] == {"a": "1", "b": "1", "c": "1"}


def test_rows_of_two_keys(tmp_path):
    index = pd.MultiIndex.from_tuples([("s", "a"), ("s", "b"), ("t", "a")], names=["set", "method"])
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=index)
    page(T=table).save(tmp_path)
    done = page(T=table.iloc[[1]] + 10).completed(tmp_path)
    assert done.tables["T"]["x"].tolist() == [1.0, 12.0, 3.0]
    assert list(done.earlier["T"]) == ["s, a", "t, a"]


def test_all_rows_of_a_first_key_are_named_together():
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)])
    table = pd.DataFrame({"ours": range(5)}, index=index)
    earlier = {"T": {"a, 1": "1", "b, 1": "1", "b, 2": "1", "c, 1": "1"}}
    text = Result("paper", {"T": table}, {}, earlier=earlier).markdown()
    assert "Measured by version 1 and not again, T: a, 1; all of b; c, 1." in text

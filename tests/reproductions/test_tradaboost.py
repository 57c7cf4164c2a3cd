import json
from dataclasses import replace

import numpy as np
import pytest

from groupwise.datasets import TransferData, make_shifted_domains
from reproductions import tradaboost
from reproductions.tradaboost_tables import SIZES, divergence


def tiny() -> TransferData:
    data = make_shifted_domains(200, 60, angle=25, noise=0.02, random_state=0)
    return replace(data, X=data.X - data.X.min())


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(tradaboost, "FADING_ROUNDS", 3)
    monkeypatch.setattr(tradaboost, "FADING_TSVM_ROUNDS", 3)
    monkeypatch.setattr(tradaboost, "LETTER_DRAWS", 1)
    monkeypatch.setattr(tradaboost, "ROUNDS", 3)
    for name in ("fading TrAdaBoost(SVM), C = 10", "safe fading TrAdaBoost(SVM)"):
        monkeypatch.delitem(tradaboost.SUPERVISED, name)


def test_tables_and_figures_of_made_up_tasks(tmp_path, quick):
    result = tradaboost.reproduce(
        {"rec-talk": tiny, "made-up": tiny},
        {"rec-talk": tiny, "made-up": tiny},
        {"made-up": "Figure 1"},
        tmp_path,
        repeats=2,
        seed=0,
        ratios=(0.05, 0.1),
    )
    three = result.tables["Table 3: error, one labelled target row to a hundred source rows"]
    assert three.loc["printed: SVM", "rec-talk"] == 0.222
    assert np.isnan(three.loc["printed: SVM", "made-up"])
    ours = three.drop([name for name in three.index if name.startswith("printed")])
    assert ours.to_numpy().min() >= 0
    assert ours.to_numpy().max() <= 1
    four = result.tables["Table 4: medians"]
    assert list(four.index) == [*tradaboost.LETTER, *tradaboost.TRANSDUCTIVE]
    failed = result.tables["Table 4: draws with an error above 0.4, of all draws"]
    assert failed.loc["TSVM", "made-up"].endswith(" of 1")
    assert failed.loc["ours: TSVM", "made-up"].endswith(" of 2")
    one = result.tables["Table 1: divergence and sizes"]
    assert one.loc["rec-talk", ["source", "target"]].tolist() == [200, 60]
    assert {path.name for path in result.figures} == {
        "tradaboost_made-up.png",
        "tradaboost_rounds.png",
    }
    assert all(path.stat().st_size > 1000 for path in result.figures)
    saved = json.loads(result.save(tmp_path).read_text())
    assert saved["settings"]["repeats"].startswith("2, seeds 0 to 1")
    assert "Table 4" in (tmp_path / "tradaboost.md").read_text()


def test_divergence_by_hand():
    source, target = np.array([[3.0, 0.0]]), np.array([[0.0, 3.0]])
    # shares 4/5, 1/5 against 1/5, 4/5
    expected = 0.8 * np.log(4) - 0.2 * np.log(4)
    assert divergence(source, target) == pytest.approx(expected)
    assert divergence(source, source) == 0.0


def test_real_tasks_are_wired(real_data, tmp_path, monkeypatch):
    seen = {}

    def instead(tasks, counts, figures, out, **more):
        seen.update(tasks=tasks, counts=counts, figures=figures, **more)
        return "done"

    monkeypatch.setattr(tradaboost, "reproduce", instead)
    assert tradaboost.run(tmp_path, repeats=1, seed=5) == "done"
    assert set(seen["tasks"]) == set(SIZES) == set(seen["counts"])
    assert seen["repeats"] == 1
    assert seen["tasks"]["mushroom"]().X.shape[0] == 8124

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from groupwise.jobs import Result, leaderboard
from groupwise.report import page, render
from groupwise.report.pictures import make_pictures

TITLES = {
    "majority": ["Scores and their intervals", "Probability given to the true label: {best}",
                 "Calibration over groups: {best}", "Coverage promised and held: {best}",
                 "Error by round"],
    "proportions": ["Scores and their intervals", "Scores of single groups",
                    "Known and predicted shares: group-boost",
                    "Coverage promised and held: group-boost", "Error by round"],
    "measure": ["Scores and their intervals", "Scores of single groups",
                "Calibration over rows: boosted-rows"],
    "transfer": ["Scores and their intervals", "Calibration over rows: tradaboost",
                 "Error by round", "Rows round by round: tradaboost",
                 "Weight of the domains: tradaboost"],
}  # fmt: skip


class Page(HTMLParser):
    """What a page refers to, and whether every element is closed."""

    VOID = ("meta", "link", "br", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.addresses = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        self.addresses += [attributes[k] for k in ("src", "href", "xlink:href") if k in attributes]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", TITLES)
def test_the_page_is_whole_and_needs_nothing_else(results, texts, kind):
    result, text = results[kind], texts[kind]
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "url(http" not in text and "@import" not in text
    for shown in (result.about.fingerprint, "groupwise compare ...", "scikit-learn 1"):
        assert shown in text
    best = leaderboard(result).iloc[0]
    assert f"{best['score']:.3f}" in text and f"{best['low']:.3f}" in text


@pytest.mark.parametrize("kind", TITLES)
def test_pictures_are_those_the_result_has_figures_for(results, kind):
    best = leaderboard(results[kind]).index[0]
    pictures = make_pictures(results[kind])
    titles = [picture.title for picture in pictures if "Rows round" not in picture.title]
    expected = [title.format(best=best) for title in TITLES[kind] if "Rows round" not in title]
    assert titles == expected
    for picture in pictures:
        drawn = ElementTree.fromstring(picture.svg)
        assert not re.search(r"#[0-9a-f]{3}|rgb", picture.svg)  # the page's own colours
        assert "nan" not in picture.svg and picture.text.endswith(".")
        left, top, width, height = map(float, drawn.get("viewBox").split())
        for text in drawn.iter("text"):
            assert left <= float(text.get("x", 13)) <= width
            assert top <= float(text.get("y", 13)) <= height


def test_the_first_picture_shows_the_leaderboard(results):
    result = results["majority"]
    board, picture = leaderboard(result), make_pictures(result)[0]
    texts = [text.text for text in ElementTree.fromstring(picture.svg).iter("text")]
    shown = [text for text in texts if text in board.index]
    assert shown == board.index.tolist()
    assert all(f"{score:.3f}" in texts for score in board["score"])
    assert f"same for all {result.baseline()[0]:.3f}" in texts


def test_the_page_of_a_fit_shows_the_model_and_not_the_best_of_many(results):
    """It showed the score of the best candidate, which flatters, beside a model that is another."""
    compared = results["majority"]
    best, other = leaderboard(compared).index
    renamed = {best: compared.methods[best], "auto": compared.methods[other]}
    fitted = replace(compared, about=replace(compared.about, params={}), methods=renamed)
    assert (compared.fitted, fitted.fitted) == (None, "auto")
    score = leaderboard(fitted)["score"]
    for result, name in ((compared, best), (fitted, "auto")):
        first_card = render(result).split('<span class="big">')[1]
        assert first_card.startswith(f"{score[name]:.3f}<")
        assert make_pictures(result)[1].title.endswith(f": {name}")
    assert score["auto"] < score[best]


def test_known_and_predicted_of_every_kind(texts):
    def first(kind):
        data = re.search(r'id="data">(.*?)</script>', texts[kind], re.S).group(1)
        method = next(iter(json.loads(data)["methods"].values()))
        return method["units"][0]

    assert re.fullmatch(r"(high|low) \(0\.\d\d\)", first("majority")[3])
    assert first("majority")[4] in ("high", "low")
    assert re.fullmatch(r"no [01]\.\d\d, yes [01]\.\d\d", first("proportions")[4])
    assert re.fullmatch(r"\d of \d yes", first("measure")[4])
    assert first("transfer")[4] in ("no", "yes") and first("transfer")[0].startswith("row ")


def test_confusion_by_hand(results):
    result = results["majority"]
    method = leaderboard(result).index[0]
    units = [fold.units for fold in result.methods[method]]
    pairs = [pair for u in units for pair in zip(u.truth, u.predicted, strict=True)]
    found = page._confusion(result, method)
    for known, line in enumerate(found["lines"]):
        assert [c["n"] for c in line["cells"]] == [pairs.count((known, said)) for said in (0, 1)]
    assert page._confusion(results["proportions"], "group-boost") is None


def test_title_and_notes_of_ones_own(results):
    text = render(results["measure"], title="Mail <b>", notes="First.\n\nSecond & last.")
    assert "<h1>Mail &lt;b&gt;</h1>" in text and text.count('<p class="note">') == 2
    assert "Second &amp; last." in text
    assert "<h1>hit by visit: visits &lt;2024&gt;.csv</h1>" in render(results["measure"])


def test_names_from_the_table_cannot_break_out(texts):
    text = texts["majority"]
    assert "</script><b>" not in text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    content = json.loads(data.group(1))
    names = [unit[0] for unit in content["methods"]["sboost"]["units"]]
    assert "</script><b>x</b>" in names and len(names) == 30
    assert "visits &lt;2024&gt;.csv" in text


def test_the_same_result_gives_the_same_page(results, texts):
    assert render(results["measure"]) == texts["measure"]


def test_large_results_are_cut_and_say_so(results, monkeypatch):
    monkeypatch.setattr("groupwise.report.page._MAX_GROUPS", 7)
    monkeypatch.setattr("groupwise.report.page._MAX_ROWS", 40)
    text = render(results["majority"])
    assert "the 7 worst of 30 groups are listed" in text
    assert re.search(r"rows of \d groups are in the page", text)


def test_settings_and_reasons_are_shown(results):
    result = results["majority"]
    methods = {k: [replace(f, params={"gamma": 4.0}) for f in v] for k, v in result.methods.items()}
    text = render(Result(result.about, methods, {"mlp": "needs torch, which is not installed"}))
    assert "gamma = 4.0" in text and "needs torch, which is not installed" in text

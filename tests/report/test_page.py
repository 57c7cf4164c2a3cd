import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from groupwise.jobs import Result, leaderboard
from groupwise.report import render
from groupwise.report.pictures import make_pictures

TITLES = {
    "majority": ["By group: probability of the true label", "Error by boosting round",
                 "Reliability of group probabilities: sboost",
                 "Coverage promised and held: sboost", "Rows round by round: sboost"],
    "proportions": ["By group: score", "Error by boosting round",
                    "Known and predicted shares: group-boost",
                    "Coverage promised and held: group-boost"],
    "measure": ["By group: score", "Reliability of row probabilities: boosted-rows"],
    "transfer": ["Error by boosting round",
                 "Reliability of row probabilities: tradaboost", "Rows round by round: tradaboost",
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
    names = leaderboard(results[kind]).index.tolist()
    pictures = make_pictures(results[kind], names)
    titles = [picture.title for picture in pictures]
    expected = TITLES[kind]
    if names[0] != "sboost" and kind == "majority":
        expected = expected[:2] + [title.replace("sboost", names[0]) for title in expected[2:4]]
    assert titles == expected
    for picture in pictures:
        assert "#010203" not in picture.svg and "currentColor" in picture.svg


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

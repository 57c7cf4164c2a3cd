"""The report in a real browser."""

import shutil
import tempfile

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--window-size=1200,900"]  # fmt: skip

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium and ChromeDriver are not installed"
)


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    profile = tempfile.mkdtemp(prefix="chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture(scope="module")
def pages(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for kind, text in texts.items():
        (folder / f"{kind}.html").write_text(text, encoding="utf-8")
    return folder


def show(browser, pages, kind, fragment=""):
    browser.get("about:blank")
    browser.get(f"file://{pages / kind}.html{fragment}")


def follow(browser, selector, shown):
    """Click a link within the page, and wait until what it leads to is shown."""
    from selenium.webdriver.support.wait import WebDriverWait

    browser.find_element("css selector", selector).click()
    WebDriverWait(browser, 20).until(lambda b: b.find_element("id", shown).is_displayed())


def names(browser):
    return [link.text for link in browser.find_elements("css selector", "#groups tbody a")]


@pytest.mark.parametrize("kind", ["majority", "proportions", "measure", "transfer"])
def test_opens_without_an_error(browser, pages, kind):
    show(browser, pages, kind)
    assert browser.get_log("browser") == []
    assert browser.find_element("id", "board").is_displayed()
    assert browser.find_elements("css selector", "figure svg")
    requests = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert requests == 0
    known = browser.find_elements("css selector", "#groups tbody td:nth-child(5)")
    assert known and all(cell.text for cell in known)
    assert bool(browser.find_elements("id", "confusion")) == (kind != "proportions")


def test_search_and_order(browser, pages):
    show(browser, pages, "majority")
    assert browser.find_element("id", "count").text == "30 of 30 groups"
    assert len(names(browser)) == 20
    browser.find_element("id", "more").click()
    assert len(names(browser)) == 30 and not browser.find_element("id", "more").is_displayed()
    browser.find_element("id", "search").send_keys("<07>")
    assert names(browser) == ["visit <07> & co"]
    assert browser.find_element("id", "count").text == "1 of 30 groups"
    browser.find_element("id", "search").clear()
    browser.find_element("id", "search").send_keys("nobody")
    assert names(browser) == []
    browser.find_element("id", "search").clear()
    browser.find_element("id", "search").send_keys("visit")
    for first in ("visit <00> & co", "visit <28> & co"):
        browser.find_element("css selector", "#groups th button[data-key='0']").click()
        assert names(browser)[0] == first
    assert browser.get_log("browser") == []


def test_the_page_of_a_group(browser, pages, results):
    show(browser, pages, "majority")
    best = browser.find_element("css selector", "#board tbody td").text
    name = names(browser)[0]
    follow(browser, "#groups tbody a", "group")
    assert name in browser.find_element("css selector", "#group h1").text
    assert not browser.find_element("id", "overview").is_displayed()
    stored = {k: v for f in results["majority"].methods[best] for k, v in f.rows.items()}[name]
    bars = browser.find_elements("css selector", "#timeline rect")
    assert len(bars) == len(stored.at)
    heights = [float(bar.get_attribute("height")) for bar in bars]
    top = max(stored.weight)
    assert heights == pytest.approx([max(2, 100 * w / top) for w in stored.weight])
    assert len(browser.find_elements("css selector", "#group tbody tr")) == len(bars)
    values = browser.find_elements("css selector", "#group tbody td.value")
    assert [cell.text for cell in values[:2]] == [stored.values[name][0] for name in ("x", "z")]
    assert "weigh most" in browser.find_element("id", "moved").text
    follow(browser, "#group a", "overview")
    assert not browser.find_element("id", "group").is_displayed()
    show(browser, pages, "majority", "#group=nobody")
    assert "not in the page" in browser.find_element("id", "group").text
    assert browser.get_log("browser") == []


def test_odd_names_are_text(browser, pages):
    show(browser, pages, "majority", "#group=%3C%2Fscript%3E%3Cb%3Ex%3C%2Fb%3E")
    assert "</script><b>x</b>" in browser.find_element("css selector", "#group h1").text
    assert not browser.find_elements("css selector", "#group h1 b")


def test_another_method(browser, pages):
    from selenium.webdriver.support.select import Select

    show(browser, pages, "majority")
    choice = Select(browser.find_element("id", "method"))
    assert {option.text for option in choice.options} == {"sboost", "naive-logistic"}
    other = next(o.text for o in choice.options if not o.is_selected())
    choice.select_by_visible_text(other)
    follow(browser, "#groups tbody a", "group")
    assert f"({other})" in browser.find_element("id", "group").text


def test_light_dark_and_phone(browser, pages):
    def colours():
        return browser.execute_script(
            "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        )

    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    try:
        seen = {}
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            show(browser, pages, "majority")
            seen[scheme] = colours()
        assert seen["light"] == ["rgb(255, 255, 255)", "rgb(28, 36, 48)"]
        assert seen["dark"] == ["rgb(18, 22, 28)", "rgb(230, 234, 240)"]
        browser.find_element("id", "theme").click()
        assert colours() == seen["light"]
        dot = "const s = document.querySelector('svg.drawn circle.strong');"
        blue = browser.execute_script(dot + "return getComputedStyle(s).fill")
        browser.find_element("id", "theme").click()
        assert blue != browser.execute_script(dot + "return getComputedStyle(s).fill")
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        for kind in ("majority", "proportions", "measure", "transfer"):
            show(browser, pages, kind)
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= 390  # nothing sticks out
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

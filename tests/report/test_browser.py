"""The page in a real browser: Chromium, driven by Selenium; skipped where there is none."""

from __future__ import annotations

import json
import time

import pytest
from tests import chromium
from tests.report import made

from sffa.report import write

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytestmark = [*chromium.MARKS, pytest.mark.timeout(180)]
NASTY = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    flags = ("--window-size=1200,900",)
    with chromium.chromium(tmp_path_factory.mktemp("profile"), flags) as driver:
        yield driver


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    records = [
        made.continual(scenario=scenario, method=method, algorithm=algorithm, seed=seed)
        for scenario in ("class", "task")
        for method in made.METHODS
        for algorithm in made.ALGORITHMS
        for seed in range(2)
    ]
    records += [made.static(algorithm=a) for a in made.ALGORITHMS]
    records += [made.failed(algorithm="ffa", seed=9), made.static(dataset=NASTY)]
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write(path, made.read(records), title=f"Trial {NASTY}").as_uri()


@pytest.fixture
def page(browser, address):
    def size(width: int, height: int, mobile: bool = False) -> None:
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)

    size(1200, 900)
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(address)
    browser.size = size
    return browser


def find(page, selector):
    return page.find_element("css selector", selector)


def texts(page, selector):
    script = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter(e => e.offsetParent !== null).map(e => e.textContent.trim())"
    )
    return page.execute_script(script, selector)


def wait(page, script, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if page.execute_script(f"return Boolean({script})"):
            return
        time.sleep(0.05)
    raise AssertionError(f"never true: {script}")


def test_no_error_is_logged_and_no_request_leaves_the_page(page):
    page.execute_script("location.hash = '#run-3'")
    wait(page, "!document.querySelector('#run').hidden")
    assert page.get_log("browser") == []
    asked = []
    for entry in page.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    leaving = [url for url in asked if not url.startswith(("file://", "data:", "about:"))]
    assert leaving == []
    assert sum(url.startswith("file://") for url in asked) == 1


def test_markup_in_a_record_is_shown_as_text(page):
    assert page.title == f"Trial {NASTY}"
    assert find(page, "h1").text.startswith("Trial <script>")
    assert page.execute_script("return document.querySelectorAll('img').length") == 0
    assert any(NASTY in text for text in texts(page, "#static-table td"))
    page.execute_script("document.querySelector('#run-tools input').value = 'onerror'")
    page.execute_script(
        "document.querySelector('#run-tools input').dispatchEvent(new Event('input'))"
    )
    assert texts(page, "#run-table tbody td:first-child") == [NASTY]


def test_tables_sort_by_keyboard_both_ways(page):
    from selenium.webdriver.common.keys import Keys

    head = find(page, "#continual-table thead th:nth-child(6) button")
    column = "#continual-table tbody td:nth-child(6)"
    for way, sign in (("ascending", 1), ("descending", -1)):
        page.execute_script("arguments[0].focus()", head)
        head.send_keys(Keys.ENTER)
        values = [
            sign * float(text.split(" ±")[0].replace("−", "-")) for text in texts(page, column)
        ]
        assert values == sorted(values)
        assert len(values) == 36
        parent = find(page, "#continual-table thead th:nth-child(6)")
        assert parent.get_attribute("aria-sort") == way


def test_tables_filter_by_words_and_choices(page):
    box = find(page, ".tools[data-for=continual-table] input")
    box.send_keys("replay sffa")
    assert set(texts(page, "#continual-table tbody td:nth-child(3)")) == {"Replay"}
    assert "2 of 36 rows" in find(page, ".tools[data-for=continual-table] output").text
    box.clear()
    box.send_keys("zebra")
    assert texts(page, "#continual-table tbody tr") == []
    box.clear()
    box.send_keys(" ")
    choice = find(page, ".tools[data-for=continual-table] select[data-column='1']")
    choice.send_keys("Task")
    assert set(texts(page, "#continual-table tbody td:nth-child(2)")) == {"Task IL"}


def test_runs_are_listed_a_page_at_a_time(page):
    assert len(texts(page, "#run-table tbody tr")) == 50
    page.execute_script("document.querySelector('#more').click()")
    assert len(texts(page, "#run-table tbody tr")) == 77
    assert not find(page, "#more").is_displayed()


def test_the_page_of_a_run_opens_and_closes_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    find(page, "#run-tools input").send_keys("class gem sffa")
    link = find(page, "#run-table tbody a")
    page.execute_script("arguments[0].focus()", link)
    link.send_keys(Keys.ENTER)
    wait(page, "!document.querySelector('#run').hidden")
    assert "Split-MNIST, Class IL, GEM, SFFA, seed 0" in find(page, "#run h1").text
    heads = texts(page, "#run h2")
    assert "Accuracy on each experience, %" in heads
    assert "Along the stream" in heads
    assert "Configuration" in heads
    assert len(texts(page, "#run .matrix tbody tr")) == 6
    assert page.execute_script("return document.activeElement.id") == "run"
    find(page, "body").send_keys(Keys.ESCAPE)
    wait(page, "document.querySelector('#run').hidden")
    assert find(page, "#runs h2").is_displayed()


def test_the_page_of_a_failed_run_says_why(page):
    find(page, "#run-tools input").send_keys("failed")
    page.execute_script("document.querySelector('#run-table tbody a').click()")
    wait(page, "!document.querySelector('#run').hidden")
    assert "the loss is nan: lower lr" in find(page, "#run pre").text


def test_a_static_run_shows_its_epochs(page):
    page.execute_script("location.hash = '#run-0'")
    wait(page, "!document.querySelector('#run').hidden")
    assert {"Accuracy by epoch", "Loss by epoch"} <= set(texts(page, "#run h2"))
    assert page.execute_script("return document.querySelectorAll('#run svg path').length") >= 3


@pytest.mark.parametrize("place", ["", "#continual", "#theory", "#runs", "#run-0", "#run-20"])
def test_a_phone_needs_no_sideways_scrolling(page, address, place):
    page.size(390, 844, mobile=True)
    page.get("about:blank")
    page.get(address + place)
    script = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    widths = page.execute_script(script)
    wide = page.execute_script(
        "return [...document.querySelectorAll('body *')].filter(e => !e.closest('.wide')"
        " && e.getBoundingClientRect().right > 390.5).map(e => e.outerHTML.slice(0, 99))"
    )
    assert (widths, wide) == ([390, 390, 390], [])


def test_a_phone_sorts_without_heads(page):
    page.size(390, 844, mobile=True)
    find(page, ".tools[data-for=continual-table] select[data-sorts]").send_keys("Accuracy, %, down")
    shown = texts(page, "#continual-table tbody td:nth-child(6)")
    values = [float(text.split(" ±")[0]) for text in shown]
    assert values == sorted(values, reverse=True)


def test_the_theme_changes_and_is_remembered(page):
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = page.execute_script(colour)
    find(page, "#theme").click()
    after = page.execute_script(colour)
    assert before != after
    page.refresh()
    assert page.execute_script(colour) == after
    find(page, "#theme").click()
    assert page.execute_script(colour) == before


def test_the_systems_dark_theme_is_followed(page):
    page.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
    colours = []
    for scheme in ("light", "dark"):
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
        colours.append(
            page.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours == ["rgb(245, 246, 248)", "rgb(17, 20, 24)"]


def test_printing_hides_the_controls_and_turns_to_paper(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not find(page, "header").is_displayed()
    assert not find(page, ".tools").is_displayed()
    paper = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert paper == "rgb(255, 255, 255)"


def test_a_thousand_runs_do_not_freeze_the_tab(browser, tmp_path):
    path = write(tmp_path / "report.html", made.read(made.whole_study()), theory=False)
    browser.get(path.as_uri())
    script = (
        "const [n] = performance.getEntriesByType('navigation');"
        "return [n.domInteractive, n.domContentLoadedEventEnd, n.duration]"
    )
    timing = browser.execute_script(script)
    assert max(timing) < 5000, timing
    assert len(texts(browser, "#run-table tbody tr")) == 50
    browser.execute_script("document.querySelector('#run-table thead button').click()")
    assert "1080 of 1080 runs" in find(browser, "#run-tools output").text

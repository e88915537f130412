"""The playground in a real browser: Chromium, driven by Selenium; skipped where there is none."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from tests import chromium
from tests.playground.drawings import DIGITS, SIGNS, drawing

from sffa.playground.networks import ALGORITHMS, reading
from sffa.playground.page import write_page

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("uvicorn", reason="the extra 'playground' is not installed")
pytestmark = [*chromium.MARKS, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    flags = ("--window-size=1280,900", "--force-prefers-reduced-motion")
    with chromium.chromium(tmp_path_factory.mktemp("profile"), flags) as driver:
        yield driver


def resize(browser, width=1280, height=900, mobile=False):
    shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)


def visit(browser, address, tour=False):
    """Open the page as a new visitor, or one who knows the tour."""
    browser.get(address)
    seen = "" if tour else "localStorage.setItem('sffa-tour', 'seen');"
    browser.execute_script(f"localStorage.clear(); sessionStorage.clear(); {seen}")
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(address)
    wait(browser, "document.getElementById('best').textContent === '3'")
    return browser


@pytest.fixture
def page(browser, address):
    resize(browser)
    yield visit(browser, address)
    assert browser.get_log("browser") == []  # no error is ever logged


def wait(browser, script, seconds=60):
    end = time.monotonic() + seconds
    while not browser.execute_script(f"return Boolean({script})"):
        assert time.monotonic() < end, (
            f"never true: {script}; the page says {text(browser, 'best')!r}"
        )
        time.sleep(0.05)


def click(browser, name):
    browser.execute_script("document.getElementById(arguments[0]).click()", name)


def text(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", name)


def draw(browser, sign, seed=0, kind="mouse"):
    from tests.playground.hand import draw as draw_strokes

    click(browser, "clear")
    draw_strokes(browser, drawing(sign, np.random.default_rng(seed)), kind)


def best_is(browser, name):
    wait(browser, f"document.getElementById('best').textContent === {json.dumps(name)}", 60)


def give_name(browser, name):
    script = (
        "const box = document.getElementById('name');"
        "box.value = arguments[0]; box.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script, name)


def teach(browser, sign, name):
    click(browser, "tab-teach")
    give_name(browser, name)
    for seed in range(5):
        draw(browser, sign, seed)
        click(browser, "keep")
    click(browser, "go")
    wait(browser, "document.getElementById('outcome').textContent.includes('knows')", 120)


def leaving(browser, home):
    """Return the addresses asked for that are not of the page's own server or file."""
    entries = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if not url.startswith((home, "data:", "about:", "blob:"))]


def test_drawing_with_the_mouse_is_read_as_it_grows(page, address):
    draw(page, DIGITS[7])
    best_is(page, "7")
    rows = page.execute_script(
        "return [...document.querySelectorAll('#labels output')].map(e => +e.textContent)"
    )
    assert len(rows) == 10
    assert int(np.argmax(rows)) == 7
    awake = (
        "return [...document.querySelectorAll('.layer')]"
        ".map(layer => layer.querySelectorAll('.awake').length)"
    )
    assert page.execute_script(awake) == [30, 30]
    assert leaving(page, address) == []


def test_drawing_by_touch(page):
    resize(page, 390, 844, mobile=True)
    draw(page, DIGITS[0], kind="touch")
    best_is(page, "0")


def test_drawing_and_choosing_by_keyboard_alone(page):
    from selenium.webdriver.common.keys import Keys

    pad = page.find_element("css selector", "#pad")
    pad.send_keys(Keys.DELETE)
    wait(page, "!document.getElementById('hint').hidden")
    pad.send_keys(Keys.ARROW_UP * 5, " ", Keys.ARROW_DOWN * 22, " ")
    best_is(page, "1")
    pad.send_keys("4")
    wait(page, "document.getElementById('undo').disabled === false")
    tab = page.find_element("css selector", "#tab-watch")
    tab.send_keys(Keys.ARROW_RIGHT)
    wait(page, "!document.getElementById('teach').hidden")
    assert page.execute_script("return document.activeElement.id") == "tab-teach"
    radio = page.find_element("css selector", "#network-sffa-contrast")
    radio.send_keys(Keys.ARROW_RIGHT)
    wait(page, "document.getElementById('about').textContent.includes('judged by itself')")


def test_another_label_shows_its_own_neurons(page):
    awake = (
        "return [...document.querySelectorAll('.layer rect')]"
        ".map((cell, place) => cell.classList.contains('awake') ? place : -1).filter(p => p >= 0)"
    )
    before = page.execute_script(awake)
    page.execute_script("document.querySelectorAll('#labels button')[8].click()")
    wait(page, "document.querySelectorAll('#labels button')[8].ariaPressed === 'true'")
    assert page.execute_script(awake) != before
    assert text(page, "best") == "3"


def test_five_drawings_teach_a_class_which_a_reload_keeps(page, address):
    teach(page, SIGNS["triangle"], "triangle")
    draw(page, SIGNS["triangle"], seed=77)
    best_is(page, "triangle")
    assert "right before" in text(page, "digits")
    page.refresh()
    best_is(page, "3")
    draw(page, SIGNS["triangle"], seed=78)
    best_is(page, "triangle")
    click(page, "tab-memory")
    wait(page, "document.querySelectorAll('#remembered section').length === 11")
    click(page, "tab-teach")
    click(page, "over")
    wait(page, "document.querySelectorAll('#labels button').length === 10")


def test_two_tabs_learn_apart(page, address):
    teach(page, SIGNS["cross"], "cross")
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    try:
        page.get(address)
        best_is(page, "3")
        assert (
            page.execute_script("return document.querySelectorAll('#labels button').length") == 10
        )
        teach(page, SIGNS["heart"], "heart")
        draw(page, SIGNS["heart"], seed=77)
        best_is(page, "heart")
    finally:
        page.close()
        page.switch_to.window(first)
    draw(page, SIGNS["cross"], seed=77)
    best_is(page, "cross")


def test_two_digits_at_a_time_show_what_is_forgotten(page):
    click(page, "tab-parts")
    click(page, "learn")
    wait(page, "document.querySelectorAll('.method').length === 3")
    wait(page, "!document.getElementById('learn').disabled", 120)
    shown = page.execute_script(
        "return [...document.querySelectorAll('.method')].map(m => ["
        "m.querySelector('span').textContent, m.querySelectorAll('.lost').length])"
    )
    assert [name for name, _ in shown] == ["Naive", "Replay", "Gaussian"]
    assert shown[0][1] > shown[1][1] >= shown[2][1]


def test_an_image_is_read_and_what_is_no_image_is_refused_in_one_line(page, tmp_path):
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (300, 200), "ivory")
    ImageDraw.Draw(image).line([(150, 30), (146, 170)], fill="navy", width=16)
    image.save(tmp_path / "one.png")
    (tmp_path / "words.txt").write_text("seven")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG nothing")
    Image.new("L", (50, 50), 200).save(tmp_path / "empty.png")
    chooser = page.find_element("css selector", "#file")
    chooser.send_keys(str(tmp_path / "one.png"))
    best_is(page, "1")
    for name, said in (
        ("words.txt", "not an image"),
        ("broken.png", "cannot be read"),
        ("empty.png", "nothing"),
    ):
        chooser.send_keys(str(tmp_path / name))
        wait(page, f"document.getElementById('status').textContent.includes({said!r})")
    assert text(page, "best") == "1"


def test_a_first_visitor_is_shown_around_once(browser, address):
    resize(browser)
    visit(browser, address, tour=True)
    wait(browser, "!document.getElementById('tour').hidden")
    assert text(browser, "tour-count") == "1 of 3"
    draw(browser, DIGITS[2])  # doing what it says goes on to the next step
    wait(browser, "document.getElementById('tour-count').textContent === '2 of 3'")
    click(browser, "tour-next")
    assert text(browser, "tour-title") == "Teach it something new"
    click(browser, "tour-next")
    browser.refresh()
    best_is(browser, "3")
    assert browser.execute_script("return document.getElementById('tour').hidden")


@pytest.mark.parametrize("tab", ["watch", "teach", "parts", "memory"])
def test_a_phone_needs_no_sideways_scrolling(page, tab):
    resize(page, 390, 844, mobile=True)
    click(page, f"tab-{tab}")
    if tab == "memory":
        wait(page, "document.querySelectorAll('#remembered section').length >= 10")
    wide = page.execute_script(
        "return [...document.querySelectorAll('body *')].filter(e => !e.closest('.unseen, legend')"
        " && e.getBoundingClientRect().right > 390.5).map(e => e.outerHTML.slice(0, 99))"
    )
    assert wide == []
    assert page.execute_script("return document.documentElement.scrollWidth") == 390


def test_light_and_dark_follow_the_system_and_the_button(page):
    colours = []
    for scheme in ("light", "dark"):
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
        colours.append(
            page.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours == ["rgb(244, 245, 247)", "rgb(16, 19, 23)"]
    click(page, "theme")
    after = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert after in colours
    page.refresh()
    best_is(page, "3")
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == after


def test_a_server_that_goes_away_is_told_and_comes_back(browser, networks):
    from sffa.playground import server

    def started(port):
        listening = server.listen(port)
        running = server.server_of(server.Playground(networks), listening.getsockname()[1])
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        return running, thread, listening

    def ended(running, thread, listening):
        running.should_exit = True
        thread.join()
        listening.close()

    first = started(0)
    port = first[2].getsockname()[1]
    resize(browser)
    visit(browser, f"http://127.0.0.1:{port}")
    ended(*first)
    draw(browser, DIGITS[7])
    wait(browser, "document.getElementById('status').textContent.includes('server is gone')")
    second = started(port)
    try:
        wait(browser, "document.getElementById('status').textContent.includes('is back')")
        wait(
            browser, "document.getElementById('best').textContent.length === 1"
        )  # it is read again
    finally:
        ended(*second)
    browser.get("about:blank")
    browser.get_log("browser")  # of refused connections


@pytest.fixture(scope="module")
def alone(networks, tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page") / "playground.html", networks)


def test_the_page_without_a_server_computes_the_same(browser, alone, networks):
    resize(browser)
    visit(browser, alone.as_uri())
    pictures = networks.material.data.test.x[:12]
    script = "return window.sffaRead(...arguments)"
    for algorithm in ALGORITHMS:
        for picture in pictures:
            here = browser.execute_script(script, algorithm, (picture.reshape(-1) / 255).tolist())
            there = reading(networks.get(algorithm).network, picture)
            scale = max(there["scores"])
            assert np.allclose(here["scores"], there["scores"], atol=0.03 * scale)
            assert here["best"] == there["best"] or sorted(there["scores"])[-2] > 0.9 * scale
    assert browser.get_log("browser") == []
    assert leaving(browser, alone.as_uri()) == []


def test_the_page_without_a_server_draws_forgets_and_remembers(browser, alone):
    visit(browser, alone.as_uri())
    draw(browser, DIGITS[7])
    best_is(browser, "7")
    click(browser, "tab-teach")
    assert "sffa play" in text(browser, "teach")
    assert browser.execute_script("return document.getElementById('keep').hidden")
    click(browser, "tab-parts")
    click(browser, "learn")
    wait(browser, "document.querySelectorAll('.method').length === 3")
    click(browser, "tab-memory")
    wait(browser, "document.querySelectorAll('#remembered section').length === 10")
    assert browser.get_log("browser") == []

"""Look at the built site in Chromium: pictures for docs/screenshots, and what no picture shows.

make docs && python tools/screenshots.py

Every page of ``VIEWS`` is opened in light, in dark and 390 px wide. An error on the console, a
request to another host, a page that is wider than the window or a search that finds nothing fails.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import io
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
VIEWS = {
    "start": "index.html",
    "tutorial": "tutorials/forgetting.html",
    "method": "method.html",
    "results": "results/index.html",
    "playground": "playground.html",
}
LOOKS = {"light": ("light", 1100, 1000), "dark": ("dark", 1100, 1000), "390": ("light", 390, 844)}
# How far down the picture of a page begins: at this heading, else at its top.
FROM = {"tutorial": "h2", "method": "h2", "results": "h2"}


def main() -> int:
    """Take the pictures and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    given = parser.parse_args()
    if not (given.site / "index.html").exists():
        print(f"{given.site} holds no site; make docs builds it", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    with served(given.site) as address, started() as browser:
        troubles = search_troubles(browser, address)
        for name, page in VIEWS.items():
            for look, (scheme, width, height) in LOOKS.items():
                open_page(browser, f"{address}/{page}", scheme, width, height)
                troubles += [f"{page}, {look}: {each}" for each in page_troubles(browser, address)]
                scroll_to(browser, FROM.get(name))
                write_picture(browser, given.out / f"{name}-{look}.png")
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    print(f"{len(VIEWS) * len(LOOKS)} pictures in {given.out}, {len(troubles)} troubles")
    return 1 if troubles else 0


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A handler that prints nothing."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextlib.contextmanager
def started() -> Iterator[webdriver.Chrome]:
    """Start a browser with an empty profile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            yield browser
        finally:
            browser.quit()


def open_page(
    browser: webdriver.Chrome, address: str, scheme: str, width: int, height: int
) -> None:
    """Open a page as somebody who has never been there."""
    shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    wish = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wish})
    browser.get(address)
    browser.execute_script("localStorage.clear(); localStorage.setItem('sffa-tour', 'seen')")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(address)
    time.sleep(1.5)


def page_troubles(browser: webdriver.Chrome, address: str) -> list[str]:
    """Return what is wrong with the page that is open."""
    found = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked = message["params"]["request"]["url"]
            if not asked.startswith((address, "data:", "blob:", "about:")):
                found.append(f"asks for {asked}")
    wide = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return [*found, *([f"{wide} px wider than the window"] if wide > 0 else [])]


def search_troubles(browser: webdriver.Chrome, address: str) -> list[str]:
    """Return what is wrong with the search: a word of the method must be found."""
    open_page(browser, f"{address}/index.html", "light", 1100, 1000)
    box = browser.find_element("css selector", "input.md-search__input")
    browser.execute_script("document.querySelector('[data-md-toggle=search]').checked = true")
    box.send_keys("gaussian")
    for _ in range(50):
        time.sleep(0.2)
        if browser.find_elements("css selector", ".md-search-result__item"):
            return []
    return ["the search for 'gaussian' finds nothing"]


def scroll_to(browser: webdriver.Chrome, heading: str | None) -> None:
    """Scroll to the first such heading, below the bar of the site."""
    if heading:
        script = "document.querySelector('article ' + arguments[0])?.scrollIntoView()"
        browser.execute_script(f"{script}; window.scrollBy(0, -64)", heading)
        time.sleep(0.3)


def write_picture(browser: webdriver.Chrome, path: Path) -> None:
    """Write what the window shows, in at most 128 colours."""
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    picture.quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())

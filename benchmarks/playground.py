"""How well the playground learns a sign from five drawings: drawn by mouse, in Chromium.

Each try loads the page anew, teaches one sign with five drawings that are never twice the same,
and draws it a sixth time. Where the tab's session goes on, signs taught before are still known.
Before all that, each digit is drawn once.

python benchmarks/playground.py --out results/playground.json
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from sffa.environment import describe
from sffa.files import write_text
from sffa.playground import server
from sffa.playground.material import packaged
from sffa.playground.networks import Networks

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "playground"))
from drawings import DIGITS, SIGNS, drawing
from hand import draw

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900")


class Page:
    """The page in a browser of its own."""

    def __init__(self, address: str, profile: str) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--force-prefers-reduced-motion"):
            options.add_argument(flag)
        self.browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        self.address = address

    def open(self) -> None:
        self.browser.get(self.address)
        self.run("localStorage.setItem('sffa-tour', 'seen'); sessionStorage.clear()")
        self.browser.get(self.address)
        self.wait("document.getElementById('best').textContent === '3'")

    def run(self, script: str, *given: Any) -> Any:
        return self.browser.execute_script(script, *given)

    def click(self, name: str) -> None:
        self.run("document.getElementById(arguments[0]).click()", name)

    def wait(self, script: str, seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({script})"):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.05)

    def drawn(self, sign: list[list[list[float]]], rng: np.random.Generator) -> None:
        self.click("clear")
        draw(self.browser, drawing(sign, rng))

    def answer(self, sign: list[list[list[float]]], rng: np.random.Generator) -> str:
        self.drawn(sign, rng)
        before = None
        while before != (now := self.run("return document.getElementById('layers').textContent")):
            before = now
            time.sleep(0.3)
        return str(self.run("return document.getElementById('best').textContent"))

    def teach(self, name: str, sign: list[list[list[float]]], rng: np.random.Generator) -> str:
        self.click("tab-teach")
        self.run(
            "const box = document.getElementById('name');"
            "box.value = arguments[0]; box.dispatchEvent(new Event('input'))",
            name,
        )
        for _ in range(5):
            self.drawn(sign, rng)
            self.click("keep")
        self.click("go")
        self.wait("document.getElementById('outcome').textContent.includes('knows')")
        return str(self.run("return document.getElementById('digits').textContent"))


def measure(page: Page, rounds: int, seed: int) -> dict[str, Any]:
    """Draw all digits, then teach all signs, each with a page of its own."""
    rng = np.random.default_rng(seed)
    page.open()
    digits = [(digit, page.answer(sign, rng)) for digit, sign in DIGITS.items()]
    print(digits, flush=True)
    tries = []
    for _ in range(rounds):
        for name, sign in SIGNS.items():
            page.open()
            started = time.perf_counter()
            said = page.teach(name, sign, rng)
            numbers = [float(word) for word in said.split() if word.replace(".", "").isdigit()]
            seconds = round(time.perf_counter() - started, 1)
            sixth = page.answer(sign, rng)
            tries.append(
                {"sign": name, "sixth": sixth, "before": numbers[0], "after": numbers[1]}
                | {"seconds": seconds}
            )
            print(tries[-1], flush=True)
    right = [one["sign"] == one["sixth"] for one in tries]
    change = [one["after"] - one["before"] for one in tries]
    return {
        "tries": tries,
        "sixth_right": sum(right),
        "of": len(right),
        "digits_change_worst": round(min(change), 2),
        "digits_change_mean": round(float(np.mean(change)), 2),
        "drawn_digits_right": sum(str(digit) == said for digit, said in digits),
        "drawn_digits": len(digits),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/playground.json"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=100)
    given = parser.parse_args()
    torch.set_num_threads(1)
    listening = server.listen(0)
    port = listening.getsockname()[1]
    running = server.server_of(server.Playground(Networks(packaged())), port)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            page = Page(f"http://{server.HOST}:{port}/", profile)
            try:
                found = measure(page, given.rounds, given.seed)
            finally:
                page.browser.quit()
    finally:
        running.should_exit = True
        thread.join()
    command = f"python benchmarks/playground.py --rounds {given.rounds} --seed {given.seed}"
    result = {"command": command, **found, "environment": describe()}
    write_text(given.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The demo does its whole job, only shorter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from sffa.cli import demo
from sffa.report.demo import Demo, run_demo


def test_the_demo_trains_three_algorithms_and_a_stream_and_writes_a_page(
    sffa: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Demo] = []

    def once(*given: Any) -> Demo:
        made[:] = made or [run_demo(*given)]
        return made[0]

    monkeypatch.setattr(demo, "run_demo", once)
    done = sffa("demo", "--epochs", 3, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert [record["algorithm"] for record in result["static"]] == ["sffa", "ffa", "bp"]
    assert all(record["metrics"]["last"] > 50 for record in result["static"])
    assert [record["method"] for record in result["continual"]] == ["naive", "replay", "gaussian"]
    page = Path(result["report"]).read_text()
    assert "sffa on handwritten digits" in page
    assert not re.search(r"""(src|href)=["']https?://""", page)
    told = sffa("demo")
    assert told.out.strip().endswith("Report: demo/report.html")

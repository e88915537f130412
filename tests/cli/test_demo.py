"""The demo does its whole job, only shorter."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.conftest import Run


def test_the_demo_trains_three_algorithms_and_a_stream_and_writes_a_page(sffa: Run) -> None:
    done = sffa("demo", "--epochs", 3, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert [record["algorithm"] for record in result["static"]] == ["sffa", "ffa", "bp"]
    assert all(record["metrics"]["last"] > 50 for record in result["static"])
    assert [record["method"] for record in result["continual"]] == ["naive", "replay", "gaussian"]
    page = Path(result["report"]).read_text()
    assert "sffa on handwritten digits" in page
    assert not re.search(r"""(src|href)=["']https?://""", page)


def test_the_demo_ends_by_naming_the_report(sffa: Run) -> None:
    done = sffa("demo", "--epochs", 1)
    assert done.out.strip().endswith("Report: demo/report.html")

"""The page: one file, escaped, correct for few, odd and many records."""

from __future__ import annotations

import html as entities
import json
import re
import time

import pytest
from tests.report import made
from tests.report.made import read

from sffa.report import figures, render, write
from sffa.report.network_report import dynamics
from sffa.report.page_data import script_safe

NASTY = "<script>alert('x')</script>\"'&{{7*7}}"


@pytest.fixture(scope="module")
def page() -> str:
    records = [made.continual(seed=s, algorithm=a) for s in range(3) for a in made.ALGORITHMS]
    return render(read([*records, made.static(), made.failed(seed=4)]), title="Trial")


def embedded(html: str) -> dict:
    return json.loads(re.search(r'id="records">(.*?)</script>', html, re.S).group(1))


def test_nothing_is_asked_from_elsewhere(page):
    without_data = re.sub(r'(href|src)="data:[^"]*"', "", page)
    assert not re.search(r'(src|href)="(?!#)[^"]*"', without_data.replace('href=""', ""))
    assert not re.search(r"url\((?!#)", without_data)
    assert "@import" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "default-src 'none'" in entities.unescape(page)


def test_each_table_has_tools_of_its_own(page):
    for name in ("static", "continual"):
        assert f'<table id="{name}-table"' in page
        assert f'data-for="{name}-table"' in page


def test_tables_show_ours_the_papers_and_the_difference(page):
    assert "90.03 ± 0.24" in page
    assert re.search(r"[+−]\d+\.\d\d [▲▼=?]", page)
    assert "not run with the configuration that stands for the paper" in page


def test_every_run_is_embedded_once(page):
    runs = embedded(page)["runs"]
    assert len(runs) == 11
    assert sum(run["status"] == "failed" for run in runs) == 1
    assert len(embedded(page)["environments"]) == 1


def test_text_of_records_never_becomes_markup():
    names = {"dataset": NASTY, "method": NASTY, "algorithm": NASTY, "error": NASTY}
    record = {**made.continual(), **names, "status": "failed"}
    record["config"] = {NASTY: NASTY}
    record["environment"] = {NASTY: NASTY}
    html = render(read([record, made.static(dataset=NASTY)]), title=NASTY, note=NASTY, theory=False)
    assert "<script>alert" not in html
    assert "49" not in re.findall(r"<title>(.*?)</title>", html)[0]
    assert embedded(html)["runs"][0]["dataset"] in (NASTY, "mnist")


def test_json_in_a_script_cannot_end_it():
    text = script_safe({"a": "</script><!--", "b": "\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--", "b": "\u2028"}


def test_an_empty_store_is_said_to_be_empty():
    html = render([])
    assert "There are no runs yet" in html
    assert "from 0 records" in html
    assert '<section id="runs">' not in html
    assert "Probability functions of FFA and SFFA" in html


def test_a_single_run_is_called_one():
    html = render(read([made.continual()]), theory=False)
    assert "This is a single run" in html
    assert "± 0.00" not in html


def test_a_single_seed_is_called_one():
    html = render(read([made.continual(), made.continual(method="gem")]), theory=False)
    assert "There is a single seed" in html


def test_failed_and_missing_runs_are_said():
    records = [made.continual(seed=s) for s in range(3)] + [made.failed(method="gem", seed=0)]
    html = render(read(records), theory=False)
    assert "1 of 4 runs failed and are left out of every mean" in html
    assert "the loss is nan: lower lr" in html
    assert "One configuration lacks seeds" in html
    assert "1–2" in html


def test_only_failed_runs_make_a_page_without_numbers():
    html = render(read([made.failed()]), theory=False)
    assert "All runs failed" in html
    assert "1 (" not in html
    assert "0 (1 failed)" in html
    assert not embedded(html)["runs"][0]["metrics"]


def test_odd_values_do_not_break_the_page():
    odd = {"matrix": [[float("nan")]], "curve": [float("inf")], "per_class": None}
    record = {**made.continual(), **odd, "seconds": "long", "seed": "seven"}
    run = embedded(render(read([record]), theory=False))["runs"][0]
    assert run["matrix"] == [[None]]
    assert run["seed"] is None


def test_given_figures_are_shown_with_their_data():
    drawn, _ = dynamics()
    html = render([], figures=drawn, theory=False)
    assert "Inside the networks" in html
    assert 'download="update-dynamics.csv"' in html


def test_two_figures_of_one_name_do_not_share_ids():
    html = render([], figures=[figures.models(), figures.models()], theory=False)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_write_replaces_the_file_and_gives_its_path(tmp_path):
    path = tmp_path / "deep" / "report.html"
    assert write(path, read([made.static()]), title="Demo") == path
    assert "<title>Demo</title>" in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_a_thousand_runs_are_built_soon_and_stay_small(tmp_path):
    records = read(made.whole_study())
    assert len(records) == 1080
    started = time.process_time()
    path = write(tmp_path / "report.html", records)
    assert time.process_time() - started < 20
    assert path.stat().st_size < 15e6

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.study.conftest import result_of, tiny

from sffa.errors import DataError
from sffa.record import COLUMNS
from sffa.study import Record, StudyError, export_csv, import_csv

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def made(**changes: object) -> Record:
    return result_of(tiny(), **changes, attempts=2, started="s", finished="f")


def test_the_first_columns_are_those_that_were_promised() -> None:
    first = "dataset scenario method algorithm seed acc fgt fwt bwt best last val_selected"
    assert COLUMNS[:12] == tuple(first.split())


@given(acc=NUMBERS, other=NUMBERS)
def test_the_flat_form_reads_back_as_it_was(acc: float, other: float) -> None:
    record = made(metrics={"acc": acc, "special": other}, curve=[{"loss": other}], heat=[1])
    assert Record.from_cells(record.cells()) == record


def test_what_is_not_a_number_is_no_number() -> None:
    assert made(metrics={"acc": math.nan}).metrics == {}
    assert replace(made(), metrics={"acc": math.nan}).cells()["acc"] is None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.text(max_size=20)), max_size=4))
def test_csv_reads_back_exactly(values: list[tuple[float, float, str]]) -> None:
    import tempfile

    records = [
        result_of(
            tiny(seed=seed),
            metrics={"acc": acc},
            seconds=seconds,
            error=error.replace("\0", "") or None,
            started="2024-01-01T00:00:00+00:00",
        )
        for seed, (acc, seconds, error) in enumerate(values)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        assert export_csv(path, records) == len(records)
        assert import_csv(path) == records
        again = Path(folder) / "again.csv"
        export_csv(again, import_csv(path))
        assert again.read_bytes() == path.read_bytes()
        assert {file.name for file in Path(folder).iterdir()} == {"r.csv", "again.csv"}


def rewritten(path: Path, **changes: str) -> Path:
    with open(path, newline="") as stream:
        rows = list(csv.DictReader(stream))
    changed = path.with_name("changed.csv")
    with open(changed, "w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, **changes} for row in rows)
    return changed


def test_a_csv_of_another_version_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    export_csv(path, [made()])
    with pytest.raises(StudyError, match=r"line 2: format 9 .*sffa 8\.0.*reads format 2") as caught:
        import_csv(rewritten(path, schema="9", version="8.0"))
    assert "\n" not in str(caught.value)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0].replace(",schema", ",scheme") + lines[1])
    with pytest.raises(StudyError, match="column 'schema' is missing"):
        import_csv(path)


def test_a_csv_whose_configuration_was_altered_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    export_csv(path, [made()])
    altered = rewritten(path, config='{"epochs":1}')
    with pytest.raises(StudyError, match="does not match its hash"):
        import_csv(altered)
    with pytest.raises(StudyError, match=r"line 2: not a record"):
        import_csv(rewritten(path, acc="much"))
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyError, match="is not a CSV"):
        import_csv(tmp_path / "bytes.csv")
    with pytest.raises(StudyError, match="cannot be read"):
        import_csv(tmp_path / "absent.csv")


def test_an_export_removes_what_a_killed_one_left_long_ago(tmp_path: Path) -> None:
    import os

    left, fresh = tmp_path / ".r.csv.abc.tmp", tmp_path / ".r.csv.def.tmp"
    for path in (left, fresh):
        path.write_text("half")
    os.utime(left, (0, 0))
    export_csv(tmp_path / "r.csv", [made()])
    assert not left.exists()
    assert fresh.exists()


def test_text_that_is_no_unicode_is_one_line() -> None:
    record = result_of(tiny(), error="half a \ud800 letter", status="failed")
    with pytest.raises(DataError, match="holds text that is no Unicode"):
        record.cells()

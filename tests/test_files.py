"""Whole files only: a reader finds the old content or the new, never a part."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sffa.files import replacing, write_text


def test_a_file_appears_under_its_name_only_when_it_is_complete(tmp_path: Path):
    target = tmp_path / "new" / "folder" / "out.txt"
    with replacing(target) as temporary:
        temporary.write_text("half")
        assert temporary.parent == target.parent
        assert not target.exists()
        temporary.write_text("whole")
    assert target.read_text() == "whole"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("trouble", [RuntimeError, KeyboardInterrupt, OSError])
def test_trouble_while_writing_leaves_the_old_file_and_no_other(tmp_path: Path, trouble):
    target = tmp_path / "out.txt"
    write_text(target, "old")

    def write() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half of the new")
            raise trouble

    with pytest.raises(trouble):
        write()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_gets_the_permissions_a_plain_write_would_give(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "ours", "x")
        (tmp_path / "plain").write_text("x")
    finally:
        os.umask(before)
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("ours", "plain")}
    assert modes["ours"] == modes["plain"] == 0o640


def test_writers_of_the_same_file_do_not_meet(tmp_path: Path):
    target = tmp_path / "out.txt"
    with replacing(target) as one, replacing(target) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert target.read_text() == "one"  # the outer block ends last
    assert list(tmp_path.iterdir()) == [target]


def test_text_is_utf8_wherever_it_is_written(tmp_path: Path):
    write_text(tmp_path / "out.txt", "‖h‖² → α")
    assert (tmp_path / "out.txt").read_bytes().decode("utf-8") == "‖h‖² → α"

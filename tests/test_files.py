"""Whole files only: a reader finds the old content or the new, never a part."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sffa.errors import DataError, OutputError
from sffa.files import check_writable, read_text, reading, replacing, write_bytes, write_text


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


def test_a_symbolic_link_stays_and_the_file_it_leads_to_is_written(tmp_path: Path):
    target, link = tmp_path / "there" / "out.txt", tmp_path / "link"
    link.symlink_to(target)
    write_text(link, "dangling until now")
    assert link.is_symlink()
    assert target.read_text() == "dangling until now"
    write_bytes(link, b"again")
    assert link.is_symlink()
    assert target.read_bytes() == b"again"
    assert list(target.parent.iterdir()) == [target]


def _loop(path: Path) -> None:
    path.symlink_to(path.with_name("other"))
    path.with_name("other").symlink_to(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Path.mkdir, "is a directory"),
        (os.mkfifo, "is a named pipe"),
        (_socket, "is a socket"),
        (_loop, "symbolic links"),
        (lambda path: path.symlink_to("/dev/null"), "is a character device"),
    ],
)
def test_only_a_regular_file_is_replaced(tmp_path: Path, monkeypatch, make, says: str):
    monkeypatch.chdir(tmp_path)
    target = Path("out.txt")
    make(target)
    before = sorted(os.listdir()), os.lstat(target).st_ino, os.lstat("/dev/null").st_ino
    with pytest.raises(OutputError, match=says) as raised:
        write_text(target, "new")
    assert "\n" not in str(raised.value)
    assert before == (sorted(os.listdir()), os.lstat(target).st_ino, os.lstat("/dev/null").st_ino)


def test_what_comes_to_stand_there_meanwhile_is_not_replaced(tmp_path: Path):
    target = tmp_path / "out.txt"

    def write() -> None:
        with replacing(target) as temporary:
            temporary.write_text("new")
            os.mkfifo(target)

    with pytest.raises(OutputError, match="named pipe"):
        write()
    assert target.is_fifo()
    assert list(tmp_path.iterdir()) == [target]


def test_a_path_below_a_file_is_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "file" / "out.txt", "new")


def test_a_file_keeps_its_permissions(tmp_path: Path):
    target = tmp_path / "secret"
    target.write_text("old")
    target.chmod(0o600)
    write_text(target, "new")
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path):
    write_text(tmp_path / ("n" * 255), "whole")
    assert (tmp_path / ("n" * 255)).read_text() == "whole"


KILLED = """
import os, signal, sys
from sffa.errors import DataError, OutputError
from sffa.files import reading, replacing, write_bytes, write_text
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path: Path):
    target = tmp_path / "out.txt"
    subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    write_text(tmp_path / "out.txt.other", "another name")
    write_text(tmp_path / "out", "another name")
    assert len(list(tmp_path.iterdir())) == 3
    write_text(target, "whole")
    assert sorted(os.listdir(tmp_path)) == ["out", "out.txt", "out.txt.other"]


def test_what_a_living_or_distant_writer_is_writing_is_left_alone(tmp_path: Path):
    distant, old = tmp_path / ".out.txt.00000000-1-ab.tmp", tmp_path / ".out.txt.00000000-1-cd.tmp"
    distant.touch()
    old.touch()
    os.utime(old, (0, 0))
    with replacing(tmp_path / "out.txt") as mine:
        write_text(tmp_path / "out.txt", "meanwhile")
        assert mine.exists()
    assert distant.exists()
    assert not old.exists()


def test_a_named_pipe_is_refused_to_a_reader_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a named pipe"), reading(tmp_path / "pipe"):
        pass


def test_asking_for_more_than_a_file_holds_allocates_no_more(tmp_path: Path):
    (tmp_path / "small").write_bytes(b"abc")
    with reading(tmp_path / "small") as file:
        assert file.read(1) == b"a"
        assert file.read(1 << 50) == b"bc"
        file.seek(1)
        assert file.read() == b"bc"


def test_without_psutil_what_others_write_is_left_alone(tmp_path: Path, monkeypatch):
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("old")
    kept = tmp_path / temporary.name  # as if its writer were gone, or at work
    kept.write_text("half")
    monkeypatch.setitem(sys.modules, "psutil", None)
    write_text(tmp_path / "a.txt", "new")
    assert kept.read_text() == "half"
    assert (tmp_path / "a.txt").read_text() == "new"


def test_asking_whether_a_file_can_be_written_leaves_everything_as_it_is(tmp_path: Path):
    for name in ("out.txt", "out.txt.probe", "out.txt.tmp"):
        (tmp_path / name).write_text(name)
    check_writable(tmp_path / "out.txt")
    check_writable(tmp_path / "new" / "folder" / "new.txt")
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {name: name for name in ("out.txt", "out.txt.probe", "out.txt.tmp")}


def test_what_cannot_be_written_is_known_before_anything_is(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for path in ("pipe", ".", "file/below"):
        with pytest.raises(OutputError):
            check_writable(tmp_path / path)


def test_text_is_read_from_regular_files_in_utf8_only(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes(b"na\xefve")
    (tmp_path / "text").write_text("naïve", encoding="utf-8")
    assert read_text(tmp_path / "text") == "naïve"
    for name in ("pipe", "latin", "absent"):
        with pytest.raises(DataError, match=name):
            read_text(tmp_path / name)

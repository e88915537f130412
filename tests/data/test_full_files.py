"""The real datasets, where they are: set SFFA_DATA_DIR."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sffa.data import Dataset, load
from sffa.data.directory import data_dir, find, missing
from sffa.data.registry import REGISTRY
from sffa.errors import DataError


def real(name: str) -> Dataset:
    if missing(REGISTRY[name], data_dir()):
        pytest.skip(f"{name} is not in {data_dir()}; set SFFA_DATA_DIR or fetch it")
    return load(name, download=False)


@pytest.mark.parametrize("name", ["mnist", "fmnist", "kmnist", "emnist-letters", "kmnist-reduced"])
def test_the_published_files_load_as_described(name: str):
    data, entry = real(name), REGISTRY[name]
    assert (len(data.train), len(data.test)) == entry.sizes
    assert data.shape == entry.shape
    assert data.train.x.dtype == np.uint8
    assert data.train.y.dtype == np.int64
    assert set(np.unique(data.test.y)) == set(range(data.classes))
    pixels = data.train.x.astype(np.float32) / 255
    assert data.mean == pytest.approx(pixels.mean(dtype=np.float64), abs=5e-4)
    assert data.std == pytest.approx(pixels.std(dtype=np.float64), abs=5e-4)


def test_mnist_begins_as_everyone_knows_it():
    data = real("mnist")
    assert data.train.y[:5].tolist() == [5, 0, 4, 1, 9]
    assert (data.mean, data.std) == (0.1307, 0.3081)


def test_cifar10_has_the_channel_means_everyone_uses():
    data = real("cifar10")
    means = data.train.x.reshape(-1, 3).mean(axis=0, dtype=np.float64) / 255
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def test_one_flipped_byte_of_mnist_is_found(tmp_path: Path):
    real("mnist")
    entry = REGISTRY["mnist"]
    shutil.copytree(data_dir() / "mnist", tmp_path / "mnist")
    labels = find(entry, entry.test[1], tmp_path)
    assert labels is not None
    labels.chmod(0o644)
    blob = bytearray(labels.read_bytes())
    blob[len(blob) // 2] ^= 1
    labels.write_bytes(blob)
    with pytest.raises(DataError, match="t10k-labels") as raised:
        load("mnist", data_dir=tmp_path)
    assert entry.test[1].sha256 in str(raised.value)

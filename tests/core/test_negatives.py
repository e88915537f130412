"""Labels drawn in place of all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sffa
from sffa.core import Sampled
from sffa.errors import ConfigurationError


def network(classes: int, **options: object) -> sffa.Network:
    return sffa.Network(4, hidden=(40,), k=4, classes=range(classes), seed=0, **options)


def drawn(net: sffa.Network, count: int, y: torch.Tensor, seed: int = 0) -> torch.Tensor | None:
    return Sampled(count).draw(net, torch.zeros(len(y), 4), y, np.random.default_rng(seed))


def test_each_example_has_its_own_label_first_and_different_others() -> None:
    y = torch.arange(200) % 20
    found = drawn(network(20), 6, y)
    assert found is not None
    assert found.shape == (200, 6)
    assert (found[:, 0] == y).all()
    assert all(len(set(row)) == 6 for row in found.tolist())
    others = np.bincount(found[:, 1:].reshape(-1).numpy(), minlength=20)
    assert others.min() > 25, "each label should be drawn about fifty times"
    again, other = drawn(network(20), 6, y), drawn(network(20), 6, y, seed=1)
    assert (again == found).all()
    assert not (other == found).all()


def test_few_labels_are_all_taken() -> None:
    assert drawn(network(6), 6, torch.arange(6)) is None


def test_old_labels_are_left_out_where_only_current_ones_are_contrasted() -> None:
    net = network(9, contrast_with="current")
    net.add_classes(range(9, 12))
    found = drawn(net, 2, torch.tensor([9, 10, 11]))
    assert found is not None
    assert found.min() >= 9


def test_one_label_is_no_contrast() -> None:
    with pytest.raises(ConfigurationError, match="needs 2 labels or more, got count=1"):
        Sampled(1)


def test_training_with_it_goes_on_to_the_same_bits_from_a_file(tmp_path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 4)).astype(np.float32), rng.integers(12, size=64)
    trainer = sffa.Trainer(network(12), negatives=Sampled(5))
    trainer.step(x, y)
    trainer.save(tmp_path / "t.safetensors")
    same = sffa.Trainer.load(tmp_path / "t.safetensors")
    assert same.negatives == trainer.negatives == "sffa.core.negatives:Sampled(count=5)"
    assert float(same.step(x, y)) == float(trainer.step(x, y))

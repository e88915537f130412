"""One layer in memory: the same bits as with all of them, also after a stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import sffa
from sffa.core import Callback, Epoch, Network, Progress, Trainer, accuracy
from sffa.errors import ConfigurationError, ModelFileError, SFFAError

EXAMPLES, CLASSES = 1200, 4  # more than a block, so that latents go to disk
SIZES = {"epochs": 2, "batch_size": 100}


@pytest.fixture(scope="module")
def data() -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, EXAMPLES)
    x = rng.normal(size=(EXAMPLES, 20)) + np.eye(CLASSES, 20)[y] * 2
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def network(**options: Any) -> Network:
    given = {"hidden": (80, 60, 80), "k": 5, "classes": range(CLASSES), **options}
    return Network(20, **given)


def trainer(net: Network, folder: Path | None = None, **options: Any) -> Trainer:
    return Trainer(net, schedule="greedy", offload=folder, **options)


def bits(net: Network) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gate": 0.5},
        {"gate": "disjoint"},
        {"activation": "relu", "objective": "contrast"},
        {"codes": "onehot"},
        {"backend": "torch"},
    ],
    ids=str,
)
def test_offloaded_training_gives_the_bits_of_greedy_in_memory(
    data: tuple[Tensor, Tensor], tmp_path: Path, options: dict[str, Any]
) -> None:
    plain, apart = network(**options), network(**options)
    losses = [e.loss for e in trainer(plain).fit(*data, **SIZES)]
    offloaded = trainer(apart, tmp_path / "layers")
    assert [e.loss for e in offloaded.fit(*data, **SIZES)] == losses
    assert_same(bits(apart), bits(plain))
    assert torch.equal(apart.scores(data[0]), plain.scores(data[0]))
    assert torch.equal(apart.scores(data[0][:1]), plain.scores(data[0][:1]))
    assert accuracy(apart, *data) == accuracy(plain, *data)


@pytest.mark.parametrize(
    "options",
    [
        {"negatives": "uniform"},
        {"lr_schedule": "cosine"},
        {"optimizer": torch.optim.RMSprop},
    ],
    ids=str,
)
def test_ways_of_training_keep_their_bits(
    data: tuple[Tensor, Tensor], tmp_path: Path, options: dict[str, Any]
) -> None:
    plain, apart = network(), network()
    weight = torch.linspace(0, 2, EXAMPLES)
    for learner, folder in ((plain, None), (apart, tmp_path)):
        trainer(learner, folder, **options).fit(*data, **SIZES, weight=weight)
    assert_same(bits(apart), bits(plain))


def test_at_any_batch_only_one_layer_and_its_state_are_in_memory(
    data: tuple[Tensor, Tensor], tmp_path: Path
) -> None:
    net = network()
    training = trainer(net, tmp_path)
    seen = set()

    class Look(Callback):
        def on_batch_end(self, progress: Progress) -> None:
            assert net.offloaded is not None
            trained = set(net.layers[training.layer or 0].parameters())
            assert {*training.optimizer.state} == trained
            assert {p for p in net.parameters() if p.grad is not None} == trained
            seen.add((net.offloaded.held, training.layer))

    training.fit(*data, **SIZES, callbacks=[Look()])
    assert seen == {(0, 0), (1, 1), (2, 2)}


def test_layers_below_are_asked_once_not_every_epoch(
    data: tuple[Tensor, Tensor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    ask = Network.respond

    def counted(self: Network, number: int, *given: Any) -> Any:
        asked.append(number)
        return ask(self, number, *given)

    monkeypatch.setattr(Network, "respond", counted)
    trainer(network(), tmp_path).fit(*data, epochs=5, batch_size=100)
    blocks = -(-EXAMPLES // 512)
    assert asked == [0] * blocks + [1] * blocks


class Stop(Callback):
    """Ends the training as a kill would, after an epoch was saved."""

    def __init__(self, training: Trainer, folder: Path, after: int) -> None:
        self.training, self.folder, self.after = training, folder, after

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        self.training.save(self.folder, {"epoch": epoch.number})
        if epoch.number == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 2, 3, 6])
@pytest.mark.parametrize("optimizer", ["adam", torch.optim.RMSprop], ids=str)
def test_a_stopped_training_goes_on_to_the_same_bits(
    data: tuple[Tensor, Tensor], tmp_path: Path, after: int, optimizer: Any
) -> None:
    plain = network()
    trainer(plain, optimizer=optimizer).fit(*data, **SIZES)
    first = trainer(network(), tmp_path, optimizer=optimizer)
    with pytest.raises(KeyboardInterrupt):
        first.fit(*data, **SIZES, callbacks=[Stop(first, tmp_path, after)])
    again, notes, _ = Trainer.load_run(tmp_path)
    assert notes == {"epoch": after}
    assert again.epochs_done == after
    done = again.epochs_done - SIZES["epochs"] * (again.layer or 0)
    again.fit(*data, **SIZES, done=done)
    assert_same(bits(again.learner), bits(plain))


def test_a_kill_that_nobody_saved_before_goes_on_from_the_start_of_the_layer(
    data: tuple[Tensor, Tensor], tmp_path: Path
) -> None:
    plain = network()
    trainer(plain).fit(*data, **SIZES)

    class Kill(Callback):
        def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
            if epoch.number == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer(network(), tmp_path).fit(*data, **SIZES, callbacks=[Kill()])
    again = Trainer.load(tmp_path)
    assert (again.layer, again.epochs_done) == (1, 2)
    again.fit(*data, **SIZES)
    assert_same(bits(again.learner), bits(plain))


def test_the_folder_loads_as_a_network_and_saves_as_one_file(
    data: tuple[Tensor, Tensor], tmp_path: Path
) -> None:
    plain, apart = network(), network()
    whole = trainer(plain)
    whole.fit(*data, **SIZES)
    training = trainer(apart, tmp_path / "layers")
    training.fit(*data, **SIZES)
    training.save(tmp_path / "one.safetensors")
    whole.save(tmp_path / "plain.safetensors")
    again = sffa.load(tmp_path / "layers")
    assert again.offloaded is not None
    assert torch.equal(again.scores(data[0]), plain.scores(data[0]))
    assert sffa.load(tmp_path / "one.safetensors").offloaded is None
    files = [sffa.core.storage.read(tmp_path / f"{n}.safetensors") for n in ("one", "plain")]
    assert files[0][0] == files[1][0]
    assert_same(files[0][1], files[1][1])


def test_deepening_layer_by_layer_equals_a_network_made_deep(
    data: tuple[Tensor, Tensor], tmp_path: Path
) -> None:
    plain, apart = network(), network(hidden=(80,))
    trainer(plain).fit(*data, **SIZES)
    training = trainer(apart, tmp_path)
    training.fit(*data, **SIZES)
    for width in (60, 80):
        training.deepen(width)
        training.fit(*data, **SIZES)
    assert_same(bits(apart), bits(plain))


def test_other_examples_are_answered_anew(data: tuple[Tensor, Tensor], tmp_path: Path) -> None:
    plain, apart = network(hidden=(80, 60)), network(hidden=(80, 60))
    for training in (trainer(plain), trainer(apart, tmp_path)):
        training.fit(*data, **SIZES)
        training.fit(data[0] + 1, data[1], **SIZES)
    assert_same(bits(apart), bits(plain))


def test_steps_by_hand_hold_the_layer_too(data: tuple[Tensor, Tensor], tmp_path: Path) -> None:
    plain, apart = network(), network()
    for training in (trainer(plain), trainer(apart, tmp_path)):
        for layer in (0, 1):
            training.layer = layer
            training.step(data[0][:64], data[1][:64])
    assert_same(bits(apart), bits(plain))


@pytest.mark.parametrize(
    ("net", "options", "said"),
    [
        ({"algorithm": "ffa", "k": 15}, {}, "FFA's latents are dense"),
        ({}, {"schedule": "online"}, "schedule='greedy'"),
        ({}, {"negatives": "hard"}, "'all' or 'uniform'"),
    ],
    ids=str,
)
def test_what_cannot_be_offloaded_is_refused_in_a_line(
    tmp_path: Path, net: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        Trainer(network(**net), **{"schedule": "greedy", **options}, offload=tmp_path / "new")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_back_propagation_has_no_layers_to_offload(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="greedy"):
        Trainer(sffa.Backprop(4, (8,), classes=range(2)), offload=tmp_path)


def test_a_folder_that_holds_a_network_is_not_written_over(tmp_path: Path) -> None:
    trainer(network(), tmp_path)
    with pytest.raises(ConfigurationError, match="holds a network already"):
        trainer(network(), tmp_path)


def test_classes_that_let_weights_grow_are_refused_and_others_met(
    data: tuple[Tensor, Tensor], tmp_path: Path
) -> None:
    grown = trainer(network(codes="onehot"), tmp_path / "onehot")
    with pytest.raises(ConfigurationError, match="before they are offloaded"):
        grown.add_classes([7])
    other = trainer(network(), tmp_path / "symba")
    other.fit(*data, **SIZES)
    other.add_classes([7])
    assert other.learner.scores(data[0]).shape == (EXAMPLES, CLASSES + 1)


@pytest.mark.parametrize("name", ["network", "layer-001"])
def test_a_damaged_folder_is_refused(tmp_path: Path, name: str) -> None:
    trainer(network(), tmp_path)
    file = tmp_path / f"{name}.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        sffa.load(tmp_path).scores(torch.zeros(1, 20))


def test_a_missing_layer_is_named(tmp_path: Path) -> None:
    trainer(network(), tmp_path)
    (tmp_path / "layer-002.safetensors").unlink()
    with pytest.raises(SFFAError, match="layer-002"):
        sffa.load(tmp_path)

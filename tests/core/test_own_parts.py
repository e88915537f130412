"""Networks and their parts of one's own: in files and checkpoints, by name and as objects."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
import torch

import sffa
from sffa.continual import ContinualConfig, Stopped, run
from sffa.core import Callback, Trainer
from sffa.errors import ConfigurationError, ModelFileError
from sffa.testing import toy

SOURCE = '''
import torch
from sffa import Network
from sffa.core import Goodness, LabelCode, NegativeScheme, Objective


class Polar(Goodness):
    """The difference of the energies."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def log_odds(self, energies):
        return self.scale * (energies[0] - energies[1])


class Bits(LabelCode):
    """The binary digits of a class, ones and the scale."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def code(self, label, taken, size, seed):
        return self.scale * torch.tensor([float(label + 1 >> bit & 1) for bit in range(size)])


class Apart(Objective):
    """The right label above each wrong one."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def losses(self, goodness, energies, target, valid):
        good = self.scale * goodness.log_odds(energies)
        right = torch.where(target, good, 0.0).sum(dim=1, keepdim=True)
        return torch.where(valid & ~target, torch.nn.functional.softplus(good - right), 0).sum(1)


class Hidden(Goodness):
    """Keeps its argument where nobody finds it."""

    def __init__(self, scale: float = 1.0):
        self._scale = scale

    def log_odds(self, energies):
        return self._scale * (energies[0] - energies[1])


class Summed(Goodness):
    def log_odds(self, energies):
        return energies[0].sum()


class Short(LabelCode):
    def code(self, label, taken, size, seed):
        return torch.ones(3)


class Same(LabelCode):
    def code(self, label, taken, size, seed):
        return torch.ones(size)


class Mean(Objective):
    def losses(self, goodness, energies, target, valid):
        return energies[0].mean()


class Unlike(Objective):
    def losses(self, energies):
        return energies


class Doubled(Network):
    """Every score twice as large."""

    def outputs(self, x, task=None):
        return 2 * super().outputs(x, task)


class Next(NegativeScheme):
    """The wrong label is the next one."""

    def draw(self, learner, x, y, rng, task=None):
        column = learner.columns(y)
        wrong = (column + 1) % len(learner.classes)
        return torch.stack([column, wrong.where(wrong != column, -1)], dim=1)


class NoScheme:
    pass
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("mine", None)
    import mine as module

    yield module
    sys.modules.pop("mine", None)


class StopAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_batch_end(self, progress):
        return progress.step == self.step


def config(**more) -> ContinualConfig:
    common = {"dataset": "toy", "experiences": 3, "hidden": (24,), "batch_size": 16, "lr": 3e-3}
    return ContinualConfig(**{**common, "network": {"k": 4}, "epochs": 1, **more})


def test_a_file_names_the_class_it_needs_and_is_loaded_only_with_it_at_hand(
    mine, tmp_path: Path
) -> None:
    network = mine.Doubled(4, hidden=(40,), k=5, classes=range(3))
    path = tmp_path / "model.safetensors"
    network.save(path)
    x = torch.rand(5, 4)
    assert torch.equal(sffa.load(path).scores(x), network.scores(x))
    assert type(sffa.load(path)) is mine.Doubled
    del sys.modules["mine"]
    with pytest.raises(ModelFileError, match="needs the class 'mine:Doubled': import its module"):
        sffa.load(path)
    assert "mine" not in sys.modules


def test_a_class_that_cannot_be_found_again_is_not_saved(tmp_path: Path) -> None:
    class Local(sffa.Network):
        pass

    with pytest.raises(ModelFileError, match="define it in a module"):
        Local(4, hidden=(40,), k=5).save(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    "given",
    [
        {"algorithm": "mine:Doubled"},
        {"negatives": "mine:Next"},
        {"network": {"k": 4, "goodness": "mine:Polar(scale=2.0)"}},
        {"network": {"k": 4, "codes": "mine:Bits"}},
        {"network": {"k": 4, "objective": "mine:Apart"}},
    ],
)
def test_a_run_with_parts_of_ones_own_goes_on_to_the_same_bits(
    given: dict, mine, tmp_path: Path
) -> None:
    whole = run(config(**given), toy())
    path = tmp_path / "checkpoint.safetensors"
    for step in (3, 8):
        with pytest.raises(Stopped):
            run(config(**given), toy(), checkpoint=path, callbacks=[StopAt(step)])
    again = run(config(**given), toy(), checkpoint=path)
    assert again.rows == whole.rows
    assert all(
        torch.equal(a, b)
        for a, b in zip(again.learner.parameters(), whole.learner.parameters(), strict=True)
    )
    assert whole.rows != run(config(), toy()).rows or "algorithm" in given


def test_negatives_are_a_name_a_class_or_an_object(mine, tmp_path: Path) -> None:
    losses = []
    for given in ("mine:Next", mine.Next, mine.Next()):
        network = sffa.Network(4, hidden=(40,), k=5, classes=range(3))
        trainer = Trainer(network, negatives=given)
        losses.append(float(trainer.step(torch.eye(4), torch.tensor([0, 1, 2, 0]))))
        assert trainer.negatives == "mine:Next"
    assert len(set(losses)) == 1
    path = tmp_path / "trainer.safetensors"
    trainer.save(path)
    assert Trainer.load(path).negatives == "mine:Next"
    del sys.modules["mine"]
    with pytest.raises(ModelFileError, match="needs the negatives 'mine:Next'"):
        Trainer.load(path)
    assert "mine" not in sys.modules


PARTS = {"goodness": "Polar", "codes": "Bits", "objective": "Apart"}


def trained(**options) -> tuple[sffa.Network, list[float]]:
    network = sffa.Network(4, hidden=(40, 40), k=5, classes=range(3), seed=1, **options)
    trainer = Trainer(network, lr=1e-2)
    steps = [float(trainer.step(torch.eye(4), torch.tensor([0, 1, 2, 0]))) for _ in range(3)]
    return network, steps


@pytest.mark.parametrize(("part", "name"), PARTS.items())
def test_a_part_is_a_class_an_object_or_a_name(part: str, name: str, mine) -> None:
    kind = getattr(mine, name)
    usual = [trained(**{part: given}) for given in (kind, kind(), f"mine:{name}", partial(kind))]
    assert {network.config.model_dump()[part] for network, _ in usual} == {f"mine:{name}"}
    assert len({tuple(steps) for _, steps in usual}) == 1
    assert usual[0][1] != trained()[1]
    named = f"mine:{name}(scale=2.0)"
    others = [
        trained(**{part: g}) for g in (kind(2.0), kind(scale=2.0), named, partial(kind, scale=2.0))
    ]
    assert {network.config.model_dump()[part] for network, _ in others} == {named}
    assert len({tuple(steps) for _, steps in others}) == 1
    assert others[0][1] != usual[0][1]


@pytest.mark.parametrize(("part", "name"), PARTS.items())
def test_a_network_with_a_part_of_ones_own_comes_back_only_with_its_class_at_hand(
    part: str, name: str, mine, tmp_path: Path
) -> None:
    network, _ = trained(**{part: getattr(mine, name)(2.0)})
    path = tmp_path / "model.safetensors"
    network.save(path)
    x, y = torch.rand(5, 4), torch.tensor([0, 1, 2, 0, 1])
    back = sffa.load(path)
    assert torch.equal(back.scores(x), network.scores(x))
    assert torch.equal(back.loss(x, y), network.loss(x, y))
    back.add_classes([7])
    network.add_classes([7])
    assert torch.equal(back.codes, network.codes)
    del sys.modules["mine"]
    with pytest.raises(ModelFileError, match=f"needs the {part} 'mine:{name}.scale=2.0.': import"):
        sffa.load(path)
    assert "mine" not in sys.modules


def test_a_part_that_no_file_can_name_trains_and_is_not_saved(mine, tmp_path: Path) -> None:
    class Local(mine.Polar):
        pass

    for given, why in ((Local(), "define it in a module"), (mine.Hidden(2.0), "same names")):
        network, steps = trained(goodness=given)
        assert steps[-1] < steps[0]
        with pytest.raises(ModelFileError, match=why):
            network.save(tmp_path / "model.safetensors")
    changed = mine.Polar()
    network, _ = trained(goodness=changed)
    changed.scale = 3.0
    with pytest.raises(ModelFileError, match="the goodness has changed since"):
        network.save(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"goodness": 5},
            "goodness takes a Goodness: a class, an object, or module:Class; got '5'",
        ),
        ({"goodness": "polar"}, "unknown goodness 'polar'"),
        ({"goodness": "nowhere:Polar"}, "cannot import 'nowhere'"),
        ({"goodness": "mine:Bits"}, "no Goodness named 'Bits'"),
        ({"goodness": "mine:Pola"}, "did you mean 'Polar'"),
        ({"goodness": "mine:Polar(2)"}, "not of the form module:Class.name=value."),
        ({"goodness": "mine:Polar(size=2)"}, "unexpected keyword argument 'size'"),
        ({"goodness": "mine:Polar", "algorithm": "ffa"}, "mine:Polar.log_odds cannot be used"),
        ({"goodness": "mine:Summed"}, r"a value for each input \(2, 3\), got \(\)"),
        ({"codes": "onehott"}, "unknown codes 'onehott'; did you mean 'onehot'"),
        ({"codes": "mine:Short"}, "class 0 must be 100 finite numbers, got the shape"),
        ({"codes": "mine:Same"}, "class 1 has the code of another class"),
        ({"objective": "mine:Mean"}, "a loss for each of 2 examples, got \\(\\)"),
        ({"objective": "mine:Unlike"}, "objective .* cannot be used: TypeError"),
        ({"objective": "mine:Apart", "coupling": "product"}, "is local to a layer"),
    ],
)
def test_a_part_that_cannot_be_used_is_one_clear_line(options: dict, said: str, mine) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        sffa.Network(4, hidden=(40,), k=5, classes=range(2), **options)
    assert "\n" not in str(caught.value)


def test_what_is_no_scheme_is_one_clear_line(mine) -> None:
    with pytest.raises(ConfigurationError, match="no NegativeScheme named 'NoScheme'"):
        config(negatives="mine:NoScheme")
    with pytest.raises(ConfigurationError, match="unknown negatives 'hardd'; did you mean 'hard'"):
        config(negatives="hardd")

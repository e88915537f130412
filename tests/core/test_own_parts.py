"""Networks and their parts of one's own: in files and checkpoints, by name and as objects."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
import torch

import sffa
from sffa.cli import main
from sffa.continual import ContinualConfig, Stopped, run
from sffa.core import Callback, Trainer
from sffa.errors import ConfigurationError, ModelFileError
from sffa.extension import code_of
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


class Warm:
    """Rises to full steps over a share of them."""

    def __init__(self, share: float = 0.5):
        self.share = share

    def __call__(self, progress):
        return min(1.0, 0.1 + progress / self.share)


def falling(progress, power=1.0):
    return (1 - progress) ** power


def rms(parameters, lr):
    return torch.optim.RMSprop(parameters, lr=lr, momentum=0.5)


class Counting(torch.optim.SGD):
    """Keeps a number of each parameter, and one in its group."""

    def step(self, closure=None):
        super().step()
        for group in self.param_groups:
            group["nesterov"] = not group["nesterov"]
            for parameter in group["params"]:
                state = self.state[parameter]
                state["count"] = state.get("count", 0) + 1
                parameter.grad = None if state["count"] > 2 else parameter.grad


class Listing(torch.optim.SGD):
    def step(self, closure=None):
        self.state[self.param_groups[0]["params"][0]]["seen"] = []
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
        {"lr_schedule": "mine:Warm(share=0.8)"},
        {"lr_schedule": "mine:falling(power=2.0)"},
        {"optimizer": "torch.optim:SGD(momentum=0.9)"},
        {"optimizer": "torch.optim:Adafactor", "network": {"k": 4, "codes": "onehot"}},
        {"optimizer": "mine:rms", "reset_optimizer": True},
        {"optimizer": "mine:Counting(momentum=0.5)"},
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
            "goodness must be a class, an object or the module:Class of some",
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


X, Y = torch.rand(40, 4, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 3
SGD = torch.optim.SGD


def trainer_with(**given) -> Trainer:
    return Trainer(sffa.Network(4, hidden=(40,), k=5, classes=range(3)), lr=1e-2, **given)


def test_an_optimiser_is_a_class_a_partial_a_function_a_name_or_an_object(mine) -> None:
    named = trainer_with(optimizer="torch.optim:SGD(momentum=0.9)")
    given = trainer_with(optimizer=partial(SGD, momentum=0.9))
    network = sffa.Network(4, hidden=(40,), k=5, classes=range(3))
    made = Trainer(network, optimizer=SGD(network.parameters(), lr=1e-2, momentum=0.9))
    losses = [[e.loss for e in each.fit(X, Y, 2, 8)] for each in (named, given, made)]
    assert losses[0] == losses[1] == losses[2] != [e.loss for e in trainer_with().fit(X, Y, 2, 8)]
    names = {each.optimizer_name for each in (named, given, made)}
    assert names == {"torch.optim.sgd:SGD(momentum=0.9)"}
    assert made.lr == 1e-2
    assert trainer_with(optimizer=SGD).optimizer_name == "torch.optim.sgd:SGD"
    assert trainer_with(optimizer=mine.rms).optimizer_name == "mine:rms"


@pytest.mark.parametrize(
    "optimizer", ["torch.optim:SGD(momentum=0.9)", "torch.optim:NAdam", "mine:Counting", "mine:rms"]
)
def test_a_trainer_with_any_optimiser_and_steps_goes_on_to_the_same_bits(
    optimizer: str, mine, tmp_path: Path
) -> None:
    trainer = trainer_with(optimizer=optimizer, lr_schedule=partial(mine.falling, power=2.0))
    trainer.fit(X, Y, 2, 8)
    path = tmp_path / "trainer.safetensors"
    trainer.save(path)
    back = Trainer.load(path)
    for each in (trainer, back):
        each.fit(X, Y, 2, 8)
    pairs = zip(trainer.learner.parameters(), back.learner.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert back.lr_schedule == "mine:falling(power=2.0)"
    del sys.modules["mine"]
    with pytest.raises(ModelFileError, match="needs the lr_schedule 'mine:falling"):
        Trainer.load(path)
    assert "mine" not in sys.modules


def test_steps_follow_a_schedule_of_ones_own(mine) -> None:
    seen = []

    class Look(Callback):
        def on_batch_end(self, progress):
            seen.append(trainer.optimizer.param_groups[0]["lr"])

    for given in (mine.falling, "mine:falling", lambda done: 1 - done):
        trainer = trainer_with(lr_schedule=given)
        trainer.fit(X, Y, 1, 10, callbacks=[Look()])
        assert seen == pytest.approx([1e-2, 0.75e-2, 0.5e-2, 0.25e-2])
        seen.clear()
    trainer = trainer_with(lr_schedule=mine.Warm)
    trainer.fit(X, Y, 1, 10, callbacks=[Look()])
    assert seen == pytest.approx([0.1e-2, 0.6e-2, 1e-2, 1e-2])
    assert trainer.lr_schedule == "mine:Warm"


def test_a_state_of_another_shape_is_refused(mine, tmp_path: Path) -> None:
    trainer = trainer_with(optimizer=partial(SGD, momentum=0.9))
    trainer.fit(X, Y, 1, 8)
    state = next(iter(trainer.optimizer.state.values()))
    state["momentum_buffer"] = torch.ones(3)
    trainer.save(tmp_path / "trainer.safetensors")
    with pytest.raises(ModelFileError, match=r"momentum_buffer of .* another type or shape"):
        Trainer.load(tmp_path / "trainer.safetensors")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"optimizer": 5}, "optimizer must be a class, an object or the module:Class"),
        ({"optimizer": "sgd"}, "unknown optimizer 'sgd'; known: adam, your own: module:Class"),
        ({"optimizer": "mine:Polar"}, "no Optimizer named 'Polar'"),
        ({"optimizer": "mine:Listing"}, "keeps 'seen', a list: files hold tensors and plain"),
        ({"optimizer": torch.optim.LBFGS}, "missing 1 required positional argument: 'closure'"),
        ({"optimizer": partial(SGD, lr=0.1)}, "the step size of an optimizer is lr of its trainer"),
        ({"optimizer": partial(SGD, momentm=0.1)}, "unexpected keyword argument 'momentm'"),
        ({"optimizer": SGD([torch.ones(2)], lr=0.1)}, "made of the learner's parameters"),
        ({"optimizer": lambda parameters, lr: SGD(parameters[:1], lr=lr)}, "take all parameters"),
        ({"optimizer": lambda parameters, lr: SGD(parameters, lr=1.0)}, "step size it is given"),
        ({"optimizer": lambda parameters, lr: None}, "expected an Optimizer, got a NoneType"),
        ({"lr_schedule": 5}, "lr_schedule must be a class, an object or the module:Class"),
        ({"lr_schedule": "cosin"}, "unknown lr_schedule 'cosin'; did you mean 'cosine'"),
        ({"lr_schedule": "mine:fallin"}, "did you mean 'falling'"),
        ({"lr_schedule": lambda done: -done}, "not negative, at 50% of the steps, got '-0.5'"),
        ({"lr_schedule": lambda: 1.0}, "takes 0 positional arguments but 1 was given"),
        ({"lr_schedule": lambda done: "half"}, "expected a factor of lr"),
        ({"lr_schedule": "mine:NoScheme"}, "cannot be used: TypeError: 'NoScheme' object is not"),
    ],
)
def test_steps_that_cannot_be_made_are_one_clear_line(options: dict, said: str, mine) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        trainer_with(**options)
    assert "\n" not in str(caught.value)


def test_a_configuration_takes_classes_and_objects_by_their_names(mine) -> None:
    network = {"k": 4, "goodness": mine.Polar(2.0), "codes": mine.Bits}
    made = config(network=network, optimizer=SGD, lr_schedule=mine.Warm(0.2), negatives=mine.Next)
    values = made.model_dump(mode="json")
    assert values["network"]["goodness"] == "mine:Polar(scale=2.0)"
    assert values["network"]["codes"] == "mine:Bits"
    parts = "torch.optim.sgd:SGD", "mine:Warm(share=0.2)", "mine:Next"
    assert (values["optimizer"], values["lr_schedule"], values["negatives"]) == parts
    assert {*code_of(values)} == {
        *("mine:Polar", "mine:Bits", "torch.optim.sgd:SGD", "mine:Warm", "mine:Next")
    }


def test_a_configuration_refuses_a_part_without_a_name_and_says_why() -> None:
    class Local(torch.optim.SGD):
        """Found in no module."""

    for options in ({"optimizer": Local}, {"lr_schedule": lambda done: 1 - done}):
        with pytest.raises(ConfigurationError, match="define it at the top of a module"):
            run(config(**options), toy())


def test_a_command_reads_a_file_once_the_module_is_imported(
    mine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.safetensors"
    network = sffa.Network(64, hidden=(40,), k=5, classes=range(10), goodness=mine.Polar)
    network.save(path)
    del sys.modules["mine"]
    asked = ["evaluate", str(path), "--dataset", "digits"]
    with pytest.raises(SystemExit) as refused:
        main(asked)
    assert refused.value.code == 2
    assert "needs the goodness 'mine:Polar'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as read:
        main(["--import", "mine", *asked])
    assert read.value.code == 0


def test_what_is_no_scheme_is_one_clear_line(mine) -> None:
    with pytest.raises(ConfigurationError, match="no NegativeScheme named 'NoScheme'"):
        config(negatives="mine:NoScheme")
    with pytest.raises(ConfigurationError, match="unknown negatives 'hardd'; did you mean 'hard'"):
        config(negatives="hardd")

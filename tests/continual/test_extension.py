"""Strategies and algorithms of the user's own, named as module:Class."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.continual.toy import StopAt, small, toy

import sffa
from sffa import Network
from sffa.cli import main
from sffa.continual import (
    Combined,
    ContinualConfig,
    ContinualRun,
    Replay,
    Stopped,
    Strategy,
    Stream,
    make_strategy,
    run,
)
from sffa.data import from_arrays, load
from sffa.errors import ConfigurationError, DataError, SFFAWarning
from sffa.study import StaticConfig, run_static
from sffa.testing import check_strategy

CODE = '''
import torch
from sffa import Backprop, Network
from sffa.continual import Batch, Strategy
from sffa.continual.strategies.replay import Replay

class Shrink(Strategy):
    """Weight decay as a term of the loss."""
    def __init__(self, strength: float = 0.01, flag=False):
        super().__init__()
        self.strength, self.flag = strength, flag
        self.buffers["steps"] = torch.zeros(1)
    def extra_loss(self, learner, batch, clock):
        assert len(batch.x) == len(batch.y) <= 2 * self.batch_size
        self.buffers["steps"] += 1
        return self.strength * sum(p.square().sum() for p in learner.parameters())

class Forgets(Strategy):
    def __init__(self):
        pass

class Misnamed(Strategy):
    def before_training_exp(self, learner):
        pass

class Needs(Strategy):
    def __init__(self, teacher):
        super().__init__()

class Numbers(Strategy):
    def after_experience(self, learner, experience):
        self.buffers["seen"] = experience.index

class Untasked(Strategy):
    def extra_batch(self, clock):
        return Batch(torch.zeros(2, 20), torch.tensor([0, 1]), None)

class Mine(Replay):
    def __init__(self):
        super().__init__()

class Same(Network):
    pass

class Double(Backprop):
    def loss(self, x, y, task=None):
        return 2 * super().loss(x, y, task)
'''


@pytest.fixture(autouse=True)
def ideas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a module of that name in the working directory, and nowhere else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "ideas", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "ideas.py").write_text(CODE)
    yield
    sys.modules.pop("ideas", None)


def test_a_term_of_the_loss_is_learned_and_its_options_are_taken() -> None:
    plain = run(small("bp"), toy())
    shrunk = run(small("bp", method="ideas:Shrink"), toy())
    off = run(small("bp", method="ideas:Shrink", options={"ideas:Shrink.strength": 0.0}), toy())
    assert plain.learner is not None
    assert shrunk.learner is not None
    sizes = [
        sum(float(p.detach().square().sum()) for p in result.learner.parameters())
        for result in (plain, shrunk)
    ]
    assert sizes[1] < sizes[0]
    assert off.rows == plain.rows
    assert shrunk.record().method == "ideas:Shrink"


def test_an_own_strategy_joins_others_and_goes_on_after_a_stop() -> None:
    config = small("sffa", method="replay+ideas:Shrink", options={"ideas:Shrink.flag": True})
    assert config.options == {"ideas:Shrink.flag": True}
    whole = ContinualRun(config, toy())
    whole.evaluate()
    for experience in whole.stream:
        whole.learn(experience)
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint="c.safetensors", callbacks=[StopAt(9)])
    resumed = run(config, toy(), checkpoint="c.safetensors")
    assert resumed.rows == whole.result.rows
    assert float(whole.strategy.tensors()["1.buffers.steps"]) == whole.steps


def test_an_own_algorithm_learns_and_comes_back_from_a_file() -> None:
    config = small("ideas:Double", method="ewc", network={})
    result = run(config, toy(), checkpoint="c.safetensors")
    assert type(result.learner).__name__ == "Double"
    assert result.metrics["acc"] > 10
    assert run(config, toy(), checkpoint="c.safetensors").rows == result.rows
    result.learner.save("d.safetensors")
    assert type(sffa.load("d.safetensors")) is type(result.learner)


def test_a_network_with_one_thing_changed_is_otherwise_what_sffa_is() -> None:
    own = run(small("ideas:Same"), toy())
    assert own.rows == run(small("sffa"), toy()).rows
    assert own.config.network == small("sffa").network


def test_an_own_algorithm_learns_static_data_too() -> None:
    config = StaticConfig(
        **{"dataset": "digits", "algorithm": "ideas:Double", "epochs": 5, "hidden": (40,)},
        **{"holdout": 0, "lr": 3e-3, "batch_size": 64},
    )
    assert run_static(config).metrics["last"] > 20


def test_a_subclass_of_a_strategy_knows_the_batch_size() -> None:
    mine = make_strategy(["ideas:Mine"], batch_size=16)
    own = ContinualRun(small("bp", method="ideas:Mine"), toy())
    usual = ContinualRun(small("bp", method="replay"), toy())
    for course in (own, usual):
        course.evaluate()
        for experience in course.stream:
            course.learn(experience)
    assert mine.batch_size == 16
    assert own.result.rows == usual.result.rows


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("ideas:Shrunk", "no Strategy named 'Shrunk'; did you mean 'Shrink'"),
        ("ideas:torch", "no Strategy named 'torch'"),
        ("idea:Shrink", "cannot import 'idea'"),
        (":Shrink", "not of the form module:Class"),
        ("ideas:Forgets", r"must call super\(\).__init__\(\)"),
        ("ideas:Misnamed", "'before_training_exp' that nothing calls; did you mean"),
        ("ideas:Needs", "needs the option 'ideas:Needs.teacher'"),
        ("ewk", "did you mean 'ewc'"),
    ],
)
def test_what_cannot_work_is_refused_in_a_line(method: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as found:
        ContinualConfig(method=method)
    assert "\n" not in str(found.value)


def test_mistakes_that_only_a_run_shows_are_told_in_a_line() -> None:
    with pytest.raises(ConfigurationError, match=r"Numbers keeps buffers.seen, a int"):
        run(small("bp", method="ideas:Numbers"), toy())
    with pytest.raises(DataError, match="with a task and examples without one"):
        run(small("sffa", method="ideas:Untasked", scenario="task"), toy())
    with pytest.raises(ConfigurationError, match="unknown scenario 'clas'; did you mean 'class'"):
        Stream(toy(), "clas", 0)


def test_what_is_no_configuration_or_no_data_is_told_in_a_line() -> None:
    with pytest.raises(ConfigurationError, match="expected a ContinualConfig, got a dict"):
        run({"method": "naive"}, toy())  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"got 'digits'; sffa\.data\.load reads one"):
        run(small("bp"), "digits")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="from_arrays takes arrays"):
        load((np.zeros(3), np.zeros(3)))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"non-negative integers, got \['a', 'b'\]"):
        Network(4, hidden=(20,), k=3, classes=["a", "b"])
    with pytest.raises(ConfigurationError, match=r"a gate of 0\.2 leaves 4 of 20 neurons"):
        ContinualConfig(algorithm="sffa-gated", hidden=(40, 40))


def test_options_may_be_grouped_by_method() -> None:
    config = ContinualConfig(method="ewc+replay", options={"replay": {"capacity": 100}})
    assert config.options == {"replay.capacity": 100}


def test_whole_numbers_as_floats_are_labels() -> None:
    data = from_arrays(np.eye(4), [0.0, 1.0, 0.0, 1.0], np.eye(4), [0.0, 1.0, 0.0, 1.0])
    assert data.class_names == ("0", "1")


def test_a_checkpoint_of_other_data_of_the_same_size_is_refused() -> None:
    with pytest.raises(Stopped):
        run(small("bp"), toy(), checkpoint="c.safetensors", callbacks=[StopAt(3)])
    with pytest.raises(ConfigurationError, match="made with other data"):
        run(small("bp"), toy(seed=1), checkpoint="c.safetensors")


def test_two_names_for_one_tensor_are_saved() -> None:
    config = small("bp", method="replay")
    course = ContinualRun(config, toy(), checkpoint=Path("c.safetensors"))
    course.evaluate()
    course.strategy.buffers["a"] = course.strategy.buffers["b"] = torch.ones(3)
    course.save()
    again = ContinualRun(config, toy(), checkpoint=Path("c.safetensors"))
    assert torch.equal(again.strategy.buffers["b"], torch.ones(3))


def test_a_record_names_the_data_when_the_configuration_does_not() -> None:
    rng = np.random.default_rng(0)
    data = from_arrays(rng.random((40, 6)), np.arange(40) % 4, name="mine")
    config = ContinualConfig(experiences=2, hidden=(20,), algorithm="bp")
    assert run(config, data).record().dataset == "mine"
    named = ContinualConfig(dataset="theirs", experiences=2, hidden=(20,), algorithm="bp")
    assert run(named, data).record().dataset == "theirs"


UNKEPT = '''
import itertools
import numpy as np
import torch
from sffa.continual import Strategy

class Counts(Strategy):
    """A number beside the two dictionaries."""
    def __init__(self):
        super().__init__()
        self.steps = 0
    def extra_loss(self, learner, batch, clock):
        self.steps += 1
        return 1e-4 * self.steps * sum(p.square().sum() for p in learner.parameters())

class Draws(Strategy):
    """A generator of its own."""
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)
    def extra_loss(self, learner, batch, clock):
        return self.rng.random() * 1e-3 * sum(p.square().sum() for p in learner.parameters())

class Lists(Strategy):
    """A list that is not replaced, only longer."""
    def __init__(self):
        super().__init__()
        self.seen = {"labels": [[]]}
    def extra_loss(self, learner, batch, clock):
        self.seen["labels"][0].append(int(batch.y[0]))

class Teaches(Strategy):
    """A copy of the network."""
    def after_experience(self, learner, experience):
        import copy
        self.teacher = copy.deepcopy(learner)

class Recomputes(Counts):
    """What is computed again need not be kept."""
    transient = frozenset({"steps"})

class Holds(Strategy):
    """The run's own learner, and things that stay as they are."""
    def attach(self, learner):
        self.learner, self.names, self.step = learner, {"a", "b"}, itertools.count
        self.linear = torch.nn.Linear(2, 2)
'''


@pytest.fixture
def unkept(tmp_path: Path) -> str:
    (tmp_path / "unkept.py").write_text(UNKEPT)
    sys.modules.pop("unkept", None)
    return "unkept"


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [("Counts", "steps"), ("Draws", "rng"), ("Lists", "seen"), ("Teaches", "teacher")],
)
def test_what_a_strategy_keeps_outside_its_state_is_told_in_a_line_and_not_resumed(
    unkept: str, kind: str, attribute: str
) -> None:
    config = small("bp", method=f"naive+{unkept}:{kind}")
    told = rf"{kind}\.{attribute} changed and is in neither parameter_state nor buffers"
    with pytest.warns(SFFAWarning, match=told) as said, pytest.raises(Stopped):
        run(config, toy(), checkpoint="c.safetensors", callbacks=[StopAt(40)])
    assert len(said) == 1
    with pytest.raises(ConfigurationError, match=rf"lacks what .*'{kind}\.{attribute}'") as refused:
        run(config, toy(), checkpoint="c.safetensors")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["Recomputes", "Holds"])
def test_what_stays_or_is_computed_again_stops_no_run(unkept: str, kind: str) -> None:
    config = small("bp", method=f"{unkept}:{kind}")
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint="c.safetensors", callbacks=[StopAt(9)])
    assert run(config, toy(), checkpoint="c.safetensors").done == 3


def test_a_checkpoint_and_a_record_know_the_source_of_a_class() -> None:
    """By its name and as an object; each time it is loaded anew."""
    config = small("bp", method="ideas:Shrink")
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint="c.safetensors", callbacks=[StopAt(9)])
    before = run(config, toy()).record().environment["code"]
    ideas = importlib.import_module("ideas")
    given = {"strategy": ideas.Shrink(), "checkpoint": "c.safetensors"}
    assert run(small("bp"), toy(), **given).record().environment["code"] == before
    Path("ideas.py").write_text(CODE.replace("0.01", "0.02"))
    importlib.invalidate_caches()
    importlib.reload(ideas)
    with pytest.raises(ConfigurationError, match="made with another source of ideas:Shrink"):
        run(config, toy(), checkpoint="c.safetensors")
    with pytest.raises(ConfigurationError, match="made with another source of ideas:Shrink"):
        run(small("bp"), toy(), strategy=ideas.Shrink(), checkpoint="c.safetensors")
    assert run(config, toy()).record().environment["code"] != before


def test_the_command_warns_in_one_line_and_its_record_knows_the_source(
    unkept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run = ["--dataset", "split-digits", "--algorithm", "bp", "--hidden", "20", "--epochs"]
    options = [*small_run, "1", "--threads", "1", "--quiet", "--json"]
    with warnings.catch_warnings(action="default"), pytest.raises(SystemExit) as ended:
        main(["continual", "--method", f"{unkept}:Counts", *options])
    out, error = capsys.readouterr()
    assert not ended.value.code
    warned = [line for line in error.splitlines() if "Counts.steps" in line]
    assert len(warned) == 1
    assert warned[0].startswith("warning: Counts.steps changed")
    assert json.loads(out)["environment"]["code"].keys() == {f"{unkept}:Counts"}


def documented(number: int) -> dict:
    """Return what a Python block of docs/extending.md defines."""
    text = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    names = {"ContinualConfig": ContinualConfig, "run": run, "__name__": "doc"}
    exec(blocks[number], names)
    return names


@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
def test_the_documented_strategy_serves_every_scenario_and_algorithm(scenario: str) -> None:
    dark = documented(0)["Dark"]
    for algorithm in ("sffa", "bp"):
        check_strategy(dark, scenarios=(scenario,), algorithms=(algorithm,))


def test_the_documented_streams_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = documented(4)
    assert "[" in capsys.readouterr().out
    text = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    exec("class Halves" + text.split("class Halves")[1].partition("```")[0], names)
    halves = names["Halves"](toy(), "class", 0, 3)
    assert [len(e.train) for e in halves] == [40] * 6
    assert halves.learned == [1, 3, 5]


def test_hooks_see_new_and_extra_examples_apart_the_loss_the_optimiser_and_epochs() -> None:
    class Watch(Strategy):
        transient = frozenset({"steps", "epochs"})

        def __init__(self):
            super().__init__()
            self.steps, self.epochs = [], []

        def after_batch(self, learner, step):
            extra = 0 if step.extra is None else len(step.extra.y)
            rate = step.optimizer.param_groups[0]["lr"]
            self.steps.append((len(step.new.y), extra, float(step.loss), rate))

        def after_epoch(self, learner, epoch, clock):
            self.epochs.append((clock.experience, clock.epoch, epoch.loss))

    watch = Watch()
    config = small("bp", epochs=2)
    run(config, toy(), strategy=Combined([Replay(capacity=10), watch]))
    assert [step[:2] for step in watch.steps[:10]] == [(16, 0)] * 10
    assert {step[1] for step in watch.steps[10:]} == {10}
    assert {step[3] for step in watch.steps} == {config.lr}
    assert [epoch[:2] for epoch in watch.epochs] == [(e, n) for e in range(3) for n in range(2)]
    first = sum(step[2] for step in watch.steps[:5]) / 5
    assert watch.epochs[0][2] == pytest.approx(first, rel=1e-5)


def test_the_optimiser_can_start_anew_with_each_experience(tmp_path: Path) -> None:
    kept, anew = (run(small("bp", reset_optimizer=r), toy()) for r in (False, True))
    assert kept.rows[1] == anew.rows[1]
    assert kept.rows[2:] != anew.rows[2:]
    path = tmp_path / "checkpoint.safetensors"
    config = small("bp", reset_optimizer=True)
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint=path, callbacks=[StopAt(18)])
    assert run(config, toy(), checkpoint=path).rows == anew.rows

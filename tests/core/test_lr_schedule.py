"""A step size that falls: where it starts and ends, and that a resumed run takes the same steps."""

from __future__ import annotations

import math

import pytest
from tests.continual.toy import StopAt, small, toy
from tests.contracts.learners import learner, same, snapshot

from sffa import Trainer
from sffa.continual import ContinualConfig, ContinualRun, Stopped, run
from sffa.core import Callback
from sffa.errors import ConfigurationError


class Sizes(Callback):
    """Keep the step size of every batch."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.sizes: list[float] = []

    def on_batch_end(self, progress):
        self.sizes.append(self.trainer.optimizer.param_groups[0]["lr"])


def test_cosine_starts_at_lr_and_falls_to_nothing(digits):
    x, y = digits
    teacher = Trainer(learner("sffa"), lr=0.01, lr_schedule="cosine")
    sizes = Sizes(teacher)
    teacher.fit(x[:100], y[:100], epochs=5, batch_size=50, callbacks=[sizes])
    wanted = [0.005 * (1 + math.cos(math.pi * step / 10)) for step in range(10)]
    assert sizes.sizes == pytest.approx(wanted)
    assert teacher.optimizer.param_groups[0]["lr"] == 0.01


def test_every_layer_of_a_greedy_schedule_has_a_wave_of_its_own(digits):
    x, y = digits
    teacher = Trainer(learner("sffa"), lr=0.01, schedule="greedy", lr_schedule="cosine")
    sizes = Sizes(teacher)
    teacher.fit(x[:100], y[:100], epochs=2, batch_size=50, callbacks=[sizes])
    assert sizes.sizes[:4] == sizes.sizes[4:]


def test_constant_is_the_default_and_cosine_differs(digits):
    x, y = digits
    nets = []
    for more in ({}, {"lr_schedule": "constant"}, {"lr_schedule": "cosine"}):
        teacher = Trainer(learner("bp"), lr=0.01, **more)
        teacher.fit(x[:100], y[:100], epochs=2, batch_size=50)
        nets.append(snapshot(teacher.learner))
    assert same(nets[0], nets[1])
    assert not same(nets[0], nets[2])


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
def test_a_trainer_read_back_goes_on_with_the_same_step_sizes(algorithm, digits, tmp_path):
    x, y = digits
    whole = Trainer(learner(algorithm), lr=0.01, lr_schedule="cosine")
    whole.fit(x[:100], y[:100], epochs=4, batch_size=50)
    part = Trainer(learner(algorithm), lr=0.01, lr_schedule="cosine")

    class After(Callback):
        def on_epoch_end(self, progress, epoch):
            return epoch.number == 2

    part.fit(x[:100], y[:100], epochs=4, batch_size=50, callbacks=[After()])
    part.save(tmp_path / "model.safetensors")
    again = Trainer.load(tmp_path / "model.safetensors")
    assert again.lr_schedule == "cosine"
    again.fit(x[:100], y[:100], epochs=4, batch_size=50, done=2)
    assert same(snapshot(again.learner), snapshot(whole.learner))


def test_in_a_stream_the_wave_runs_over_each_experience_and_resumes_exactly(tmp_path):
    config = small("sffa", method="replay", lr_schedule="cosine")
    going = ContinualRun(config, toy())
    sizes = Sizes(going.trainer)
    for experience in going.stream:
        going.learn(experience, [sizes])
    assert sizes.sizes[:15] == sizes.sizes[15:30] == sizes.sizes[30:]
    assert sizes.sizes[0] == config.lr
    path = tmp_path / "checkpoint.safetensors"
    for stop in (7, 22):
        with pytest.raises(Stopped):
            run(config, toy(), checkpoint=path, callbacks=[StopAt(stop)])
    run(config, toy(), checkpoint=path)
    assert same(snapshot(Trainer.load(path).learner), snapshot(going.learner))
    with pytest.raises(ConfigurationError, match="its lr_schedule is 'cosine'"):
        run(small("sffa", method="replay"), toy(), checkpoint=path)


def test_a_record_of_a_constant_step_size_reads_as_it_always_did():
    assert "lr_schedule" not in ContinualConfig().model_dump(mode="json")
    falling = ContinualConfig(lr_schedule="cosine")
    assert ContinualConfig(**falling.model_dump(mode="json")) == falling


def test_an_unknown_schedule_is_one_clear_line():
    with pytest.raises(ConfigurationError, match=r"unknown lr_schedule 'cosin'; did you mean"):
        Trainer(learner("sffa"), lr_schedule="cosin")
    with pytest.raises(ConfigurationError, match="lr_schedule"):
        ContinualConfig(lr_schedule="cosin")

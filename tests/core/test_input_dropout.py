"""Input dropout: what is hidden, and that a run with it can be stopped and gone on with."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.contracts.learners import learner, same, snapshot

from sffa import Trainer, lite
from sffa.core import Callback, make
from sffa.core.input_dropout import with_gaps
from sffa.errors import ConfigurationError, DataError
from sffa.study import StaticConfig, run_static


def test_a_hidden_value_is_the_mean_and_the_others_are_as_they_were():
    pixels = torch.full((50, 8), 51, dtype=torch.uint8)
    mean = torch.arange(8) / 10
    gaps = with_gaps(pixels, 0.3, mean, np.random.default_rng(0))
    hidden = gaps == mean
    assert 0.2 < hidden[:, mean != 0.2].float().mean() < 0.4
    torch.testing.assert_close(gaps[~hidden], torch.full_like(gaps[~hidden], 0.2))


def test_every_step_hides_others():
    x, rng = torch.ones(20, 8), np.random.default_rng(0)
    first, second = (with_gaps(x, 0.5, torch.zeros(1), rng) for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
def test_a_trainer_read_back_goes_on_hiding_the_same_values(algorithm, digits, tmp_path):
    x, y = (part[:100] for part in digits)
    whole, part, none = (
        Trainer(learner(algorithm), lr=0.01, input_dropout=share) for share in (0.2, 0.2, 0.0)
    )
    for trainer in (whole, none):
        trainer.fit(x, y, epochs=4, batch_size=50)

    class After(Callback):
        def on_epoch_end(self, progress, epoch):
            return epoch.number == 2

    part.fit(x, y, epochs=4, batch_size=50, callbacks=[After()])
    part.save(tmp_path / "model.safetensors")
    again = Trainer.load(tmp_path / "model.safetensors")
    assert again.input_dropout == 0.2
    assert "input_dropout=0.2" in repr(again)
    again.fit(x, y, epochs=4, batch_size=50, done=2)
    assert same(snapshot(again.learner), snapshot(whole.learner))
    assert not same(snapshot(again.learner), snapshot(none.learner))


def test_lite_hides_the_same_values(digits, tmp_path):
    x, y = (part[:64] for part in digits)
    trainer = Trainer(learner("sffa"), lr=0.01, input_dropout=0.2)
    trainer.fit(x, y, epochs=1, batch_size=64)
    trainer.save(tmp_path / "model.safetensors")
    small = lite.load(tmp_path / "model.safetensors").partial_fit(x, y)
    loss = trainer.step(x, y)
    assert small.loss == pytest.approx(loss.item(), rel=1e-4)
    small.save(tmp_path / "again.safetensors")
    assert Trainer.load(tmp_path / "again.safetensors").input_dropout == 0.2


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ConfigurationError, match=r"input_dropout must lie in \[0, 1\)"):
        Trainer(learner("bp"), input_dropout=share)


def test_layers_in_files_cannot_have_it(tmp_path):
    with pytest.raises(ConfigurationError, match="leave input_dropout=0"):
        Trainer(learner("sffa"), schedule="greedy", offload=tmp_path / "net", input_dropout=0.1)


def test_closed_forms_cannot_have_it():
    with pytest.raises(ConfigurationError, match="Ridge learns each example once"):
        Trainer(make("ridge", 4, classes=range(2)), input_dropout=0.1)


@pytest.mark.parametrize("features", [1, 9])
def test_examples_of_other_features_are_refused_before_any_is_hidden(features, digits):
    trainer = Trainer(learner("sffa"), input_dropout=0.1)
    trainer.fit(*(part[:100] for part in digits), epochs=1)
    trainer.learner.standardise(np.zeros(64, np.float32), np.ones(64, np.float32))
    with pytest.raises(DataError, match="expected examples of 64 features"):
        trainer.step(torch.zeros(4, features), torch.zeros(4, dtype=torch.int64))


def test_images_stay_images():
    assert with_gaps(torch.ones(3, 4, 2), 0.5, torch.zeros(1), np.random.default_rng(0)).ndim == 3


def test_a_static_run_takes_it_and_older_records_keep_their_hash():
    given = {"dataset": "digits", "algorithm": "bp", "negatives": "none", "epochs": 2}
    given |= {"hidden": (20,), "holdout": 0}
    plain, hiding = (StaticConfig(**given, **more) for more in ({}, {"input_dropout": 0.3}))
    assert "input_dropout" not in plain.model_dump(mode="json")
    losses = [[p["loss"] for p in run_static(c).details["curve"]] for c in (plain, hiding, hiding)]
    assert losses[0] != losses[1] == losses[2]

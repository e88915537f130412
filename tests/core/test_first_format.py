"""Files of the first format load, and what is made of them agrees with what made them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sffa.continual import ContinualConfig, run
from sffa.continual.config import current_options
from sffa.core import Trainer
from sffa.data import load

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
EXPECTED = json.loads((FILES / "expected.json").read_text())


def test_a_trainer_file_trains_on_as_it_would_have() -> None:
    trainer = Trainer.load(FILES / "trainer.safetensors")
    assert trainer.learner.config.contrast_with == "current"
    assert trainer.learner.standardised
    data = load("digits")
    history = trainer.fit(data.train.flat[:300], data.train.y[:300], epochs=2, batch_size=50)
    losses = [epoch.loss for epoch in history]
    assert losses == pytest.approx(EXPECTED["trainer"]["losses"], rel=1e-3)


def test_a_checkpoint_goes_on_to_the_accuracies_it_would_have_come_to(tmp_path: Path) -> None:
    kept = EXPECTED["checkpoint"]
    path = tmp_path / "checkpoint.safetensors"
    shutil.copy(FILES / "checkpoint.safetensors", path)
    config = ContinualConfig(**current_options(kept["config"]))
    resumed = run(config, load("digits"), checkpoint=path)
    assert np.abs(resumed.matrix - np.array(kept["matrix"])).max() < 2


def test_old_names_of_options_work_with_one_warning_each() -> None:
    with pytest.warns(FutureWarning, match="'kernels' is now 'backend'"):
        assert ContinualConfig(kernels="torch").backend == "torch"
    with pytest.warns(FutureWarning, match="'candidates' is now 'contrast_with'"):
        config = ContinualConfig(network={"candidates": "current"})
    assert config.network["contrast_with"] == "current"

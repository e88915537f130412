"""The contract of a strategy."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from sffa.continual import ContinualConfig, ContinualRun, Stopped, Strategy, run
from sffa.core import Callback, Progress
from sffa.errors import SFFAWarning
from sffa.testing.toy import toy

SCENARIOS = ("class", "domain", "task")


def check_strategy(
    make: Callable[[], Strategy],
    *,
    scenarios: tuple[str, ...] = SCENARIOS,
    algorithms: tuple[str, ...] = ("sffa", "bp"),
) -> None:
    """Check what a run relies on in a strategy: any learner, resumption, no side effects.

    Parameters
    ----------
    make
        The class, or a function that makes a new strategy each time.
    scenarios, algorithms
        What to try it with.

    Examples
    --------
    >>> from sffa.continual import Replay
    >>> check_strategy(Replay, scenarios=("class",), algorithms=("bp",))
    """
    for scenario in scenarios:
        for algorithm in algorithms:
            config = _config(scenario, algorithm)
            whole = _check_run(config, make())
            _check_resumption(config, make, whole)


def _config(scenario: str, algorithm: str) -> ContinualConfig:
    values: dict[str, Any] = {
        "dataset": "toy",
        "scenario": scenario,
        "algorithm": algorithm,
        "class_order": ((0, 1), (2, 3), (4, 5)),
        "hidden": (24, 24),
        "network": {} if algorithm == "bp" else {"k": 4},
        "batch_size": 16,
        "epochs": 2,
        "lr": 3e-3,
    }
    return ContinualConfig(**values)


def _check_run(config: ContinualConfig, strategy: Strategy) -> ContinualRun:
    where = f"{config.scenario} IL, {config.algorithm}"
    numpy_before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    torch_before = torch.get_rng_state()
    whole = ContinualRun(config, toy(), strategy=strategy)
    whole.evaluate()
    for experience in whole.stream:
        whole.learn(experience)
    now = np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
    untouched = torch.equal(torch_before, torch.get_rng_state()) and (numpy_before == now).all()
    assert untouched, f"{where}: draws from a global generator"
    weights = copy.deepcopy(whole.learner.state_dict())
    kept = {name: tensor.clone() for name, tensor in strategy.tensors().items()}
    with torch.no_grad():
        for parameter in whole.learner.parameters():
            parameter.add_(1.0)
    for name, tensor in strategy.tensors().items():
        same = torch.equal(tensor.nan_to_num(), kept[name].nan_to_num())
        assert same, f"{where}: '{name}' is an alias of the weights; keep a copy"
    whole.learner.load_state_dict(weights)
    return whole


class _StopAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_batch_end(self, progress: Progress) -> bool:
        return progress.step == self.step


def _check_resumption(
    config: ContinualConfig, make: Callable[[], Strategy], whole: ContinualRun
) -> None:
    where = f"{config.scenario} IL, {config.algorithm}"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.safetensors"
        for step in (4, 13, 22):
            try:
                with warnings.catch_warnings(action="error", category=SFFAWarning):
                    run(config, toy(), strategy=make(), checkpoint=path, callbacks=[_StopAt(step)])
            except Stopped:
                continue
            except SFFAWarning as told:
                raise AssertionError(f"{where}: {told}") from None
            raise AssertionError(f"{where}: the run did not stop at batch {step}")
        result = run(config, toy(), strategy=make(), checkpoint=path)
    assert result.learner is not None
    pairs = zip(
        result.learner.state_dict().values(), whole.learner.state_dict().values(), strict=True
    )
    assert all(torch.equal(a, b) for a, b in pairs), (
        f"{where}: a resumed run ends elsewhere; whatever is kept between steps belongs into "
        "parameter_state and buffers, and random draws come from the clock"
    )

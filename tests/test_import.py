"""What ``import sffa`` gives, and what it leaves alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import sffa
from sffa import errors

OPTIONAL = ("matplotlib", "ray", "avalanche", "onnx", "onnxruntime", "tensorboard", "torchvision")


def test_every_public_name_is_there():
    for name in sffa.__all__:
        assert getattr(sffa, name) is not None
    assert {"Network", "Backprop", "Trainer", "load", "SFFAError"} <= set(sffa.__all__)


def test_importing_loads_nothing_optional_and_changes_nothing_global():
    code = f"""
import json, random, sys
import numpy as np, torch
before = torch.get_num_threads(), torch.initial_seed(), random.getstate()[1][:5]
import sffa
after = torch.get_num_threads(), torch.initial_seed(), random.getstate()[1][:5]
print(json.dumps([before == after, [n for n in {OPTIONAL!r} if n in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, []]


def test_training_leaves_torchs_compiler_alone():
    """It takes as long to import as torch itself, and torch's optimisers ask for it."""
    code = """
import sys, torch, sffa
for learner, backend in ((sffa.Network, {"k": 5}), (sffa.Backprop, {})):
    trainer = sffa.Trainer(learner(4, (40,), classes=range(2), **backend))
    for batch in (2, 20_000):
        trainer.step(torch.rand(batch, 4), torch.arange(batch) % 2)
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_error_of_ours_is_caught_by_one_name():
    found = [
        thing
        for thing in vars(errors).values()
        if isinstance(thing, type)
        and issubclass(thing, Exception)
        and not issubclass(thing, Warning)
    ]
    assert len(found) >= 5
    assert all(issubclass(error, sffa.SFFAError) for error in found)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sfaf", "; did you mean 'sffa'?"), ("zebra", ""), ("negatives", ""), ("", "")],
)
def test_a_hint_is_given_only_for_a_name_that_is_close(name, hint):
    assert errors.nearest(name, ["sffa", "mnist", "gate"]) == hint

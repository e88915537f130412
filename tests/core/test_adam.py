"""Adam as a compiled loop is Adam."""

from __future__ import annotations

import copy

import pytest
import torch

from sffa.core.adam import Adam
from sffa.kernels import team

pytestmark = pytest.mark.skipif(not team.limits_torch(), reason="torch keeps its threads here")


def _parameters() -> list[torch.nn.Parameter]:
    rng = torch.Generator().manual_seed(1)
    return [torch.nn.Parameter(torch.randn(*s, generator=rng)) for s in ((3, 5), (7,), (200, 90))]


def _train(parameters: list[torch.nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    rng = torch.Generator().manual_seed(2)
    for step in range(6):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 / (1 + step)
        for number, parameter in enumerate(parameters):
            fresh = torch.randn(parameter.shape, generator=rng)
            parameter.grad = None if step == 3 and number == 1 else fresh
        optimizer.step()


def test_the_loop_takes_the_steps_of_torch() -> None:
    mine, theirs = _parameters(), _parameters()
    with team.one_thread():
        _train(mine, Adam(mine, 1e-2))
    _train(theirs, torch.optim.Adam(theirs, lr=1e-2))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_it_goes_on_from_a_copy_to_the_same_bits() -> None:
    with team.one_thread():
        whole = _parameters()
        optimizer = Adam(whole, 1e-2)
        _train(whole, optimizer)
        again, known = copy.deepcopy((whole, optimizer))
        _train(whole, optimizer)
        _train(again, known)
    assert all(one.equal(other) for one, other in zip(whole, again, strict=True))
    assert [float(known.state[p]["step"]) for p in again] == [12.0, 10.0, 12.0]


def test_settings_that_the_loop_does_not_know_are_torchs_own() -> None:
    mine, theirs = _parameters(), _parameters()
    optimizer = Adam(mine, 1e-2)
    optimizer.param_groups[0]["weight_decay"] = 0.1
    with team.one_thread():
        _train(mine, optimizer)
    _train(theirs, torch.optim.Adam(theirs, lr=1e-2, weight_decay=0.1))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)

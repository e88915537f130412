"""Compiled loops on torch's threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch

from sffa.kernels import openmp, tasks
from sffa.kernels.openmp import Call

ROWS, KEYS, WINNERS, WIDTH = 60, 4000, 3, 16


def _scatter(work: int, threads: int) -> torch.Tensor:
    """Sum rows by key, as the gradient of the weights from below does."""
    rng = torch.Generator().manual_seed(0)
    keys = torch.randint(ROWS, (KEYS,), generator=rng, dtype=torch.int32)
    scale = torch.rand(KEYS, generator=rng)
    place = torch.randint(WIDTH, (KEYS, WINNERS), generator=rng, dtype=torch.int32)
    grad = torch.rand(KEYS, WINNERS, generator=rng)
    out = torch.empty(ROWS, WIDTH)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        Call(tasks.scatter, [keys, scale, place, grad, out], size=ROWS, work=work).run()
    finally:
        torch.set_num_threads(before)
    plain = torch.zeros(ROWS, WIDTH)
    rows = keys.long()[:, None].expand(-1, WINNERS)
    plain.index_put_((rows, place.long()), scale[:, None] * grad, accumulate=True)
    torch.testing.assert_close(out, plain)
    return out


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_rows_are_summed_alike_on_any_number_of_threads(threads: int) -> None:
    assert torch.equal(_scatter(10**9, threads), _scatter(0, 1))


def test_a_call_can_be_repeated_with_another_tensor() -> None:
    grad, curvature, weight = torch.zeros(5), torch.full((5,), 2.0), torch.arange(5.0)
    call = Call(
        tasks.add_quadratic_gradient,
        [grad, curvature, weight, torch.zeros(5), torch.empty(0)],
        size=5,
        work=0,
    )
    call.run()
    call.give(2, torch.ones(5))
    call.run()
    assert grad.tolist() == [2, 4, 6, 8, 10]
    with pytest.raises(ValueError, match="shape"):
        call.give(2, torch.ones(6))


def test_what_a_loop_cannot_walk_through_is_refused() -> None:
    others = torch.zeros(4, 5)
    for wrong in (torch.zeros(5, 2)[:, 0], torch.zeros(5).double()):
        with pytest.raises(ValueError, match="contiguous tensors of 32 bits"):
            Call(tasks.add_quadratic_gradient, [wrong, *others], size=5, work=0)


def test_without_torchs_threads_a_loop_runs_on_the_calling_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = _scatter(10**9, 2)
    monkeypatch.setattr(openmp, "starter", lambda: None)
    assert torch.equal(_scatter(10**9, 2), expected)


def test_several_threads_may_call_at_once() -> None:
    expected, found = _scatter(0, 1), []
    several = [threading.Thread(target=lambda: found.append(_scatter(10**9, 2))) for _ in range(4)]
    for each in several:
        each.start()
    for each in several:
        each.join()
    assert len(found) == 4
    assert all(torch.equal(each, expected) for each in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_goes_on_alone() -> None:
    """The threads of its parent are not there; waiting for them would be for ever."""
    code = (
        "import os, torch, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "import sffa\n"
        "torch.set_num_threads(2)\n"
        "net = sffa.Network(8, hidden=(60, 60), k=5, classes=range(3))\n"
        "x, y = torch.rand(2000, 8), torch.arange(2000) % 3\n"
        "loss = float(net.backward(x, y))\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    torch.set_num_threads(1)\n"
        "    os._exit(abs(float(net.backward(x, y)) - loss) > 1e-4)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "0\n", done.stderr

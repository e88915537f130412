"""The search for winners finds the largest drives, whatever the sizes."""

from __future__ import annotations

import pytest
import torch

from sffa.kernels import Rule, TorchKernel, get

NUMBA = get("numba", torch.device("cpu"))
SIZES = [
    (1, 1),
    (3, 2),
    (8, 8),
    (20, 5),
    (63, 9),
    (64, 9),
    (65, 9),
    (130, 40),
    (300, 100),
    (70, 70),
]


@pytest.mark.parametrize(("half", "k"), SIZES)
def test_winners_are_those_of_the_reference(half: int, k: int) -> None:
    rng = torch.Generator().manual_seed(half * k)
    shared = torch.randn(6, 2 * half, generator=rng)
    label = torch.randn(3, 2 * half, generator=rng)
    candidates = torch.arange(3, dtype=torch.int32).expand(6, 3)
    given = shared, label, None, candidates, Rule(k, "sigmoid", "unit"), None
    with torch.no_grad():
        expected, found = TorchKernel().answer(*given), NUMBA.answer(*given)
    for one, other in ((expected, found), (found, expected)):
        assert one.active.index.sort().values.long().equal(other.active.index.sort().values.long())
    torch.testing.assert_close(found.energy, expected.energy, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.activity, expected.activity, rtol=1e-5, atol=1e-6)


def test_equal_drives_leave_k_winners() -> None:
    shared, label = torch.zeros(2, 200), torch.zeros(1, 200)
    candidates = torch.zeros(2, 1, dtype=torch.int32)
    with torch.no_grad():
        found = NUMBA.answer(shared, label, None, candidates, Rule(7, "relu", "unit"), None)
    assert all(len(set(row.tolist())) == 14 for row in found.active.index.flatten(0, 1))


@pytest.mark.parametrize("drive", [-200.0, -87.5, -1.0, 0.0, 1.0, 30.0, 200.0])
def test_the_sigmoid_is_exact_to_rounding_and_at_its_ends(drive: float) -> None:
    shared, label = torch.full((1, 4), drive), torch.zeros(1, 4)
    candidates = torch.zeros(1, 1, dtype=torch.int32)
    with torch.no_grad():
        found = NUMBA.answer(shared, label, None, candidates, Rule(2, "sigmoid", "unit"), None)
    expected = torch.sigmoid(torch.full((1, 1, 4), drive))
    torch.testing.assert_close(found.active.value, expected, rtol=5e-7, atol=1e-37)

"""FFA's arithmetic against the same written plainly, with autograd for the gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sffa.kernels import Scaled, dense_answer
from sffa.kernels.dense import Awake

BATCH, LABELS, BELOW, WIDTH = 7, 3, 10, 12


def _draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _below(silent: int) -> Tensor:
    value = _draw(BATCH, LABELS, BELOW, seed=1).relu()
    value[..., :silent] = 0
    return value


def _left_out(value: Tensor, silent: int) -> Awake:
    if not silent:
        return Awake(value, None)
    places = value.amax(0).nonzero().squeeze(1)
    assert 0 < len(places) <= BELOW - silent
    return Awake(value[:, places], places)


def _plain(
    shared: Tensor,
    label: Tensor,
    weight: Tensor,
    below: tuple[Tensor, Tensor],
    activation: str,
    mask: Tensor | None,
    rows: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    drive = shared[:, None] + label[rows] + (below[0] * below[1][..., None]) @ weight
    active = torch.relu(drive) if activation == "relu" else torch.sigmoid(drive)
    if mask is not None:
        active = active * mask[rows]
    return active.square().sum(-1), active.sum(-1), active


@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("silent_below", [0, 6])
@pytest.mark.parametrize("silent_here", [0, 8])
def test_values_and_gradients_are_those_of_the_plain_way(
    activation: str, gated: bool, silent_below: int, silent_here: int
) -> None:
    """Also where neurons are silent throughout and therefore left out."""
    shared, weight = _draw(BATCH, WIDTH, seed=2), _draw(BELOW, WIDTH, seed=3)
    label = _draw(LABELS, WIDTH, seed=4)
    label[:, :silent_here] -= 100
    leaves = [tensor.requires_grad_() for tensor in (shared, label, weight)]
    rows = torch.arange(LABELS).roll(1).expand(BATCH, -1)
    mask = (torch.arange(WIDTH) % 4 != torch.arange(LABELS)[:, None]) if gated else None
    value, factor = _below(silent_below), _draw(BATCH, LABELS, seed=5).exp()
    latents = [_left_out(value[:, column], silent_below) for column in range(LABELS)]
    to_energy, to_activity = _draw(BATCH, LABELS, seed=6), _draw(BATCH, LABELS, seed=7)

    answer = dense_answer(shared, label, (Scaled(latents, factor), weight), rows, activation, mask)
    energy, activity, active = _plain(
        shared, label, weight, (value, factor), activation, mask, rows
    )
    torch.testing.assert_close(answer.energy, energy)
    torch.testing.assert_close(answer.activity, activity)
    torch.testing.assert_close(answer.active, active)
    for weights in ((to_energy, None), (None, to_activity), (to_energy, to_activity)):
        ours = _pull((answer.energy, answer.activity), weights, leaves)
        plain = _pull((energy, activity), weights, leaves)
        for one, other in zip(ours, plain, strict=True):
            torch.testing.assert_close(one, other)
    if activation == "relu" and silent_here:
        for awake in answer.awake:
            assert awake.places is not None
            assert int(awake.places.min()) >= silent_here
    assert not answer.active.requires_grad


def _pull(
    outputs: tuple[Tensor, Tensor], weights: tuple[Tensor | None, ...], leaves: list[Tensor]
) -> tuple[Tensor, ...]:
    used = [(o, w) for o, w in zip(outputs, weights, strict=True) if w is not None]
    return torch.autograd.grad(
        [o for o, _ in used], leaves, [w for _, w in used], retain_graph=True
    )


def test_no_example_is_no_trouble() -> None:
    """An empty batch has no latents to look for silence in."""
    rows = torch.zeros(0, LABELS, dtype=torch.int64)
    answer = dense_answer(
        torch.zeros(0, WIDTH), torch.zeros(LABELS, WIDTH), None, rows, "relu", None
    )
    assert answer.energy.shape == (0, LABELS)


def test_labels_that_wake_nobody_have_no_gradient() -> None:
    """Two labels of a small batch together, with every neuron silent."""
    shared, label = torch.zeros(4, 6), torch.full((2, 6), -1.0)
    leaves = [shared.requires_grad_(), label.requires_grad_()]
    answer = dense_answer(shared, label, None, torch.arange(2).expand(4, -1), "relu", None)
    assert [latents.value.shape for latents in answer.awake] == [(8, 0)]
    for gradient in torch.autograd.grad(answer.energy.sum() + answer.activity.sum(), leaves):
        assert not gradient.any()

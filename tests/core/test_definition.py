"""The library against the formulas of `sffa.lite`, to 1e-5 relative."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from torch import Tensor

from sffa import Network, lite
from sffa.lite import formulas

INPUTS = 7
OPTIONS: dict[str, dict] = {
    "sffa": {},
    "sffa three layers": {"hidden": (16, 20, 12)},
    "sffa k is the half": {"k": 8},
    "sffa relu": {"activation": "relu"},
    "sffa literal": {"norm": "literal"},
    "sffa rms": {"norm": "rms"},
    "sffa literal relu": {"norm": "literal", "activation": "relu"},
    "sffa add": {"activity": "add"},
    "sffa add l2": {"activity": "add", "activity_norm": "l2"},
    "sffa no activity": {"activity": "none"},
    "sffa l2": {"activity_norm": "l2"},
    "sffa l2 relu": {"activity_norm": "l2", "activation": "relu"},
    "sffa clamped": {"clamp": 0.45, "activation": "relu"},
    "sffa product": {"coupling": "product"},
    "sffa product clamped": {"coupling": "product", "clamp": 0.3, "hidden": (16, 12, 16)},
    "sffa product add l2 relu": {
        "coupling": "product",
        "activity": "add",
        "activity_norm": "l2",
        "activation": "relu",
    },
    "sffa gate": {"gate": 0.6},
    "sffa gate relu rms three layers": {
        "gate": 0.5,
        "activation": "relu",
        "norm": "rms",
        "hidden": (16, 20, 12),
    },
    "sffa disjoint": {"gate": "disjoint", "hidden": (30, 24)},
    "sffa onehot": {"codes": "onehot"},
    "sffa onehot disjoint": {"codes": "onehot", "gate": "disjoint", "hidden": (24, 24)},
    "sffa dense codes": {"code_density": 0.5, "code_size": 9},
    "sffa contrast": {"objective": "contrast"},
    "sffa contrast cool relu": {
        "objective": "contrast",
        "temperature": 0.4,
        "activation": "relu",
    },
    "sffa contrast warm gate l2 three layers": {
        "objective": "contrast",
        "temperature": 3.0,
        "gate": 0.6,
        "activity_norm": "l2",
        "hidden": (16, 20, 12),
    },
    "sffa odds": {"objective": "contrast", "ranking": "odds", "init": "block", "spread": 1.5},
    "sffa contrast add": {"objective": "contrast", "activity": "add"},
    "sffa contrast disjoint": {"objective": "contrast", "gate": "disjoint", "hidden": (30, 24)},
    "ffa contrast": {"algorithm": "ffa", "objective": "contrast"},
    "ffa contrast cool": {"algorithm": "ffa", "objective": "contrast", "temperature": 0.1},
    "ffa": {"algorithm": "ffa"},
    "ffa three layers": {"algorithm": "ffa", "hidden": (11, 16, 9)},
    "ffa number": {"algorithm": "ffa", "scale": 0.01},
    "ffa theta": {"algorithm": "ffa", "scale": 0.7, "theta": 0.5},
    "ffa probability": {"algorithm": "ffa", "scale": 0.7, "ranking": "probability"},
    "ffa sigmoid": {"algorithm": "ffa", "activation": "sigmoid"},
    "ffa literal": {"algorithm": "ffa", "norm": "literal"},
    "ffa rms": {"algorithm": "ffa", "norm": "rms"},
    "ffa multiply": {"algorithm": "ffa", "activity": "multiply"},
    "ffa add l2": {"algorithm": "ffa", "activity": "add", "activity_norm": "l2"},
    "ffa product": {"algorithm": "ffa", "coupling": "product"},
    "ffa gate": {"algorithm": "ffa", "gate": 0.5},
    "ffa disjoint onehot": {"algorithm": "ffa", "gate": "disjoint", "codes": "onehot"},
}


def make(name: str, backend: str) -> Network:
    options = {"hidden": (16, 20), "k": 3, "code_size": 12, "code_density": 0.3, **OPTIONS[name]}
    net = Network(INPUTS, backend=backend, seed=3, **options, classes=[4, 0, 7, 2])
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(2.0)  # drives of the size a trained network has
    return net


def definition(net: Network) -> lite.Network:
    """Return the same network in double precision, as `sffa.lite` computes it."""
    with TemporaryDirectory() as folder:
        net.save(Path(folder) / "m.safetensors")
        return lite.load(Path(folder) / "m.safetensors", dtype=np.float64)


def batch(mode: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return images, columns and candidates: every label, pairs, or rows of unequal length."""
    rng = np.random.default_rng(5)
    images = torch.tensor(rng.normal(size=(5, INPUTS)), dtype=torch.float32)
    columns = torch.tensor([0, 3, 1, 2, 3])
    if mode == "all":
        return images, columns, torch.arange(4).expand(5, 4)
    if mode == "pairs":
        return images, columns, torch.stack([columns, (columns + 1) % 4], dim=1)
    ragged = [[0, 2, -1], [3, -1, -1], [1, 0, 3], [2, -1, 3], [-1, 3, 2]]
    return images, columns, torch.tensor(ragged)


def assert_close(found: Tensor, wanted: np.ndarray, what: str) -> None:
    """Hold every entry to 1e-5 of the largest one."""
    scale = np.abs(wanted).max()
    error = np.abs(found.detach().double().numpy() - wanted).max()
    assert error <= 1e-5 * scale, f"{what}: {error / scale:.1e} relative"


@pytest.mark.parametrize("mode", ["all", "pairs", "ragged"])
@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("name", OPTIONS)
def test_losses_and_gradients_are_those_of_the_definition(name, backend, mode):
    net = make(name, backend)
    images, columns, candidates = batch(mode)
    given = images.double().numpy(), columns.numpy(), candidates.numpy()
    _, losses, gradients = zip(*definition(net).gradients(*given), strict=True)
    labels = torch.tensor(net.classes)[columns]
    loss = net.loss(images, labels, candidates=candidates)
    loss.backward()
    assert loss.item() == pytest.approx(sum(losses), rel=1e-5)
    for layer, gradient in zip(net.layers, gradients, strict=True):
        for block, wanted in gradient.items():
            assert_close(getattr(layer, block).grad, wanted[:], block)


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("name", OPTIONS)
def test_scores_are_those_of_the_definition(name, backend):
    net = make(name, backend)
    images, _, _ = batch("all")
    wanted = definition(net).layer_scores(images.numpy())
    layers = net.layer_scores(images)
    for found, each in zip(layers, wanted, strict=True):
        assert_close(found, each, "layer scores")
    assert_close(net.scores(images), wanted.mean(axis=0), "scores")


@pytest.mark.parametrize("name", OPTIONS)
def test_no_winner_of_these_examples_is_a_near_tie(name):
    plain = definition(make(name, "torch"))
    images, _, candidates = (part.double().numpy() for part in batch("all"))
    candidates = candidates.astype(int)
    if plain.config.algorithm == "ffa":
        return
    for layer, below, _ in plain.passes(images, candidates):
        drive = formulas.drives(layer, images, plain.codes, candidates, below)
        for half, neurons in enumerate(np.split(np.arange(drive.shape[-1]), 2)):
            for row, label in np.ndindex(candidates.shape):
                own = neurons if layer.own is None else layer.own[candidates[row, label], half]
                ranked = np.sort(drive[row, label, own])[::-1]
                if len(ranked) > plain.config.k:
                    assert ranked[plain.config.k - 1] - ranked[plain.config.k] > 1e-5


@pytest.mark.parametrize(
    "name",
    [
        "sffa",
        "sffa l2 relu",
        "sffa product",
        "sffa add l2",
        "sffa contrast",
        "sffa contrast cool relu",
        "ffa contrast cool",
        "ffa",
    ],
)
def test_the_gradients_of_the_definition_are_the_slopes_of_its_loss(name):
    """Central differences, one weight at a time; what a layer hears from below stays as it was."""
    plain = definition(make(name, "torch"))
    images, columns, candidates = (part.double().numpy() for part in batch("pairs"))
    columns, candidates = columns.astype(int), candidates.astype(int)
    gradients = [
        {block: gradient[:] for block, gradient in found.items()}
        for _, _, found in plain.gradients(images, columns, candidates)
    ]
    heard = [below for _, below, _ in plain.passes(images, candidates)]
    target, valid = candidates == columns[:, None], candidates >= 0
    rng = np.random.default_rng(1)

    def loss() -> float:
        answers = [
            formulas.answer(
                plain.config,
                layer,
                formulas.drives(layer, images, plain.codes, candidates, below),
                candidates,
            )
            for layer, below in zip(plain.layers, heard, strict=True)
        ]
        groups = [[0], [1]] if plain.config.coupling == "local" else [[0, 1]]
        return sum(
            formulas.loss(plain.config, [answers[n] for n in group], group, target, valid)[0]
            for group in groups
        )

    for layer, gradient in zip(plain.layers, gradients, strict=True):
        for name_of_block, block in layer.blocks.items():
            steep = np.argwhere(np.abs(gradient[name_of_block]) > 1e-4)
            for place in map(tuple, rng.choice(steep, 6)):
                kept, step = block[place], 1e-6
                block[place] = kept + step
                above = loss()
                block[place] = kept - step
                below = loss()
                block[place] = kept
                slope = (above - below) / (2 * step)
                assert slope == pytest.approx(gradient[name_of_block][place], rel=1e-4)


def test_standardised_bytes_are_the_same_input_as_standardised_numbers():
    net = make("sffa", "torch")
    pixels = torch.tensor(np.random.default_rng(0).integers(0, 256, (4, INPUTS)), dtype=torch.uint8)
    net.standardise(0.3, 0.25)
    plain = definition(net)
    plain.standardise(0, 1)
    wanted = plain.scores((pixels.double().numpy() / 255 - 0.3) / 0.25)
    assert_close(net.scores(pixels), wanted, "bytes")
    assert_close(net.scores(pixels.float() / 255), wanted, "numbers")
